package workers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// JobTally has the batches with jobs and the dispatch time of the oldest job, by worker. Its zero
// value is ready for use. It is safe for concurrent use by Tally.
type JobTally struct {
	mu      sync.Mutex
	batches map[string][]int
	oldest  map[string]time.Time

	incomplete bool // the jobs of a batch could not be counted
}

// Tally adds the jobs of a batch to tally. It logs a failure and does not return it: the next
// tick counts again.
func (r *Registry) Tally(ctx context.Context, b *model.Batch, tally *JobTally) {
	if !inProgress(b) {
		return
	}
	oldest, err := r.store.WorkersWithJobs(ctx, b.ID, r.now())
	if err != nil {
		r.log.WarnContext(ctx, "failed to count the jobs of a batch", logkey.BatchID, b.ID, logkey.Error, err)
	}
	tally.mu.Lock()
	defer tally.mu.Unlock()
	if err != nil {
		tally.incomplete = true
		return
	}
	if tally.batches == nil {
		tally.batches, tally.oldest = map[string][]int{}, map[string]time.Time{}
	}
	for worker, at := range oldest {
		tally.batches[worker] = append(tally.batches[worker], b.ID)
		if first, ok := tally.oldest[worker]; !ok || at.Before(first) {
			tally.oldest[worker] = at
		}
	}
}

// credentialWarning is how long before its expiry a worker's credential is logged.
const credentialWarning = 14 * 24 * time.Hour

// Absent is a worker that gives no sign of life while jobs wait for it.
type Absent struct {
	ID        string
	LastSeen  time.Time // zero: never
	OldestJob time.Time // when the oldest job was dispatched
}

// LogProblems logs the workers that are gone while jobs of the tally wait for them, and the
// workers whose credential expires soon. It returns the workers that are gone or silent. It logs a
// failure and does not return it; ok is false then.
func (r *Registry) LogProblems(ctx context.Context, tally *JobTally) (absent []Absent, ok bool) {
	records, err := r.store.AllWorkers(ctx)
	if err != nil {
		r.log.WarnContext(ctx, "failed to read the records of the workers", logkey.Error, err)
		return nil, false
	}
	now := r.now().UTC()
	known := map[string]*Record{}
	for i := range records {
		worker := (*Record)(&records[i].Doc)
		known[worker.ID] = worker
		if at := worker.credentialExpiresAt(); at != nil && at.Sub(now) < credentialWarning {
			r.log.WarnContext(ctx, "worker credential expires soon or has expired", logkey.Event, alert.CredentialExpiring, logkey.WorkerID, worker.ID, logkey.ExpiresAt, formatTime(*at))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tally.oldest)) {
		worker := known[id]
		if worker == nil {
			worker = &Record{ID: id}
		}
		state := worker.state(tally.oldest[id], now, r.startup)
		if state == api.WorkerGone {
			r.logGone(ctx, worker, tally, now)
		}
		if state == api.WorkerGone || state == api.WorkerSilent {
			absent = append(absent, Absent{ID: id, LastSeen: worker.LastSeen(), OldestJob: tally.oldest[id]})
		}
	}
	return absent, !tally.incomplete
}

// logGone logs a worker that is gone with the number and the age of its jobs.
func (r *Registry) logGone(ctx context.Context, worker *Record, tally *JobTally, now time.Time) {
	jobs := 0
	for _, batch := range tally.batches[worker.ID] {
		n, err := r.store.CountJobs(ctx, batch, store.JobFilter{VisibleAt: now, Worker: worker.ID})
		if err != nil {
			r.log.WarnContext(ctx, "failed to count the jobs of a batch", logkey.BatchID, batch, logkey.Error, err)
		}
		jobs += n
	}
	reason := worker.absence(worker.ID)
	if missing := r.missingSubscription(ctx, worker.ID); missing != "" {
		reason += "; " + missing
	}
	r.log.WarnContext(ctx, "jobs wait for a worker that is gone", logkey.Event, alert.WorkerGone, logkey.WorkerID, worker.ID, logkey.Jobs, jobs,
		logkey.Batches, tally.batches[worker.ID], logkey.OldestSeconds, int64(now.Sub(tally.oldest[worker.ID]).Seconds()), logkey.Reason, reason)
}
