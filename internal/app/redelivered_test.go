package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// refusesRedelivered answers the latest job of a member as a replica that does not begin it
// and to which it had come again.
func (s *stage) refusesRedelivered(member int, kind string) {
	s.t.Helper()
	j := s.jobs[len(s.jobs)-1]
	if who(j) != member {
		s.t.Fatalf("the latest job is of member %d", who(j))
	}
	s.answersJob(j, "", &testenv.Failure{JobError: message.JobError{Message: "not begun here", Type: kind, Redelivered: true}})
}

// The replica that lost the lock of a job still runs it when another one refuses it.
func TestRemovalStepsWaitForAJobThatAnotherReplicaRefused(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)}
		b := s.startBatch(oneStep(", timeout: 3m")+"\non_member_removed:\n  - {name: undo, worker_id: worker-01, function: Undo}\n", people(1))
		s.pass(time.Minute)
		s.remove(b.ID, 1)
		s.refusesRedelivered(1, message.ErrorJobRevoked)
		s.wantCalls(1, "Do")
		s.wantSteps(b.ID, 1, "do at_worker, undo pending")
		s.pass(2*time.Minute + runstate.JobGracePeriod - time.Second)
		s.wantCalls(1, "Do")
		s.pass(time.Second)
		s.wantCalls(1, "Do Undo")
	})
}

func TestResultOfAJobThatAnotherReplicaRefusedCounts(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)}
		b := s.startBatch(oneStep(", timeout: 30m"), people(1))
		s.pause(b.ID)
		s.refusesRedelivered(1, message.ErrorJobRevoked)
		s.wantSteps(b.ID, 1, "do at_worker")
		s.answers(1, "Do", "true", nil)
		s.wantSteps(b.ID, 1, "do succeeded")
	})
}

// After the broker's window of duplicate detection a job that is sent again is delivered as
// a message of its own, and an earlier one may have been begun.
func TestJobThatIsSentAgainLaterSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Join": fails(errLost)}
	b := s.startBatch(strings.Replace(twoSteps, "function: Join", "function: Join, timeout: 2h", 1), people(1))
	s.comesAgain("") // the result
	if len(s.redelivered) > 0 {
		t.Errorf("the first jobs say that they may have been begun: %v", s.redelivered)
	}
	s.pass(time.Hour)
	s.comesAgain("")
	if len(s.redelivered) != 1 || !strings.HasPrefix(s.redelivered[0], fmt.Sprintf("batch-%d-step-", b.ID)) {
		t.Errorf("what was sent again: %v", s.redelivered)
	}
}
