package runstate

import (
	"cmp"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// ownDeadline is the timeout from which on a deadline is left to the scheduler's
// tick, which comes by before it: a message for every job would be one more a step.
const ownDeadline = 5 * time.Minute

// JobGracePeriod is how long the orchestrator waits after a job has expired before it takes
// the job for lost. The worker ends a job that expires; in this time what the job was
// doing ends, its result travels, and clocks may differ. Before it has passed no other
// attempt, rollback or removal step of the member begins.
const JobGracePeriod = 30 * time.Second

// silentLook is after what time a worker that was found silent is looked at again: its
// heartbeats come every 30 seconds.
const silentLook = 45 * time.Second

// jobExpiry is when the worker ends the step's job, which is in flight, or no longer begins
// it.
func jobExpiry(s model.Step, d runbook.Step) time.Time { return s.VisibleAt().Add(d.Timeout) }

// jobDeadline is when the step's job, which is in flight, is judged: it is taken for lost, or
// it is known to wait for its worker and the deadline is put off. A job that its worker
// refused is not put off.
func jobDeadline(s model.Step, d runbook.Step) time.Time {
	at := jobEnd(s, d)
	if s.QueuedUntil != nil && s.Refused == nil {
		wait := min(ownDeadline, max(JobGracePeriod, d.Timeout))
		if s.SilentAt != nil {
			wait = silentLook
		}
		if again := s.QueuedUntil.Add(wait); again.After(at) {
			return again
		}
	}
	return at
}

// abandonJob notes that the job of the step at index is no longer waited for.
func (t *transition) abandonJob(index int) {
	s := &t.run.Steps[index]
	s.Abandoned = append(s.Abandoned, model.Abandoned{JobID: t.run.JobID(index), At: t.now, Until: jobEnd(*s, t.definitions[index])})
	s.Refused, s.PollAt, s.PollSent = nil, nil, false
}

// onDeadline fails a step whose result has not come. The deadline of a job that is known to
// wait for its worker is put off: the worker will answer that the job expired, and the step
// is dispatched again. A run that is being cancelled dispatches nothing again and does not wait for that.
func (t *transition) onDeadline(e model.DeadlineDue) (model.Decision, error) {
	id := jobEvent("deadline", t.run, e.Step, e.JobID)
	if id == t.run.LastEvent {
		return t.repeat(), nil
	}
	if !inHand(t.run, e.Step) || !t.run.AwaitsJob(e.Step, e.JobID) {
		return model.Decision{Stale: true}, nil
	}
	step := t.step()
	if t.cancelling() {
		step.QueuedUntil = nil
	}
	at := jobDeadline(*step, t.definition())
	switch early := at.Sub(t.now); {
	case early > ownDeadline: // it was put off since: the tick sees to it
		return model.Decision{Stale: true}, nil
	case early > 0:
		return model.Decision{Repeated: true, Messages: []model.Message{model.Deadline{Run: t.run, Step: e.Step, At: at.Add(time.Second)}}}, nil
	case step.Refused == nil && !t.cancelling() && (e.Queued || e.Silent && step.SilentAt == nil):
		return t.putDeadlineOff(e), nil
	}
	t.run.LastEvent = id
	if err := t.endLostJob(e); err != nil {
		return model.Decision{}, err
	}
	return t.decision()
}

// putDeadlineOff keeps waiting for the job in flight: the job is queued, or its worker is
// silent for the first time.
func (t *transition) putDeadlineOff(e model.DeadlineDue) model.Decision {
	step := t.step()
	step.QueuedUntil, step.SilentAt = &t.now, nil
	if !e.Queued { // its heartbeats may be held up, and come before the next look
		step.SilentAt = &t.now
	}
	at := jobDeadline(*step, t.definition())
	t.run.DeadlineAt = &at
	d := t.runChanged()
	if t.definition().Timeout < ownDeadline || step.SilentAt != nil {
		d.Messages = []model.Message{model.Deadline{Run: t.run, Step: e.Step, At: at}}
	}
	return d
}

// endLostJob fails the step in hand, whose job is taken for lost, or ends it as its worker's
// refusal says.
func (t *transition) endLostJob(e model.DeadlineDue) error {
	step := t.step()
	if step.Refused != nil {
		return t.endRefused()
	}
	t.abandonJob(t.run.Current)
	definition := t.definition()
	cause := cmp.Or(e.Cause, fmt.Sprintf("worker %s did not take the job, did not finish it, or its answer was lost", definition.WorkerID))
	return t.onFailed(fmt.Sprintf("no result within %s: %s", definition.Timeout, cause), 0)
}

// mostExpiries is how often a job may expire before its worker comes to it.
const mostExpiries = 100

// onExpired sends a job again that its worker came to too late to begin it: the
// worker's queue was longer than the step's timeout, and the step is as it was.
func (t *transition) onExpired(reason string) error {
	step := t.step()
	if step.Expiries++; step.Expiries > mostExpiries {
		return t.failStep(fmt.Sprintf("%s; its jobs expired %d times", reason, step.Expiries))
	}
	step.Status = model.StepPending
	return t.proceed()
}

// onLate keeps a result that comes after its job was given up; it changes nothing
// else. Any other event is out of date, and so is a refusal of a job that had come again:
// it does not say that the job has ended.
func (t *transition) onLate(e model.RunEvent) (model.Decision, error) {
	result, ok := e.(model.StepResult)
	if !ok || result.Step < 0 || result.Step >= len(t.run.Steps) || notBegun(result) && result.Redelivered {
		return model.Decision{Stale: true}, nil
	}
	step := &t.run.Steps[result.Step]
	for i := range step.Abandoned {
		a := &step.Abandoned[i]
		if a.JobID != result.JobID || a.Late != nil {
			continue
		}
		a.Late, a.OK, a.Error = &t.now, result.OK, model.ClipReason(result.Error)
		kept, reason := t.checkPayload("late result", result.Result)
		if reason != "" {
			a.Error = model.ClipReason(a.Error + reason)
		} else {
			a.Result = kept
		}
		return t.runChanged(), nil
	}
	return model.Decision{Stale: true}, nil
}

// jobEnd is when no worker can have the step's job, which is in flight, any more.
func jobEnd(s model.Step, d runbook.Step) time.Time { return jobExpiry(s, d).Add(JobGracePeriod) }
