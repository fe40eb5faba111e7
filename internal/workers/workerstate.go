package workers

import (
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/store"
)

// silence is after how long without a sign of life a worker is not taken to be alive: four
// heartbeats.
const silence = 2 * time.Minute

// DefaultStartup is how long a worker that was scaled to zero may take to start.
const DefaultStartup = 10 * time.Minute

// state computes the state of the worker. waitingSince is when the oldest job that waits
// for it was dispatched, zero for none.
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

func (r *Record) alive(now time.Time) bool {
	for i := range r.Replicas {
		if IsFresh(&r.Replicas[i], now) {
			return true
		}
	}
	return now.Sub(r.AnsweredAt) < silence && r.answersOnly()
}

// IsFresh reports whether the replica runs, as far as can be known.
func IsFresh(p *store.ReplicaRecord, now time.Time) bool {
	return !p.Stopped && now.Sub(p.SeenAt) < silence
}

// sendsHeartbeats reports whether the worker was last heard of by a heartbeat.
func (r *Record) sendsHeartbeats() bool {
	return !r.answersOnly() && !r.lastReplica().SeenAt.IsZero()
}

// answersOnly reports whether the worker answers jobs and sends no heartbeats: none ever,
// or none any more.
func (r *Record) answersOnly() bool {
	return !r.AnsweredAt.IsZero() && r.AnsweredAt.Sub(r.lastReplica().SeenAt) >= silence
}

// lastReplica is the replica that reported last, the zero value if there is none.
func (r *Record) lastReplica() (last store.ReplicaRecord) {
	for _, p := range r.Replicas {
		if !p.SeenAt.Before(last.SeenAt) {
			last = p
		}
	}
	return last
}

// LastSeen is the worker's last sign of life, zero for none: a heartbeat or an answer.
func (r *Record) LastSeen() time.Time { return later(r.lastReplica().SeenAt, r.AnsweredAt) }

// sawJob reports whether the worker was there when a job was dispatched, or later.
func (r *Record) sawJob(sent time.Time) bool {
	last := r.LastSeen()
	return !last.IsZero() && last.After(sent.Add(-silence))
}

// startsUntil is until when a worker that is not alive may be starting for a job that was
// dispatched at a time; zero if it ended without a goodbye while the job waited.
func (r *Record) startsUntil(sent time.Time, startup time.Duration) time.Time {
	switch last := r.lastReplica(); {
	case last.Stopped && !r.answersOnly():
		return later(sent, last.SeenAt).Add(startup)
	case r.sawJob(sent):
		return time.Time{}
	}
	return sent.Add(startup)
}

// throttledUntil is until when the tenant takes no call of the worker, zero if it does.
func (r *Record) throttledUntil(now time.Time) (until time.Time) {
	for i := range r.Replicas {
		if p := &r.Replicas[i]; IsFresh(p, now) && p.ThrottledUntil != nil && p.ThrottledUntil.After(now) {
			until = later(until, *p.ThrottledUntil)
		}
	}
	return until
}

// Running finds the replica that listed a job last, and since when it has run there.
func (r *Record) Running(job string) (on *store.ReplicaRecord, since time.Time) {
	for i := len(r.Replicas) - 1; i >= 0; i-- {
		for _, j := range r.Replicas[i].Jobs {
			if j.ID == job {
				return &r.Replicas[i], j.Since
			}
		}
	}
	return nil, time.Time{}
}

// runningOf counts the jobs of a batch that replicas run.
func (r *Record) runningOf(batch int, now time.Time) (n int) {
	prefix := fmt.Sprintf("batch-%d-", batch) // see message.Job.ID
	for i := range r.Replicas {
		for _, j := range r.Replicas[i].Jobs {
			if IsFresh(&r.Replicas[i], now) && strings.HasPrefix(j.ID, prefix) {
				n++
			}
		}
	}
	return n
}

// sendDelay is by how much jobs can come to the queue in another order than that of their
// dispatch: several processes send, each after it has stored what it sends, and what a
// process that died did not send is sent when the lock of its message has expired.
const sendDelay = 2 * time.Minute

// tookLater reports whether the worker should have taken a job that was dispatched at a
// time, because it took one that was dispatched later. Heartbeats must have said so for as
// long as silence: a job that a killed replica had locked comes again when its lock has
// expired, and the next heartbeat lists it; or its result is on its way.
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

// idleSince is since when a worker that is alive has had nothing to do, zero if it works.
func (r *Record) idleSince(now time.Time) time.Time {
	since := r.AnsweredAt
	for i := range r.Replicas {
		p := &r.Replicas[i]
		if !IsFresh(p, now) {
			continue
		}
		if p.IdleSince == nil {
			return time.Time{}
		}
		since = later(since, *p.IdleSince)
	}
	return since
}

// JobOutlook is what is known of a job that was dispatched and not answered.
type JobOutlook struct {
	// Waits: the job has not begun, and nothing says that it will not: its deadline is put
	// off. Otherwise the deadline decides, and Cause says why no result came.
	Waits bool
	Cause string
	// Silent: the cause is that the worker is not heard of.
	Silent bool
	// Unseen: nothing says that the worker ever had the job.
	Unseen bool
}

// dispatchedJob is what its outlook depends on of a job.
type dispatchedJob struct {
	id      string
	sent    time.Time
	timeout time.Duration
	waited  bool // its deadline was put off: it has expired, and its worker is to answer so
}

// outlook judges a job of the worker.
func (r *Record) outlook(worker string, job dispatchedJob, now time.Time, startup time.Duration) JobOutlook {
	sent := job.sent
	on, since := r.Running(job.id)
	started := ""
	if on != nil {
		started = fmt.Sprintf("the job started at %s", clock(since))
	}
	switch until := r.throttledUntil(now); {
	case on != nil && IsFresh(on, now) && since.After(sent.Add(job.timeout)) && now.Before(since.Add(job.timeout+runstate.JobGracePeriod)):
		return JobOutlook{Waits: true} // the replica took it when it had expired
	case on != nil && IsFresh(on, now) && !until.IsZero():
		return JobOutlook{Cause: fmt.Sprintf("%s and did not end within its timeout; worker %s is throttled until %s", started, worker, clock(until))}
	case on != nil && IsFresh(on, now):
		return JobOutlook{Cause: started + " and did not end within its timeout"}
	case !r.alive(now) && now.Before(r.startsUntil(sent, startup)):
		return JobOutlook{Waits: true}
	case !r.alive(now) && job.waited && r.answersOnly() && now.Before(r.AnsweredAt.Add(job.timeout+runstate.JobGracePeriod)):
		return JobOutlook{Waits: true} // it may be busy with one long job
	case !r.alive(now) && on != nil:
		return JobOutlook{Cause: started + "; " + r.absence(worker), Silent: r.sendsHeartbeats()}
	case !r.alive(now):
		return JobOutlook{Cause: r.absence(worker), Unseen: true, Silent: r.sendsHeartbeats()}
	}
	idle := r.idleSince(now)
	switch {
	case !r.throttledUntil(now).IsZero():
		return JobOutlook{Waits: true}
	case r.tookLater(sent, now):
		return JobOutlook{Cause: fmt.Sprintf("worker %s took jobs that were sent later: the job or its result was lost", worker), Unseen: true}
	case !r.answersOnly() && !idle.IsZero() && now.Sub(later(idle, sent)) >= silence:
		return JobOutlook{Cause: fmt.Sprintf("worker %s has had nothing to do since %s and did not receive the job", worker, clock(idle)), Unseen: true}
	}
	return JobOutlook{Waits: true}
}

// absence says since when there is no worker.
func (r *Record) absence(worker string) string {
	last := r.LastSeen()
	if last.IsZero() {
		return fmt.Sprintf("no worker %s was ever seen", worker)
	}
	return fmt.Sprintf("no worker %s since %s", worker, clock(last))
}

// clock writes a time in a reason.
func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// credentialExpiresAt is when the credential of the replica that reported last expires.
// One that stopped says it too: the next replica signs in with the same.
func (r *Record) credentialExpiresAt() *time.Time { return r.lastReplica().CredentialExpiresAt }

// State is the state of a worker whose oldest job without an answer was sent at a time.
func (ws *Registry) State(r *Record, waitingSince, now time.Time) api.WorkerState {
	return r.state(waitingSince, now, ws.startup)
}

// later is the later one of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
