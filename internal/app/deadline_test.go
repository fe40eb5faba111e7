package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestLostJobFailsItsStepAtTheDeadline(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.withoutStartup()
		s.script = script{"Do": fails(errLost)}
		s.publish(oneStep(", timeout: 3m"))
		b := s.batch("one", people(1)) // whose worker nothing else is heard of
		s.advance(b.ID)
		if v := s.step(b.ID, 1, "do"); v.Deadline == nil || !v.Deadline.Equal(s.clock.Now().Add(3*time.Minute+runstate.JobGracePeriod)) {
			t.Errorf("the deadline is shown as %v", v.Deadline)
		}
		s.pass(3*time.Minute + runstate.JobGracePeriod - time.Millisecond)
		s.wantSteps(b.ID, 1, "do queued")
		s.pass(time.Millisecond)
		s.wantSteps(b.ID, 1, "do failed")
		if m := s.member(b.ID, 1); !strings.Contains(m.Error, "no result within 3m0s: worker worker-01 was never seen") {
			t.Errorf("told: %s", m.Error)
		}
		s.wantPhases(b.ID, "only failed 0/1/0")
		s.wantStatus(b.ID, "failed")
	})
}

// A message for every job would be one more a step: long deadlines are the tick's.
func TestLongDeadlineIsScheduledByTheTickForItsMoment(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)}
		s.publish(oneStep("")) // 30 minutes
		b := s.batch("one", people(1))
		s.advance(b.ID)
		for range 5 {
			s.tickAfter(5 * time.Minute)
		}
		s.tickAfter(5*time.Minute + runstate.JobGracePeriod - time.Millisecond)
		s.wantSteps(b.ID, 1, "do queued")
		s.pass(time.Millisecond)
		s.wantSteps(b.ID, 1, "do failed")
		s.wantStatus(b.ID, "failed")
	})
}

func TestLostJobFollowsTheRetryPolicyAndTheLateResultChangesNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.withoutStartup()
		s.script = script{"Do": inTurn(fails(errLost), always("true"))}
		b := s.startBatch(oneStep(", timeout: 1m, retry: {max_retries: 1, interval: 30s}"), people(1))
		first := s.jobs[len(s.jobs)-1]
		s.pass(time.Minute + runstate.JobGracePeriod)
		s.wantSteps(b.ID, 1, "do waiting_for_retry")
		s.answersJob(first, `{"late":1}`, nil) // while the retry waits
		s.wantSteps(b.ID, 1, "do waiting_for_retry")
		v := s.step(b.ID, 1, "do")
		if len(v.Late) != 1 || message.WireJobID(b.ID, v.Late[0].JobID) != first.JobID || v.Late[0].At == nil || !v.Late[0].Succeeded || string(v.Late[0].Result) != `{"late":1}` {
			t.Fatalf("the late result is not recorded: %+v", v.Late)
		}
		s.pass(30 * time.Second)
		s.wantCalls(1, "Do Do")
		s.wantStatus(b.ID, "completed")
		if v := s.step(b.ID, 1, "do"); string(v.Result) != "true" || len(v.Late) != 1 {
			t.Errorf("in the end: %s, late %+v", v.Result, v.Late)
		}
	})
}

func TestLateResultAfterTheMemberFailedIsRecordedAndChangesNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.withoutStartup()
		s.script = script{"Do": fails(errLost)}
		b := s.startBatch(oneStep(", timeout: 1m"), people(1))
		s.pass(time.Minute + runstate.JobGracePeriod)
		s.wantStatus(b.ID, "failed")
		s.answers(1, "Do", "true", nil)
		s.wantSteps(b.ID, 1, "do failed")
		if v := s.step(b.ID, 1, "do"); len(v.Late) != 1 || v.Late[0].At == nil {
			t.Errorf("late: %+v", v.Late)
		}
		s.wantMember(b.ID, 1, "failed")
		s.wantStatus(b.ID, "failed")
	})
}

func TestJobThatWaitsBehindOthersForItsBusyWorkerIsNotFailed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost), "Other": fails(errLost)}
		s.publish(oneStep(", timeout: 3m"))
		s.publish(strings.NewReplacer("name: one", "name: other", "function: Do", "function: Other").Replace(oneStep(", timeout: 1h")))
		// What the worker is busy with was sent before.
		earlier := s.batch("other", people(10))
		s.advance(earlier.ID)
		s.pass(time.Minute)
		b := s.batch("one", people(1), api.AllowInOtherBatches)
		s.advance(b.ID)
		for member := 1; member <= 10; member++ { // it answers one a minute
			s.pass(time.Minute)
			s.answers(member, "Other", "true", nil)
			s.wantSteps(b.ID, 1, "do queued")
		}
		s.wantStatus(earlier.ID, "completed")
		// From now on nothing is heard of it: the job's own time runs.
		s.pass(2 * time.Minute)
		s.pass(3 * time.Minute)
		s.pass(3*time.Minute + runstate.JobGracePeriod)
		s.wantSteps(b.ID, 1, "do failed")
	})
}

// A page's jobs are sent at one moment: the worker may take any of them first.
func TestJobThatWaitsBehindAnotherOfItsPageIsNotFailed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)}
		b := s.startBatch(oneStep(", timeout: 3m"), people(3))
		s.pass(3*time.Minute + runstate.JobGracePeriod - time.Second)
		s.answers(1, "Do", "true", nil)
		s.pass(time.Second)
		s.wantSteps(b.ID, 2, "do queued")
		s.wantSteps(b.ID, 3, "do queued")
		s.answers(2, "Do", "true", nil)
		s.answers(3, "Do", "true", nil)
		s.wantPhases(b.ID, "only completed 3/0/0")
	})
}

// It tells nothing of how far the worker has come with the job that was sent since.
func TestLateResultDoesNotPutOffTheDeadlineOfTheRetry(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.withoutStartup()
		s.script = script{"Do": fails(errLost)}
		b := s.startBatch(oneStep(", timeout: 3m, retry: {max_retries: 1, interval: 1s}"), people(1))
		first := s.jobs[0]
		s.pass(3*time.Minute + runstate.JobGracePeriod)
		s.pass(time.Second)
		s.wantCalls(1, "Do Do")
		s.pass(3*time.Minute + runstate.JobGracePeriod - time.Second)
		s.answersJob(first, "true", nil)
		s.wantSteps(b.ID, 1, "do queued")
		s.pass(time.Second)
		if s.hard { // the message that sent the job may have come again just before the deadline, which puts it off
			s.pass(3 * time.Minute)
		}
		s.wantSteps(b.ID, 1, "do failed")
		s.wantStatus(b.ID, "failed")
	})
}

func TestJobThatWasLostWhileTheWorkerDidLaterOnesFails(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)}
		s.publish(strings.NewReplacer("name: one", "name: other", "function: Do", "function: Other").Replace(oneStep("")))
		b := s.startBatch(oneStep(", timeout: 3m"), people(1))
		s.pass(150 * time.Second)
		later := s.batch("other", people(3), api.AllowInOtherBatches)
		s.advance(later.ID) // done at once: the worker is past the lost one
		s.wantStatus(later.ID, "completed")
		s.pass(30*time.Second + runstate.JobGracePeriod)
		s.wantSteps(b.ID, 1, "do failed")
	})
}

func TestJobThatExpiredAtItsWorkerIsSentAgain(t *testing.T) {
	expired := fails(&testenv.Failure{JobError: message.JobError{Message: "the job expired before the worker came to it", Type: message.ErrorJobExpired}})
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": inTurn(expired, expired, always("true"))}
		b := s.startBatch(oneStep(", timeout: 1m, retry: {max_retries: 0}"), people(1))
		s.wantCalls(1, "Do Do Do")
		if v := s.step(b.ID, 1, "do"); v.RetryCount != 0 || v.Status != "succeeded" {
			t.Errorf("%s after %d retries", v.Status, v.RetryCount)
		}
		s.wantStatus(b.ID, "completed")
	})
}

func TestJobSaysUntilWhenItMayBeBegun(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.startBatch(oneStep(", timeout: 7m"), people(1))
		if at := s.jobs[0].ExpiresAt; at == nil || !at.Equal(dawn.Add(7*time.Minute)) {
			t.Errorf("the job expires at %v", at)
		}
	})
}

func TestDeadlineOfARollbacksStep(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo), "Stop": fails(errLost)}
		b := s.startBatch(strings.ReplaceAll(undoable, "function: Stop,", "function: Stop, timeout: 4m,"), people(1))
		s.wantCalls(1, "New Stop")
		s.pass(4*time.Minute + runstate.JobGracePeriod)
		s.wantCalls(1, "New Stop Delete Alert")
		s.wantMember(b.ID, 1, "failed")
	})
}
