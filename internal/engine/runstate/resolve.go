package runstate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// onResolved takes an administrator's word for a step: the run passes it by, or has
// what its function would have answered. A step that lies ahead is passed when the
// run comes to it.
func (t *transition) onResolved(e model.StepResolved) (model.Decision, error) {
	run := t.run
	if e.Step < 0 || e.Step >= len(run.Steps) {
		return model.Decision{}, model.Refusef("the run has no step %d", e.Step)
	}
	step := &run.Steps[e.Step]
	if step.Resolved != nil && step.Status == resolvedStatus(e) {
		return t.repeat(), nil
	}
	if step.Status.Terminal() || run.Status.Terminal() {
		return model.Decision{}, model.Refusef("step %q of %s is %s: only a step that has not ended can be skipped or marked done", t.definitions[e.Step].Name, run.Label(), step.Status)
	}
	current := inHand(run, e.Step)
	if err := t.noteBusy(e.Step); err != nil {
		return model.Decision{}, err
	}
	if err := t.resolveStep(e, step); err != nil {
		return model.Decision{}, err
	}
	if !current {
		return t.runChanged(), nil
	}
	if run.PausedAt != nil { // proceed pauses it again where the batch is still paused
		run.PausedAt = nil
	}
	if err := t.proceed(); err != nil {
		return model.Decision{}, err
	}
	return t.decision()
}

// noteBusy notes at the member until when the job of a step, if one is in flight, may still run
// though nothing waits for it any more.
func (t *transition) noteBusy(index int) error {
	step := t.run.Steps[index]
	if !step.JobInFlight() || t.run.Member == 0 {
		return nil
	}
	m, err := t.loadMember()
	if err != nil {
		return err
	}
	busy := *m
	field := &busy.BusyUntil
	if isUndo(t.run, step) {
		field = &busy.UndoingUntil
	}
	if until := jobEnd(step, t.definitions[index]); *field == nil || (*field).Before(until) {
		*field = &until
	}
	t.member, t.memberChanged = &busy, true
	return nil
}

// resolvedStatus is the status of a step that an administrator resolves so.
func resolvedStatus(e model.StepResolved) model.StepStatus {
	if e.Skip {
		return model.StepSkipped
	}
	return model.StepSucceeded
}

// StepThatFailed is the step of a resolution that concerns the step at which a run failed.
const StepThatFailed = -1

// ResolveFailed resolves the step that a run failed at, as an administrator says, before the
// run begins again.
func ResolveFailed(r *model.Run, rb *runbook.Runbook, at int, e *model.StepResolved, now time.Time) error {
	if e == nil {
		return nil
	}
	t, err := newTransition(transition{rb: rb, run: r, now: now})
	if err != nil {
		return err
	}
	if e.Step == StepThatFailed {
		failed := *e
		failed.Step, e = at, &failed
	}
	if e.Step != at {
		return model.Refusef("%s failed at step %q, not at step %q", r.Label(), t.stepName(at), t.stepName(e.Step))
	}
	return t.resolveStep(*e, &r.Steps[at])
}

// resolveStep ends one step as an administrator says.
func (t *transition) resolveStep(e model.StepResolved, step *model.Step) error {
	switch {
	case e.Skip && t.run.Kind == model.KindItems:
		return model.Refusef("the step that lists the items cannot be skipped: mark it done with a list")
	case !e.Skip:
		if err := t.takeResult(e, step); err != nil {
			return err
		}
	}
	if step.JobInFlight() {
		t.abandonJob(e.Step)
	}
	by := e.By
	step.Cached = nil
	step.Status, step.CompletedAt, step.RetryAfter, step.Postponed, step.PollAt, step.Resolved = resolvedStatus(e), &t.now, nil, false, nil, &by
	if e.Skip {
		return nil
	}
	step.Error = ""
	return nil
}

// CheckDone checks that a result has what a step gives to later ones. It may be empty, as for a
// mark-done without one. Errors: a *model.Refusal.
func CheckDone(d runbook.Step, result json.RawMessage) error {
	answer := readAnswer(result)
	if answer.incomplete {
		return model.Refusef("step %q cannot be marked done with the result \"complete\": false", d.Name)
	}
	for _, variable := range slices.Sorted(maps.Keys(d.OutputParams)) {
		if _, ok := lookup(answer.fields, d.OutputParams[variable]); !ok {
			return model.Refusef("step %q cannot be marked done: the result lacks %s, which output_params reads", d.Name, d.OutputParams[variable])
		}
	}
	return nil
}

// takeResult reads the answer that an administrator gives in a worker's place.
func (t *transition) takeResult(e model.StepResolved, step *model.Step) error {
	current := t.run.Current
	t.run.Current = e.Step
	defer func() { t.run.Current = current }()
	definition := t.definition()
	result := e.Result
	if len(result) == 0 {
		result = json.RawMessage("true")
	}
	result, reason := t.checkPayload("result", result)
	if reason != "" {
		return model.Refusef("step %q cannot be marked done: %s", definition.Name, reason)
	}
	answer := readAnswer(result)
	if answer.incomplete {
		return model.Refusef("step %q cannot be marked done with the result \"complete\": false", definition.Name)
	}
	if err := t.keepOutputs(definition.OutputParams, answer); err != nil {
		return model.Refusef("step %q cannot be marked done: %v; give the result that its function would return", definition.Name, err)
	}
	if err := t.checkItems(answer); err != nil {
		return model.Refusef("step %q cannot be marked done: %v", definition.Name, err)
	}
	step.Result = t.hideOutputs(definition.OutputParams, result)
	return nil
}

// stepName names the step at index, which may not exist.
func (t *transition) stepName(step int) string {
	if step < 0 || step >= len(t.definitions) {
		return fmt.Sprint(step)
	}
	return t.definitions[step].Name
}
