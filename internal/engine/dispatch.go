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
		w.end(RunCancelled, batchCancelled)
		return nil
	case w.state.Gate == Paused:
		w.hold()
		return nil
	}
	definition, err := w.definition()
	if err != nil {
		return err
	}
	step := w.step()
	if step.RetryAfter == nil {
		step.Attempts++
	}
	function, params, err := w.resolve(definition)
	if errors.Is(err, ErrMemberNeeded) {
		return err
	}
	if err != nil {
		return w.abort(err.Error())
	}
	if len(function) > MaxReason {
		return w.abort("the function's name is longer than any can be")
	}
	if reason := w.tooLarge("parameters", params); reason != "" {
		return w.abort(reason)
	}
	step.Function, step.Params = function, params
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
	step.Status, step.DispatchedAt, step.RetryAfter, step.QueuedUntil = StepDispatched, &w.now, nil, nil
	step.JobID = fmt.Sprintf("%s-%d-%s", kind, w.run.StepID(w.run.Current), attempt)
}

func (w *walk) definition() (runbook.Step, error) {
	step := w.step()
	definitions, err := w.run.definitions(w.state.Runbook, step.Rollback)
	if err != nil {
		return runbook.Step{}, err
	}
	if step.Place >= len(definitions) {
		return runbook.Step{}, fmt.Errorf("engine: runbook %s version %d has no step %d in %q", w.run.Runbook, w.run.Version, step.Place, w.run.PhaseName+step.Rollback)
	}
	return definitions[step.Place], nil
}

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

// deadline is when the step's job, which is in flight, must have been answered.
func (s Step) deadline() time.Time {
	from := *s.DispatchedAt
	if s.QueuedUntil != nil && s.QueuedUntil.After(from) {
		from = *s.QueuedUntil
	}
	return from.Add(s.Timeout)
}

// abandon notes that the step's job is no longer waited for.
func (s *Step) abandon(now time.Time) {
	s.Abandoned = append(s.Abandoned, Abandoned{JobID: s.JobID, At: now})
}

// deadline fails a step whose result has not come. A job that is known to wait
// behind others for its worker is given its time from now on.
func (w *walk) deadline(e DeadlineDue) (Decision, error) {
	id := "deadline:" + e.JobID
	if id == w.run.LastEvent {
		return Decision{Repeated: true, Effects: w.run.Outstanding()}, nil
	}
	if !w.run.inHand(e.Step) || w.step().Status != StepDispatched || w.step().JobID != e.JobID {
		return Decision{Stale: true}, nil
	}
	step := w.step()
	switch {
	case e.Queued:
		step.QueuedUntil = &w.now
		next := w.now.Add(min(ownDeadline, step.Timeout)) // to look again: once it is taken, its time runs
		w.run.DeadlineAt = &next
		d := Decision{Run: w.run}
		if step.Timeout < ownDeadline {
			d.Effects = []Effect{Deadline{Step: e.Step, At: next}}
		}
		return d, nil
	case w.now.Before(step.deadline()):
		early := step.deadline().Sub(w.now)
		if early > ownDeadline { // it was put off since: the tick sees to it
			return Decision{Stale: true}, nil
		}
		return Decision{Repeated: true, Effects: []Effect{Deadline{Step: e.Step, At: step.deadline().Add(time.Second)}}}, nil
	}
	w.run.LastEvent = id
	step.abandon(w.now)
	cause := cmp.Or(e.Cause, fmt.Sprintf("worker %s did not take the job, did not finish it, or its answer was lost", step.WorkerID))
	reason := fmt.Sprintf("no result within %s: %s", step.Timeout, cause)
	if err := w.failed(reason, 0); err != nil {
		return Decision{}, err
	}
	return w.decision()
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

// late keeps a result that comes after its job was given up; it changes nothing
// else. Any other event is out of date.
func (w *walk) late(e Event) (Decision, error) {
	result, ok := e.(StepResult)
	if !ok || result.Step < 0 || result.Step >= len(w.run.Steps) {
		return Decision{Stale: true}, nil
	}
	step := &w.run.Steps[result.Step]
	for i := range step.Abandoned {
		a := &step.Abandoned[i]
		if a.JobID != result.JobID || a.Late != nil {
			continue
		}
		a.Late, a.OK, a.Error = &w.now, result.OK, clip(result.Error)
		if reason := w.tooLarge("late result", result.Result); reason != "" {
			a.Error = clip(a.Error + reason)
		} else {
			a.Result = result.Result
		}
		return Decision{Run: w.run}, nil
	}
	return Decision{Stale: true}, nil
}
