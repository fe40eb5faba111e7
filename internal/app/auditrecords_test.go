package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// auditCase is a request and the audit record that it leaves, as one line.
type auditCase struct {
	name string
	prep func(s *stage)
	ask  func(s *stage, by audit.Caller) error
	line string
	anew bool // asked a second time, it is done a second time
}

const at = "2026-03-01T09:00:00Z" // dawn

// done is every use case that changes something.
var done = []auditCase{
	{
		name: "create",
		prep: func(s *stage) { s.publish(twoSteps) },
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.CreateBatch(s.ctx, by, "two", []byte(people(2)), api.AllowInOtherBatches))
		},
		line: `create batch N "" ""  -> {"allowInOtherBatches":true,"memberCount":2,"owner":"grace","runbookName":"two","runbookVersion":1,"status":"active"}`, anew: true,
	},
	{
		name: "advance",
		prep: startTwo(twoSteps, false),
		ask:  func(s *stage, by audit.Caller) error { return errorOf(s.app.Advance(s.ctx, by, 1, "first")) },
		line: `advance batch 1 "first" "" {"status":"active"} -> {"phaseName":"first","status":"active"}`,
	},
	{
		name: "cancel",
		prep: startTwo(twoSteps, true),
		ask:  func(s *stage, by audit.Caller) error { return errorOf(s.app.Cancel(s.ctx, by, 1, "over")) },
		line: `cancel batch 1 "" "over" {"phaseName":"first","status":"active"} -> {"cancelled":{"by":"grace","at":"` + at + `","reason":"over"},"phaseName":"first","status":"cancelling"}`,
	},
	{
		name: "pause",
		prep: startTwo(twoSteps, true),
		ask:  func(s *stage, by audit.Caller) error { return errorOf(s.app.Pause(s.ctx, by, 1, "lunch")) },
		line: `pause batch 1 "" "lunch" {"phaseName":"first","status":"active"} -> {"paused":{"by":"grace","at":"` + at + `","reason":"lunch"},"phaseName":"first","status":"active"}`,
	},
	{
		name: "pause what is paused, for another reason",
		prep: paused,
		ask:  func(s *stage, by audit.Caller) error { return errorOf(s.app.Pause(s.ctx, by, 1, "a freeze")) },
		line: `pause batch 1 "" "a freeze" PAUSED -> PAUSED`,
	},
	{
		name: "update_batch",
		prep: startTwo(twoSteps, true),
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.UpdateBatch(s.ctx, by, 1, detailsOf("Wave 3", "-", "-"), "as agreed"))
		},
		line: `update_batch batch 1 "" "as agreed" {"name":"","note":"","owner":"ada"} -> {"name":"Wave 3","note":"","owner":"ada"}`,
	},
	{
		name: "resume",
		prep: paused,
		ask:  func(s *stage, by audit.Caller) error { return errorOf(s.app.Resume(s.ctx, by, 1, "back")) },
		line: `resume batch 1 "" "back" PAUSED -> {"phaseName":"first","status":"active"}`,
	},
	{
		name: "approve",
		prep: startTwo(gated("approval: required"), true),
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.Approve(s.ctx, by, 1, "SECOND", "agreed"))
		},
		line: `approve batch 1 "second" "agreed" {"phaseId":2,"status":"pending"} -> {"approved":{"by":"grace","at":"` + at + `","reason":"agreed"},"phaseId":2,"status":"pending"}`,
	},
	{
		name: "retry",
		prep: oneFailed,
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.Repair(s.ctx, by, 1, api.Repair{Selection: api.Selection{Step: "new"}, Reason: "again"}))
		},
		line: `retry batch 1 "step \"new\"" "again" {"failedMembers":1} -> {"task":"…"}`, anew: true,
	},
	{
		name: "skip_step",
		prep: oneFailed,
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.SkipStep(s.ctx, by, 1, s.step(1, 1, "new").ID, "no need"))
		},
		line: `skip_step batch 1 "step STEP (new of p001@x in first)" "no need" {"status":"failed"} -> {"status":"skipped"}`,
	},
	{
		name: "skip_step ahead",
		prep: startTwo(twoSteps, true),
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.SkipStep(s.ctx, by, 1, s.step(1, 1, "join").ID, "no need"))
		},
		line: `skip_step batch 1 "step STEP (join of p001@x in first)" "no need" {"status":"pending"} -> {"status":"skipped"}`,
	},
	{
		name: "mark_done",
		prep: startTwo(twoSteps, true),
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.MarkStepDone(s.ctx, by, 1, s.step(1, 1, "new").ID, json.RawMessage(`{"secret":"of a member"}`), "by hand"))
		},
		line: `mark_done batch 1 "step STEP (new of p001@x in first)" "by hand" {"status":"dispatched"} -> {"status":"succeeded"}`,
	},
	{
		name: "add_members",
		prep: startTwo(twoSteps, true),
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.AddMembers(s.ctx, by, 1, []byte("Upn,Name\nlate@x,Late\nlater@x,Later\n")))
		},
		line: `add_members batch 1 "members 3 to 4" "" {"memberCount":2} -> {"memberCount":4}`,
	},
	{
		name: "remove_member",
		prep: startTwo(twoSteps, true),
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.RemoveMember(s.ctx, by, 1, 2, "left us"))
		},
		line: `remove_member batch 1 "member 2 (p002@x)" "left us" {"members":{"2":"active"}} -> {"members":{"2":"removed"}}`,
	},
	{
		name: "confirm_removals",
		prep: threeHeld,
		ask: func(s *stage, by audit.Caller) error {
			h, err := s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{})
			if err != nil {
				return err
			}
			return errorOf(s.app.ConfirmRemovals(s.ctx, by, 1, h.Revision, "they left"))
		},
		line: `confirm_removals batch 1 "3 members" "they left" {"discarded":0,"held":3,"members":[1,2,3],"revision":"…"} -> {"confirmed":{"by":"grace","at":"` + at + `","reason":"they left"},"discarded":0,"held":3,"members":[1,2,3],"revision":"…"}`,
	},
	{
		name: "discard_removals",
		prep: threeHeld,
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.DiscardRemovals(s.ctx, by, 1, "", "they stay"))
		},
		line: `discard_removals batch 1 "3 members" "they stay" {"discarded":0,"held":3,"members":[1,2,3],"revision":"…"} -> {"discarded":3,"held":0}`,
	},
	{
		name: "confirm_additions",
		prep: manyHeld,
		ask: func(s *stage, by audit.Caller) error {
			h, err := s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{})
			if err != nil {
				return err
			}
			return errorOf(s.app.ConfirmAdditions(s.ctx, by, "found", h.Revision, "all of them"))
		},
		line: `confirm_additions runbook found "" "all of them"  -> {"held":101,"of":5,"revision":"…"}`,
	},
	{
		name: "discard_additions",
		prep: manyHeld,
		ask: func(s *stage, by audit.Caller) error {
			h, err := s.app.HeldAdditions(s.ctx, reader, "found", api.ListOptions{})
			if err != nil {
				return err
			}
			return errorOf(s.app.DiscardAdditions(s.ctx, by, "found", h.Revision, "none of them"))
		},
		line: `discard_additions runbook found "" "none of them" {"held":101,"of":5,"revision":"…"} -> {"discarded":101}`,
	},
	{
		name: "publish the first version",
		prep: func(*stage) {},
		ask:  publishes(twoSteps, api.PublishOptions{}),
		line: `publish runbook two "version 1" "" {"activeVersion":null} -> {"activeVersion":1,"overdueBehavior":"ignore","rerunInit":false}`,
	},
	{
		name: "publish another version",
		prep: func(s *stage) { s.publish(twoSteps) },
		ask:  publishes(gated("approval: required"), api.PublishOptions{Overdue: api.OverdueRerun, RerunInit: true}),
		line: `publish runbook two "version 2" "" {"activeVersion":1} -> {"activeVersion":2,"overdueBehavior":"rerun","rerunInit":true}`,
	},
	{
		name: "deactivate",
		prep: func(s *stage) { s.publish(twoSteps) },
		ask: func(s *stage, by audit.Caller) error {
			return errorOf(s.app.Deactivate(s.ctx, by, "two", 1, "a mistake"))
		},
		line: `deactivate runbook two "version 1" "a mistake" {"activeVersion":1} -> {"activeVersion":null}`,
	},
	{
		name: "enable_automation",
		prep: func(s *stage) { s.table(); s.publish(found(twoPhases, "")) },
		ask:  automates(true),
		line: `enable_automation runbook found "" "" {"automationEnabled":false} -> {"automationEnabled":true}`,
	},
	{
		name: "disable_automation",
		prep: func(s *stage) { s.table(); s.publish(found(twoPhases, "")); s.automate("found") },
		ask:  automates(false),
		line: `disable_automation runbook found "" "" {"automationEnabled":true} -> {"automationEnabled":false}`,
	},
	{
		name: "replay",
		prep: func(s *stage) { s.bad("m", `{"secret":"of a member"}`) },
		ask:  handles((*app.App).Replay),
		line: `replay message "MESSAGE" "why not" {"replays":0,"status":"open"} -> {"replays":1,"status":"replayed"}`,
	},
	{
		name: "discard",
		prep: func(s *stage) { s.bad("m", `{"secret":"of a member"}`) },
		ask:  handles((*app.App).Discard),
		line: `discard message "MESSAGE" "why not" {"replays":0,"status":"open"} -> {"replays":0,"status":"discarded"}`,
	},
}

// startTwo creates batch 1 of a runbook with two members and starts its first phase, whose
// jobs stay unanswered.
func startTwo(yaml string, advanced bool) func(*stage) {
	return func(s *stage) {
		s.script = script{"New": fails(errLost)}
		s.publish(yaml)
		s.batch("two", people(2))
		if advanced {
			s.advance(1)
		}
	}
}

// paused is a batch that ada has paused.
func paused(s *stage) {
	startTwo(twoSteps, true)(s)
	must(s.app.Pause(s.ctx, ada, 1, "wait"))(s.t)
}

// oneFailed has member 1 of batch 1 fail at the first step.
func oneFailed(s *stage) {
	s.script = script{"New": only(fails(errNo), 1)}
	s.publish(twoSteps)
	s.batch("two", people(2))
	s.advance(1)
	s.wantMember(1, 1, "failed")
}

// threeHeld has the removal of three members of batch 1 held.
func threeHeld(s *stage) {
	rows := s.tableOf(dawn.Add(day), crowd(10)...)
	s.findBatches(found(twoPhases, ""))
	rows.drop("p000", "p001", "p002")
	s.tick()
}

// manyHeld has 101 additions held, to a batch of 5.
func manyHeld(s *stage) {
	rows := s.tableOf(dawn.Add(day), crowd(5)...)
	s.findBatches(found(twoPhases, ""))
	rows.put(dawn.Add(day), crowd(106)...)
	s.tick()
}

func publishes(yaml string, o api.PublishOptions) func(*stage, audit.Caller) error {
	return func(s *stage, by audit.Caller) error {
		return errorOf(s.app.PublishRunbook(s.ctx, by, "", []byte(yaml), o))
	}
}

func automates(on bool) func(*stage, audit.Caller) error {
	return func(s *stage, by audit.Caller) error {
		return errorOf(s.app.SetAutomation(s.ctx, by, "found", on))
	}
}

func handles(do func(*app.App, context.Context, audit.Caller, string, string) (api.UnprocessableMessage, error)) func(*stage, audit.Caller) error {
	return func(s *stage, by audit.Caller) error {
		return errorOf(do(s.app, s.ctx, by, s.messageID(), "why not"))
	}
}

// messageID is the id of the one message that is kept.
func (s *stage) messageID() string {
	s.t.Helper()
	items := must(storetest.All[struct{}](s.ctx, s.store, store.PartitionUnprocessable, "unprocessed"))(s.t)
	if len(items) != 1 {
		s.t.Fatalf("%d messages are kept", len(items))
	}
	return items[0].ID
}

// naming puts the id of the one message that is kept where a line is about it.
func (s *stage) naming(line string) string {
	before, after, ok := strings.Cut(line, "MESSAGE")
	if !ok {
		return line
	}
	return before + s.messageID() + after
}

// everywhere returns all audit records of one caller, the oldest first.
func (s *stage) everywhere(f api.AuditFilter) []api.AuditRecord {
	s.t.Helper()
	var all []api.AuditRecord
	o := api.ListOptions{Limit: 2}
	for {
		page := must(s.app.Audit(s.ctx, f, o))(s.t)
		all = append(all, page.Items...)
		if o.Continuation = page.Continuation; o.Continuation == "" {
			break
		}
	}
	slices.SortFunc(all, func(a, b api.AuditRecord) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// lineOf is a record as the table has it.
func lineOf(v api.AuditRecord) string {
	about := "message"
	switch {
	case v.BatchID != 0:
		about = fmt.Sprintf("batch %d", v.BatchID)
	case v.Runbook != "":
		about = "runbook " + v.Runbook
	}
	return fmt.Sprintf("%s %s %q %q %s -> %s", v.Action, about, v.Target, v.Why, v.Before, v.After)
}

// lines prints the caller's records without random values.
func (s *stage) lines(by audit.Caller) []string {
	s.t.Helper()
	var all []string
	for _, v := range s.everywhere(api.AuditFilter{By: by.Name}) {
		if !v.At.Equal(dawn) {
			s.t.Errorf("at %s", v.At)
		}
		all = append(all, blurred(lineOf(v)))
	}
	return all
}

func blurred(line string) string {
	for _, field := range []string{`"revision":"`, `"task":"`} {
		for rest := 0; ; {
			i := strings.Index(line[rest:], field)
			if i < 0 {
				break
			}
			i += rest + len(field)
			line = line[:i] + "…" + line[i+strings.Index(line[i:], `"`):]
			rest = i
		}
	}
	return line
}

// Each change leaves one audit record with the caller, the state before and after, at
// every failing write and for a repeated request.
func TestEachChangeLeavesOneRecord(t *testing.T) {
	t.Parallel()
	for _, tt := range done {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false, azure)
			tt.prep(s)
			if strings.Contains(tt.line, "STEP") {
				s.steps(1, 1) // the test's own looking is recorded, so that no write of it comes in between
			}
			for n := 0; ; n++ {
				take := s.cosmos.Inject(cosmos.Fault{
					On: []cosmos.Operation{cosmos.Create, cosmos.Replace, cosmos.Upsert, cosmos.Patch, cosmos.Batch}, Skip: n, Count: 1, Status: 403,
				})
				err := tt.ask(s, grace)
				take()
				if got := s.lines(grace); len(got) > 1 || n == 0 && len(got) > 0 {
					t.Fatalf("after %d writes: %q (%v)", n, got, err)
				}
				if err == nil {
					break
				}
				if problem.CodeOf(err) != api.CodeUnavailable && problem.CodeOf(err) != api.CodeConflict || n > 10 {
					t.Fatal(describe(err))
				}
				if problem.CodeOf(err) == api.CodeConflict { // it was done, and only its answer failed
					break
				}
			}
			want := tt.line
			want = strings.ReplaceAll(want, "PAUSED", `{"paused":{"by":"ada","at":"`+at+`","reason":"wait"},"phaseName":"first","status":"active"}`)
			if strings.Contains(want, "STEP") {
				name := "new"
				if strings.Contains(want, "join of") {
					name = "join"
				}
				want = strings.Replace(want, "STEP", fmt.Sprint(s.step(1, 1, name).ID), 1)
			}
			want = s.naming(want)
			got := s.lines(grace)
			if tt.name == "create" && len(got) == 1 { // what failed took a number with it
				want = strings.Replace(want, "N", fmt.Sprint(s.everywhere(api.AuditFilter{By: "grace"})[0].BatchID), 1)
			}
			if !slices.Equal(got, []string{want}) {
				t.Fatalf("got  %q\nwant %q", got, want)
			}
			if tt.anew {
				return
			}
			if err := tt.ask(s, grace); err != nil && problem.CodeOf(err) != api.CodeConflict && problem.CodeOf(err) != api.CodeNotFound {
				t.Fatal(describe(err))
			}
			if got := s.lines(grace); len(got) != 1 {
				t.Errorf("asked twice: %q", got)
			}
		})
	}
}

// A change whose answer is lost is there with its record, and asking again adds none.
func TestChangeWhoseAnswerIsLostIsRecordedOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range done {
		if tt.anew {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false, azure)
			tt.prep(s)
			notTheClaims := func(r cosmos.Request) bool { return !strings.Contains(r.PartitionKey, store.PartitionBatches) }
			s.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Batch}, Match: notTheClaims, Count: 1, DropAfter: true})
			if err := tt.ask(s, grace); problem.CodeOf(err) != api.CodeUnavailable {
				t.Fatalf("%v", err)
			}
			first := s.lines(grace)
			if err := tt.ask(s, grace); err != nil && problem.CodeOf(err) != api.CodeConflict && problem.CodeOf(err) != api.CodeNotFound {
				t.Fatal(describe(err))
			}
			if again := s.lines(grace); len(first) != 1 || !slices.Equal(first, again) {
				t.Errorf("%q, and asked again %q", first, again)
			}
		})
	}
}

// A refused request is not recorded.
func TestWhatIsRefusedLeavesNoRecord(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	startTwo(twoSteps, true)(s)
	long := strings.Repeat("x", api.MaxReason+1)
	for name, ask := range map[string]func() error{
		"create":  func() error { return errorOf(s.app.CreateBatch(s.ctx, grace, "two", []byte("Upn\n"))) },
		"advance": func() error { return errorOf(s.app.Advance(s.ctx, grace, 1, "second")) },
		"cancel":  func() error { return errorOf(s.app.Cancel(s.ctx, grace, 1, long)) },
		"pause":   func() error { return errorOf(s.app.Pause(s.ctx, grace, 9, "")) },
		"approve": func() error { return errorOf(s.app.Approve(s.ctx, grace, 1, "second", "")) },
		"retry":   func() error { return errorOf(s.app.Repair(s.ctx, grace, 1, api.Repair{Selection: api.Selection{}})) },
		"skip":    func() error { return errorOf(s.app.SkipStep(s.ctx, grace, 1, 7, "")) },
		"add":     func() error { return errorOf(s.app.AddMembers(s.ctx, grace, 1, []byte("Upn\n"))) },
		"remove":  func() error { return errorOf(s.app.RemoveMember(s.ctx, grace, 1, 9, "")) },
		"confirm": func() error { return errorOf(s.app.ConfirmRemovals(s.ctx, grace, 1, "r", "")) },
		"add all": func() error {
			return errorOf(s.app.ConfirmAdditions(s.ctx, grace, "two", "0123456789abcdef", ""))
		},
		"discard all": func() error {
			return errorOf(s.app.DiscardAdditions(s.ctx, grace, "two", "0123456789abcdef", ""))
		},
		"revision":  func() error { return errorOf(s.app.ConfirmAdditions(s.ctx, grace, "two", "r", "")) },
		"additions": func() error { return errorOf(s.app.HeldAdditions(s.ctx, grace, "two", api.ListOptions{})) },
		"publish": func() error {
			return errorOf(s.app.PublishRunbook(s.ctx, grace, "", []byte("name: x"), api.PublishOptions{}))
		},
		"dry run":   func() error { return dryRun(s, grace) },
		"deactiv":   func() error { return errorOf(s.app.Deactivate(s.ctx, grace, "two", 9, "")) },
		"automate":  func() error { return errorOf(s.app.SetAutomation(s.ctx, grace, "two", true)) },
		"replay":    func() error { return errorOf(s.app.Replay(s.ctx, grace, "m", "")) },
		"discard":   func() error { return errorOf(s.app.Discard(s.ctx, grace, "m", "")) },
		"members":   func() error { return errorOf(s.app.Members(s.ctx, grace, 9, api.ListOptions{})) },
		"steps":     func() error { return errorOf(s.app.Steps(s.ctx, grace, 1, api.ListOptions{Phase: "none"})) },
		"report":    func() error { return errorOf(s.app.Report(s.ctx, grace, 1, "pdf")) },
		"no report": func() error { return errorOf(s.app.Report(s.ctx, grace, 9, "csv")) },
		"removals":  func() error { return errorOf(s.app.HeldRemovals(s.ctx, grace, 1, api.ListOptions{})) },
		"preview":   func() error { return errorOf(s.app.PreviewQuery(s.ctx, grace, "two", 0)) },
		"message":   func() error { return errorOf(s.app.UnprocessableMessage(s.ctx, grace, "m")) },
	} {
		if err := ask(); err == nil {
			t.Errorf("%s: not refused", name)
		}
		if got := s.lines(grace); len(got) > 0 {
			t.Fatalf("%s: %q", name, got)
		}
	}
	if s.clock.Now() != dawn || s.batchOf(1).Paused != nil {
		t.Error("something was changed")
	}
}

// dryRun publishes nothing, and gives an error where it would leave something.
func dryRun(s *stage, by audit.Caller) error {
	v, err := s.app.PublishRunbook(s.ctx, by, "", []byte(gated("approval: required")), api.PublishOptions{DryRun: true})
	if err != nil {
		return nil // which is told as not refused
	}
	return fmt.Errorf("version %d was not published", v.Version)
}

func TestAuditRecordsAreFiltered(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	startTwo(twoSteps, true)(s)
	s.publish(mover)
	s.bad("m", `{}`)
	s.clock.ns.Add(int64(time.Hour))
	must(s.app.Pause(s.ctx, grace, 1, ""))(t)
	s.clock.ns.Add(int64(time.Millisecond))
	must(s.app.Resume(s.ctx, ada, 1, ""))(t)
	must(s.app.Discard(s.ctx, ada, s.messageID(), ""))(t)
	actions := func(page api.Page[api.AuditRecord], err error) string {
		t.Helper()
		noError(t, err)
		var all []string
		for _, v := range page.Items {
			all = append(all, v.Action)
		}
		return strings.Join(all, " ")
	}
	moment := dawn.Add(time.Hour)
	for _, tt := range []struct {
		f                               api.AuditFilter
		batch, runbook, messages, every string
	}{
		{api.AuditFilter{}, "resume pause advance create", "publish", "discard", "advance create discard pause publish publish resume"},
		{api.AuditFilter{By: "grace"}, "pause", "", "", "pause"},
		{api.AuditFilter{By: "Grace"}, "", "", "", ""},
		{api.AuditFilter{Action: "publish"}, "", "publish", "", "publish publish"},
		{api.AuditFilter{From: moment}, "resume pause", "", "discard", "discard pause resume"},
		{api.AuditFilter{From: moment.Add(time.Millisecond)}, "resume", "", "discard", "discard resume"},
		{api.AuditFilter{To: moment}, "advance create", "publish", "", "advance create publish publish"},
		{api.AuditFilter{From: moment, To: moment.Add(time.Millisecond)}, "pause", "", "", "pause"},
		{api.AuditFilter{From: moment.In(time.FixedZone("", 7200)), By: "ada", Action: "resume"}, "resume", "", "", "resume"},
	} {
		if got := actions(s.app.BatchAudit(s.ctx, 1, tt.f, api.ListOptions{})); got != tt.batch && !sameTime(got, tt.batch) {
			t.Errorf("batch %+v: %q, want %q", tt.f, got, tt.batch)
		}
		if got := actions(s.app.RunbookAudit(s.ctx, "two", tt.f, api.ListOptions{})); got != tt.runbook {
			t.Errorf("runbook %+v: %q, want %q", tt.f, got, tt.runbook)
		}
		if got := actions(s.app.MessageAudit(s.ctx, tt.f, api.ListOptions{})); got != tt.messages {
			t.Errorf("messages %+v: %q, want %q", tt.f, got, tt.messages)
		}
		got := actions(api.Page[api.AuditRecord]{Items: s.everywhere(tt.f)}, nil)
		if !sameTime(got, tt.every) {
			t.Errorf("everywhere %+v: %q, want %q", tt.f, got, tt.every)
		}
	}
	both := api.AuditFilter{From: moment, To: moment}
	s.wantRefused(errorOf(s.app.Audit(s.ctx, both, api.ListOptions{})), api.CodeInvalid, "must be before")
	late := must(time.Parse(time.RFC3339, "9999-12-31T23:00:00-02:00"))(t) // the year after in UTC
	s.wantRefused(errorOf(s.app.Audit(s.ctx, api.AuditFilter{From: late}, api.ListOptions{})), api.CodeInvalid, "year 10000")
	s.wantRefused(errorOf(s.app.Audit(s.ctx, api.AuditFilter{To: late}, api.ListOptions{})), api.CodeInvalid, "year 10000")
	s.wantRefused(errorOf(s.app.MessageAudit(s.ctx, api.AuditFilter{Action: "published"}, api.ListOptions{})), api.CodeInvalid, `unknown action "published"; use one of create, `)
	s.wantRefused(errorOf(s.app.RunbookAudit(s.ctx, "none", api.AuditFilter{}, api.ListOptions{})), api.CodeNotFound, `there is no runbook named "none"`)
	s.wantRefused(errorOf(s.app.Audit(s.ctx, api.AuditFilter{}, api.ListOptions{Continuation: "none"})), api.CodeInvalid, "the continuation token")
}

// sameTime compares actions of which some were at the same moment, in any order.
func sameTime(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// A batch whose record cannot be read does not hide the audit records: that of a correction comes
// without the columns, of which some may be secret.
func TestAuditBesideABatchThatCannotBeRead(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	b := s.createBatch(correctable, correctableFile)
	s.correct(b.ID, 1, "Guid=right")
	whole := must(store.Read[any](s.ctx, s.store, store.BatchKey(b.ID)))(t)
	s.commit(store.Replace(store.BatchKey(b.ID), "torn", whole.Version))
	records := must(s.app.Audit(s.ctx, api.AuditFilter{Action: api.ActionCorrectMember}, api.ListOptions{}))(t).Items
	if len(records) != 1 || records[0].Target == "" || records[0].Before != nil || records[0].After != nil {
		t.Errorf("%+v", records)
	}
}
