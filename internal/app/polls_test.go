package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
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
		b := s.startBatch(polling, people(1))
		s.pass(30 * time.Second)
		s.park, s.parked = nil, nil // lost
		s.pass(2 * time.Minute)
		s.wantCalls(1, "Copy")
		s.tickAfter(time.Second)
		s.wantCalls(1, "Copy Copy Tell")
		s.wantStatus(b.ID, "completed")
	})
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
	s.retry(b.ID, api.RetrySelection{})
	s.wantSteps(b.ID, 1, "copy polling, tell pending")
	s.wantCalls(1, "Copy Copy Copy")
	s.pass(30 * time.Second)
	s.wantCalls(1, "Copy Copy Copy Copy Tell")
	s.wantStatus(b.ID, "completed")
	s.verify()
}
