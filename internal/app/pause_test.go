package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

const twoSteps = `
name: two
data_source: {type: csv, primary_key: Upn}
phases:
  - name: first
    offset: T-1d
    steps:
      - {name: new, worker_id: worker-01, function: New}
      - {name: join, worker_id: worker-01, function: Join}
  - name: second
    offset: T-0
    steps: [{name: check, worker_id: worker-01, function: Check}]
`

// schedule stores a batch that follows a schedule, of version 1 of a runbook, and
// lists it.
func (s *stage) schedule(id int, yaml string, members int, start time.Time) {
	s.t.Helper()
	s.storeScheduled(id, yaml, members, start)
	s.commit(store.Create(store.EntryKey(id), map[string]any{"id": id, "status": "detected"}))
	s.tick()
}

func TestPausedInTheMiddleOfAFanOutTheOtherPagesWait(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.park = ofType(message.TypePhaseDue, `"Page":2`)
		b := s.pages(twoSteps, 2)
		s.advance(b.ID)
		s.wantCalls(1, "New Join")
		s.wantCalls(2, "")
		s.pause(b.ID)
		s.unpark()
		s.wantCalls(2, "")
		s.resume(b.ID)
		s.wantCalls(1, "New Join")
		s.wantCalls(2, "New Join")
		s.wantPhases(b.ID, "first completed 2/0/0, second pending 0/0/0")
	})
}

func TestPausedInAStepItsResultIsKeptAndTheNextStepWaits(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errLost), 1)}
		b := s.startBatch(twoSteps, people(2))
		s.pause(b.ID)
		s.answers(1, "New", "true", nil)
		s.wantSteps(b.ID, 1, "new succeeded, join pending")
		s.wantSteps(b.ID, 2, "new succeeded, join succeeded")
		s.tickAfter(time.Hour)
		s.wantCalls(1, "New")
		s.resume(b.ID)
		s.wantCalls(1, "New Join")
		s.wantPhases(b.ID, "first completed 2/0/0, second pending 0/0/0")
	})
}

func TestStepThatFailsWhileItsBatchIsPausedIsRetriedOnceItIsResumed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(fails(errLost), always("true"))}
		b := s.startBatch("retry: {max_retries: 1, interval: 1m}\n"+twoSteps, people(1))
		s.pause(b.ID)
		s.answers(1, "New", "", errNo)
		s.pass(time.Hour)
		s.wantCalls(1, "New")
		s.resume(b.ID)
		s.wantCalls(1, "New New Join")
	})
}

func TestPausedWhileItPollsItDoesNotPollAndTheTimeIsNotCounted(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": always(unfinished)}
		s.publish(polling) // every 30 s for 10 minutes
		b := s.batch("polling", people(1))
		s.advance(b.ID)
		s.pause(b.ID)
		s.pass(29 * time.Second) // the poll falls due
		s.tickAfter(time.Hour)
		s.wantCalls(1, "Copy")
		s.resume(b.ID)
		s.wantCalls(1, "Copy Copy")
		for range 18 {
			s.pass(30 * time.Second)
		}
		s.wantSteps(b.ID, 1, "copy polling, tell pending")
		s.pass(30 * time.Second)
		s.wantSteps(b.ID, 1, "copy poll_timeout, tell cancelled, stop succeeded")
	})
}

// The poll was sent before the pause, which revokes it: it is refused when it comes, and sent again.
func TestPausedAndResumedBeforeAPollItIsPolledALittleLater(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": inTurn(always(unfinished), always(`{"complete":true,"data":{"size":7}}`))}
		b := s.startBatch(polling, people(1))
		s.pause(b.ID)
		s.resume(b.ID)
		s.pass(28 * time.Second)
		s.wantCalls(1, "Copy")
		s.pass(5*time.Second - time.Millisecond)
		s.wantCalls(1, "Copy")
		s.pass(time.Millisecond)
		s.wantCalls(1, "Copy Copy Tell")
	})
}

func TestPausedWhileARetryWaitsTheRetryWaitsForTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(fails(errNo), always("true"))}
		b := s.startBatch("retry: {max_retries: 1, interval: 1m}\n"+twoSteps, people(1))
		s.pause(b.ID)
		s.pass(time.Minute)
		s.tickAfter(time.Hour)
		s.wantCalls(1, "New")
		s.resume(b.ID)
		s.wantCalls(1, "New New Join")
		if v := s.step(b.ID, 1, "new"); v.RetryCount != 1 {
			t.Errorf("%d retries", v.RetryCount)
		}
	})
}

func TestPausedBetweenPhasesNoneBegins(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(twoSteps, people(1))
		s.pause(b.ID)
		s.wantRefused(errorOf(s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID))), api.CodeConflict, "batch 1 is paused by ada: resume it first")
		s.resume(b.ID)
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
	})
}

func TestPhaseThatFallsDueWhileItsBatchIsPausedBeginsAtTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(overlapping)
		const id = 100
		s.schedule(id, overlapping, 2, dawn.Add(48*time.Hour)) // a is due now, b in a day
		s.wantPhases(id, "a completed 2/0/0, b pending 0/0/0, c pending 0/0/0")
		s.pause(id)
		s.tickAfter(24 * time.Hour)
		s.wantCalls(1, "A")
		s.resume(id)
		s.wantPhases(id, "a completed 2/0/0, b completed 2/0/0, c pending 0/0/0")
		s.tickAfter(24 * time.Hour)
		s.wantCalls(1, "A B C")
		s.wantStatus(id, "completed")
	})
}

func TestPausedInInitTheNextInitStepWaits(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Prepare": fails(errLost)}
		b := s.startBatch(strings.Replace(mover, "\nphases:", "\n  - {name: more, worker_id: worker-01, function: More}\nphases:", 1), people(1))
		s.pause(b.ID)
		s.answers(0, "Prepare", "true", nil)
		s.wantCalls(0, "Prepare")
		s.resume(b.ID)
		s.wantCalls(0, "Prepare More")
		s.wantStatus(b.ID, "active")
	})
}

func TestPausedInARollbackItGoesOnAtTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo), "Stop": fails(errLost)}
		b := s.startBatch(undoable, people(1))
		s.pause(b.ID)
		s.answers(1, "Stop", "true", nil)
		s.wantCalls(1, "New Stop")
		s.resume(b.ID)
		s.wantCalls(1, "New Stop Delete Alert")
		s.wantMember(b.ID, 1, "failed")
	})
}

// The time of its poll was up as it was held: the release finds that, and the run ends.
func TestReleaseThatEndsARunIsCompletedWhereverItWasCutShort(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"Copy": always(unfinished)}
		b := s.startBatch(strings.NewReplacer("timeout: 10m", "timeout: 1m", ", on_failure: undo", "").Replace(polling), people(1))
		s.pass(30 * time.Second)
		s.pause(b.ID)
		s.pass(29 * time.Second) // the last poll, which is held
		s.wantSteps(b.ID, 1, "copy polling, tell pending")
		s.park = ofType(message.TypeBatchWork, `"Page":1`)
		s.resume(b.ID)
		if len(s.parked) != 1 {
			t.Fatalf("%d messages release the page", len(s.parked))
		}
		release := s.parked[0]
		cut := s.kill(write, release.handle)
		s.unpark() // it comes again
		s.wantSteps(b.ID, 1, "copy poll_timeout, tell cancelled")
		s.wantPhases(b.ID, "move failed 0/1/0")
		s.wantStatus(b.ID, "failed")
		return cut
	})
}

func TestPauseAndResumptionAreRecordedOnceWithWhoAndWhy(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(twoSteps, people(1))
		s.pass(time.Second)
		for range 2 {
			v := must(s.app.Pause(s.ctx, ada, b.ID, "the helpdesk is overrun"))(t)
			if v.Paused == nil || v.Paused.By != "ada" || v.Paused.Why != "the helpdesk is overrun" || v.Status != "active" {
				t.Fatalf("%+v", v)
			}
		}
		s.pass(time.Second)
		for range 2 {
			if v := must(s.app.Resume(s.ctx, grace, b.ID, "it is not"))(t); v.Paused != nil {
				t.Fatalf("%+v", v)
			}
		}
		s.deliverAll()
		var got []string
		for _, r := range s.listAudit(b.ID) {
			got = append(got, r.By+" "+r.Action+": "+r.Why)
		}
		if want := "ada create: |ada pause: the helpdesk is overrun|grace resume: it is not"; strings.Join(got, "|") != want {
			t.Errorf("the trail: %q", got)
		}
		s.wantRefused(errorOf(s.app.Pause(s.ctx, ada, 99, "")), api.CodeNotFound, "there is no batch 99")
		s.wantRefused(errorOf(s.app.Pause(s.ctx, ada, b.ID, strings.Repeat("x", api.MaxReason+1))), api.CodeInvalid, "the reason has 1001 characters")
	})
}

func TestBatchThatHasEndedIsNeitherPausedNorResumed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(oneStep(""), people(1))
		s.wantRefused(errorOf(s.app.Pause(s.ctx, ada, b.ID, "")), api.CodeConflict, "has ended (completed): it cannot be paused")
		s.wantRefused(errorOf(s.app.Resume(s.ctx, ada, b.ID, "")), api.CodeConflict, "has ended (completed): it cannot be resumed")
	})
}

// What another process takes to be open for up to a second may dispatch once more;
// what it then holds on an old word goes on by itself.
func TestPauseTakesHoldInEveryProcessWithinASecond(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(twoSteps, people(1))
		s.other, s.app = s.app, s.other // it has looked at the batch just now
		must(s.app.Pause(s.ctx, ada, b.ID, ""))(t)
		s.clock.ns.Add(int64(time.Second))
		s.app, s.other = s.other, s.app
		s.answers(1, "New", "true", nil)
		s.wantCalls(1, "New")
		s.resume(b.ID)
		s.wantCalls(1, "New Join")
	})
}
