package runstate

import (
	"slices"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Restart readies a run that ended to be started again: at the step that failed,
// or at the first where what came before it was undone. A step that an administrator skipped
// stays so; the condition of a step is evaluated again.
func Restart(r *model.Run, task string) {
	first := slices.IndexFunc(r.Steps, func(s model.Step) bool {
		return s.Rollback == "" && !s.Status.Done()
	})
	if r.RolledBack || first < 0 {
		first = 0
	}
	for i := first; i < len(r.Steps); i++ {
		if s := &r.Steps[i]; s.Rollback == "" && s.Status != model.StepSkipped {
			if s.DispatchedAt != nil {
				s.Round++
			}
			s.Status, s.JobID, s.Result, s.Error, s.Resolved = model.StepPending, "", nil, "", nil
			s.DispatchedAt, s.CompletedAt, s.RetryAfter, s.Postponed, s.QueuedUntil = nil, nil, nil, false, nil
			s.PollStartedAt, s.PolledAt, s.RetriesBefore = nil, nil, s.RetryCount
		}
	}
	r.Status, r.Current, r.EndedAt, r.Error, r.LastEvent, r.Next = model.RunWaiting, first, nil, "", "", 0
	r.RolledBack, r.Task = false, task
}

// RefuseErased refuses a retry that needs a secret which was erased: in the steps that the
// run is to go through again, but for the one at, where an administrator resolves it.
func RefuseErased(r *model.Run, rb *runbook.Runbook, m *model.Member, at int, resolve *model.StepResolved) error {
	if rb == nil {
		return nil
	}
	given := map[string]bool{}
	for i, s := range r.Steps {
		if s.Rollback != "" || s.Status != model.StepPending || i == at && resolve != nil {
			continue
		}
		definition, err := r.Definition(rb, i)
		if err != nil {
			return err
		}
		for _, name := range definition.References() {
			value, _ := memberValue(m, name)
			if sealed, ok := model.Sealed(value); ok && sealed == "" && !given[name] {
				return model.Refusef("member %d cannot be retried: step %q needs the secret %q, which was erased; %s", m.ID, definition.Name, name, supplyAnew)
			}
		}
		for name := range definition.OutputParams {
			given[name] = true
		}
	}
	return nil
}
