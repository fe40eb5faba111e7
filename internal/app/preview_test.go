package app_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
)

// preview is the effect of an action, in which nothing changes.
func (s *stage) preview(id int, action api.ProposedAction) api.Preview {
	s.t.Helper()
	before, phases := len(s.listAudit(id)), must(s.app.Phases(s.ctx, ada, id))(s.t)
	v := must(s.app.Preview(s.ctx, ada, id, action))(s.t)
	s.deliverAll()
	if after := must(s.app.Phases(s.ctx, ada, id))(s.t); len(s.listAudit(id)) != before || fmt.Sprint(after) != fmt.Sprint(phases) {
		s.t.Fatalf("the dry run changed something: %+v", v)
	}
	if v.Action != action.Name || v.WayBack == "" {
		s.t.Fatalf("%+v", v)
	}
	return v
}

func previewText(v api.Preview) string {
	text := fmt.Sprintf("%d members, %d jobs", v.Members, v.Jobs)
	if v.InFlight > 0 {
		text += fmt.Sprintf(", %d in flight", v.InFlight)
	}
	for _, p := range v.Phases {
		text += fmt.Sprintf("; %s %s %d/%d", p.Phase, p.Effect, p.Members, p.Jobs)
	}
	if v.Duration != nil {
		text += fmt.Sprintf("; %d s as in %v", v.Duration.Seconds, v.Duration.Batches)
	}
	return strings.Join(append([]string{text}, v.Warnings...), "; ")
}

func (s *stage) wantPreview(id int, action api.ProposedAction, want string) {
	s.t.Helper()
	if got := previewText(s.preview(id, action)); got != want {
		s.t.Errorf("%s: %s\nwant %s", action.Name, got, want)
	}
}

func TestPreviewOfAnAdvanceCountsItsJobs(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`), "Copy": always("true")}
		b := s.createBatch(right, people(3))
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionAdvance, Phase: "move"}, "3 members, 9 jobs; move starts 3/9")
		_, err := s.app.Preview(s.ctx, ada, b.ID, api.ProposedAction{Name: api.ActionAdvance, Phase: "verify"})
		s.wantRefused(err, api.CodeConflict, `phase "verify" is not the next one`)
		s.advance(b.ID)
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionAdvance, Phase: "verify"}, "3 members, 3 jobs; verify starts 3/3")
	})
}

func TestPreviewKnowsTheDurationOfThePhaseBefore(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`), "Copy": always("true")}
		first := s.createBatch(right, people(2))
		must(s.app.Advance(s.ctx, ada, first.ID, "move"))(t)
		s.pass(time.Minute)
		p := must(s.app.Phases(s.ctx, ada, first.ID))(t).Items[0]
		took := int(p.CompletedAt.Sub(*p.DispatchedAt).Round(time.Second) / time.Second)
		more := make([]string, 6)
		for i := range more {
			more[i] = fmt.Sprintf("q%d@x,Person", i)
		}
		b := s.createBatch(right, "Upn,Name\n"+strings.Join(more, "\n")+"\n")
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionAdvance, Phase: "move"}, fmt.Sprintf("6 members, 18 jobs; move starts 6/18; %d s as in [1]", 3*took))
	})
}

// Repairs, uploads and moves tell how long the phases took before, too.
func TestPreviewOfRepairsAndUploadsKnowsTheDuration(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`), "Copy": always("true")}
		first := s.createBatch(right, people(2))
		took := 0
		for _, phase := range []string{"move", "verify"} {
			must(s.app.Advance(s.ctx, ada, first.ID, phase))(t)
			s.pass(time.Minute)
		}
		for _, p := range must(s.app.Phases(s.ctx, ada, first.ID))(t).Items {
			took += int(p.CompletedAt.Sub(*p.DispatchedAt).Round(time.Second) / time.Second)
		}
		move := must(s.app.Phases(s.ctx, ada, first.ID))(t).Items[0]
		moved := int(move.CompletedAt.Sub(*move.DispatchedAt).Round(time.Second) / time.Second)
		check := must(s.app.CheckBatch(s.ctx, first.RunbookName, bytes.NewReader([]byte("Upn,Name\nq1@x,A\nq2@x,B\n"))))(t)
		if d := check.Duration; d == nil || d.Seconds != took || !slices.Equal(d.Batches, []int{first.ID}) {
			t.Errorf("an upload: %+v, want %d s", d, took)
		}
		s.script["Copy"] = fails(errNo)
		second := s.createBatch(right, "Upn,Name\nq1@x,A\nq2@x,B\n")
		must(s.app.Advance(s.ctx, ada, second.ID, "move"))(t)
		s.pass(time.Minute)
		if d := must(s.app.Repair(s.ctx, ada, second.ID, api.Repair{DryRun: true}))(t).Preview.Duration; d == nil || d.Seconds != moved {
			t.Errorf("a retry: %+v, want %d s", d, moved)
		}
		for _, action := range []string{api.RepairSkip, api.RepairDone} {
			if d := must(s.app.Repair(s.ctx, ada, second.ID, api.Repair{Action: action, DryRun: true}))(t).Preview.Duration; d == nil || d.Seconds != moved {
				t.Errorf("%s: %+v, want %d s", action, d, moved)
			}
			if d := s.preview(second.ID, api.ProposedAction{Name: action, Step: s.step(second.ID, 1, "copy").ID}).Duration; d == nil || d.Seconds != moved || !slices.Equal(d.Batches, []int{first.ID}) {
				t.Errorf("%s of one step: %+v, want %d s", action, d, moved)
			}
		}
		third := s.createBatch(right, "Upn,Name\nq4@x,D\n")
		if d := must(s.app.Repair(s.ctx, ada, third.ID, api.Repair{Action: api.RepairMove, To: s.createBatch(right, "Upn,Name\nq5@x,E\n").ID, Selection: api.Selection{Members: []int{1}}, DryRun: true}))(t).Preview.Duration; d == nil || d.Seconds != took {
			t.Errorf("a move: %+v, want %d s", d, took)
		}
		late := must(s.app.CheckMembers(s.ctx, second.ID, bytes.NewReader([]byte("Upn,Name\nq3@x,C\n"))))(t)
		if d := late.Duration; d == nil || d.Seconds != took {
			t.Errorf("late members: %+v, want %d s", d, took)
		}
	})
}

func TestPreviewOfPauseResumeAndCancel(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(right, people(2))
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionPause}, "2 members, 6 jobs, 2 in flight; move pauses 2/6")
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionCancel}, "2 members, 8 jobs, 2 in flight; move stops 2/6; verify cancels 2/2")
		must(s.app.Pause(s.ctx, ada, b.ID, ""))(t)
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionPause}, "0 members, 0 jobs, 2 in flight")
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionResume}, "2 members, 6 jobs, 2 in flight; move continues 2/6")
		must(s.app.Cancel(s.ctx, ada, b.ID, ""))(t)
		_, err := s.app.Preview(s.ctx, ada, b.ID, api.ProposedAction{Name: api.ActionPause})
		s.wantRefused(err, api.CodeConflict, "batch 1 is being cancelled")
	})
}

func TestPreviewOfStepsAndMembers(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(2)
		step := s.step(id, 1, "copy").ID
		s.wantPreview(id, api.ProposedAction{Name: api.RepairSkip, Step: step}, "1 members, 1 jobs; move continues 1/1")
		s.wantPreview(id, api.ProposedAction{Name: api.RepairDone, Step: step}, "1 members, 1 jobs; move continues 1/1")
		_, err := s.app.Preview(s.ctx, ada, id, api.ProposedAction{Name: api.RepairSkip, Step: s.step(id, 1, "new").ID})
		s.wantRefused(err, api.CodeConflict, "")
		_, err = s.app.Preview(s.ctx, ada, id, api.ProposedAction{Name: api.RepairRemove, Member: 1})
		s.wantRefused(err, api.CodeConflict, "member 1 has failed")
		r := must(s.app.Repair(s.ctx, ada, id, api.Repair{DryRun: true}))(t)
		if got := previewText(*r.Preview); got != "2 members, 4 jobs; move continues 2/4" {
			t.Error(got)
		}
	})
}

func TestPreviewOfChecks(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("Person 2")
		b := s.createBatch(checked(true), people(3))
		s.deliverAll()
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionCheck}, "3 members, 6 jobs; checks starts 3/6")
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionCheck, Member: 1}, "1 members, 2 jobs; checks starts 1/2")
		s.wantPreview(b.ID, api.ProposedAction{Name: api.ActionCheck, Member: 2}, "1 members, 2 jobs; checks starts 1/2") // who failed them
		_, err := s.app.Preview(s.ctx, ada, b.ID, api.ProposedAction{Name: api.ActionCheck, Member: 9})
		s.wantRefused(err, api.CodeNotFound, "")
		without := s.createBatch(right, "Upn,Name\nq1@x,Person\n")
		_, err = s.app.Preview(s.ctx, ada, without.ID, api.ProposedAction{Name: api.ActionCheck})
		s.wantRefused(err, api.CodeConflict, "check")
	})
}

func TestPreviewOfHeldAdditions(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.lostWhere(500)
		s.tick()
		revision := s.additions().Revision
		v := must(s.app.PreviewAdditions(s.ctx, "found", revision, ""))(t)
		if got := previewText(v); got != "495 members, 990 jobs; create joins 495/495; switch joins 495/495" || v.Runbook != "found" || v.BatchID != 0 || v.WayBack == "" {
			t.Errorf("%s %+v", got, v)
		}
		if held := s.additions(); held.Confirmed != nil || held.Revision != revision {
			t.Errorf("the dry run changed something: %+v", held)
		}
		s.wantRefused(errorOf(s.app.PreviewAdditions(s.ctx, "found", "0123456789abcdef", "")), api.CodeConflict, "have changed")
		s.wantRefused(errorOf(s.app.PreviewAdditions(s.ctx, "found", "r", "")), api.CodeInvalid, "invalid revision")
		s.wantRefused(errorOf(s.app.PreviewAdditions(s.ctx, "none", revision, "")), api.CodeNotFound, "")
	})
}

func TestPreviewOfACorrection(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(correctable, correctableFile)
		asked := request("Guid=right", "Groups=c;d")
		asked.DryRun = true
		before := must(s.app.Member(s.ctx, ada, b.ID, 1))(t)
		done := must(s.app.CorrectMember(s.ctx, ada, b.ID, 1, asked, "ticket 7"))(t)
		s.wantChanges(done.Changes, `ann@x Groups: ["a","b"] -> ["c","d"], ann@x Guid: "wrong" -> "right"`)
		if after := must(s.app.Member(s.ctx, ada, b.ID, 1))(t); !done.DryRun || after.ETag != before.ETag || string(done.Member.Data["Guid"]) != `"wrong"` || strings.Contains(auditText(s.listAudit(b.ID)), "correct") {
			t.Errorf("the dry run changed something: %+v", done.Member)
		}
		bad := request("None=x")
		bad.DryRun = true
		s.wantRefused(errorOf(s.app.CorrectMember(s.ctx, ada, b.ID, 1, bad, "")), api.CodeInvalid, "None")
	})
}

func TestPreviewOfUploadsCountsTheJobsOfTheNewMembers(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always(`{"id":"u"}`), "Copy": always("true")}
		s.publish(right)
		text := func(check api.UploadCheck) string {
			return previewText(api.Preview{Members: check.Members, Jobs: check.Jobs, Phases: check.Phases})
		}
		const want = "3 members, 12 jobs; move joins 3/9; verify joins 3/3"
		if got := text(must(s.app.CheckBatch(s.ctx, "repaired", strings.NewReader(people(3))))(t)); got != want {
			t.Errorf("a new batch: %s, want %s", got, want)
		}
		b := s.createBatch(right, "Upn,Name\nq1@x,Person\n")
		s.advance(b.ID)
		if got := text(must(s.app.CheckMembers(s.ctx, b.ID, strings.NewReader(people(3))))(t)); got != want {
			t.Errorf("latecomers: %s, want %s", got, want)
		}
	})
}

// The answer to a correction tells that a given value is the one that the member has: of a member who does
// not change, and of a secret also beside a change. The audit trail has it as a read.
func TestCorrectionThatTellsAValueIsRecorded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		b := s.startBatch(secretRunbook, strings.NewReplacer("Upn,", "Upn,Name,", "ann,", "ann,Ann,").Replace(secretFile("ann")))
		wants := func(by audit.Caller, read bool) {
			t.Helper()
			records := auditText(s.listAudit(b.ID))
			if got := strings.Contains(records, by.Name+" "+api.ActionReadMembers); got != read {
				t.Errorf("%s read members: %t, want %t\n%s", by.Name, got, read, records)
			}
		}
		correct := func(name string, values ...string) audit.Caller {
			by := audit.Caller{Name: name}
			must(s.app.CorrectMember(s.ctx, by, b.ID, 1, request(values...), "ticket 7"))(t)
			return by
		}
		wants(correct("wrong", "Password="+made), false) // it is recorded as a correction
		wants(correct("right", "Password="+made), true)
		wants(correct("beside", "Password="+made, "Name=Other"), true)
		wants(correct("plain", "Name=Other"), true)
		wants(correct("other", "Name=Third"), false)
		byFile := func(name, file string) audit.Caller {
			by := audit.Caller{Name: name}
			must(s.app.UpdateMembers(s.ctx, by, b.ID, []byte(file), false, "ticket 7"))(t)
			return by
		}
		wants(byFile("file", "Upn,Name\nann,Third\n"), true)
		wants(byFile("changing file", "Upn,Name\nann,Fourth\n"), false)
	})
}

// A dry run of a correction shows a member, and would tell which secret is right. The audit trail has it as a
// read, and each given secret counts as changed.
func TestPreviewOfACorrectionTellsNoSecret(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		v := withKey(s)
		b := s.startBatch(secretRunbook, secretFile("ann"))
		for i, guess := range []string{canary, made} {
			guesser := audit.Caller{Name: fmt.Sprint("guesser", i)}
			asked := request("Password=" + guess)
			asked.DryRun = true
			done := must(s.app.CorrectMember(s.ctx, guesser, b.ID, 1, asked, "ticket 7"))(t)
			s.wantChanges(done.Changes, `ann Password: "(secret)" -> "(secret)"`)
			byFile := audit.Caller{Name: fmt.Sprint("uploader", i)}
			file := strings.ReplaceAll(secretFile("ann"), strings.ReplaceAll(canary, `"`, `""`), strings.ReplaceAll(guess, `"`, `""`))
			update := must(s.app.UpdateMembers(s.ctx, byFile, b.ID, []byte(file), true, "ticket 7"))(t)
			s.wantChanges(update.Changes, `ann Password: "(secret)" -> "(secret)"`)
			records := auditText(s.listAudit(b.ID))
			for _, by := range []audit.Caller{guesser, byFile} {
				if want := by.Name + " " + api.ActionReadMembers; !strings.Contains(records, want) {
					t.Errorf("no record %q: %s", want, records)
				}
			}
		}
		s.wantChanges(must(s.app.CorrectMember(s.ctx, ada, b.ID, 1, request("Password="+canary), ""))(t).Changes, "")
		v.wantNowhere("after the dry runs", b.ID)
	})
}
