package runstate

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/model"
)

// isOpen tells whether the run goes through its own steps, or waits to.
func isOpen(r *model.Run) bool { return r.Status == model.RunWaiting || r.Status == model.RunRunning }

// start begins a run, or begins it again where a member is retried.
func (t *transition) start() error {
	if t.run.Member != 0 {
		m, err := t.loadMember()
		if err != nil {
			return err
		}
		if (t.run.Kind == model.KindRemoval) != (m.Status == model.MemberRemoved) || m.Status == model.MemberFailed && !t.aside() {
			t.end(model.RunCancelled, fmt.Sprintf("the member is %s", m.Status))
			return nil
		}
	}
	switch t.mode {
	case model.Paused:
		t.pause()
		return nil
	case model.Cancelled:
		if t.run.Kind != model.KindRemoval {
			t.end(model.RunCancelled, model.ReasonCancelled)
			return nil
		}
	}
	t.run.Status = model.RunRunning
	if t.run.Member != 0 {
		if err := CaptureVariables(t.run, t.rb, t.member); err != nil {
			return err
		}
	}
	if skip, err := t.skipsPhase(); skip || err != nil {
		return err
	}
	return t.proceed()
}

// proceed goes on to the next step that is to be done, or ends the run.
func (t *transition) proceed() error {
	for i := t.run.Current; i < len(t.run.Steps); i++ {
		if s := t.run.Steps[i]; s.Status == model.StepPending && (s.Rollback != "") == (t.run.Status == model.RunRollingBack) {
			t.run.Current = i
			until, err := t.busyUntil()
			if err != nil {
				return err
			}
			if until.After(t.now) {
				t.postpone(until)
				return nil
			}
			return t.dispatch(fmt.Sprintf("attempt-%d", s.Attempts+1))
		}
	}
	if t.run.Status == model.RunRollingBack {
		t.run.Current = max(0, len(t.run.Steps)-1)
		t.end(model.RunFailed, t.run.Error)
		return nil
	}
	t.run.Current = lastOwn(t.run)
	if reason := t.failedChecks(); reason != "" {
		t.end(model.RunFailed, reason)
		return nil
	}
	t.end(model.RunSucceeded, "")
	return nil
}

// lastOwn is the run's last step; what undid an earlier attempt comes behind it.
func lastOwn(r *model.Run) int {
	for i := len(r.Steps) - 1; i > 0; i-- {
		if r.Steps[i].Rollback == "" {
			return i
		}
	}
	return 0
}

// pause leaves the run as it is until the batch is resumed.
func (t *transition) pause() { t.run.PausedAt = &t.now }

// Cancelling reports whether the run is cancelled as soon as no job of it is in flight: its batch is
// cancelled or its member removed. What undoes or cleans up is carried to its end.
func Cancelling(r *model.Run, batch model.DispatchMode) bool {
	return (batch == model.Cancelled || r.CancelReason != "") && r.Status != model.RunRollingBack && r.Kind != model.KindRemoval
}

// cancelling reports whether this run is being cancelled; see Cancelling.
func (t *transition) cancelling() bool { return Cancelling(t.run, t.mode) }

// cancelReason is why the run is being cancelled.
func (t *transition) cancelReason() string { return cmp.Or(t.run.CancelReason, model.ReasonCancelled) }

// onSucceeded takes a worker's answer: not yet complete, or done.
func (t *transition) onSucceeded(result json.RawMessage) error {
	step := t.step()
	result, reason := t.checkPayload("result", result)
	if reason != "" {
		return t.failStep(reason)
	}
	definition := t.definition()
	step.Result = t.hideOutputs(definition.OutputParams, result)
	answer := readAnswer(result)
	if answer.incomplete {
		return t.onIncomplete(answer.reason)
	}
	if err := t.keepOutputs(definition.OutputParams, answer); err != nil {
		return t.failStep(err.Error())
	}
	if err := t.checkItems(answer); err != nil {
		return t.failStep(err.Error())
	}
	t.noteAttempt(model.StepSucceeded, "")
	step.Status, step.CompletedAt, step.Error = model.StepSucceeded, &t.now, ""
	return t.proceed()
}

// failStep fails the step in hand for good.
func (t *transition) failStep(reason string) error { return t.endStep(model.StepFailed, reason) }

// endStep ends the step in hand as failed, and with it the run, which first undoes
// what the step did where the runbook says how. A rollback goes on after a step of
// its own that failed: what follows may be the message to an administrator.
func (t *transition) endStep(status model.StepStatus, reason string) error {
	step, definition := t.step(), t.definition()
	reason = model.ClipReason(reason)
	t.noteAttempt(status, reason)
	step.Status, step.CompletedAt, step.Error, step.RetryAfter, step.Postponed, step.PollAt = status, &t.now, reason, nil, false, nil
	because := fmt.Sprintf("step %q: %s", definition.Name, reason)
	switch {
	case t.run.Status == model.RunRollingBack:
		t.run.Error = model.ClipReason(fmt.Sprintf("%s; its rollback %q failed too: %s", t.run.Error, step.Rollback, because))
		return t.proceed()
	case t.cancelling():
		t.end(model.RunCancelled, t.cancelReason())
		return nil
	case t.run.Kind == model.KindCheck:
		return t.proceed()
	case definition.OnFailure != "" && step.DispatchedAt != nil:
		return t.rollBack(definition.OnFailure, because)
	}
	t.end(model.RunFailed, because)
	return nil
}

// rollBack adds the steps of a rollback to the run and begins them.
func (t *transition) rollBack(name, because string) error {
	definitions, err := t.run.Definitions(t.rb, name)
	if err != nil {
		return err
	}
	if len(t.run.Steps)+len(definitions) > model.StepsPerRun {
		t.end(model.RunFailed, because+"; not rolled back: the run would have too many steps")
		return nil
	}
	t.cancelSteps()
	t.run.Status, t.run.RolledBack, t.run.Error, t.run.Current = model.RunRollingBack, true, because, len(t.run.Steps)
	for i := range definitions {
		t.run.Steps = append(t.run.Steps, model.Step{Rollback: name, Place: i, Status: model.StepPending})
	}
	t.definitions = append(t.definitions, definitions...)
	return t.proceed()
}

// end closes the run; what it had not begun is cancelled.
func (t *transition) end(status model.RunStatus, reason string) {
	t.run.Status, t.run.EndedAt, t.run.Error, t.run.PausedAt, t.run.CancelReason = status, &t.now, reason, nil, ""
	t.run.Secrets, t.run.Variables = nil, nil
	t.cancelSteps()
}

// cancelSteps cancels the steps that have not ended.
func (t *transition) cancelSteps() {
	for i := range t.run.Steps {
		s := &t.run.Steps[i]
		if s.Status.Terminal() {
			continue
		}
		if s.JobInFlight() {
			t.abandonJob(i)
		}
		s.Status, s.CompletedAt, s.RetryAfter, s.Postponed, s.PollAt = model.StepCancelled, &t.now, nil, false, nil
	}
}
