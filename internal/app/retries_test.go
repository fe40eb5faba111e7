package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

func oneStep(extra string) string {
	return `
name: one
data_source: {type: csv, primary_key: Upn}
phases:
  - name: only
    offset: T-0
    steps:
      - {name: do, worker_id: worker-01, function: Do` + extra + `}
`
}

// tries lets time pass to just before each wait's end, where nothing may have come
// yet, and to the end itself, where one more try must have.
func (s *stage) tries(function string, waits ...time.Duration) {
	s.t.Helper()
	for i, wait := range waits {
		s.pass(wait - time.Millisecond)
		if got := strings.Count(s.calls(1), function); got != i+1 {
			s.t.Fatalf("%d calls before the end of the %d. wait, of %s", got, i+1, wait)
		}
		s.pass(time.Millisecond)
		if got := strings.Count(s.calls(1), function); got != i+2 {
			s.t.Fatalf("%d calls at the end of the %d. wait, of %s", got, i+1, wait)
		}
	}
}

func TestRetryComesExactlyWhenItIsDue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		retry string
		waits []time.Duration
	}{
		"fixed":               {"max_retries: 3, interval: 7s", []time.Duration{7 * time.Second, 7 * time.Second, 7 * time.Second}},
		"exponential":         {"max_retries: 4, interval: 10s, backoff: exponential", []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second}},
		"exponential, capped": {"max_retries: 4, interval: 10s, backoff: exponential, max_interval: 25s", []time.Duration{10 * time.Second, 20 * time.Second, 25 * time.Second, 25 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"Do": fails(errNo)}
				b := s.startBatch(oneStep(", retry: {"+tt.retry+"}"), people(1))
				if v := s.step(b.ID, 1, "do"); v.Status != "waiting_for_retry" || v.RetryAfter == nil || !v.RetryAfter.Equal(s.clock.Now().Add(tt.waits[0])) {
					t.Errorf("while it waits: %+v", v)
				}
				s.tries("Do", tt.waits...)
				s.wantSteps(b.ID, 1, "do failed")
				if v := s.step(b.ID, 1, "do"); v.RetryCount != len(tt.waits) || !strings.HasSuffix(v.JobID, fmt.Sprintf("-retry-%d", len(tt.waits))) {
					t.Errorf("after the last: %d retries, job %s", v.RetryCount, v.JobID)
				}
				s.wantStatus(b.ID, "failed")
			})
		})
	}
}

func TestStepsRetryReplacesTheRunbooksAndNoneIsNone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errNo)}
		b := s.startBatch("retry: {max_retries: 2, interval: 1s}\n"+oneStep(", retry: {max_retries: 0}"), people(1))
		s.wantStatus(b.ID, "failed")
		s.pass(time.Hour)
		s.wantCalls(1, "Do")
	})
}

func TestWaitThatAThrottledWorkerAsksForIsHonoured(t *testing.T) {
	throttled := func(seconds int) worker {
		return fails(&testenv.Failure{JobError: message.JobError{Message: "too many requests", Type: "Throttled", IsThrottled: true, RetryAfterSeconds: seconds}})
	}
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": inTurn(throttled(90), throttled(5), always("true"))}
		b := s.startBatch(oneStep(", retry: {max_retries: 2, interval: 20s}"), people(1))
		s.tries("Do", 90*time.Second, 20*time.Second) // the longer of the wish and the runbook's wait
		s.wantStatus(b.ID, "completed")
	})
}

func TestMembersWhoFailedTogetherDoNotComeBackTogether(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": inTurn(fails(errNo), always("true"))}
		b := s.startBatch(oneStep(", retry: {max_retries: 1, interval: 100s, jitter: 50%}"), people(12))
		moments := map[time.Time]bool{}
		for member := 1; member <= 12; member++ {
			at := *s.step(b.ID, member, "do").RetryAfter
			if wait := at.Sub(s.clock.Now()); wait < 100*time.Second || wait > 150*time.Second {
				t.Errorf("member %d waits %s", member, wait)
			}
			moments[at] = true
		}
		if len(moments) < 9 {
			t.Errorf("12 members come back at %d different moments", len(moments))
		}
		s.pass(150 * time.Second)
		s.wantStatus(b.ID, "completed")
	})
}

func TestRetryOfAnInitStep(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Prepare": inTurn(fails(errNo), always("true"))}
		b := s.startBatch(mover, people(1))
		s.wantStatus(b.ID, "init_dispatched")
		s.pass(time.Second)
		s.wantCalls(0, "Prepare Prepare")
		s.wantStatus(b.ID, "active")
	})
}

func TestPollWaitsForWhatTheTenantDoesNotHaveYet(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		missing := fails(&testenv.Failure{JobError: message.JobError{Message: "no user ann", Type: "Request_ResourceNotFound", IsNotFound: true}})
		s.script = script{"Do": inTurn(missing, missing, always("true"))}
		b := s.startBatch(oneStep(", poll: {interval: 1m, timeout: 10m}"), people(1))
		if v := s.step(b.ID, 1, "do"); v.Status != "polling" || v.Error != "no user ann (Request_ResourceNotFound)" {
			t.Errorf("while it waits: %+v", v)
		}
		s.tries("Do", time.Minute, time.Minute)
		s.wantStatus(b.ID, "completed")
	})
}

func TestJobThatWouldFailAgainIsNotRetried(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"InvalidParameters", "unknownfunction"} {
		t.Run(kind, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"Do": fails(&testenv.Failure{JobError: message.JobError{Message: "no", Type: kind}})}
				b := s.startBatch(oneStep(", retry: {max_retries: 5, interval: 1s}"), people(1))
				s.wantStatus(b.ID, "failed")
				s.wantCalls(1, "Do")
			})
		})
	}
}
