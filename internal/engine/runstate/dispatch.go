package runstate

import (
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// dispatch resolves the step in hand and marks it as sent, or goes on to the next step if the condition
// of a step that has not begun is false. What cannot be resolved fails the step without a retry, which could not help.
func (t *transition) dispatch(attempt string) error {
	switch {
	case t.cancelling():
		t.end(model.RunCancelled, t.cancelReason())
		return nil
	case t.mode == model.Paused:
		t.pause()
		return nil
	}
	definition, step := t.definition(), t.step()
	begins := step.RetryAfter == nil || step.Postponed
	if begins {
		if settled, err := t.skipOrFail(definition); settled || err != nil {
			return err
		}
	}
	if settled, err := t.consultCache(definition); settled || err != nil {
		return err
	}
	if begins {
		step.Attempts++
	}
	refused, err := t.loadOutputs(definition)
	if err != nil {
		return err
	}
	if refused != "" {
		return t.failStep(refused)
	}
	function, params, err := t.resolve(definition)
	if err != nil {
		return t.failStep(err.Error())
	}
	if function == "" {
		return t.failStep("the function name is empty: the variables of its template have no value")
	}
	if len(function) > model.MaxReason {
		return t.failStep(fmt.Sprintf("the function name has %d bytes; at most %d are allowed", len(function), model.MaxReason))
	}
	params, reason := t.checkPayload("parameters", params)
	if reason != "" {
		return t.failStep(reason)
	}
	if n := len(params) + model.PayloadSize(t.secrets); n > model.MaxPayload {
		return t.failStep(fmt.Sprintf("the size of its parameters with their secrets is %d bytes; at most %d are allowed", n, model.MaxPayload))
	}
	if step.Function = function; function == definition.Function {
		step.Function = ""
	}
	step.Params, t.run.Secrets = params, t.secrets
	t.markDispatched(attempt)
	return nil
}

// skipOrFail goes on behind the step in hand if its condition is false, or fails the step if the condition
// cannot be evaluated. It reports whether it did.
func (t *transition) skipOrFail(d runbook.Step) (settled bool, err error) {
	if d.When == nil {
		return false, nil
	}
	fault := ""
	if slices.Contains(d.When.Names(), runbook.VariableOutputs) {
		if fault, err = t.loadOutputs(d); err != nil {
			return false, err
		}
	}
	if fault == "" {
		skips, err := t.skips(d)
		switch {
		case skips:
			return true, t.proceed()
		case err == nil:
			return false, nil
		}
		fault = err.Error()
	}
	t.step().Attempts++
	return true, t.failStep(fault)
}

// markDispatched marks the step in hand as dispatched under a job id of its own.
func (t *transition) markDispatched(attempt string) {
	step := t.step()
	step.Status, step.RetryAfter, step.Postponed, step.PollAt = model.StepDispatched, nil, false, nil
	t.newJob(attempt)
}

// newJob gives the step in hand a job under an id of its own.
func (t *transition) newJob(attempt string) {
	step := t.step()
	step.DispatchedAt, step.QueuedUntil, step.SilentAt, step.Refused = &t.now, nil, nil, nil
	step.Job = attempt
	if n := t.run.Switches; n > 0 { // the steps of the version before had jobs under the same ids
		step.Job += fmt.Sprintf("-switch-%d", n)
	}
}

// definition is the runbook's step that the step in hand is made of.
func (t *transition) definition() runbook.Step { return t.definitions[t.run.Current] }

// isUndo reports whether a step of the run is a rollback or removal step.
func isUndo(r *model.Run, s model.Step) bool { return s.Rollback != "" || r.Kind == model.KindRemoval }

// busyUntil returns the latest end of abandoned jobs that the current step must not
// overlap with; zero if there are none. An undo waits for its do, and a repeated do
// waits for its undo.
func (t *transition) busyUntil() (until time.Time, err error) {
	step := *t.step()
	undoes := isUndo(t.run, step)
	if t.run.Kind == model.KindRemoval {
		if _, err := t.loadMember(); err != nil {
			return until, err
		}
	}
	// The member has what the runs before this one left. The start of a run loads the
	// member, and a rollback only undoes what its own run did.
	if m := t.member; m != nil && step.Rollback == "" {
		at := m.UndoingUntil
		if undoes {
			at = m.BusyUntil
		}
		if at != nil {
			until = *at
		}
	}
	for _, s := range t.run.Steps {
		for _, a := range s.Abandoned {
			if isUndo(t.run, s) != undoes && a.Late == nil && a.Until.After(until) {
				until = a.Until
			}
		}
	}
	return until, nil
}
