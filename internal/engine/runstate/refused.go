package runstate

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// revokedDelay is how long a step is postponed whose job was revoked although its batch
// goes on: the batch was resumed just now, or the step undoes something in a batch that
// was cancelled just now, and its job was dispatched in the time that the revocation
// covers.
const revokedDelay = 5 * time.Second

// onRevoked takes back a job that its worker did not begin because the batch was paused or
// cancelled.
func (t *transition) onRevoked(reason string) error {
	step := t.step()
	if step.Expiries++; step.Expiries > mostExpiries {
		return t.failStep(fmt.Sprintf("%s; its jobs were revoked or expired %d times", reason, step.Expiries))
	}
	step.Status = model.StepPending
	switch {
	case t.cancelling():
		step.Error = model.ClipReason(reason)
		t.end(model.RunCancelled, t.cancelReason())
	case t.mode == model.Paused:
		t.pause()
	default:
		t.postpone(t.now.Add(revokedDelay))
	}
	return nil
}

// mayStillRun reports whether a job may still run although the worker answers that it did not
// begin it.
func (t *transition) mayStillRun(e model.StepResult) bool {
	return notBegun(e) && e.Redelivered && t.now.Before(jobEnd(*t.step(), t.definition()))
}

// notBegun reports whether the worker answers that it did not begin the job.
func notBegun(e model.StepResult) bool { return e.Revoked || e.Expired }

// awaitEarlier keeps the step dispatched until an earlier delivery of its job has ended. Its
// result counts if it comes before that.
func (t *transition) awaitEarlier(e model.StepResult) {
	t.step().Refused = &model.RefusedJob{At: t.now, Revoked: e.Revoked, Reason: model.ClipReason(e.Error)}
}

// endRefused ends a job that was refused and that cannot run any more, as the refusal
// would have ended it at once.
func (t *transition) endRefused() error {
	refusal := t.step().Refused
	t.abandonJob(t.run.Current)
	if refusal.Revoked {
		return t.onRevoked(refusal.Reason)
	}
	return t.onExpired(refusal.Reason)
}
