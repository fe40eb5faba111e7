package runstate

import (
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// dispatch resolves the step in hand and marks it as sent. What cannot be
// resolved fails the step without a retry, which could not help.
func (t *transition) dispatch(attempt string) error {
	switch {
	case t.stops():
		t.end(model.RunCancelled, t.stopReason())
		return nil
	case t.mode == model.Paused:
		t.pause()
		return nil
	}
	definition, err := t.definition()
	if err != nil {
		return err
	}
	step := t.step()
	if step.RetryAfter == nil || step.Postponed {
		step.Attempts++
	}
	function, params, err := t.resolve(definition)
	var load *loadError
	if errors.As(err, &load) {
		return err
	}
	if err != nil {
		return t.failStep(err.Error())
	}
	if len(function) > model.MaxReason {
		return t.failStep("the function's name is longer than any can be")
	}
	params, reason := t.checkPayload("parameters", params)
	if reason != "" {
		return t.failStep(reason)
	}
	if n := len(params) + model.PayloadSize(t.secrets); n > model.MaxPayload {
		return t.failStep(fmt.Sprintf("its parameters are %d bytes long with their secrets; at most %d can be carried", n, model.MaxPayload))
	}
	step.Function, step.Params, t.run.Secrets = function, params, t.secrets
	t.markDispatched(attempt)
	return nil
}

// markDispatched marks the step in hand as dispatched under a job id of its own.
func (t *transition) markDispatched(attempt string) {
	step := t.step()
	kind := "step"
	if t.run.Kind == model.KindInit {
		kind = "init"
	}
	step.Status, step.DispatchedAt, step.RetryAfter, step.Postponed, step.QueuedUntil, step.SilentAt = model.StepDispatched, &t.now, nil, false, nil, nil
	step.Refused = nil
	step.JobID = fmt.Sprintf("%s-%d-%s", kind, t.run.StepID(t.run.Current), attempt)
}

// definition is the runbook's step that the step in hand is made of.
func (t *transition) definition() (runbook.Step, error) { return t.run.Definition(t.rb, t.run.Current) }

// retryDelay is how long the retry that is about to be scheduled waits. The jitter
// is drawn from the step's id and the retry's number: members spread, and a
// decision taken again is the same.
func (t *transition) retryDelay() time.Duration {
	step := t.step()
	delay := min(step.RetryInterval, runbook.MaxRetryWait)
	if step.Backoff == runbook.BackoffExponential {
		for range step.RetryCount - step.RetriesBefore - 1 {
			if delay = min(2*delay, runbook.MaxRetryWait); delay == runbook.MaxRetryWait {
				break
			}
		}
		if step.MaxInterval > 0 {
			delay = min(delay, step.MaxInterval)
		}
	}
	if step.Jitter > 0 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d/%d/%d", t.run.Batch, t.run.StepID(t.run.Current), step.RetryCount)
		share := float64(h.Sum64()%1024) / 1024
		delay += time.Duration(float64(delay) * share * float64(step.Jitter) / 100)
	}
	return delay
}

// postpone has the pending step in hand dispatched at a later time.
func (t *transition) postpone(at time.Time) {
	step := t.step()
	step.RetryAfter, step.Postponed = &at, true
}

// dispatchWaiting dispatches the step in hand, whose RetryAfter has come.
func (t *transition) dispatchWaiting() error {
	step := t.step()
	if step.Postponed {
		return t.dispatch(fmt.Sprintf("attempt-%d", step.Attempts+1))
	}
	return t.dispatch(fmt.Sprintf("retry-%d", step.RetryCount))
}

// isUndo reports whether a step of the run undoes what was done for the member, or cleans
// up after it.
func isUndo(r *model.Run, s model.Step) bool { return s.Rollback != "" || r.Kind == model.KindRemoval }

// busyUntil is until when a job that is no longer waited for may still run, of those that
// the step in hand must not overlap with; zero for none. What undoes waits for what was
// being done, and what is done again waits for what was being undone.
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
