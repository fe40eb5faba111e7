package app_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Requests that cross work under way and the requests of others.

func TestAdvanceAskedForByManyAtOnceIsOne(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(twoSteps, people(3))
		s.atOnce(6, func(_ int, process *app.App) error {
			v, err := process.Advance(s.ctx, ada, b.ID, "first")
			if v.Advanced != "first" {
				t.Errorf("advanced to %s", v.Advanced)
			}
			return err
		})
		s.deliverAll()
		s.wantPhases(b.ID, "first completed 3/0/0, second pending 0/0/0")
		s.wantCalls(1, "New Join")
		if got := strings.Count(auditText(s.listAudit(b.ID)), "advance"); got != 1 {
			t.Errorf("%d advances in the trail", got)
		}
	})
}

func TestPausesAndResumptionsInTheMiddleOfEverythingLoseNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{
			"New":  some(map[int]worker{2: inTurn(fails(errNo), always("true")), 3: fails(errNo)}),
			"Join": always("true"),
		}
		b := s.pages("retry: {max_retries: 1, interval: 1s}\n"+twoSteps, 2)
		s.add(b.ID, "third@x", "fourth@x", "fifth@x", "sixth@x")
		must(s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID)))(t)
		var all sync.WaitGroup
		for _, process := range []*app.App{s.app, s.other} {
			s.asking.Add(1)
			all.Go(func() {
				defer s.asking.Add(-1)
				for range 5 {
					if _, err := process.Pause(s.ctx, ada, b.ID, ""); err != nil {
						t.Error(describe(err))
					}
					if _, err := process.Resume(s.ctx, ada, b.ID, ""); err != nil {
						t.Error(describe(err))
					}
				}
			})
		}
		s.deliverAll()
		all.Wait()
		s.resume(b.ID)
		for range 3 {
			s.pass(time.Second)
		}
		s.wantPhases(b.ID, "first completed 5/1/0, second pending 0/0/0")
		for member := 1; member <= 6; member++ {
			s.wantCalls(member, map[int]string{2: "New New Join", 3: "New New"}[member]+map[bool]string{true: "", false: "New Join"}[member == 2 || member == 3])
		}
	})
}

func TestCancellationInTheMiddleOfEverythingEndsEverything(t *testing.T) {
	t.Parallel()
	for name, yaml := range map[string]string{"of steps": leaving(undoable), "of polls": polling, "of on_complete": reporting} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"New": some(map[int]worker{1: always(`{"id":"u"}`), 2: fails(errNo), 3: always(`{"id":"u"}`), 4: fails(errLost)}), "Copy": always(unfinished)}
				b := s.pages(yaml, 2)
				s.add(b.ID, "third@x", "fourth@x")
				must(s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID)))(t)
				var all sync.WaitGroup
				for _, process := range []*app.App{s.app, s.other} {
					s.asking.Add(1)
					all.Go(func() {
						defer s.asking.Add(-1)
						if _, err := process.Cancel(s.ctx, ada, b.ID, ""); err != nil {
							t.Error(describe(err))
						}
					})
				}
				s.deliverAll()
				all.Wait()
				s.deliverAll()
				for range 4 {
					s.pass(5 * time.Second)
				}
				if s.calls(4) != "" { // the worker may have the job that it never answers: the batch waits for its deadline
					s.tickAfter(31 * time.Minute)
					s.pass(5 * time.Second) // the next check of the batch
				}
				s.wantStatus(b.ID, "cancelled")
				calls := len(s.jobs)
				s.tickAfter(time.Hour)
				if len(s.jobs) != calls {
					t.Errorf("%d jobs came after the end", len(s.jobs)-calls)
				}
			})
		})
	}
}

// For a second another process may still take the batch to be open: what it sends
// then is ended with the rest.
func TestResultThatCrossesTheCancellationLeadsToNothingThatLasts(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost), "Join": fails(errLost)}
		b := s.startBatch(twoSteps, people(2))
		s.park = ofType(message.TypeBatchWork)
		must(s.other.Cancel(s.ctx, ada, b.ID, ""))(t)
		s.answers(1, "New", "true", nil)
		s.unpark()
		s.revokes()
		s.pass(5 * time.Second)
		s.wantStatus(b.ID, "cancelled")
		s.wantPhases(b.ID, "first cancelled 0/0/2, second cancelled 0/0/0")
	})
}

func TestCancelledWhileLateMembersCatchUp(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(1))
		s.park = ofType(message.TypeMemberAdded)
		s.add(b.ID, "late@x")
		s.cancel(b.ID)
		s.unpark()
		s.pass(5 * time.Second)
		s.wantCalls(2, "")
		s.wantStatus(b.ID, "cancelled")
	})
}

func TestLateMemberRemovedBeforeItCaughtUp(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(leaving(twoSteps), people(1))
		s.park = ofType(message.TypeMemberAdded)
		s.add(b.ID, "late@x")
		s.remove(b.ID, 2)
		s.unpark()
		s.wantCalls(2, "Forward Close")
		s.advance(b.ID)
		s.wantPhases(b.ID, "first completed 1/0/0, second completed 1/0/0, on_member_removed completed 1/0/0")
		s.wantStatus(b.ID, "completed")
	})
}

func TestMemberRemovedWhileHeldByAPause(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errLost), 1)}
		b := s.startBatch(leaving(twoSteps), people(2))
		s.pause(b.ID)
		s.answers(1, "New", "true", nil) // held before its next step
		s.remove(b.ID, 1)
		s.wantSteps(b.ID, 1, "new succeeded, join cancelled, forward pending, close pending")
		s.resume(b.ID)
		s.wantCalls(1, "New Forward Close")
		s.wantPhases(b.ID, "first completed 1/0/1, second pending 0/0/0, on_member_removed completed 1/0/0")
	})
}

func TestBatchThatEndedWithARemovalAndGoesOnTakesAnother(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Check": some(map[int]worker{1: inTurn(fails(errNo), fails(errLost))})}
		b := s.startBatch(leaving(twoSteps), people(3))
		s.remove(b.ID, 3)
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
		s.retry(b.ID, api.Selection{})
		s.wantStatus(b.ID, "active")
		s.remove(b.ID, 2)
		s.wantCalls(2, "New Join Check Forward Close")
		s.answers(1, "Check", "true", nil)
		s.wantPhases(b.ID, "first completed 3/0/0, second completed 2/0/0, on_member_removed completed 2/0/0")
		s.wantStatus(b.ID, "completed")
	})
}

func TestJobLostWhileItsBatchIsPausedFailsInTimeAndIsRetriedAtTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.withoutStartup()
		s.script = script{"Do": inTurn(fails(errLost), always("true"))}
		b := s.startBatch(oneStep(", timeout: 1m, retry: {max_retries: 1, interval: 1s}"), people(1))
		s.pause(b.ID)
		s.pass(time.Minute)
		s.pass(time.Minute)
		s.wantSteps(b.ID, 1, "do waiting_for_retry")
		s.wantCalls(1, "Do")
		s.resume(b.ID)
		s.wantCalls(1, "Do Do")
		s.wantStatus(b.ID, "completed")
	})
}

func TestLateMemberBringsAPhaseToSuccessInWhichNobodyElseSucceeded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 1)}
		b := s.startBatch(twoSteps, people(1))
		s.wantPhases(b.ID, "first failed 0/1/0, second pending 0/0/0")
		s.add(b.ID, "late@x")
		s.wantPhases(b.ID, "first completed 1/1/0, second pending 0/0/0")
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
	})
}

func TestMemberRetriedDuringTheFanOutOfALaterPhaseGoesThroughBoth(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": some(map[int]worker{2: inTurn(fails(errNo), always("true"))})}
		s.park = ofType(message.TypePhaseDue, `"second"`, `"Page":2`)
		b := s.pages(twoSteps, 2)
		s.advance(b.ID)
		s.advance(b.ID)
		s.pass(time.Second)
		must(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Selection: api.Selection{}}))(t)
		var all sync.WaitGroup
		all.Go(func() { s.deliverAll() }) // the retry waits for the fan-out to the member's page
		s.mu.Lock()
		s.park = nil
		parked := s.parked
		s.mu.Unlock()
		for _, p := range parked {
			s.takeUp(p)
		}
		all.Wait()
		s.deliverAll()
		s.wantCalls(2, "New New Join Check")
		s.wantPhases(b.ID, "first completed 2/0/0, second completed 2/0/0")
		s.wantStatus(b.ID, "completed")
	})
}
