package workers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Record is a worker record with what can be concluded from it.
type Record store.WorkerRecord

// The bounds of a record, which keep it well under the store's 2 MB.
const (
	maxReplicas      = 20        // the ones that reported last
	replicaRetention = time.Hour // of a replica that no longer reports
)

// merge takes a heartbeat into the record and reports whether that changed it: one that
// is late, or that came before, does not. The caller gives the heartbeat's time.
func (r *Record) merge(h message.Heartbeat, reported, now time.Time) bool {
	i := slices.IndexFunc(r.Replicas, func(p store.ReplicaRecord) bool { return p.ID == h.ReplicaID })
	var before store.ReplicaRecord
	if i >= 0 {
		before = r.Replicas[i]
		if before.Stopped || reported.Before(before.ReportedAt) || reported.Equal(before.ReportedAt) && !h.Stopping {
			return false
		}
	}
	next := store.ReplicaRecord{
		ID: h.ReplicaID, Version: h.Version, StartedAt: h.StartedAt.UTC(), ReportedAt: reported, SeenAt: now,
		MaxParallelism: h.MaxParallelism, InFlight: h.InFlight, OldestJobAt: h.OldestJobAt,
		ThrottledUntil: h.ThrottledUntil, CredentialExpiresAt: h.CredentialExpiresAt, Stopped: h.Stopping,
	}
	switch {
	case h.Stopping:
		next.InFlight, next.OldestJobAt = 0, nil
	case h.InFlight > 0:
		next.Jobs = jobsOf(h, before.Jobs, now)
	case h.ThrottledUntil == nil || !h.ThrottledUntil.After(now):
		next.IdleSince = cmp.Or(before.IdleSince, &now)
	}
	replicas := slices.Clone(r.Replicas)
	if i >= 0 {
		replicas = slices.Delete(replicas, i, i+1)
	}
	replicas = append(replicas, next) // they stand in the order in which they reported
	r.Replicas = slices.DeleteFunc(replicas, func(p store.ReplicaRecord) bool { return now.Sub(p.SeenAt) > replicaRetention })
	if n := len(r.Replicas); n > maxReplicas {
		r.Replicas = r.Replicas[n-maxReplicas:]
	}
	if h.TakenThrough != nil {
		r.addTaken(h.TakenThrough.UTC(), now)
	}
	return true
}

// addTaken notes how far the worker has taken jobs, at most once in a heartbeat interval.
// A later heartbeat repeats what was left out.
func (r *Record) addTaken(through, now time.Time) {
	if n := len(r.Taken); n > 0 && (!through.After(r.Taken[n-1].Through) || now.Sub(r.Taken[n-1].SeenAt) < message.HeartbeatInterval) {
		return
	}
	r.Taken = append(slices.Clone(r.Taken), store.TakenRecord{Through: through, SeenAt: now})
	for len(r.Taken) > 1 && now.Sub(r.Taken[1].SeenAt) >= silence {
		r.Taken = r.Taken[1:]
	}
}

// jobsOf are the jobs of a heartbeat, each with when it began: as the heartbeat says of
// the oldest, as the first heartbeat that listed it tells of the others.
func jobsOf(h message.Heartbeat, before []store.JobRecord, now time.Time) []store.JobRecord {
	known := make(map[string]time.Time, len(before))
	for _, j := range before {
		known[j.ID] = j.Since
	}
	jobs := make([]store.JobRecord, 0, len(h.JobsInFlight))
	for i, id := range h.JobsInFlight {
		since, ok := known[id]
		switch {
		case ok:
		case i == 0 && h.OldestJobAt != nil && h.OldestJobAt.Before(now):
			since = *h.OldestJobAt
		default:
			since = now
		}
		jobs = append(jobs, store.JobRecord{ID: id, Since: since})
	}
	return jobs
}

// OnHeartbeat keeps what a replica of a worker reports.
func (ws *Registry) OnHeartbeat(ctx context.Context, m message.Delivery, h message.Heartbeat) error {
	now := ws.now().UTC()
	if len(m.Body) > message.Limit {
		return message.Reject("the heartbeat has %d bytes; at most %d are allowed", len(m.Body), message.Limit)
	}
	if err := h.Check(now); err != nil {
		return message.Reject("%v", err)
	}
	reported := h.Timestamp.UTC()
	sent := m.EnqueuedAt
	if sent.IsZero() {
		sent = reported
	}
	if now.Sub(sent) > replicaRetention {
		return nil // the replica may have been dropped since: it must not come back
	}
	if !m.EnqueuedAt.IsZero() && reported.Sub(m.EnqueuedAt) > message.ClockSlack {
		reported = m.EnqueuedAt.UTC() // a clock that is ahead would keep later ones out
	}
	return ws.changeWorker(ctx, h.WorkerID, func(r *Record) bool { return r.merge(h, reported, now) })
}

// changeWorker changes the record of a worker where change reports that it did. A lost
// race is an error that asks for the message again.
func (ws *Registry) changeWorker(ctx context.Context, id string, change func(*Record) bool, extra ...store.Write) error {
	kept, err := store.Read[Record](ctx, ws.store, store.WorkerKey(id))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	known := err == nil
	next := kept.Doc
	next.ID = id
	if !change(&next) {
		return nil
	}
	write := store.Create(store.WorkerKey(id), next)
	if known {
		write = store.Replace(store.WorkerKey(id), next, kept.Version)
	}
	_, err = ws.store.Apply(ctx, append(store.Writes{write}, extra...))
	if errors.Is(err, store.ErrExists) {
		return store.ErrChanged // another process was first: it is read again
	}
	return err
}

// answerInterval is how often each process records an answer of a worker at most.
const answerInterval = 30 * time.Second

// answerCache has when this process last recorded an answer of each worker.
type answerCache = *lru.Cache[string, time.Time]

func newAnswerCache() answerCache {
	cache, err := lru.New[string, time.Time](256)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return cache
}

// RecordAnswer records that a worker answered the job of a step: workers that others wrote need not
// send heartbeats. The time is the result's own, because a result can come late, for example from
// the dead-letter queue: it does not say that the worker runs now. A result without a time, or with
// one that is ahead, is of now. A failure is logged only, for the answer itself is stored.
func (ws *Registry) RecordAnswer(ctx context.Context, step model.Step, answered time.Time) {
	now := ws.now().UTC()
	if answered.IsZero() || answered.After(now) {
		answered = now
	}
	answered = answered.UTC()
	if last, ok := ws.answers.Get(step.WorkerID); step.DispatchedAt == nil || ok && answered.Sub(last) < answerInterval && !now.Before(last) {
		return
	}
	ws.answers.Add(step.WorkerID, answered)
	err := ws.changeWorker(ctx, step.WorkerID, func(r *Record) bool {
		if !answered.After(r.AnsweredAt) {
			return false
		}
		r.AnsweredAt, r.SentAt = answered, step.DispatchedAt.UTC()
		return true
	})
	if err != nil {
		ws.answers.Remove(step.WorkerID) // the next answer is recorded
		ws.log.WarnContext(ctx, "failed to record a worker's answer", logkey.WorkerID, step.WorkerID, logkey.Error, err)
	}
}
