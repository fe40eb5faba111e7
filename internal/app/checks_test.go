package app_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/report"
	"github.com/matoolkit/matoolkit/internal/store"
)

// checked is a runbook with two checks, of which require makes the first required.
func checked(require bool) string {
	return fmt.Sprintf(`
name: checked
data_source: {type: csv, primary_key: Upn}
retry: {max_retries: 2, interval: 1m}
checks:
  - {name: free, worker_id: worker-01, function: Free, require: %t, params: {Name: "{{Name}}", Id: "{{UserId?}}"}}
  - {name: license, worker_id: worker-01, function: License}
phases:
  - name: create
    offset: T-1d
    steps: [{name: new, worker_id: worker-01, function: New, output_params: {UserId: id}}]
  - name: move
    offset: T-0
    steps: [{name: go, worker_id: worker-01, function: Go}]
`, require)
}

// taken is a worker in whose tenant the name of Person 2 is taken.
func taken(name string) script {
	return script{
		"New": always(`{"id":"u"}`),
		"Free": func(j message.Job) (string, error) {
			if strings.Contains(string(j.Parameters), name) {
				return `{"complete":false,"reason":"the name belongs to another user, expected a free name"}`, nil
			}
			return `{"complete":true,"data":{}}`, nil
		},
		"License": always(`{"complete":true}`),
	}
}

// checkText lists the results of checks: member/check=status.
func (s *stage) checkText(id int, o api.ListOptions) string {
	s.t.Helper()
	var all []string
	for {
		page := must(s.app.Checks(s.ctx, ada, id, o))(s.t)
		for _, c := range page.Items {
			all = append(all, fmt.Sprintf("%d/%s=%s", c.MemberID, c.Name, c.Status))
		}
		if o.Continuation = page.Continuation; o.Continuation == "" {
			return strings.Join(all, " ")
		}
	}
}

// A week before the cut-over it is known whose name is taken: the checks are made when the batch is
// created, and no phase waits for them.
func TestChecksAreMadeWhenABatchIsCreated(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("Person 2")
		b := s.createBatch(checked(false), people(3))
		s.deliverAll()
		want := "1/free=passed 1/license=passed 2/free=failed 2/license=passed 3/free=passed 3/license=passed"
		if got := s.checkText(b.ID, api.ListOptions{Limit: 2}); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		failed := must(s.app.Checks(s.ctx, ada, b.ID, api.ListOptions{Statuses: []string{api.CheckFailed}}))(t).Items
		if len(failed) != 1 || failed[0].MemberKey != "p002@x" || failed[0].Error != "the name belongs to another user, expected a free name" || failed[0].CheckedAt == nil {
			t.Errorf("failed: %+v", failed)
		}
		if c := s.batchOf(b.ID).Checks; c == nil || c.Passed != 2 || c.Failed != 1 || c.Running != 0 || c.NotRun != 0 || !c.Done {
			t.Errorf("counts: %+v", c)
		}
		s.wantMember(b.ID, 2, "active")
		s.advance(b.ID)
		s.deliverAll()
		s.wantPhases(b.ID, "create completed 3/0/0, move pending 0/0/0")
	})
}

// A second request replaces the results of the first, also those of one member, with the member's
// data as it is then.
func TestMembersAreCheckedAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("Person 2") // and Person 20 to 29
		b := s.createBatch(checked(false), people(60))
		s.deliverAll()
		before := s.batchOf(b.ID).Checks.Failed
		if c := s.batchOf(b.ID).Checks; c.Passed != 49 || c.Failed != 11 {
			t.Errorf("counts: %+v", c)
		}
		s.correct(b.ID, 2, "Name=Somebody Else")
		r := must(s.app.Check(s.ctx, ada, b.ID, 2, "corrected"))(t)
		if r.MemberKey != "p002@x" || r.Members != 1 || !slices.Equal(r.Checks, []string{"free", "license"}) {
			t.Errorf("%+v", r)
		}
		s.deliverAll()
		if got := s.checkText(b.ID, api.ListOptions{Member: 2}); got != "2/free=passed 2/license=passed" {
			t.Errorf("after the correction: %s", got)
		}
		if c := s.batchOf(b.ID).Checks; c.Failed != before-1 {
			t.Errorf("counts: %+v, %d before", c, before)
		}
		s.script = taken("nobody")
		s.pass(time.Minute)
		must(s.app.Check(s.ctx, ada, b.ID, 0, ""))(t)
		s.deliverAll()
		if c := s.batchOf(b.ID).Checks; c.Passed != 60 || c.Failed != 0 || c.RequestedBy != ada.Name {
			t.Errorf("after the second request: %+v", c)
		}
	})
}

// A member who fails a required check starts no phase until the check passes.
func TestARequiredCheckHoldsItsMemberBack(t *testing.T) {
	for name, release := range map[string]func(s *stage, id int){
		"another check": func(s *stage, id int) {
			s.script = taken("nobody")
			must(s.app.Check(s.ctx, ada, id, 0, ""))(s.t)
		},
		"another check of the member": func(s *stage, id int) {
			s.script = taken("nobody")
			must(s.app.Check(s.ctx, ada, id, 2, ""))(s.t)
		},
		"a retry": func(s *stage, id int) {
			s.script = taken("nobody")
			s.repair(id, api.Repair{})
		},
		"marking the check as done": func(s *stage, id int) {
			s.repair(id, api.Repair{Action: api.RepairDone, Reason: "freed by hand"})
		},
		"skipping the check": func(s *stage, id int) { s.repair(id, api.Repair{Action: api.RepairSkip, Reason: "known"}) },
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = taken("Person 2")
				b := s.createBatch(checked(true), people(3))
				s.deliverAll()
				s.wantMember(b.ID, 2, "failed")
				if m := s.member(b.ID, 2); m.FailedIn != "checks" || m.FailedStep != "free" || !strings.Contains(m.Error, "expected a free name") {
					t.Errorf("%+v", m)
				}
				wantCounts := func(active, failed int) {
					t.Helper()
					if b := must(s.app.Batch(s.ctx, ada, b.ID))(t); b.ActiveCount != active || b.FailedCount != failed {
						t.Errorf("%d active and %d failed, want %d and %d", b.ActiveCount, b.FailedCount, active, failed)
					}
				}
				wantCounts(2, 1)
				s.advance(b.ID)
				s.deliverAll()
				s.wantPhases(b.ID, "create completed 2/0/0, move pending 0/0/0")
				s.pass(time.Minute)
				release(s, b.ID)
				s.deliverAll()
				s.wantMember(b.ID, 2, "active")
				wantCounts(3, 0)
				s.wantPhases(b.ID, "create completed 3/0/0, move pending 0/0/0")
			})
		})
	}
}

// A retry is of the phase that the member failed in, also if a check failed that does not hold the member back.
func TestARetryIsOfThePhaseAndNotOfAWarning(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		s.script["License"] = always(`{"complete":false,"reason":"none is left, expected a licence"}`)
		s.script["New"] = fails(errNo)
		b := s.createBatch(checked(true), people(1))
		s.deliverAll()
		s.advance(b.ID)
		s.deliverAll()
		for range 3 {
			s.tickAfter(5 * time.Minute)
		}
		if m := s.member(b.ID, 1); m.FailedIn != "create" {
			t.Fatalf("%+v", m)
		}
		s.script["New"] = always(`{"id":"u"}`)
		s.repair(b.ID, api.Repair{})
		s.deliverAll()
		s.wantMember(b.ID, 1, "active")
		s.wantPhases(b.ID, "create completed 1/0/0, move pending 0/0/0")
	})
}

// The errors of a batch name the checks that hold members back, in groups, and the checks that no member
// waits for are not among them.
func TestErrorsGroupTheRequiredChecksThatFailed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("Person 2")
		s.script["License"] = always(`{"complete":false,"reason":"0 licences are free"}`)
		b := s.createBatch(checked(true), people(25))
		s.deliverAll()
		e := must(s.app.Errors(s.ctx, reader, b.ID))(t)
		if len(e.Groups) != 1 || e.Members != 7 {
			t.Fatalf("%+v", e)
		}
		g := e.Groups[0]
		if g.Count != 7 || g.Phase != "checks" || g.Step != "free" || g.Status != "failed" || !strings.Contains(g.ErrorGroup, "the name belongs to another user") || g.Examples[0].Key != "p002@x" {
			t.Errorf("%+v", g)
		}
	})
}

// A check is listed with the display column of its member.
func TestChecksShowTheDisplayColumn(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("Person 2")
		b := s.createBatch("display: Name"+checked(false), people(2))
		s.deliverAll()
		for _, c := range must(s.app.Checks(s.ctx, reader, b.ID, api.ListOptions{}))(t).Items {
			if want := fmt.Sprintf("Person %d", c.MemberID); c.MemberDisplay != want {
				t.Errorf("check %s of %s is of %q, want %q", c.Name, c.MemberKey, c.MemberDisplay, want)
			}
		}
	})
}

// A report has the results of the checks of each member with the errors, from one query for a page.
func TestTheReportHasTheResultsOfTheChecks(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("Person 2")
		b := s.createBatch(checked(false), people(60)) // two pages
		s.deliverAll()
		rows := s.readReport(b.ID)
		for _, want := range []struct{ key, column, cell string }{
			{"p001@x", "checks", "passed"},
			{"p001@x", "checks / free", "passed"},
			{"p001@x", "check errors", ""},
			{"p001@x", "outcome", "not started"},
			{"p002@x", "checks", "failed"},
			{"p002@x", "checks / free", "failed"},
			{"p002@x", "checks / license", "passed"},
			{"p002@x", "check errors", "free: the name belongs to another user, expected a free name"},
			{"p060@x", "checks", "passed"},
		} {
			if got, ok := rows[want.key][want.column]; !ok || got != want.cell {
				t.Errorf("%s, %s: %q, want %q", want.key, want.column, got, want.cell)
			}
		}
		page := s.report(b.ID, report.HTML)
		for want, n := range map[string]int{"Checks of the members: 49 passed, 11 failed.": 1, "free: the name belongs to another user, expected a free name": 11} {
			if got := strings.Count(page, want); got != n {
				t.Errorf("%q is there %d times, want %d", want, got, n)
			}
		}
	})
}

// A member whose required check still runs when a phase begins starts it once the check has passed.
func TestAPhaseComesToAMemberAfterARequiredCheck(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		ready := false
		s.script = taken("nobody")
		s.script["Free"] = func(j message.Job) (string, error) {
			if !ready && strings.Contains(string(j.Parameters), "Person 2") {
				return "", errors.New("try again")
			}
			return `{"complete":true}`, nil
		}
		b := s.createBatch(checked(true), people(2))
		s.advance(b.ID)
		s.deliverAll()
		s.wantCalls(1, "Free License New")
		s.wantCalls(2, "Free")
		ready = true
		s.pass(2 * time.Minute)
		s.wantCalls(2, "Free Free License New")
		s.wantPhases(b.ID, "create completed 2/0/0, move pending 0/0/0")
		// Once in the phases, a member is not held back again.
		ready = false
		must(s.app.Check(s.ctx, ada, b.ID, 0, ""))(t)
		for range 3 {
			s.pass(time.Minute)
		}
		if got := s.checkText(b.ID, api.ListOptions{Member: 2}); got != "2/free=failed 2/license=passed" {
			t.Errorf("%s", got)
		}
		s.wantMember(b.ID, 2, "active")
	})
}

// Members who are added later are checked, too.
func TestLateMembersAreChecked(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("Person 2")
		b := s.createBatch(checked(true), people(1))
		s.deliverAll()
		s.advance(b.ID)
		s.deliverAll()
		must(s.app.AddMembers(s.ctx, ada, b.ID, []byte(people(3))))(t)
		s.deliverAll()
		s.wantMember(b.ID, 2, "failed")
		s.wantCalls(3, "Free License New")
		s.wantPhases(b.ID, "create completed 2/0/1, move pending 0/0/0", "create completed 2/0/0, move pending 0/0/0")
		s.script = taken("nobody")
		s.pass(time.Minute)
		s.repair(b.ID, api.Repair{})
		s.wantPhases(b.ID, "create completed 3/0/0, move pending 0/0/0")
	})
}

// Members whom a data source finds are checked when all are there, and later ones when they come.
func TestMembersOfADataSourceAreChecked(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		p := s.tableOf(s.clock.Now().Add(48*time.Hour), "ada", "bob")
		s.script = taken("BOB")
		s.findBatches(found([]string{"move T-1d Go"}, `checks:
  - {name: free, worker_id: worker-01, function: Free, require: true, params: {Name: "{{Name}}"}}
`))
		if got := s.checkText(1, api.ListOptions{}); got != "1/free=passed 2/free=failed" {
			t.Fatalf("%s", got)
		}
		s.wantMember(1, 2, "failed")
		p.put(s.clock.Now().Add(48*time.Hour), "cy")
		p.exec("UPDATE people SET Start = (SELECT min(Start) FROM people)")
		s.tick()
		if got := s.checkText(1, api.ListOptions{Member: 3}); got != "3/free=passed" {
			t.Errorf("%s", got)
		}
		s.tickAfter(25 * time.Hour)
		s.wantPhases(1, "move completed 2/0/0")
	})
}

// Pausing a batch pauses its checks; cancelling it ends them.
func TestChecksArePausedAndCancelledWithTheirBatch(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		s.script["Free"] = fails(errLost)
		b := s.createBatch(checked(true), people(2))
		s.deliverAll()
		s.pause(b.ID)
		s.answers(1, "Free", `{"complete":true}`, nil)
		if got := s.checkText(b.ID, api.ListOptions{Member: 1}); got != "1/free=passed 1/license=running" {
			t.Errorf("paused: %s", got)
		}
		s.resume(b.ID)
		if got := s.checkText(b.ID, api.ListOptions{Member: 1}); got != "1/free=passed 1/license=passed" {
			t.Errorf("resumed: %s", got)
		}
		s.cancel(b.ID)
		s.answers(2, "Free", "", errNo)
		s.pass(time.Minute)
		s.wantStatus(b.ID, "cancelled")
		if got := s.checkText(b.ID, api.ListOptions{Member: 2}); got != "2/free=failed 2/license=not_run" {
			t.Errorf("cancelled: %s", got)
		}
	})
}

// A member who leaves in the checks is cleaned up after as any other.
func TestNoMemberIsInTheChecksOfABatchThatHasEnded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		b := s.createBatch(checked(true), people(2)) // whose checks have not begun
		if m := s.member(b.ID, 1); m.Phase != "checks" {
			t.Errorf("before the checks: %+v", m)
		}
		_ = must(s.app.Cancel(s.ctx, ada, b.ID, ""))(t)
		s.deliverAll()
		s.wantStatus(b.ID, "cancelled")
		if m := s.member(b.ID, 1); m.Phase != "" || m.Status != api.MemberActive {
			t.Errorf("after the end of the batch: %+v", m)
		}
	})
}

func TestAMemberWhoLeavesInTheChecksIsRemoved(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		s.script["Free"] = fails(errLost)
		b := s.createBatch(checked(true)+`on_member_removed: [{name: clean, worker_id: worker-01, function: Clean}]
`, people(2))
		s.deliverAll()
		s.remove(b.ID, 1)
		s.answers(1, "Free", `{"complete":true}`, nil)
		s.wantCalls(1, "Free Clean")
		if got := s.checkText(b.ID, api.ListOptions{Member: 1}); got != "1/free=not_run 1/license=not_run" && got != "1/free=passed 1/license=not_run" {
			t.Errorf("%s", got)
		}
		s.answers(2, "Free", `{"complete":true}`, nil)
	})
}

// A version that brings checks has them made for the members that are there, and one that takes them
// away lets go whom they hold.
func TestChecksFollowTheVersionOfTheBatch(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		with := checked(false)
		head, _, _ := strings.Cut(with, "checks:")
		_, phases, _ := strings.Cut(with, "phases:")
		without := head + "phases:" + phases
		b := s.createBatch(without, people(2))
		s.deliverAll()
		if c := s.batchOf(b.ID).Checks; c != nil {
			t.Fatalf("%+v", c)
		}
		s.publish(checked(true))
		s.tick()
		if c := s.batchOf(b.ID).Checks; c == nil || c.Passed != 2 {
			t.Fatalf("%+v", c)
		}
		s.publish(without)
		s.tick()
		_, err := s.app.Check(s.ctx, ada, b.ID, 0, "")
		s.wantRefused(err, api.CodeConflict, "has no checks")
		must(s.app.AddMembers(s.ctx, ada, b.ID, []byte(people(3))))(t)
		s.deliverAll()
		s.advance(b.ID)
		s.wantPhases(b.ID, "create superseded 0/0/0, move superseded 0/0/0, create superseded 0/0/0, move superseded 0/0/0, create completed 3/0/0, move pending 0/0/0")
	})
}

// A process can die after each of its writes: the checks of all members are made, and once each.
func TestChecksOutliveAProcess(t *testing.T) {
	t.Parallel()
	for write := 1; ; write++ {
		s := newStage(t, false)
		s.script = taken("Person 2")
		s.publish(checked(true))
		died := s.kill(write, func(ctx context.Context, a *app.App) error {
			_, err := a.CreateBatch(ctx, adaBy("one"), "checked", []byte(people(60)))
			return err
		})
		if died {
			must(s.app.CreateBatch(s.ctx, adaBy("one"), "checked", []byte(people(60))))(t)
		}
		s.deliverAll()
		s.tickAfter(5 * time.Minute)
		if c := s.batchOf(1).Checks; c.Passed != 49 || c.Failed != 11 || !c.Done {
			t.Errorf("killed after write %d: %+v", write, c)
		}
		s.wantCalls(1, "Free License")
		s.verify()
		if !died {
			break
		}
	}
}

// The same request, sent twice, is one; another one begins anew.
func TestARequestForChecksIsRepeated(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		b := s.createBatch(checked(false), people(2))
		s.deliverAll()
		by := adaBy("again")
		for i := range 2 {
			r := must(s.app.Check(s.ctx, by, b.ID, 0, "before the cut-over"))(t)
			if r.Members != 2 || r.Replayed != (i == 1) {
				t.Errorf("%+v", r)
			}
			s.deliverAll()
		}
		s.wantCalls(1, "Free License Free License")
		_, err := s.app.Check(s.ctx, by, b.ID, 1, "")
		s.wantRefused(err, api.CodeKeyReused, "request with other content")
		for _, key := range []string{"member", "again", "member"} {
			member := 1
			if key == "again" {
				member = 0
			}
			s.pass(time.Second)
			must(s.app.Check(s.ctx, adaBy(key), b.ID, member, ""))(t)
			s.deliverAll()
		}
		s.wantCalls(1, "Free License Free License Free License")
		records := 0
		for _, r := range s.listAudit(b.ID) {
			if r.Action == "check" {
				records++
			}
		}
		if records != 2 {
			t.Errorf("%d audit records", records)
		}
	})
}

func TestChecksThatCannotBeMadeAreRefused(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(wrong, people(1))
		for _, member := range []int{0, 1} {
			_, err := s.app.Check(s.ctx, ada, b.ID, member, "")
			s.wantRefused(err, api.CodeConflict, "version 1 of runbook repaired, which batch 1 follows, has no checks")
		}
		if c := s.batchOf(b.ID).Checks; c != nil {
			t.Errorf("%+v", c)
		}
	})
}

// The end of a batch does not wait for checks, and ends them: what a worker still does only reads, and
// nothing follows from it.
func TestChecksEndWithTheirBatch(t *testing.T) {
	for name, tt := range map[string]struct {
		free  func(message.Job) (string, error)
		after func(s *stage, id int)
		want  string
	}{
		"a result":   {fails(errLost), func(s *stage, id int) { s.answers(1, "Free", `{"complete":true}`, nil) }, "1/free=passed 1/license=not_run"},
		"a failure":  {fails(errLost), func(s *stage, id int) { s.answers(1, "Free", "", errNo) }, "1/free=failed 1/license=not_run"},
		"a retry":    {fails(errNo), func(s *stage, _ int) { s.pass(2 * time.Minute) }, "1/free=not_run 1/license=not_run"},
		"a deadline": {fails(errLost), func(s *stage, _ int) { s.pass(4 * time.Minute) }, "1/free=failed 1/license=not_run"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = taken("nobody")
				s.script["Free"] = tt.free
				b := s.createBatch(strings.Replace(checked(false), "function: Free, ", "function: Free, timeout: 2m, ", 1), people(1))
				s.deliverAll()
				s.advance(b.ID)
				s.deliverAll()
				s.advance(b.ID)
				s.deliverAll()
				s.wantStatus(b.ID, "completed")
				if c := s.batchOf(b.ID).Checks; c.Running != 0 || c.NotRun != 1 || !c.Done {
					t.Errorf("counts: %+v", c)
				}
				tt.after(s, b.ID)
				s.deliverAll()
				s.wantCalls(1, "Free New Go")
				run := must(store.Read[model.Run](s.ctx, s.store, store.RunKey(b.ID, model.CheckPhase, 1)))(t)
				if run.Doc.Status != model.RunCancelled || run.Doc.Error != model.ReasonEnded || run.Doc.Variables != nil {
					t.Errorf("the checks are %s: %s", run.Doc.Status, run.Doc.Error)
				}
				// A message that asked for the checks, and comes again after the end, ends them, too.
				if got := s.checkText(b.ID, api.ListOptions{}); got != tt.want && got != "1/free=not_run 1/license=not_run" {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// The workers are told of the cancellation of a batch that only has checks under way, and the checks end.
func TestChecksAreCancelledBeforeAPhaseBegins(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		s.script["Free"] = fails(errNo) // and is retried after a minute
		b := s.createBatch(checked(false), people(2))
		s.deliverAll()
		s.cancel(b.ID)
		s.deliverAll()
		s.wantStatus(b.ID, "cancelled")
		for member := 1; member <= 2; member++ {
			run := must(store.Read[model.Run](s.ctx, s.store, store.RunKey(b.ID, model.CheckPhase, member)))(t)
			if run.Doc.Status != model.RunCancelled {
				t.Errorf("the checks of member %d are %s", member, run.Doc.Status)
			}
		}
		s.pass(2 * time.Minute)
		s.wantCalls(1, "Free")
	})
}

// createUnchecked creates a batch with a process that ends before it asks for the checks.
func (s *stage) createUnchecked(yaml, members string) int {
	s.t.Helper()
	name := s.publish(yaml).Name
	for write := 1; ; write++ {
		died := s.kill(write, func(ctx context.Context, a *app.App) error {
			_, err := a.CreateBatch(ctx, adaBy("create"), name, []byte(members))
			return err
		})
		if !died {
			s.t.Fatal("no write creates the batch")
		}
		for id := 1; id <= write; id++ {
			if b, err := s.app.Batch(s.ctx, ada, id); err == nil && b.MemberCount > 0 {
				return id
			}
		}
	}
}

func TestAMessageThatAsksForChecksComesAgainAndRetriesNoOne(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("Person 2")
		b := s.createBatch(checked(true), people(3))
		s.deliverAll()
		s.wantMember(b.ID, 2, "failed")
		s.comesAgain(message.TypeBatchWork)
		s.wantGiven(2, "Free", 1)
		s.wantMember(b.ID, 2, "failed")
	})
}

func TestMembersAreCheckedAlsoIfOthersJoinBeforeTheirChecks(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		id := s.createUnchecked(checked(true), people(2))
		must(s.app.AddMembers(s.ctx, ada, id, []byte("Upn,Name\nlate@x,Late\n")))(t)
		s.deliverAll()
		s.tickAfter(5 * time.Minute)
		if c := s.batchOf(id).Checks; c.Passed != 3 || !c.Done {
			t.Errorf("%+v", c)
		}
	})
}

func TestACancelledBatchLetsGoMembersWhoseChecksHaveNotBegun(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = taken("nobody")
		id := s.createUnchecked(checked(true), people(2))
		must(s.app.Advance(s.ctx, ada, id, "create"))(t)
		s.deliverAll()
		must(s.app.Cancel(s.ctx, ada, id, "too early"))(t)
		s.deliverAll()
		for range 3 {
			s.tickAfter(5 * time.Minute)
		}
		s.wantStatus(id, "cancelled")
		s.wantCalls(1, "")
	})
}

func TestTheChecksOfAMemberWhoLeavesArePolledNoMore(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost), "Free": always(`{"complete":false}`), "License": always(`{"complete":true}`)}
		yaml := strings.Replace(checked(false), `Id: "{{UserId?}}"}`, `Id: "{{UserId?}}"}, poll: {interval: 10m, timeout: 5h}`, 1)
		b := s.startBatch(yaml, people(1))
		s.remove(b.ID, 1)
		polls := s.given(1, "Free")
		s.tickAfter(11 * time.Minute)
		s.tickAfter(11 * time.Minute)
		s.wantGiven(1, "Free", polls)
	})
}
