package app_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
)

func TestCancelledInTheMiddleOfAFanOutNoOtherPageBegins(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errLost), 1)}
		s.park = ofType(message.TypePhaseDue, `"Page":2`)
		b := s.pages(twoSteps, 2)
		s.advance(b.ID)
		s.cancel(b.ID)
		s.unpark()
		s.revokes()
		s.pass(5 * time.Second)
		s.wantCalls(2, "")
		s.wantSteps(b.ID, 1, "new cancelled, join cancelled")
		s.wantStatus(b.ID, "cancelled")
		s.wantPhases(b.ID, "first cancelled 0/0/1, second cancelled 0/0/0")
	})
}

func TestCancelledInAStepItsResultIsKeptAndNothingFollows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		result string
		err    error
		step   string
	}{"succeeded": {`{"a":1}`, nil, "succeeded"}, "failed": {"null", errNo, "failed"}} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"New": fails(errLost)}
				b := s.startBatch("retry: {max_retries: 5, interval: 1s}\n"+twoSteps, people(1))
				s.cancel(b.ID)
				s.wantStatus(b.ID, "cancelling")
				s.answers(1, "New", tt.result, tt.err)
				s.pass(5 * time.Second)
				s.wantStatus(b.ID, "cancelled")
				s.pass(time.Hour)
				s.wantCalls(1, "New")
				s.wantSteps(b.ID, 1, "new "+tt.step+", join cancelled")
				if v := s.step(b.ID, 1, "new"); tt.err == nil && string(v.Result) != tt.result {
					t.Errorf("the result: %s", v.Result)
				}
				s.wantPhases(b.ID, "first cancelled 0/0/1, second cancelled 0/0/0")
				s.wantMember(b.ID, 1, "active")
			})
		})
	}
}

func TestCancelledWhileItPolls(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": always(unfinished)}
		b := s.startBatch(polling, people(2))
		s.cancel(b.ID)
		s.wantStatus(b.ID, "cancelling")
		s.pass(30 * time.Second) // the poll that was sent ahead is refused
		s.pass(10 * time.Second)
		s.wantCalls(1, "Copy")
		s.wantSteps(b.ID, 1, "copy cancelled, tell cancelled") // it was not seen to fail: it is not rolled back
		s.wantPhases(b.ID, "move cancelled 0/0/2")
		s.wantStatus(b.ID, "cancelled")
	})
}

func TestCancelledWhileARetryWaits(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo)}
		b := s.startBatch("retry: {max_retries: 1, interval: 1m}\n"+twoSteps, people(2))
		s.cancel(b.ID)
		s.pass(time.Minute)
		s.wantCalls(1, "New")
		s.wantPhases(b.ID, "first cancelled 0/0/2, second cancelled 0/0/0")
		s.wantStatus(b.ID, "cancelled")
	})
}

func TestCancelledBetweenPhasesWhatWasDoneStaysDone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(3))
		s.cancel(b.ID)
		s.wantPhases(b.ID, "first completed 3/0/0, second cancelled 0/0/0")
		s.wantStatus(b.ID, "cancelled")
	})
}

func TestCancelledBeforeAnythingBegan(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(mover, people(3))
		s.cancel(b.ID)
		s.wantStatus(b.ID, "cancelled")
		s.pass(time.Hour)
		s.wantCalls(0, "")
	})
}

func TestCancelledInInit(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Prepare": fails(errLost)}
		b := s.startBatch(mover, people(1))
		s.cancel(b.ID)
		s.wantStatus(b.ID, "cancelling")
		s.answers(0, "Prepare", "true", nil)
		s.wantSteps(b.ID, 0, "prepare succeeded")
		s.pass(5 * time.Second)
		s.wantStatus(b.ID, "cancelled")
		s.wantCalls(1, "")
	})
}

func TestCancelledWhilePaused(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(twoSteps, people(2))
		s.pause(b.ID)
		s.answers(1, "New", "true", nil) // held before its next step
		s.cancel(b.ID)
		s.wantSteps(b.ID, 1, "new succeeded, join cancelled")
		s.wantSteps(b.ID, 2, "new queued, join pending")
		s.revokes()
		s.wantSteps(b.ID, 2, "new cancelled, join cancelled")
		if v := s.step(b.ID, 2, "new"); !strings.Contains(v.Error, message.ErrorJobRevoked) {
			t.Errorf("the step that was revoked says %q", v.Error)
		}
		s.pass(5 * time.Second)
		s.wantPhases(b.ID, "first cancelled 0/0/2, second cancelled 0/0/0")
		s.wantStatus(b.ID, "cancelled")
	})
}

func TestCancelledWhileMembersWaitForTheirEarlierPhase(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"A": only(fails(errLost), 1)}
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 2, dawn)
		s.wantPhases(id, "a dispatched 1/0/0+1, b dispatched 1/0/0+1, c dispatched 1/0/0+1")
		s.cancel(id)
		s.revokes()
		s.pass(5 * time.Second)
		s.wantPhases(id, "a cancelled 1/0/1, b cancelled 1/0/1, c cancelled 1/0/1")
		s.wantStatus(id, "cancelled")
	})
}

func TestCancelledWhileARollbackRunsItIsCarriedToItsEndFirst(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": some(map[int]worker{1: fails(errNo), 2: fails(errLost)}), "Stop": fails(errLost)}
		b := s.startBatch(undoable, people(2))
		s.wantCalls(1, "New Stop")
		s.cancel(b.ID)
		s.wantStatus(b.ID, "cancelling")
		s.wantSteps(b.ID, 1, "new failed, copy cancelled, tell cancelled, stop queued, delete pending, alert pending")
		s.answers(1, "Stop", "true", nil)
		s.wantCalls(1, "New Stop Delete Alert")
		s.answers(2, "New", "", errNo) // which is neither retried nor rolled back
		s.wantCalls(2, "New")
		s.pass(5 * time.Second) // it looks again
		s.wantStatus(b.ID, "cancelled")
		s.wantPhases(b.ID, "move cancelled 0/1/1, verify cancelled 0/0/0")
		s.wantMember(b.ID, 1, "failed")
	})
}

// A rollback may wait for hours. Each check reads the open runs of the batch.
func TestCancelledBatchChecksItsRollbacksLessOftenTheLongerTheyTake(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	m := newMeter(s)
	s.script = script{"New": fails(errNo), "Stop": fails(errLost)}
	s.publish(undoable)
	b := s.batch("undoable", people(1))
	s.advance(b.ID)
	s.cancel(b.ID)
	checks := func() int64 { return m.costs[message.TypeBatchWork].messages }
	for _, c := range []struct {
		minutes int
		most    int64
	}{{1, 14}, {9, 40}, {10, 12}} {
		before := checks()
		for range c.minutes * 60 {
			s.pass(time.Second)
		}
		if n := checks() - before; n < int64(c.minutes)-1 || n > c.most {
			t.Errorf("%d checks in %d minutes, want at most %d", n, c.minutes, c.most)
		}
	}
	s.answers(1, "Stop", "true", nil)
	s.pass(time.Minute)
	s.wantCalls(1, "New Stop Delete Alert")
	s.wantStatus(b.ID, "cancelled")
}

func TestCancelledWhileAPausedRollbackIsHeldItIsLetGo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo), "Stop": fails(errLost)}
		b := s.startBatch(undoable, people(1))
		s.pause(b.ID)
		s.answers(1, "Stop", "true", nil)
		s.wantCalls(1, "New Stop")
		s.cancel(b.ID)
		s.pass(5 * time.Second)
		s.wantCalls(1, "New Stop Delete Alert")
		s.wantStatus(b.ID, "cancelled")
	})
}

func TestCancelledWhileOnCompleteRuns(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Report": fails(errLost)}
		b := s.startBatch(reporting, people(2))
		s.wantCalls(0, "Report")
		s.cancel(b.ID)
		s.wantStatus(b.ID, "cancelling")
		s.revokes()
		s.pass(5 * time.Second)
		s.wantStatus(b.ID, "cancelled")
		s.wantSteps(b.ID, 0, "report cancelled, tell cancelled")
		s.wantPhases(b.ID, "move cancelled 2/0/0, verify cancelled 0/0/0")
	})
}

func TestCancelledBatchTakesNoOtherWish(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(fails(errNo), fails(errNo), fails(errLost))}
		b := s.createBatch(twoSteps, people(2))
		s.advance(b.ID) // both members fail
		failed := s.step(b.ID, 1, "new")
		s.cancel(b.ID)
		for range 2 {
			if v := must(s.app.Cancel(s.ctx, grace, b.ID, "again"))(t); v.Cancelled.By != "ada" || v.Cancelled.Why != "enough" {
				t.Errorf("cancelled by %+v", v.Cancelled)
			}
		}
		s.wantRefused(errorOf(s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID))), api.CodeConflict, "it cannot be advanced")
		s.wantRefused(errorOf(s.app.Pause(s.ctx, ada, b.ID, "")), api.CodeConflict, "it cannot be paused")
		s.wantRefused(errorOf(s.app.Resume(s.ctx, ada, b.ID, "")), api.CodeConflict, "it cannot be resumed")
		s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, b.ID, []byte("Upn,Name\nlate@x,Late\n"))), api.CodeConflict, "no member can be added")
		s.wantRefused(errorOf(s.app.RemoveMember(s.ctx, ada, b.ID, 1, "")), api.CodeConflict, "no member can be removed")
		s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{}})), api.CodeConflict, "it has nothing to retry")
		s.wantRefused(errorOf(s.app.SkipStep(s.ctx, ada, b.ID, failed.ID, "")), api.CodeConflict, "nothing can be retried")
		s.wantRefused(errorOf(s.app.Approve(s.ctx, ada, b.ID, "second", "")), api.CodeConflict, "there is nothing to approve")
		s.deliverAll()
		s.wantStatus(b.ID, "cancelled")
		var cancels int
		for _, r := range s.listAudit(b.ID) {
			if r.Action == "cancel" {
				cancels++
			}
		}
		if cancels != 1 {
			t.Errorf("it was cancelled %d times: %+v", cancels, s.listAudit(b.ID))
		}
	})
}

func TestBatchThatHasEndedIsNotCancelled(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(oneStep(""), people(1))
		s.wantRefused(errorOf(s.app.Cancel(s.ctx, ada, b.ID, "")), api.CodeConflict, "has ended (completed): it cannot be cancelled")
	})
}

// The process that takes the last result of a rollback dies before the page is counted:
// its phase would look unfinished for ever.
func TestCancelledBatchCountsWhatEndsLastWhereverThatWasCutShort(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"New": fails(errNo), "Alert": fails(errLost)}
		b := s.startBatch(undoable, people(1))
		s.cancel(b.ID)
		s.wantStatus(b.ID, "cancelling")
		j := s.jobs[len(s.jobs)-1]
		body := must(json.Marshal(message.Result{JobID: j.JobID, Status: message.StatusSuccess, Result: json.RawMessage("true"), CorrelationData: j.CorrelationData}))(t)
		cut := s.kill(write, func(ctx context.Context, a *app.App) error {
			return a.HandleResult(ctx, message.Delivery{ID: j.JobID, Body: body, DeliveryCount: 1})
		})
		s.pass(5 * time.Second)
		s.wantStatus(b.ID, "cancelled")
		s.wantPhases(b.ID, "move failed 0/1/0, verify cancelled 0/0/0")
		return cut
	})
}

// The work of a cancellation can be lost on the way: the tick takes it up again.
func TestCancellationWhoseWorkIsLostIsMadeUpForByTheTick(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.pages(twoSteps, 3)
		s.advance(b.ID)
		s.park = ofType(message.TypeBatchWork)
		s.cancel(b.ID)
		s.wantStatus(b.ID, "cancelling")
		s.park, s.parked = nil, nil
		s.revokes()
		s.tickAfter(5 * time.Minute)
		s.wantStatus(b.ID, "cancelled")
		s.wantPhases(b.ID, "first cancelled 0/0/3, second cancelled 0/0/0")
	})
}
