package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// TaskResumed is the task under which the process that holds a run releases it where the
// batch was resumed in the meantime.
const TaskResumed = "resumed"

// released lets a run go on that was held while its batch was paused. The time that
// it was held is not counted as polling.
func (w *walk) released(e RunReleased) (Decision, error) {
	run := w.run
	if run.HeldAt == nil {
		if run.Task == e.Task || w.releasedByHolder() {
			return w.repeated(), nil
		}
		return Decision{Stale: true}, nil
	}
	if w.gate == Paused {
		return Decision{Stale: true}, nil
	}
	held := max(0, w.now.Sub(*run.HeldAt)) // a clock may have been set back
	run.HeldAt, run.Task = nil, e.Task
	if err := w.goOn(held); err != nil {
		return Decision{}, err
	}
	return w.decision()
}

// releasedByHolder reports whether a process that held the run has released it lately. If
// the process died of that, only the task that releases the batch's runs sends what it owed.
func (w *walk) releasedByHolder() bool {
	if w.run.Task != TaskResumed || w.run.Status == RunWaiting || w.run.Status.Terminal() {
		return false
	}
	sent := w.step().DispatchedAt
	return sent != nil && w.now.Sub(*sent) <= BrokerRemembers
}

func (w *walk) goOn(held time.Duration) error {
	if w.run.Status == RunWaiting {
		return w.start()
	}
	step := w.step()
	if step.PollStartedAt != nil {
		began := step.PollStartedAt.Add(held)
		step.PollStartedAt = &began
	}
	switch {
	case step.Status == StepPolling:
		return w.poll()
	case step.RetryAfter != nil:
		return w.dispatchWaiting()
	}
	return w.proceed()
}

// stopped ends a run that is not to go on, at once where no job of it is in flight, else
// with the job's result or deadline: what the job does must have ended before anything
// undoes it. A waiting run that its member has not come to ends in its turn, when it
// would have begun. What undoes or cleans up goes on to its end, also where it was held:
// a cancelled batch is never resumed.
func (w *walk) stopped(e RunStopped) (Decision, error) {
	if !w.run.open() || w.run.Kind == KindRemoval {
		if w.gate == Stopped && w.run.HeldAt != nil {
			return w.released(RunReleased{Task: w.run.Task})
		}
		return w.elsewhere()
	}
	if w.run.Member != 0 {
		m, err := w.loadMember()
		if err != nil {
			return Decision{}, err
		}
		if m.OpenPhase != w.run.Phase {
			return w.elsewhere()
		}
	}
	if w.run.Status == RunRunning && w.step().Status == StepDispatched {
		return w.stopAfterJob(e)
	}
	w.end(RunCancelled, e.Reason)
	return w.decision()
}

// stopAfterJob has the result or the deadline of the job in flight end the run. A deadline
// that was put off, for the worker would have answered that the job expired, falls due again.
func (w *walk) stopAfterJob(e RunStopped) (Decision, error) {
	step := w.step()
	marked := w.run.Stopping != "" || w.gate == Stopped // which ends the run, too
	if marked && step.QueuedUntil == nil {
		return Decision{Stale: true}, nil
	}
	if !marked {
		w.run.Stopping = e.Reason
	}
	d := w.changed()
	if step.QueuedUntil != nil {
		step.QueuedUntil = nil
		at, due := step.deadline(), step.deadline()
		if due.Before(w.now) {
			due = w.now
		}
		w.run.DeadlineAt = &at
		d.Messages = []Message{Deadline{Run: w.run, Step: w.run.Current, At: due}}
	}
	return d, nil
}

// elsewhere is the decision on a run that is to stop, and that its member is not in. A
// member who was removed may have just come to another: that one is to stop, or, where it
// is of the removal steps, to start. Whoever ended this one may have died of it.
func (w *walk) elsewhere() (Decision, error) {
	if w.run.Member == 0 {
		return Decision{Stale: true}, nil
	}
	m, err := w.loadMember()
	if err != nil {
		return Decision{}, err
	}
	if m.OpenPhase == w.run.Phase || m.leaves() == nil {
		return Decision{Stale: true}, nil
	}
	return Decision{Repeated: true, Next: m.leaves()}, nil
}

// resolved takes an administrator's word for a step: the run passes it by, or has
// what its function would have answered. A step that lies ahead is passed when the
// run comes to it.
func (w *walk) resolved(e StepResolved) (Decision, error) {
	run := w.run
	if e.Step < 0 || e.Step >= len(run.Steps) {
		return Decision{}, refuse("the run has no step %d", e.Step)
	}
	step := &run.Steps[e.Step]
	if step.Resolved != nil && step.Status == e.status() {
		return w.repeated(), nil
	}
	if step.Status.Terminal() || run.Status.Terminal() {
		return Decision{}, refuse("step %q of %s is %s: only a step that has not ended can be skipped or marked done", step.Name, run.who(), step.Status)
	}
	current := run.inHand(e.Step)
	if err := w.noteBusy(*step); err != nil {
		return Decision{}, err
	}
	if err := w.settleStep(e, step); err != nil {
		return Decision{}, err
	}
	if !current {
		return w.changed(), nil
	}
	if run.HeldAt != nil { // proceed holds it again where the batch is still paused
		run.HeldAt = nil
	}
	if err := w.proceed(); err != nil {
		return Decision{}, err
	}
	return w.decision()
}

// noteBusy notes at the member until when the job of a step, if one is in flight, may still run
// though nothing waits for it any more.
func (w *walk) noteBusy(step Step) error {
	if step.Status != StepDispatched || w.run.Member == 0 {
		return nil
	}
	m, err := w.loadMember()
	if err != nil {
		return err
	}
	busy := *m
	field := &busy.BusyUntil
	if w.run.undoes(step) {
		field = &busy.UndoingUntil
	}
	if until := step.ended(); *field == nil || (*field).Before(until) {
		*field = &until
	}
	w.member, w.busy = &busy, true
	return nil
}

func (e StepResolved) status() StepStatus {
	if e.Skip {
		return StepSkipped
	}
	return StepSucceeded
}

// settle resolves the step that a run failed at, as an administrator says, before the
// run begins again.
func (r *Run) settle(rb *runbook.Runbook, at int, e *StepResolved, now time.Time) error {
	if e == nil {
		return nil
	}
	if e.Step != at {
		return refuse("step %q is not the one that %s failed at, which is %q", r.nameOf(e.Step), r.who(), r.nameOf(at))
	}
	w := &walk{rb: rb, run: r, now: now}
	return w.settleStep(*e, &r.Steps[at])
}

// settleStep ends one step as an administrator says.
func (w *walk) settleStep(e StepResolved, step *Step) error {
	if !e.Skip {
		if err := w.takeResult(e, step); err != nil {
			return err
		}
	}
	if step.Status == StepDispatched {
		step.abandon(w.now)
	}
	by := e.By
	step.Status, step.CompletedAt, step.RetryAfter, step.Postponed, step.Resolved = e.status(), &w.now, nil, false, &by
	if e.Skip {
		return nil
	}
	step.Error = ""
	return nil
}

// takeResult reads the answer that an administrator gives in a worker's place.
func (w *walk) takeResult(e StepResolved, step *Step) error {
	current := w.run.Current
	w.run.Current = e.Step
	defer func() { w.run.Current = current }()
	definition, err := w.definition()
	if err != nil {
		return err
	}
	result := e.Result
	if len(result) == 0 {
		result = json.RawMessage("true")
	}
	result, reason := w.keepable("result", result)
	if reason != "" {
		return refuse("step %q cannot be marked done: %s", step.Name, reason)
	}
	answer := readAnswer(result)
	if answer.incomplete {
		return refuse("step %q cannot be marked done with a result that says that it is not complete", step.Name)
	}
	if err := w.keepOutputs(definition.OutputParams, answer); err != nil {
		return refuse("step %q cannot be marked done: %v; give the result that its function would have answered", step.Name, err)
	}
	step.Result = w.hideOutputs(definition.OutputParams, result)
	return nil
}

// who tells of whom the run is.
func (r *Run) who() string {
	if r.Member == 0 {
		return strings.ReplaceAll(string(r.Kind), "_", " ")
	}
	return fmt.Sprintf("member %d", r.Member)
}
