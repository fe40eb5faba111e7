package app_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

const reporting = `
name: reporting
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps: [{name: new, worker_id: worker-01, function: New}]
    on_complete:
      - {name: report, worker_id: worker-01, function: Report, output_params: {ReportId: id},
         params: {Members: "{{_phase_members}}", Text: "{{_phase_succeeded}} of {{_phase_members}}, {{_phase_failed}} failed, {{_phase_cancelled}} cancelled"}, on_failure: drop}
      - {name: tell, worker_id: worker-01, function: Tell, params: {Report: "{{ReportId}}", Batch: "{{_batch_id}}"}}
  - name: verify
    offset: T-0
    steps: [{name: check, worker_id: worker-01, function: Check}]
rollbacks:
  drop: [{name: drop, worker_id: worker-01, function: Drop}]
`

func TestOnCompleteRunsOnceWithTheCountsWhenAllMembersHaveEnded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": some(map[int]worker{1: fails(errNo), 2: fails(errLost), 3: fails(errLost)}), "Report": always(`{"id":"r1"}`)}
		b := s.pages(reporting, 3)
		s.advance(b.ID)
		s.wantCalls(0, "")
		must(s.app.RemoveMember(s.ctx, ada, b.ID, 2, ""))(t)
		s.deliverAll()
		s.answers(2, "New", "", errNo)
		s.wantCalls(0, "")
		s.answers(3, "New", "true", nil)
		s.wantCalls(0, "Report Tell")
		if v := s.step(b.ID, 0, "report"); string(v.Params) != `{"Members":3,"Text":"1 of 3, 1 failed, 1 cancelled"}` || v.Kind != "on_complete" {
			t.Errorf("%s %s", v.Kind, v.Params)
		}
		if v := s.step(b.ID, 0, "tell"); string(v.Params) != `{"Batch":1,"Report":"r1"}` {
			t.Errorf("%s", v.Params)
		}
		s.wantPhases(b.ID, "move completed 1/1/1, verify pending 0/0/0")
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
	})
}

// some answers some members each in their way; the others get true.
func some(members map[int]worker) worker {
	return func(j message.Job) (string, error) {
		if f := members[who(j)]; f != nil {
			return f(j)
		}
		return "true", nil
	}
}

func TestPhaseEndsAfterItsOnCompleteSteps(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Report": fails(errLost)}
		b := s.startBatch(reporting, people(2))
		s.wantPhases(b.ID, "move dispatched 2/0/0, verify pending 0/0/0")
		if p := s.phases(b.ID)[0]; p.OnComplete != "running" {
			t.Errorf("on_complete is %s", p.OnComplete)
		}
		s.wantRefused(errorOf(s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID))), api.CodeConflict, "it can be advanced when its on_complete steps have ended")
		s.answers(0, "Report", `{"id":"r"}`, nil)
		s.wantPhases(b.ID, "move completed 2/0/0, verify pending 0/0/0")
	})
}

func TestOnCompleteThatFailsFailsThePhaseAndIsRolledBack(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Report": fails(errNo)}
		b := s.startBatch(reporting, people(2))
		s.wantCalls(0, "Report Drop")
		s.wantPhases(b.ID, "move failed 2/0/0, verify pending 0/0/0")
		if p := s.phases(b.ID)[0]; p.OnComplete != "failed" || p.Reason != `on_complete: step "report": no (Test)` {
			t.Errorf("on_complete %s, %s", p.OnComplete, p.Reason)
		}
		s.wantMember(b.ID, 1, "active")
		s.advance(b.ID) // the members are none the worse for it
		s.wantPhases(b.ID, "move failed 2/0/0, verify completed 2/0/0")
		s.wantStatus(b.ID, "completed")
	})
}

func TestOnCompleteIsRetriedAsItsPolicySays(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Report": inTurn(fails(errNo), always(`{"id":"r"}`))}
		b := s.startBatch("retry: {max_retries: 1, interval: 1m}\n"+reporting, people(1))
		s.pass(time.Minute)
		s.wantCalls(0, "Report Report Tell")
		s.wantPhases(b.ID, "move completed 1/0/0, verify pending 0/0/0")
	})
}

func TestOnCompleteThatFailedIsRetriedByHandAndThePhaseIsCompleted(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Report": inTurn(fails(errNo), always(`{"id":"r"}`))}
		b := s.startBatch(reporting, people(2))
		s.advance(b.ID)
		s.wantPhases(b.ID, "move failed 2/0/0, verify completed 2/0/0")
		must(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{}, Reason: "the mail is back"}))(t)
		s.deliverAll()
		s.wantCalls(0, "Report Drop Report Tell")
		s.wantPhases(b.ID, "move completed 2/0/0, verify completed 2/0/0")
		s.wantStatus(b.ID, "completed")
	})
}

func TestOnCompleteIsNotRunAgainWhenALateMemberReopensThePhase(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Report": always(`{"id":"r"}`)}
		b := s.startBatch(reporting, people(2))
		s.wantCalls(0, "Report Tell")
		s.add(b.ID, "late@x")
		s.wantCalls(3, "New")
		s.wantCalls(0, "Report Tell")
		s.wantPhases(b.ID, "move completed 3/0/0, verify pending 0/0/0")
	})
}

func TestOnCompleteWaitsForTheMemberWhoJoinedBeforeIt(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errLost), 1, 3), "Report": always(`{"id":"r"}`)}
		b := s.startBatch(reporting, people(2))
		s.add(b.ID, "late@x")
		s.answers(1, "New", "true", nil)
		s.wantCalls(0, "")
		s.answers(3, "New", "true", nil)
		s.wantCalls(0, "Report Tell")
		if v := s.step(b.ID, 0, "report"); !strings.Contains(string(v.Params), "3 of 3") {
			t.Errorf("%s", v.Params)
		}
	})
}

func TestPhaseInWhichNobodyTookPartRunsNoOnComplete(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(reporting, people(1))
		must(s.app.RemoveMember(s.ctx, ada, b.ID, 1, ""))(t)
		s.deliverAll()
		s.advance(b.ID)
		s.wantCalls(0, "")
		s.wantPhases(b.ID, "move failed 0/0/0, verify pending 0/0/0")
		if p := s.phases(b.ID)[0]; p.Reason != "no active member was left to take part" {
			t.Errorf("told: %s", p.Reason)
		}
	})
}

// The message that ended the last member may not come again, for example after a removal: the
// tick alone continues interrupted on-complete steps.
func TestOnCompleteThatWasCutShortIsTakenUpByTheTick(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"New": fails(errLost), "Report": always(`{"id":"r1"}`)}
		b := s.startBatch(reporting, people(1))
		j := s.jobs[len(s.jobs)-1]
		body := must(json.Marshal(message.Result{JobID: j.JobID, Status: message.StatusSuccess, Result: json.RawMessage("true"), Timestamp: s.clock.Now(), CorrelationData: j.CorrelationData}))(t)
		cut := s.kill(write, func(ctx context.Context, a *app.App) error {
			return a.HandleResult(ctx, message.Delivery{ID: "result", Body: body, DeliveryCount: 1})
		})
		for range 3 {
			s.tickAfter(model.TickInterval)
		}
		s.wantCalls(0, "Report Tell")
		s.wantPhases(b.ID, "move completed 1/0/0, verify pending 0/0/0")
		return cut
	})
}

// TestOnCompleteThatWasCutShortIsTakenUpInAStoppedBatch: the tick sends the first job of
// on_complete steps also while the batch is paused or cancelled. Its worker answers that the job
// is revoked, so that a pause does not fail the steps and a cancellation does not wait for their
// deadline.
func TestOnCompleteThatWasCutShortIsTakenUpInAStoppedBatch(t *testing.T) {
	t.Parallel()
	for _, cancels := range []bool{false, true} {
		t.Run(map[bool]string{false: "paused", true: "cancelled"}[cancels], func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				stopped := false
				s.script = script{"New": fails(errLost), "Report": func(message.Job) (string, error) {
					if stopped {
						return "", &testenv.Failure{JobError: message.JobError{Message: "the batch was stopped", Type: message.ErrorJobRevoked}}
					}
					return `{"id":"r1"}`, nil
				}}
				b := s.startBatch(reporting, people(1))
				j := s.jobs[len(s.jobs)-1]
				body := must(json.Marshal(message.Result{JobID: j.JobID, Status: message.StatusSuccess, Result: json.RawMessage("true"), Timestamp: s.clock.Now(), CorrelationData: j.CorrelationData}))(t)
				cut := s.kill(write, func(ctx context.Context, a *app.App) error {
					return a.HandleResult(ctx, message.Delivery{ID: "result", Body: body, DeliveryCount: 1})
				})
				if !cut {
					return false
				}
				stopped = true // the result does not come again, as what ended the phase need not
				if cancels {
					s.cancel(b.ID)
				} else {
					s.pause(b.ID)
				}
				for range 2 {
					s.tickAfter(model.TickInterval)
				}
				if cancels {
					s.wantStatus(b.ID, "cancelled")
					return true
				}
				for range 10 {
					s.tickAfter(model.TickInterval)
				}
				stopped = false
				s.resume(b.ID)
				s.tick()
				s.wantPhases(b.ID, "move completed 1/0/0, verify pending 0/0/0")
				return true
			})
		})
	}
}

// TestOnCompleteThatIsTakenUpInABatchThatHadEndedIsSwept: a batch that had ended goes on with its
// on_complete steps. If the process dies before it lists the batch as open, no tick would look
// after these steps.
func TestOnCompleteThatIsTakenUpInABatchThatHadEndedIsSwept(t *testing.T) {
	t.Parallel()
	retry := func(s *stage, id int) func(context.Context, *app.App) error {
		must(s.app.Repair(s.ctx, ada, id, api.Repair{Selection: api.Selection{}, Reason: "again"}))(t)
		s.park = ofType(message.TypeBatchWork)
		s.deliverAll()
		work := s.parked[0]
		return work.handle
	}
	skip := func(s *stage, id int) func(context.Context, *app.App) error {
		return func(ctx context.Context, a *app.App) error {
			return errorOf(a.SkipStep(ctx, ada, id, s.step(id, 0, "report").ID, "no need"))
		}
	}
	for name, begin := range map[string]func(*stage, int) func(context.Context, *app.App) error{"retried": retry, "skipped": skip} {
		t.Run(name, func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				s.script = script{"Report": fails(errNo)}
				b := s.startBatch(strings.NewReplacer(", output_params: {ReportId: id}", "", `"{{ReportId}}"`, `"r"`).Replace(reporting), people(1))
				s.advance(b.ID)
				s.wantStatus(b.ID, "completed")
				s.pass(20 * time.Minute) // beyond what the broker remembers
				s.script = script{"Report": fails(errLost), "Tell": fails(errLost)}
				cut := s.kill(write, begin(s, b.ID))
				s.unpark()
				s.pass(time.Minute)
				s.wantListed(b.ID)
				return cut
			})
		})
	}
}

// wantListed checks that the list of batches has a batch as the batch itself is.
func (s *stage) wantListed(id int) {
	s.t.Helper()
	b := must(store.Read[model.Batch](s.ctx, s.store, store.BatchKey(id)))(s.t)
	listed := must(store.Read[store.BatchSummary](s.ctx, s.store, store.EntryKey(id)))(s.t)
	if want := store.SummaryOf(&b.Doc); !reflect.DeepEqual(listed.Doc, want) {
		s.t.Fatalf("listed as %+v, want %+v", listed.Doc, want)
	}
}
