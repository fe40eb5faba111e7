package runstate

import (
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Enter puts a member into a phase execution, or behind the one it is still in,
// and tells whether it may start there at once.
func Enter(m model.Member, phase int) (model.Member, bool) {
	if m.OpenPhase == 0 {
		m.OpenPhase = phase
		return m, true
	}
	m.Queue = append(slices.Clone(m.Queue), phase)
	return m, false
}

// leavePhase takes a member out of the phase whose run has ended: what the run's
// workers returned is kept, a failure marks the member, and the next phase in the
// queue is entered. A failed or a removed member enters too, so that its waiting
// runs are ended and counted.
func (t *transition) leavePhase() *model.Member {
	m, run, next := t.member, t.run, *t.member
	if len(run.Outputs) > 0 {
		next.WorkerData = maps.Clone(m.WorkerData)
		if next.WorkerData == nil {
			next.WorkerData = run.Outputs
		} else {
			maps.Copy(next.WorkerData, run.Outputs)
		}
	}
	if run.Kind == model.KindPhase {
		next.NoteFinished(run.PhaseName, run.Status == model.RunSucceeded)
	}
	if run.FailsMember() {
		next.Error = model.ClipReason("phase " + run.PhaseName + ": " + run.Error)
		if m.Status == model.MemberActive {
			next.Status, next.FailedAt = model.MemberFailed, &t.now
			next.FailedIn, next.FailedBy, next.Undone = run.PhaseName, run.Version, run.RolledBack
			next.FailedStep, next.FailedAs = t.failedStep()
		}
	}
	next.OpenPhase = 0
	if len(m.Queue) == 0 {
		return &next
	}
	next.OpenPhase, next.Queue = m.Queue[0], slices.Clone(m.Queue[1:])
	return &next
}

// failedStep names the step that the run failed at, and how it ended.
func (t *transition) failedStep() (string, model.StepStatus) {
	if at := t.run.FailedAt(); at >= 0 {
		return t.definitions[at].Name, t.run.Steps[at].Status
	}
	return "", ""
}
