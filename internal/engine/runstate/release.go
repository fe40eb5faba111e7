package runstate

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// onReleased lets a run go on that was paused with its batch. The time that it was paused is
// not counted as polling.
func (t *transition) onReleased(e model.RunReleased) (model.Decision, error) {
	run := t.run
	if e.Task == "" { // the task of the batch's last resumption sends the job if this process dies
		b, err := t.state.LoadBatch()
		if err != nil {
			return model.Decision{}, err
		}
		e.Task = b.ReleaseTask()
	}
	if run.PausedAt == nil {
		if run.Task == e.Task { // the process that released it may have died before it sent the job
			return t.repeat(), nil
		}
		return model.Decision{Stale: true}, nil
	}
	if t.mode == model.Paused {
		return model.Decision{Stale: true}, nil
	}
	paused := max(0, t.now.Sub(*run.PausedAt)) // a clock may have been set back
	run.PausedAt, run.Task = nil, e.Task
	if err := t.resume(paused); err != nil {
		return model.Decision{}, err
	}
	return t.decision()
}

// resume lets a run go on that was paused for so long.
func (t *transition) resume(paused time.Duration) error {
	if t.run.Status == model.RunWaiting {
		return t.start()
	}
	step := t.step()
	if step.PollStartedAt != nil {
		began := step.PollStartedAt.Add(paused)
		step.PollStartedAt = &began
	}
	switch {
	case step.Status == model.StepPolling:
		return t.poll()
	case step.RetryAfter != nil:
		return t.dispatchWaiting()
	}
	return t.proceed()
}

// onCancelRequested cancels a run, at once where no job of it is in flight, else
// with the job's result or deadline: what the job does must have ended before anything
// undoes it. Checks that the member does not wait for end at once, as their jobs only read. A waiting
// run that its member has not come to ends in its turn, when it would have begun. What undoes or cleans up goes on to its end, also where it was paused:
// a cancelled batch is never resumed.
func (t *transition) onCancelRequested(e model.RunCancelRequested) (model.Decision, error) {
	if !isOpen(t.run) || t.run.Kind == model.KindRemoval {
		if t.mode == model.Cancelled && t.run.PausedAt != nil {
			return t.onReleased(model.RunReleased{Task: t.run.Task})
		}
		return t.cancelElsewhere()
	}
	if t.run.Member != 0 && !t.aside() {
		m, err := t.loadMember()
		if err != nil {
			return model.Decision{}, err
		}
		if m.OpenPhase != t.run.Phase {
			return t.cancelElsewhere()
		}
	}
	if t.run.Status == model.RunRunning && t.step().JobInFlight() && !t.aside() {
		return t.cancelAfterJob(e)
	}
	t.end(model.RunCancelled, e.Reason)
	return t.decision()
}

// cancelAfterJob has the result or the deadline of the job in flight end the run. A deadline
// that was put off, for the worker would have answered that the job expired, falls due again.
func (t *transition) cancelAfterJob(e model.RunCancelRequested) (model.Decision, error) {
	step := t.step()
	marked := t.run.CancelReason != "" || t.mode == model.Cancelled // which ends the run, too
	if marked && step.QueuedUntil == nil {
		return model.Decision{Stale: true}, nil
	}
	if !marked {
		t.run.CancelReason = e.Reason
	}
	d := t.runChanged()
	if step.QueuedUntil != nil {
		step.QueuedUntil = nil
		at := jobDeadline(*step, t.definition())
		due := at
		if due.Before(t.now) {
			due = t.now
		}
		t.run.DeadlineAt = &at
		d.Messages = []model.Message{model.Deadline{Run: t.run, Step: t.run.Current, At: due}}
	}
	return d, nil
}

// cancelElsewhere decides on a run that is to be cancelled and that its member is not in. A
// member who was removed may have just come to another run: that one is cancelled or, where it
// is of the removal steps, started. The process that ended this one may have died then.
func (t *transition) cancelElsewhere() (model.Decision, error) {
	if t.run.Member == 0 {
		return model.Decision{Stale: true}, nil
	}
	m, err := t.loadMember()
	if err != nil {
		return model.Decision{}, err
	}
	if m.OpenPhase == t.run.Phase || RemovalEvents(m) == nil {
		return model.Decision{Stale: true}, nil
	}
	return model.Decision{Repeated: true, Next: RemovalEvents(m)}, nil
}

// RemovalEvents gives the event on the run that a removed member is in: the one of the removal
// steps starts, any other is cancelled.
func RemovalEvents(m *model.Member) []model.Event {
	switch {
	case m.Status != model.MemberRemoved || m.OpenPhase == 0 || m.Moves(): // the phase of a member who moves ends
		return nil
	case m.OpenPhase == m.Removal:
		return []model.Event{model.OnRun{Phase: m.OpenPhase, Member: m.ID, RunEvent: model.RunStarted{}}}
	}
	return []model.Event{model.OnRun{Phase: m.OpenPhase, Member: m.ID, RunEvent: model.RunCancelRequested{Reason: model.ReasonRemoved}}}
}
