package engine

import "time"

// RefusedJob is a worker's answer that it did not begin a job that had come again. Another
// replica may have begun an earlier delivery of the job and run it still, for example
// because it lost the lock of the message.
type RefusedJob struct {
	At      time.Time `json:"at"`
	Revoked bool      `json:"revoked,omitempty"` // the batch was paused or cancelled; false: the job expired
	Reason  string    `json:"reason"`
}

// ended is when no worker can have the step's job, which is in flight, any more.
func (s Step) ended() time.Time { return s.expiry().Add(SettleTime) }

// mayRun reports whether a job may still run although the worker answers that it did not
// begin it.
func (w *walk) mayRun(e StepResult) bool {
	return e.notBegun() && e.Redelivered && w.now.Before(w.step().ended())
}

// notBegun reports whether the worker answers that it did not begin the job.
func (e StepResult) notBegun() bool { return e.Revoked || e.Expired }

// awaitEarlier keeps the step dispatched until an earlier delivery of its job has ended. Its
// result counts if it comes before that.
func (w *walk) awaitEarlier(e StepResult) {
	w.step().Refused = &RefusedJob{At: w.now, Revoked: e.Revoked, Reason: clip(e.Error)}
}

// endRefused ends a job that was refused and that cannot run any more, as the refusal
// would have ended it at once.
func (w *walk) endRefused() error {
	refusal := w.step().Refused
	w.step().abandon(w.now)
	if refusal.Revoked {
		return w.revoked(refusal.Reason)
	}
	return w.expired(refusal.Reason)
}
