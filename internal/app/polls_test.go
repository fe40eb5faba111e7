package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
)

const unfinished = `{"complete":false}`

const polling = `
name: polling
data_source: {type: csv, primary_key: Upn}
retry: {max_retries: 3, interval: 1s}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: copy, worker_id: worker-01, function: Copy, poll: {interval: 30s, timeout: 10m}, output_params: {Size: size}, on_failure: undo}
      - {name: tell, worker_id: worker-01, function: Tell, params: {Size: "{{Size}}"}}
rollbacks:
  undo: [{name: stop, worker_id: worker-01, function: Stop}]
`

func TestPollComesExactlyWhenItIsDueUntilItIsComplete(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": inTurn(always(unfinished), always(unfinished), always(unfinished), always(`{"complete":true,"data":{"size":7}}`))}
		b := s.startBatch(polling, people(1))
		s.wantSteps(b.ID, 1, "copy polling, tell pending")
		s.tries("Copy", 30*time.Second, 30*time.Second, 30*time.Second)
		s.wantCalls(1, "Copy Copy Copy Copy Tell")
		if v := s.step(b.ID, 1, "copy"); v.PollCount != 3 || !strings.HasSuffix(v.JobID, "-poll-3") {
			t.Errorf("%d polls, the last as job %s", v.PollCount, v.JobID)
		}
		if v := s.step(b.ID, 1, "tell"); string(v.Params) != `{"Size":7}` {
			t.Errorf("what the data gave: %s", v.Params)
		}
		s.wantStatus(b.ID, "completed")
	})
}

func TestPollThatIsNotCompleteInTimeIsRolledBackAndNotRetried(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": always(unfinished)}
		b := s.startBatch(polling, people(1))
		for range 19 {
			s.pass(30 * time.Second)
		}
		s.wantSteps(b.ID, 1, "copy polling, tell pending")
		s.pass(30 * time.Second)
		s.wantSteps(b.ID, 1, "copy poll_timeout, tell cancelled, stop succeeded")
		if got := strings.Count(s.calls(1), "Copy"); got != 20 {
			t.Errorf("%d calls in ten minutes of every 30 seconds", got)
		}
		s.wantStatus(b.ID, "failed")
		s.pass(time.Hour)
		s.wantMember(b.ID, 1, "failed")
	})
}

func TestPollThatFailsIsRetried(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": inTurn(always(unfinished), fails(errNo), always(unfinished), always(`{"complete":true,"data":{"size":7}}`))}
		b := s.startBatch(polling, people(1))
		s.pass(30 * time.Second)
		s.wantSteps(b.ID, 1, "copy waiting_for_retry, tell pending")
		s.pass(time.Second)
		s.wantSteps(b.ID, 1, "copy polling, tell pending")
		s.pass(30 * time.Second)
		s.wantStatus(b.ID, "completed")
	})
}

// Publishing must not stall what polls under the version before.
func TestPollKeepsGoingUnderANewlyPublishedVersion(t *testing.T) {
	t.Parallel()
	for _, followed := range []bool{false, true} {
		t.Run(map[bool]string{false: "before the batch follows it", true: "after"}[followed], func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"Copy": inTurn(always(unfinished), always(unfinished), always(`{"complete":true,"data":{"size":7}}`))}
				b := s.startBatch(polling, people(2))
				s.publish(strings.ReplaceAll(polling, "function: Tell", "function: TellAll"))
				if followed {
					s.tick()
					if v := s.batchOf(b.ID); v.RunbookVersion != 2 {
						t.Fatalf("the batch follows version %d", v.RunbookVersion)
					}
				}
				s.tries("Copy", 30*time.Second, 30*time.Second)
				s.wantCalls(2, "Copy Copy Copy Tell") // to the end under its version
				s.wantPhases(b.ID, map[bool]string{false: "move completed 2/0/0", true: "move completed 2/0/0, move skipped 0/0/0"}[followed])
				s.wantStatus(b.ID, "completed")
			})
		})
	}
}

func TestPollsLostMessageIsMadeUpForByTheTick(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Copy": inTurn(always(unfinished), always(`{"complete":true,"data":{"size":7}}`))}
		s.park = func(kind, _ string) bool { return kind == "poll-check" }
		b := s.startBatch(strings.Replace(polling, "interval: 30s", "interval: 6m", 1), people(1))
		s.pass(6 * time.Minute)
		s.park, s.parked = nil, nil // lost
		s.pass(2 * time.Minute)
		s.wantCalls(1, "Copy")
		s.tickAfter(time.Second)
		s.wantCalls(1, "Copy Copy Tell")
		s.wantStatus(b.ID, "completed")
	})
}

// The job of a poll that was sent ahead can be lost as any job. Its time begins when it is visible.
func TestPollThatWasSentAheadAndLostIsRetriedAfterItsDeadline(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.withoutStartup()
		s.script = script{"Copy": inTurn(always(unfinished), fails(errLost), always(`{"complete":true,"data":{"size":7}}`))}
		b := s.startBatch(strings.NewReplacer("interval: 30s, timeout: 10m", "interval: 2m, timeout: 1h", "function: Copy,", "function: Copy, timeout: 1m,").Replace(polling), people(1))
		s.pass(2 * time.Minute)
		s.wantCalls(1, "Copy Copy")
		s.pass(time.Minute + runstate.JobGracePeriod - time.Second)
		s.wantSteps(b.ID, 1, "copy polling, tell pending")
		for range 3 { // a worker that was not heard of is looked at twice, and the step retried
			s.pass(time.Minute)
		}
		s.wantCalls(1, "Copy Copy Copy Tell")
		if v := s.step(b.ID, 1, "copy"); v.RetryCount != 1 || len(v.Late) != 1 {
			t.Errorf("%d retries, abandoned %+v", v.RetryCount, v.Late)
		}
		s.wantStatus(b.ID, "completed")
	})
}

// A process that dies before it sends the poll leaves it to the process that gets the answer again.
func TestPollIsSentAheadWhereverItsProcessDied(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"Copy": inTurn(always(unfinished), always(`{"complete":true,"data":{"size":7}}`))}
		s.park = containing(unfinished)
		b := s.startBatch(polling, people(1))
		answer := s.parked[0]
		cut := s.kill(write, answer.handle)
		s.pass(10 * time.Second)
		s.unpark() // it comes again
		s.pass(30 * time.Second)
		s.wantCalls(1, "Copy Copy Tell")
		s.wantStatus(b.ID, "completed")
		return cut
	})
}

// Users see the polls that have begun.
func TestPollThatIsToComeIsNotCounted(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Copy": always(unfinished)}
	b := s.startBatch(polling, people(1))
	for polls := range 3 {
		v := s.step(b.ID, 1, "copy")
		if v.Status != api.StepPolling || v.PollCount != polls || v.Deadline == nil || !v.Deadline.Equal(s.clock.Now().Add(30*time.Second+30*time.Minute+runstate.JobGracePeriod)) {
			t.Errorf("%s, %d polls, deadline %v", v.Status, v.PollCount, v.Deadline)
		}
		s.pass(30 * time.Second)
	}
	s.verify()
}

// A poll that is to come does not wait for its worker: the worker may be scaled to zero until then.
func TestPollThatIsToComeIsNoJobOfItsWorker(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Copy": inTurn(always(unfinished), fails(errLost))}
	b := s.startBatch(strings.Replace(polling, "interval: 30s, timeout: 10m", "interval: 4m, timeout: 1h", 1), people(1))
	jobs := func() int {
		s.t.Helper()
		page := must(s.app.Workers(s.ctx, api.ListOptions{}))(t)
		if len(page.Items) != 1 {
			t.Fatalf("%d workers", len(page.Items))
		}
		return page.Items[0].JobsQueued
	}
	s.pass(3 * time.Minute)
	if n, waits := jobs(), must(s.app.Batch(s.ctx, ada, b.ID))(t).WaitsFor; n != 0 || len(waits) != 0 {
		t.Errorf("%d jobs wait, %+v", n, waits)
	}
	s.pass(2 * time.Minute)
	if n := jobs(); n != 1 {
		t.Errorf("%d jobs wait, want the poll", n)
	}
	s.verify()
}

// Its polls are numbered from one again, and the broker remembers the numbers.
func TestPollsOfAStepThatIsRetriedComeAlthoughTheirNumbersAreTaken(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Copy": inTurn(always(unfinished), always(unfinished), always(unfinished), always(`{"complete":true,"data":{"size":7}}`))}
	b := s.startBatch(strings.NewReplacer("timeout: 10m", "timeout: 1m", ", on_failure: undo", "").Replace(polling), people(1))
	s.pass(30 * time.Second)
	s.pass(30 * time.Second)
	s.wantSteps(b.ID, 1, "copy poll_timeout, tell cancelled")
	s.retry(b.ID, api.Selection{})
	s.wantSteps(b.ID, 1, "copy polling, tell pending")
	s.wantCalls(1, "Copy Copy Copy")
	s.pass(30 * time.Second)
	s.wantCalls(1, "Copy Copy Copy Copy Tell")
	s.wantStatus(b.ID, "completed")
	s.verify()
}

// A worker takes jobs that were dispatched after a poll was sent ahead, and before it is visible. The
// poll is not lost for that.
func TestPollThatIsToComeIsNotBehindJobsThatItsWorkerTook(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Copy": inTurn(always(unfinished), fails(errLost))}
	b := s.createBatch(strings.NewReplacer("interval: 30s, timeout: 10m", "interval: 3m, timeout: 1h", "function: Copy,", "function: Copy, timeout: 1m,").Replace(polling), people(1))
	r := s.replica("r1")
	r.beat()
	s.advance(b.ID)
	sent := s.clock.Now()
	r.during(2 * time.Minute)
	s.pass(time.Second)
	taken := s.clock.Now()
	r.TakenThrough, r.JobsInFlight, r.InFlight = &taken, []string{"batch-9-step-1"}, 1
	r.beat()
	r.during(sent.Add(4*time.Minute + runstate.JobGracePeriod).Sub(s.clock.Now()))
	if v := s.step(b.ID, 1, "copy"); v.Status != api.StepPolling || v.RetryCount != 0 {
		t.Errorf("%s after %d retries: %s", v.Status, v.RetryCount, v.Error)
	}
	s.wantCalls(1, "Copy Copy")
	s.verify()
}
