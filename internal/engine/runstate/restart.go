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
	first := firstToDo(r)
	restartAt(r, task, first, func(step int) bool { return step >= first })
}

// RestartAs readies a run that ended to be started again, as a retry asks for it: with the step from,
// and by a version. was and is are the version that the run followed and the one that it is to follow.
// Errors: a *model.Refusal where that version cannot take the run over, or the steps before from have
// not succeeded.
func RestartAs(r *model.Run, was, is *runbook.Runbook, version int, from, task string) error {
	before, err := r.Definitions(was, "")
	if err != nil {
		return err
	}
	after, err := r.Definitions(is, "")
	if err != nil {
		return model.Refusef("version %d has no phase %q", version, r.PhaseName)
	}
	plan, err := planRetry(ended{steps: before, version: r.Version, done: doneSteps(r, before), undone: r.RolledBack}, after, version, from)
	if err != nil {
		return err
	}
	if version != r.Version {
		followVersion(r, before, after, version, plan)
	}
	restartAt(r, task, plan.first, func(step int) bool { return step < len(plan.todo) && plan.todo[step] })
	return nil
}

// firstToDo is the step that a retry begins with.
func firstToDo(r *model.Run) int {
	if r.RolledBack {
		return 0
	}
	return max(0, slices.IndexFunc(r.Steps, func(s model.Step) bool {
		return s.Rollback == "" && !s.Status.Done()
	}))
}

// doneSteps names the steps of a run that a retry does not do again.
func doneSteps(r *model.Run, definitions []runbook.Step) map[string]bool {
	done, first := map[string]bool{}, firstToDo(r)
	for i, d := range definitions {
		if s := r.Steps[i]; i < first || s.Status == model.StepSkipped {
			done[d.Name] = true
		}
	}
	return done
}

// restartAt readies a run to be started again at a step, to do the steps that todo names.
func restartAt(r *model.Run, task string, first int, todo func(step int) bool) {
	for i := range r.Steps {
		if s := &r.Steps[i]; todo(i) && s.Rollback == "" && s.Status != model.StepSkipped {
			if s.DispatchedAt != nil {
				s.Round++
			}
			s.Status, s.Job, s.Result, s.Error, s.Resolved = model.StepPending, "", nil, "", nil
			s.DispatchedAt, s.CompletedAt, s.RetryAfter, s.Postponed, s.QueuedUntil = nil, nil, nil, false, nil
			s.PollStartedAt, s.PolledAt, s.Answers, s.RetriesBefore = nil, nil, nil, s.RetryCount
			s.CacheID, s.Cached = "", nil
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
