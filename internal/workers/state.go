package workers

import (
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Record is the stored record of a worker. Its methods compute the state of the worker from it.
type Record store.WorkerRecord

// silence is the time without a sign of life after which a worker is not alive: four heartbeat
// intervals.
const silence = 2 * time.Minute

// DefaultStartup is how long a worker that was scaled to zero may take to start.
const DefaultStartup = 10 * time.Minute

// State returns the state of a worker. WaitingSince is when the oldest job that waits for it was
// dispatched, zero for none.
func (r *Registry) State(rec *Record, waitingSince, now time.Time) api.WorkerState {
	return rec.state(waitingSince, now, r.startup)
}

func (r *Record) state(waitingSince, now time.Time, startup time.Duration) api.WorkerState {
	switch {
	case r.alive(now):
		return api.WorkerAlive
	case waitingSince.IsZero(), now.Before(r.startsUntil(waitingSince, startup)):
		return api.WorkerScaledToZero
	case len(r.Replicas) == 0 && r.sawJob(waitingSince):
		return api.WorkerSilent
	}
	return api.WorkerGone
}

// alive reports whether the worker has given a sign of life within silence.
func (r *Record) alive(now time.Time) bool {
	for i := range r.Replicas {
		if isFresh(&r.Replicas[i], now) {
			return true
		}
	}
	return now.Sub(r.AnsweredAt) < silence && r.answersOnly()
}

// isFresh reports whether a replica has sent a heartbeat within silence and has not stopped.
func isFresh(p *store.ReplicaRecord, now time.Time) bool {
	return !p.Stopped && now.Sub(p.SeenAt) < silence
}

// sendsHeartbeats reports whether the worker's last sign of life is a heartbeat.
func (r *Record) sendsHeartbeats() bool {
	return !r.answersOnly() && !r.lastReplica().SeenAt.IsZero()
}

// answersOnly reports whether the worker answers jobs and sends no heartbeats, or no longer
// sends them.
func (r *Record) answersOnly() bool {
	return !r.AnsweredAt.IsZero() && r.AnsweredAt.Sub(r.lastReplica().SeenAt) >= silence
}

// lastReplica returns the replica that reported last, the zero value if there is none.
func (r *Record) lastReplica() (last store.ReplicaRecord) {
	for _, p := range r.Replicas {
		if !p.SeenAt.Before(last.SeenAt) {
			last = p
		}
	}
	return last
}

// LastSeen returns the time of the worker's last sign of life, a heartbeat or an answer. It is
// zero if there is none.
func (r *Record) LastSeen() time.Time { return later(r.lastReplica().SeenAt, r.AnsweredAt) }

// sawJob reports whether the worker was alive when a job was dispatched, or later.
func (r *Record) sawJob(sent time.Time) bool {
	last := r.LastSeen()
	return !last.IsZero() && last.After(sent.Add(-silence))
}

// startsUntil returns until when a worker that is not alive may be starting for a job that was
// dispatched at sent. It is zero if the worker ended without a last heartbeat while the job
// waited.
func (r *Record) startsUntil(sent time.Time, startup time.Duration) time.Time {
	switch last := r.lastReplica(); {
	case last.Stopped && !r.answersOnly():
		return later(sent, last.SeenAt).Add(startup)
	case r.sawJob(sent):
		return time.Time{}
	}
	return sent.Add(startup)
}

// throttledUntil returns until when the tenant throttles the worker, zero if it does not.
func (r *Record) throttledUntil(now time.Time) (until time.Time) {
	for i := range r.Replicas {
		if p := &r.Replicas[i]; isFresh(p, now) && p.ThrottledUntil != nil && p.ThrottledUntil.After(now) {
			until = later(until, *p.ThrottledUntil)
		}
	}
	return until
}

// Runs reports whether a replica that is alive runs a job.
func (r *Record) Runs(job string, now time.Time) bool {
	replica, _ := r.findRunning(job)
	return replica != nil && isFresh(replica, now)
}

// findRunning returns the replica that listed a job last and when the job started there. It
// returns nil if no replica has listed the job.
func (r *Record) findRunning(job string) (replica *store.ReplicaRecord, since time.Time) {
	for i := len(r.Replicas) - 1; i >= 0; i-- {
		for _, j := range r.Replicas[i].Jobs {
			if j.ID == job {
				return &r.Replicas[i], j.Since
			}
		}
	}
	return nil, time.Time{}
}

// countRunning counts the jobs of a batch that replicas run.
func (r *Record) countRunning(batch int, now time.Time) (n int) {
	prefix := fmt.Sprintf("batch-%d-", batch) // see message.Job.ID
	for i := range r.Replicas {
		for _, j := range r.Replicas[i].Jobs {
			if isFresh(&r.Replicas[i], now) && strings.HasPrefix(j.ID, prefix) {
				n++
			}
		}
	}
	return n
}

// sendDelay is the longest time between the dispatch of a job and its arrival in the queue.
// Within it jobs can arrive in another order than they were dispatched: several processes send,
// each after it has stored its jobs, and the jobs that a process did not send before it ended are
// sent when the lock of its message has expired.
const sendDelay = 2 * time.Minute

// tookLater reports whether the worker took a job that was dispatched after sent, so that it
// should have taken a job of that time. Heartbeats must have reported that for as long as
// silence: a job that a killed replica had locked comes again when the lock has expired, and the
// next heartbeat lists it; or its result is on its way.
func (r *Record) tookLater(sent, now time.Time) bool {
	if r.answersOnly() {
		return r.SentAt.After(sent.Add(sendDelay))
	}
	for _, t := range r.Taken {
		if now.Sub(t.SeenAt) >= silence && t.Through.After(sent.Add(sendDelay)) {
			return true
		}
	}
	return false
}

// idleSince returns since when a worker that is alive has had no job, zero if it has one.
func (r *Record) idleSince(now time.Time) time.Time {
	since := r.AnsweredAt
	for i := range r.Replicas {
		p := &r.Replicas[i]
		if !isFresh(p, now) {
			continue
		}
		if p.IdleSince == nil {
			return time.Time{}
		}
		since = later(since, *p.IdleSince)
	}
	return since
}

// absence returns a text that says when the worker was last seen.
func (r *Record) absence(worker string) string {
	last := r.LastSeen()
	if last.IsZero() {
		return fmt.Sprintf("worker %s was never seen", worker)
	}
	return fmt.Sprintf("worker %s was last seen at %s", worker, formatTime(last))
}

// credentialExpiresAt returns when the credential of the replica that reported last expires, also
// if that replica has stopped: the next one uses the same credential.
func (r *Record) credentialExpiresAt() *time.Time { return r.lastReplica().CredentialExpiresAt }

// formatTime formats a time in a text.
func formatTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
