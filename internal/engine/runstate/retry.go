package runstate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// onFailed takes a failure: another try where the policy has one left, else the end.
func (t *transition) onFailed(reason string, after time.Duration) error {
	step := t.step()
	step.Error = model.ClipReason(reason)
	if step.RetryCount-step.RetriesBefore >= t.rb.EffectiveRetry(t.definition()).MaxRetries || t.cancelling() {
		return t.failStep(reason)
	}
	t.noteAttempt(model.StepFailed, reason)
	step.RetryCount++
	at := t.now.Add(max(min(after, runbook.MaxRetryWait), t.retryDelay()))
	step.Status, step.Job, step.RetryAfter, step.QueuedUntil = model.StepPending, "", &at, nil
	step.PollStartedAt, step.PolledAt, step.Answers = nil, nil, nil
	return nil
}

// retryDelay is how long the retry that is about to be scheduled waits. The jitter
// is drawn from the step's id and the retry's number: members spread, and a
// decision taken again is the same.
func (t *transition) retryDelay() time.Duration {
	step, policy := t.step(), t.rb.EffectiveRetry(t.definition())
	delay := policy.Interval
	if policy.Backoff == runbook.BackoffExponential {
		longest := cmp.Or(policy.MaxInterval, max(policy.Interval, runbook.MaxRetryWait))
		for range step.RetryCount - step.RetriesBefore - 1 {
			if delay = min(2*delay, longest); delay == longest {
				break
			}
		}
		delay = min(delay, longest)
	}
	if policy.Jitter > 0 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%d/%d/%d", t.run.Batch, t.run.StepID(t.run.Current), step.RetryCount)
		share := float64(h.Sum64()%1024) / 1024
		delay += time.Duration(float64(delay) * share * float64(policy.Jitter) / 100)
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
