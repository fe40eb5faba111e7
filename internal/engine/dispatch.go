package engine

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

const batchCancelled = "the batch is cancelled"

// ownDeadline is the timeout from which on a deadline is left to the scheduler's
// tick, which comes by before it: a message for every job would be one more a step.
const ownDeadline = 5 * time.Minute

// dispatch resolves the step in hand and marks it as sent. What cannot be
// resolved fails the step without a retry, which could not help.
func (w *walk) dispatch(attempt string) error {
	switch {
	case w.stops():
		w.end(RunCancelled, w.stopReason())
		return nil
	case w.gate == Paused:
		w.hold()
		return nil
	}
	definition, err := w.definition()
	if err != nil {
		return err
	}
	step := w.step()
	if step.RetryAfter == nil || step.Postponed {
		step.Attempts++
	}
	function, params, err := w.resolve(definition)
	var load *loadError
	if errors.As(err, &load) {
		return err
	}
	if err != nil {
		return w.abort(err.Error())
	}
	if len(function) > MaxReason {
		return w.abort("the function's name is longer than any can be")
	}
	params, reason := w.keepable("parameters", params)
	if reason != "" {
		return w.abort(reason)
	}
	if n := len(params) + size(w.secrets); n > MaxPayload {
		return w.abort(fmt.Sprintf("its parameters are %d bytes long with their secrets; at most %d can be carried", n, MaxPayload))
	}
	step.Function, step.Params, w.run.Secrets = function, params, w.secrets
	w.sent(attempt)
	return nil
}

// sent marks the step in hand as dispatched under a job id of its own.
func (w *walk) sent(attempt string) {
	step := w.step()
	kind := "step"
	if w.run.Kind == KindInit {
		kind = "init"
	}
	step.Status, step.DispatchedAt, step.RetryAfter, step.Postponed, step.QueuedUntil, step.SilentAt = StepDispatched, &w.now, nil, false, nil, nil
	step.Refused = nil
	step.JobID = fmt.Sprintf("%s-%d-%s", kind, w.run.StepID(w.run.Current), attempt)
}

func (w *walk) definition() (runbook.Step, error) { return w.run.Definition(w.rb, w.run.Current) }

// retryDelay is how long the retry that is about to be scheduled waits. The jitter
// is drawn from the step's id and the retry's number: members spread, and a
// decision taken again is the same.
func (w *walk) retryDelay() time.Duration {
	step := w.step()
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
		fmt.Fprintf(h, "%d/%d/%d", w.run.Batch, w.run.StepID(w.run.Current), step.RetryCount)
		share := float64(h.Sum64()%1024) / 1024
		delay += time.Duration(float64(delay) * share * float64(step.Jitter) / 100)
	}
	return delay
}

// SettleTime is how long the orchestrator waits after a job has expired before it takes
// the job for lost. The worker ends a job that expires; in this time what the job was
// doing ends, its result travels, and clocks may differ. Before it has passed no other
// attempt, rollback or removal step of the member begins.
const SettleTime = 30 * time.Second

// silentLook is after what time a worker that was found silent is looked at again: its
// heartbeats come every 30 seconds.
const silentLook = 45 * time.Second

// expiry is when the worker ends the step's job, which is in flight, or no longer begins
// it.
func (s Step) expiry() time.Time { return s.DispatchedAt.Add(s.Timeout) }

// deadline is when the step's job, which is in flight, is judged: it is taken for lost, or
// it is known to wait for its worker and the deadline is put off. A job that its worker
// refused is not put off.
func (s Step) deadline() time.Time {
	at := s.ended()
	if s.QueuedUntil != nil && s.Refused == nil {
		wait := min(ownDeadline, max(SettleTime, s.Timeout))
		if s.SilentAt != nil {
			wait = silentLook
		}
		if again := s.QueuedUntil.Add(wait); again.After(at) {
			return again
		}
	}
	return at
}

// abandon notes that the step's job is no longer waited for.
func (s *Step) abandon(now time.Time) {
	s.Abandoned = append(s.Abandoned, Abandoned{JobID: s.JobID, At: now, Until: s.ended()})
	s.Refused = nil
}

// EffectID is the idempotency key of the step at index: the same for each attempt, retry
// and poll, and another one when the run has ended and begins the step anew.
func (r *Run) EffectID(index int) string {
	return fmt.Sprintf("%d/%d/%d", r.Batch, r.StepID(index), r.Steps[index].Round+1)
}

// deadline fails a step whose result has not come. The deadline of a job that is known to
// wait for its worker is put off: the worker will answer that the job expired, and the step
// is dispatched again. A run that stops dispatches nothing again and does not wait for that.
func (w *walk) deadline(e DeadlineDue) (Decision, error) {
	id := "deadline:" + e.JobID
	if id == w.run.LastEvent {
		return w.repeated(), nil
	}
	if !w.run.inHand(e.Step) || w.step().Status != StepDispatched || w.step().JobID != e.JobID {
		return Decision{Stale: true}, nil
	}
	step := w.step()
	if w.stops() {
		step.QueuedUntil = nil
	}
	switch early := step.deadline().Sub(w.now); {
	case early > ownDeadline: // it was put off since: the tick sees to it
		return Decision{Stale: true}, nil
	case early > 0:
		return Decision{Repeated: true, Messages: []Message{Deadline{Run: w.run, Step: e.Step, At: step.deadline().Add(time.Second)}}}, nil
	case step.Refused == nil && !w.stops() && (e.Queued || e.Silent && step.SilentAt == nil):
		return w.putDeadlineOff(e), nil
	}
	w.run.LastEvent = id
	if err := w.endLostJob(e); err != nil {
		return Decision{}, err
	}
	return w.decision()
}

// putDeadlineOff waits on for the job in flight: it is queued, or its worker was found silent
// for the first time.
func (w *walk) putDeadlineOff(e DeadlineDue) Decision {
	step := w.step()
	step.QueuedUntil, step.SilentAt = &w.now, nil
	if !e.Queued { // its heartbeats may be held up, and come before the next look
		step.SilentAt = &w.now
	}
	at := step.deadline()
	w.run.DeadlineAt = &at
	d := w.changed()
	if step.Timeout < ownDeadline || step.SilentAt != nil {
		d.Messages = []Message{Deadline{Run: w.run, Step: e.Step, At: at}}
	}
	return d
}

// endLostJob fails the step in hand, whose job is taken for lost, or ends it as its worker's
// refusal says.
func (w *walk) endLostJob(e DeadlineDue) error {
	step := w.step()
	if step.Refused != nil {
		return w.endRefused()
	}
	step.abandon(w.now)
	cause := cmp.Or(e.Cause, fmt.Sprintf("worker %s did not take the job, did not finish it, or its answer was lost", step.WorkerID))
	return w.failed(fmt.Sprintf("no result within %s: %s", step.Timeout, cause), 0)
}

// mostExpiries is how often a job may expire before its worker comes to it.
const mostExpiries = 100

// expired sends a job again that its worker came to too late to begin it: the
// worker's queue was longer than the step's timeout, and the step is as it was.
func (w *walk) expired(reason string) error {
	step := w.step()
	if step.Expiries++; step.Expiries > mostExpiries {
		return w.abort(fmt.Sprintf("%s; that was so %d times", reason, step.Expiries))
	}
	step.Status = StepPending
	return w.proceed()
}

// revokedDelay is how long a step is postponed whose job was revoked although its batch
// goes on: the batch was resumed just now, or the step undoes something in a batch that
// was cancelled just now, and its job was dispatched in the time that the revocation
// covers.
const revokedDelay = 5 * time.Second

// revoked takes back a job that its worker did not begin because the batch was paused or
// cancelled.
func (w *walk) revoked(reason string) error {
	step := w.step()
	if step.Expiries++; step.Expiries > mostExpiries {
		return w.abort(fmt.Sprintf("%s; its jobs were revoked or expired %d times", reason, step.Expiries))
	}
	step.Status = StepPending
	switch {
	case w.stops():
		step.Error = clip(reason)
		w.end(RunCancelled, w.stopReason())
	case w.gate == Paused:
		w.hold()
	default:
		w.postpone(w.now.Add(revokedDelay))
	}
	return nil
}

// postpone has the pending step in hand dispatched at a later time.
func (w *walk) postpone(at time.Time) {
	step := w.step()
	step.RetryAfter, step.Postponed = &at, true
}

// dispatchWaiting dispatches the step in hand, whose RetryAfter has come.
func (w *walk) dispatchWaiting() error {
	step := w.step()
	if step.Postponed {
		return w.dispatch(fmt.Sprintf("attempt-%d", step.Attempts+1))
	}
	return w.dispatch(fmt.Sprintf("retry-%d", step.RetryCount))
}

// undoes reports whether a step of the run undoes what was done for the member, or cleans
// up after it.
func (r *Run) undoes(s Step) bool { return s.Rollback != "" || r.Kind == KindRemoval }

// busyUntil is until when a job that is no longer waited for may still run, of those that
// the step in hand must not overlap with; zero for none. What undoes waits for what was
// being done, and what is done again waits for what was being undone.
func (w *walk) busyUntil() (until time.Time, err error) {
	step := *w.step()
	undoes := w.run.undoes(step)
	if w.run.Kind == KindRemoval {
		if _, err := w.loadMember(); err != nil {
			return until, err
		}
	}
	// The member has what the runs before this one left. The start of a run loads the
	// member, and a rollback only undoes what its own run did.
	if m := w.member; m != nil && step.Rollback == "" {
		at := m.UndoingUntil
		if undoes {
			at = m.BusyUntil
		}
		if at != nil {
			until = *at
		}
	}
	for _, s := range w.run.Steps {
		for _, a := range s.Abandoned {
			if w.run.undoes(s) != undoes && a.Late == nil && a.Until.After(until) {
				until = a.Until
			}
		}
	}
	return until, nil
}

// late keeps a result that comes after its job was given up; it changes nothing
// else. Any other event is out of date, and so is a refusal of a job that had come again:
// it does not say that the job has ended.
func (w *walk) late(e RunEvent) (Decision, error) {
	result, ok := e.(StepResult)
	if !ok || result.Step < 0 || result.Step >= len(w.run.Steps) || result.notBegun() && result.Redelivered {
		return Decision{Stale: true}, nil
	}
	step := &w.run.Steps[result.Step]
	for i := range step.Abandoned {
		a := &step.Abandoned[i]
		if a.JobID != result.JobID || a.Late != nil {
			continue
		}
		a.Late, a.OK, a.Error = &w.now, result.OK, clip(result.Error)
		kept, reason := w.keepable("late result", result.Result)
		if reason != "" {
			a.Error = clip(a.Error + reason)
		} else {
			a.Result = kept
		}
		return w.changed(), nil
	}
	return Decision{Stale: true}, nil
}
