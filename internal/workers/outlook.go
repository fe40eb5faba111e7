package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// JobOutlook says whether a job without a result still waits for its worker.
type JobOutlook struct {
	// Waits is true if the job has not begun and may still begin: its deadline is put off.
	// Otherwise the deadline decides, and Cause says why no result came.
	Waits bool
	Cause string
	// Silent is true if the cause is that the worker stopped sending heartbeats.
	Silent bool

	unseen bool // nothing shows that the worker ever had the job
}

// Outlook returns the outlook of the job of a dispatched step. The definition of the step has its
// worker and its timeout.
func (r *Registry) Outlook(ctx context.Context, run *model.Run, index int, definition runbook.Step) (JobOutlook, error) {
	step, id := run.Steps[index], definition.WorkerID
	worker, err := r.ReadRecord(ctx, id)
	if err != nil {
		return JobOutlook{}, err
	}
	job := message.Job{JobID: run.JobID(index), BatchID: run.Batch}
	outlook := worker.outlook(id, dispatchedJob{job.ID(), step.VisibleAt(), definition.Timeout, step.QueuedUntil != nil}, r.now().UTC(), r.startup)
	if outlook.unseen {
		if missing := r.missingSubscription(ctx, id); missing != "" {
			outlook.Cause += "; " + missing
		}
	}
	return outlook, nil
}

// dispatchedJob is a job without a result.
type dispatchedJob struct {
	id      string
	sent    time.Time // when it became visible to the worker
	timeout time.Duration
	waited  bool // its deadline was put off: the job has expired, and its worker answers that
}

// outlook returns the outlook of a job of the worker.
func (r *Record) outlook(worker string, job dispatchedJob, now time.Time, startup time.Duration) JobOutlook {
	replica, since := r.findRunning(job.id)
	started := ""
	if replica != nil {
		started = fmt.Sprintf("the job started at %s", formatTime(since))
	}
	switch {
	case replica != nil && isFresh(replica, now):
		if since.After(job.sent.Add(job.timeout)) && now.Before(since.Add(job.timeout+runstate.JobGracePeriod)) {
			return JobOutlook{Waits: true} // the replica took the job after its expiry
		}
		return r.outlookOfRunning(worker, started, now)
	case r.alive(now):
		return r.outlookOfQueued(worker, job, now)
	case now.Before(r.startsUntil(job.sent, startup)):
		return JobOutlook{Waits: true}
	case job.waited && r.answersOnly() && now.Before(r.AnsweredAt.Add(job.timeout+runstate.JobGracePeriod)):
		return JobOutlook{Waits: true} // the worker may be busy with one long job
	case replica != nil:
		return JobOutlook{Cause: started + "; " + r.absence(worker), Silent: r.sendsHeartbeats()}
	}
	return JobOutlook{Cause: r.absence(worker), Silent: r.sendsHeartbeats(), unseen: true}
}

// outlookOfRunning returns the outlook of a job that a replica runs beyond its timeout.
func (r *Record) outlookOfRunning(worker, started string, now time.Time) JobOutlook {
	cause := started + " and did not end within its timeout"
	if until := r.throttledUntil(now); !until.IsZero() {
		cause += fmt.Sprintf("; worker %s is throttled until %s", worker, formatTime(until))
	}
	return JobOutlook{Cause: cause}
}

// outlookOfQueued returns the outlook of a job that no replica runs although the worker is
// alive.
func (r *Record) outlookOfQueued(worker string, job dispatchedJob, now time.Time) JobOutlook {
	idle := r.idleSince(now)
	switch {
	case !r.throttledUntil(now).IsZero():
		return JobOutlook{Waits: true}
	case r.tookLater(job.sent, now):
		return JobOutlook{Cause: fmt.Sprintf("worker %s took jobs that were sent later: the job or its result was lost", worker), unseen: true}
	case !r.answersOnly() && !idle.IsZero() && now.Sub(later(idle, job.sent)) >= silence:
		return JobOutlook{Cause: fmt.Sprintf("worker %s has been idle since %s and did not receive the job", worker, formatTime(idle)), unseen: true}
	}
	return JobOutlook{Waits: true}
}

const (
	// WatchTimeout is how long a caller waits for the broker to show a subscription.
	WatchTimeout = 5 * time.Second
	// checkMaxAge is how long a check of a worker's subscription is reused: many jobs reach
	// their deadline together.
	checkMaxAge = 30 * time.Second
)

// subscriptionCheck is the result of a check whether a worker's subscription exists.
type subscriptionCheck struct {
	at      time.Time
	missing string // text that names the subscription, or empty
}

// missingSubscription returns a text that names the subscription that a worker does not have,
// by its name in the namespace. It is empty if there is one, and if the broker does not answer
// or denies access.
func (r *Registry) missingSubscription(ctx context.Context, worker string) string {
	if r.watcher == nil {
		return ""
	}
	now := r.now()
	if last, ok := r.checks.Get(worker); ok && now.Sub(last.at) < checkMaxAge && !now.Before(last.at) {
		return last.missing
	}
	limited, cancel := context.WithTimeout(ctx, WatchTimeout)
	defer cancel()
	err := r.watcher.Exists(limited, message.TopicWorkerJobs, message.WorkerSubscription(worker))
	var about *bus.EntityError
	missing := ""
	if errors.Is(err, bus.ErrNotFound) && errors.As(err, &about) {
		missing = fmt.Sprintf("subscription %s of topic %s is missing", about.Subscription, about.Topic)
	}
	if err != nil && missing == "" {
		r.log.InfoContext(ctx, "failed to check the subscription of a worker", logkey.WorkerID, worker, logkey.Error, err)
	}
	r.checks.Add(worker, subscriptionCheck{at: now, missing: missing})
	return missing
}
