package workers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// The limits of a record, which keep it well under the store's 2 MB.
const (
	maxReplicas      = 20        // the ones that reported last
	replicaRetention = time.Hour // of a replica that no longer reports
)

// rateWindow is the longest time over which the jobs that end are counted for the rate.
const rateWindow = 2 * time.Minute

// OnHeartbeat stores the heartbeat of a worker's replica. A heartbeat that is late or delivered
// again changes nothing. It rejects an invalid heartbeat.
func (r *Registry) OnHeartbeat(ctx context.Context, m message.Delivery, h message.Heartbeat) error {
	now := r.now().UTC()
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
		return nil // the record may have dropped the replica since
	}
	err := r.changeRecord(ctx, h.WorkerID, func(r *Record) bool { return r.addHeartbeat(h, limitClock(reported, m), now) })
	var conflict *caseConflict
	if errors.As(err, &conflict) { // its announcement is kept as an unprocessable message: one is enough
		r.log.WarnContext(ctx, "heartbeat ignored", logkey.WorkerID, h.WorkerID, logkey.Error, err)
		return nil
	}
	return err
}

// limitClock returns the time that a worker gave a message, or the time at which the message
// was enqueued if the worker's clock is ahead: its time would keep later messages out.
func limitClock(at time.Time, m message.Delivery) time.Time {
	if !m.EnqueuedAt.IsZero() && at.Sub(m.EnqueuedAt) > message.ClockSlack {
		return m.EnqueuedAt.UTC()
	}
	return at
}

// addHeartbeat adds a heartbeat to the record and reports whether it changed the record. Reported is
// the time of the heartbeat.
func (r *Record) addHeartbeat(h message.Heartbeat, reported, now time.Time) bool {
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
		Ended: h.JobsEnded, EndedBefore: before.EndedBefore, EndedBeforeAt: before.EndedBeforeAt,
	}
	if i >= 0 && reported.After(before.ReportedAt) && (next.EndedBeforeAt == nil || reported.Sub(*next.EndedBeforeAt) > rateWindow) {
		next.EndedBefore, next.EndedBeforeAt = before.Ended, &before.ReportedAt
	}
	switch {
	case h.Stopping:
		next.InFlight, next.OldestJobAt = 0, nil
	case h.InFlight > 0:
		next.Jobs = jobRecords(h, before.Jobs, now)
	case h.ThrottledUntil == nil || !h.ThrottledUntil.After(now):
		next.IdleSince = cmp.Or(before.IdleSince, &now)
	}
	replicas := slices.Clone(r.Replicas)
	if i >= 0 {
		replicas = slices.Delete(replicas, i, i+1)
	}
	replicas = append(replicas, next) // in the order in which they reported
	r.Replicas = slices.DeleteFunc(replicas, func(p store.ReplicaRecord) bool { return now.Sub(p.SeenAt) > replicaRetention })
	if n := len(r.Replicas); n > maxReplicas {
		r.Replicas = r.Replicas[n-maxReplicas:]
	}
	if h.TakenThrough != nil {
		r.addTaken(h.TakenThrough.UTC(), now)
	}
	return true
}

// addTaken records the dispatch time through which the worker has taken jobs, at most once in a
// heartbeat interval. A later heartbeat repeats a time that was left out.
func (r *Record) addTaken(through, now time.Time) {
	if n := len(r.Taken); n > 0 && (!through.After(r.Taken[n-1].Through) || now.Sub(r.Taken[n-1].SeenAt) < message.HeartbeatInterval) {
		return
	}
	r.Taken = append(slices.Clone(r.Taken), store.TakenRecord{Through: through, SeenAt: now})
	for len(r.Taken) > 1 && now.Sub(r.Taken[1].SeenAt) >= silence {
		r.Taken = r.Taken[1:]
	}
}

// jobRecords returns the jobs of a heartbeat with their start times. The heartbeat has the start
// time of the oldest job; any other job started when a heartbeat first listed it.
func jobRecords(h message.Heartbeat, before []store.JobRecord, now time.Time) []store.JobRecord {
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

// answerInterval is the shortest interval in which a process records answers of one worker.
const answerInterval = 30 * time.Second

// RecordAnswer records that a worker answered a job that was dispatched at a time, nil if it is not
// known. It is the only sign of life of
// custom workers that send no heartbeats.
//
// Answered is the time in the result, because a result can come late, for example from the
// dead-letter queue, and then does not show that the worker runs now. A zero time or a time in
// the future counts as now. RecordAnswer logs a failure and does not return it, because the
// result itself is stored.
func (r *Registry) RecordAnswer(ctx context.Context, worker string, dispatched *time.Time, answered time.Time) {
	now := r.now().UTC()
	if answered.IsZero() || answered.After(now) {
		answered = now
	}
	answered = answered.UTC()
	if last, ok := r.answers.Get(worker); dispatched == nil || ok && answered.Sub(last) < answerInterval && !now.Before(last) {
		return
	}
	r.answers.Add(worker, answered)
	err := r.changeRecord(ctx, worker, func(r *Record) bool {
		if !answered.After(r.AnsweredAt) {
			return false
		}
		r.AnsweredAt, r.SentAt = answered, dispatched.UTC()
		return true
	})
	if err != nil {
		r.answers.Remove(worker) // so that the next answer is recorded
		r.log.WarnContext(ctx, "failed to record a worker's answer", logkey.WorkerID, worker, logkey.Error, err)
	}
}
