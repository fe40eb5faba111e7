package app_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// leaving adds removal steps to a runbook.
func leaving(yaml string) string {
	return yaml + `
on_member_removed:
  - {name: forward, worker_id: worker-01, function: Forward, params: {Name: "{{Name}}"}}
  - {name: close, worker_id: worker-01, function: Close}
`
}

func TestMemberRemovedBetweenPhasesTakesPartInNothingMoreAndTheRemovalIsTracked(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(leaving(twoSteps), people(2))
		s.remove(b.ID, 2)
		s.wantCalls(2, "New Join Forward Close")
		s.wantSteps(b.ID, 2, "new succeeded, join succeeded, forward succeeded, close succeeded")
		if v := s.step(b.ID, 2, "forward"); v.Kind != "removal" || v.RunbookVersion != 1 || string(v.Params) != `{"Name":"Person 2"}` || v.CompletedAt == nil {
			t.Errorf("%+v", v)
		}
		s.advance(b.ID)
		s.wantPhases(b.ID, "first completed 2/0/0, second completed 1/0/0, on_member_removed completed 1/0/0")
		s.wantStatus(b.ID, "completed")
		records := s.listAudit(b.ID)
		if !strings.Contains(auditText(records), "ada remove_member member 2 (p002@x): left the company") {
			t.Errorf("the trail: %s", auditText(records))
		}
	})
}

func auditText(records []api.AuditRecord) string {
	var out []string
	for _, r := range records {
		out = append(out, strings.TrimSpace(r.By+" "+r.Action+" "+r.Target)+": "+r.Why)
	}
	return strings.Join(out, " | ")
}

// What undoes a step begins when the step's job has ended: else the job would have its
// effect after the undo, for good.
func TestUndoOfARemovedMemberWaitsForTheJobInFlight(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errLost), 2)}
		b := s.startBatch(leaving(twoSteps), people(2))
		s.remove(b.ID, 2)
		s.remove(b.ID, 2)
		s.wantMember(b.ID, 2, "removed")
		s.wantCalls(2, "New")
		s.wantSteps(b.ID, 2, "new queued, join pending, forward pending, close pending")
		s.tick()
		s.wantCalls(2, "New")
		s.answers(2, "New", "true", nil)
		s.wantCalls(2, "New Forward Close")
		s.wantSteps(b.ID, 2, "new succeeded, join cancelled, forward succeeded, close succeeded")
		s.wantPhases(b.ID, "first completed 1/0/1, second pending 0/0/0, on_member_removed completed 1/0/0")
	})
}

// In a cancelled batch the job in flight ends the run as it is: there is nothing to note.
func TestRemovalInACancelledBatchDoesNotPollTheStoreUntilTheJobEnds(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.script = script{"New": fails(errLost)}
	b := s.startBatch(leaving(twoSteps), people(1))
	s.park = ofType(message.TypeMemberRemoved)
	s.remove(b.ID, 1)
	s.cancel(b.ID)
	left := s.parked[0]
	ctx, stop := context.WithCancel(s.ctx)
	defer stop()
	var reads atomic.Int64
	remove := s.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Read}, Match: func(cosmos.Request) bool {
		if reads.Add(1) == 100 {
			stop()
		}
		return false
	}})
	defer remove()
	if err := left.handle(ctx, s.app); err != nil || reads.Load() >= 100 {
		t.Fatalf("%v, after %d reads", err, reads.Load())
	}
	s.unpark()
	s.wantCalls(1, "New")
	s.answers(1, "New", "true", nil)
	s.wantCalls(1, "New Forward Close")
	s.pass(5 * time.Second)
	s.wantStatus(b.ID, "cancelled")
	s.verify()
}

func TestUndoOfARemovedMemberWaitsForTheDeadlineOfALostJob(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(leaving(strings.Replace(twoSteps, "function: New", "function: New, timeout: 3m, retry: {max_retries: 2, interval: 1s}", 1)), people(1))
		s.remove(b.ID, 1)
		s.pass(3*time.Minute + runstate.JobGracePeriod - time.Second)
		s.wantCalls(1, "New")
		s.pass(time.Second)
		s.wantCalls(1, "New Forward Close")
		s.wantSteps(b.ID, 1, "new failed, join cancelled, forward succeeded, close succeeded")
	})
}

func TestMemberRemovedWhilePollingOrWaitingForARetry(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]string{"polling": polling, "retry": "retry: {max_retries: 1, interval: 30s}\n" + strings.Replace(oneStep(""), "function: Do", "function: Copy", 1)} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"Copy": fails(errNo)}
				if name == "polling" {
					s.script["Copy"] = always(unfinished)
				}
				s.publish(yaml + "on_member_removed: [{name: close, worker_id: worker-01, function: Close}]\n")
				b := s.batch(map[string]string{"polling": "polling", "retry": "one"}[name], people(1))
				s.advance(b.ID)
				s.remove(b.ID, 1)
				s.pass(30 * time.Second)
				s.wantCalls(1, map[string]string{"polling": "Copy Copy Close", "retry": "Copy Close"}[name]) // the poll was sent before
				s.wantMember(b.ID, 1, "removed")
				if got := s.phases(b.ID)[0]; got.Cancelled != 1 || got.Status != "failed" {
					t.Errorf("%+v", got)
				}
				s.wantStatus(b.ID, "failed")
			})
		})
	}
}

func TestMemberRemovedWhileRollingBackIsRolledBackFirst(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo), "Stop": fails(errLost)}
		b := s.startBatch(leaving(undoable), people(1))
		s.remove(b.ID, 1)
		s.wantCalls(1, "New Stop")
		s.answers(1, "Stop", "true", nil)
		s.wantCalls(1, "New Stop Delete Alert Forward Close")
		s.wantMember(b.ID, 1, "removed")
	})
}

func TestMemberRemovedWithPhasesThatWaitForIt(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"A": only(fails(errLost), 1)}
		yaml := leaving(overlapping)
		s.publish(yaml)
		const id = 100
		s.schedule(id, yaml, 2, dawn)
		s.wantPhases(id, "a dispatched 1/0/0+1, b dispatched 1/0/0+1, c dispatched 1/0/0+1")
		s.remove(id, 1)
		s.wantCalls(1, "A")
		s.answers(1, "A", "true", nil)
		s.wantCalls(1, "A Forward Close")
		s.wantPhases(id, "a completed 2/0/0, b completed 1/0/1, c completed 1/0/1, on_member_removed completed 1/0/0")
		s.wantStatus(id, "completed")
	})
}

func TestBatchWaitsForTheRemovalSteps(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Forward": fails(errLost)}
		b := s.startBatch(leaving(twoSteps), people(2))
		s.remove(b.ID, 2)
		s.advance(b.ID)
		s.wantPhases(b.ID, "first completed 2/0/0, second completed 1/0/0, on_member_removed dispatched 0/0/0+1")
		s.wantStatus(b.ID, "active")
		s.answers(2, "Forward", "true", nil)
		s.wantPhases(b.ID, "first completed 2/0/0, second completed 1/0/0, on_member_removed completed 1/0/0")
		s.wantStatus(b.ID, "completed")
	})
}

func TestRemovalStepThatFailsIsRetriedRolledBackAndReported(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Forward": fails(errNo)}
		s.publish("retry: {max_retries: 1, interval: 1m}\n" + strings.Replace(leaving(undoable), `function: Forward,`, `function: Forward, on_failure: undo,`, 1))
		s.script["New"] = always(`{"id":"u"}`)
		b := s.batch("undoable", people(2))
		s.advance(b.ID)
		s.remove(b.ID, 2)
		s.pass(time.Minute)
		s.wantCalls(2, "New Copy Tell Forward Forward Stop Delete Alert")
		if m := s.member(b.ID, 2); m.Status != "removed" || m.Error != `phase on_member_removed: step "forward": no (Test)` {
			t.Errorf("%s: %s", m.Status, m.Error)
		}
		s.advance(b.ID)
		s.wantPhases(b.ID, "move completed 2/0/0, verify completed 1/0/0, on_member_removed completed 0/1/0")
		s.wantStatus(b.ID, "completed")
	})
}

func TestRemovalAskedForByManyAtOnceIsCarriedOutOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(leaving(twoSteps), people(3))
		s.atOnce(6, func(i int, process *app.App) error {
			return errorOf(process.RemoveMember(s.ctx, ada, b.ID, 2+i%2, ""))
		})
		s.deliverAll()
		s.remove(b.ID, 2)
		s.answers(2, "New", "true", nil)
		s.answers(3, "New", "true", nil)
		s.wantCalls(2, "New Forward Close")
		s.wantCalls(3, "New Forward Close")
		if got := strings.Count(auditText(s.listAudit(b.ID)), "remove_member"); got != 2 {
			t.Errorf("%d removals in the trail", got)
		}
	})
}

func TestWhoCannotBeRemoved(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 1)}
		b := s.startBatch(leaving(twoSteps), people(2))
		s.wantRefused(errorOf(s.app.RemoveMember(s.ctx, ada, b.ID, 1, "")), api.CodeConflict, "member 1 has failed")
		s.wantRefused(errorOf(s.app.RemoveMember(s.ctx, ada, b.ID, 9, "")), api.CodeNotFound, "batch 1 has no member 9")
		s.advance(b.ID)
		s.wantRefused(errorOf(s.app.RemoveMember(s.ctx, ada, b.ID, 2, "")), api.CodeConflict, "has ended (completed): no member can be removed")
	})
}

func TestMemberRemovedFromAPausedBatchIsCleanedUpAtTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(leaving(twoSteps), people(2))
		s.pause(b.ID)
		s.remove(b.ID, 2)
		s.wantMember(b.ID, 2, "removed")
		s.wantCalls(2, "New Join")
		s.resume(b.ID)
		s.wantCalls(2, "New Join Forward Close")
	})
}

func TestCancelledBatchCarriesRemovalStepsToTheirEnd(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Forward": fails(errLost)}
		b := s.startBatch(leaving(twoSteps), people(2))
		s.remove(b.ID, 2)
		s.cancel(b.ID)
		s.wantStatus(b.ID, "cancelling")
		s.answers(2, "Forward", "true", nil)
		s.wantCalls(2, "New Join Forward Close")
		s.pass(5 * time.Second)
		s.wantStatus(b.ID, "cancelled")
		s.wantPhases(b.ID, "first completed 2/0/0, second cancelled 0/0/0, on_member_removed completed 1/0/0")
	})
}

func TestRemovalWhoseMessageIsLostIsMadeUpForByTheTick(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(leaving(twoSteps), people(2))
		s.park = ofType(message.TypeMemberRemoved)
		s.remove(b.ID, 2)
		s.park, s.parked = nil, nil
		s.wantCalls(2, "New Join")
		s.tick()
		s.wantCalls(2, "New Join Forward Close")
	})
}
