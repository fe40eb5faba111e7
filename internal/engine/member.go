package engine

import (
	"maps"
	"slices"
	"time"
)

// Enter puts a member into a phase execution, or behind the one it is still in,
// and tells whether it may start there at once.
func Enter(m Member, phase int) (Member, bool) {
	if m.OpenPhase == 0 {
		m.OpenPhase = phase
		return m, true
	}
	m.Queue = append(slices.Clone(m.Queue), phase)
	return m, false
}

// leave takes a member out of the phase whose run has ended: what the run's
// workers returned is kept, a failure marks the member, and the next phase in the
// queue is entered. A failed member enters too, so that its waiting runs are
// ended and counted.
func leave(m *Member, run *Run, now time.Time) (*Member, []Effect) {
	next := *m
	if len(run.Outputs) > 0 {
		next.WorkerData = maps.Clone(m.WorkerData)
		if next.WorkerData == nil {
			next.WorkerData = run.Outputs
		} else {
			maps.Copy(next.WorkerData, run.Outputs)
		}
	}
	if run.Status == RunFailed && m.Status == MemberActive {
		next.Status, next.FailedAt = MemberFailed, &now
		next.Error = "phase " + run.PhaseName + ": " + run.Error
	}
	next.OpenPhase = 0
	if len(m.Queue) == 0 {
		return &next, nil
	}
	next.OpenPhase, next.Queue = m.Queue[0], slices.Clone(m.Queue[1:])
	return &next, []Effect{StartNext{Phase: next.OpenPhase}}
}

// Count adds a run that ended to what its shard has counted.
func (s *Shard) Count(outcome RunStatus) {
	switch outcome {
	case RunSucceeded:
		s.Succeeded++
	case RunFailed:
		s.Failed++
	case RunCancelled:
		s.Cancelled++
	}
}
