package runstate

import (
	"cmp"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// sendAheadAtMost is the longest poll interval with which the job of the next poll is sent ahead. A
// pause, a cancellation, a removal or an undo waits that long, at most, for a job that its worker
// cannot take before. It is shorter than model.BrokerRemembers, so that the broker drops the job if
// it is sent again before it is visible.
const sendAheadAtMost = 5 * time.Minute

// onIncomplete takes a worker's answer that the function is not complete yet, or that what it is
// about does not exist yet. reason says what it waits for; it may be empty. onIncomplete sends the
// job of the next poll ahead, for the time of the poll. A poll-check takes the place of the job if the batch
// is paused, if the interval is too long, and for the time at which the poll timeout ends: then no
// job is in flight when the step fails, and its rollback begins at once.
func (t *transition) onIncomplete(reason string) error {
	step, poll := t.step(), t.definition().Poll
	if poll == nil && t.run.Kind == model.KindCheck { // the answer is the result of the check, which a retry would repeat
		return t.failStep(cmp.Or(reason, "the function returned \"complete\": false"))
	}
	if poll == nil {
		return t.onFailed(withReason("the function returned \"complete\": false, but the step has no poll", reason), 0)
	}
	t.noteAnswer(reason)
	step.Error = model.ClipReason(reason)
	if step.PollStartedAt == nil {
		step.PollStartedAt = &t.now
	}
	step.PolledAt = &t.now
	at, end := t.now.Add(poll.Interval), step.PollStartedAt.Add(poll.Timeout)
	ahead := at.Before(end) && t.mode != model.Paused && poll.Interval <= sendAheadAtMost
	if end.Before(at) {
		at = end
	}
	step.Status, step.PollAt = model.StepPolling, &at
	switch {
	case t.cancelling():
		t.end(model.RunCancelled, t.cancelReason())
	case ahead:
		step.PollCount++
		step.PollSent = true
		t.newJob(fmt.Sprintf("poll-%d", step.PollCount))
	}
	return nil
}

// poll dispatches the next poll, which was not sent ahead, or ends the polling if its time is over.
func (t *transition) poll() error {
	step, timeout := t.step(), t.definition().Poll.Timeout
	switch {
	case t.cancelling():
		t.end(model.RunCancelled, t.cancelReason())
		return nil
	case t.mode == model.Paused:
		t.pause()
		return nil
	case !t.now.Before(step.PollStartedAt.Add(timeout)):
		return t.endStep(model.StepPollTimeout, withReason(fmt.Sprintf("not complete after polling for %s", timeout), step.Error))
	}
	step.PollCount++
	t.markDispatched(fmt.Sprintf("poll-%d", step.PollCount))
	return nil
}

// withReason adds a reason, which may be empty, to what happened.
func withReason(what, reason string) string {
	if reason == "" {
		return what
	}
	return what + ": " + reason
}
