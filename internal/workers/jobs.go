package workers

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// waitingJobs are the jobs of one worker that have no result.
type waitingJobs struct {
	Count  int
	Oldest time.Time // when the first of them was dispatched
}

// inProgress reports whether a batch can have jobs in flight.
func inProgress(b *model.Batch) bool {
	return slices.ContainsFunc(b.Phases, func(p model.Phase) bool { return p.Status == model.PhaseDispatched })
}

// jobsOfBatch counts the jobs of a batch by worker.
func (ws *Registry) jobsOfBatch(ctx context.Context, batch int) (map[string]waitingJobs, error) {
	oldest, err := ws.store.WorkersWithJobs(ctx, batch)
	if err != nil {
		return nil, err
	}
	jobs := map[string]waitingJobs{}
	for _, worker := range slices.Sorted(maps.Keys(oldest)) {
		n, err := ws.store.CountJobs(ctx, batch, store.JobFilter{Worker: worker})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			jobs[worker] = waitingJobs{Count: n, Oldest: oldest[worker]}
		}
	}
	return jobs, nil
}

// jobsAge is for how long counts of jobs over all batches are reused: of a list of workers
// many pages may be asked for, by many callers.
const jobsAge = 10 * time.Second

// countsAtOnce is for how many batches the jobs are counted at a time.
const countsAtOnce = 4

// jobsCache has the jobs of all batches as they were last counted.
type jobsCache struct {
	mu   sync.Mutex
	at   time.Time
	jobs map[string]waitingJobs
}

// jobsOfAll counts the jobs of all batches that have not ended, by worker.
func (ws *Registry) jobsOfAll(ctx context.Context) (map[string]waitingJobs, error) {
	ws.jobs.mu.Lock()
	defer ws.jobs.mu.Unlock()
	now := ws.now()
	if ws.jobs.jobs != nil && now.Sub(ws.jobs.at) < jobsAge && !now.Before(ws.jobs.at) {
		return ws.jobs.jobs, nil
	}
	batches, err := ws.store.UnfinishedBatches(ctx, "")
	if err != nil {
		return nil, err
	}
	batches = slices.DeleteFunc(batches, func(b store.UnfinishedBatch) bool { return b.Creating }) // these have no jobs
	found := make([]map[string]waitingJobs, len(batches))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(countsAtOnce)
	for i, b := range batches {
		all.Go(func() (err error) {
			found[i], err = ws.jobsOfBatch(ctx, b.ID)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	total := map[string]waitingJobs{}
	for _, jobs := range found {
		addJobs(total, jobs)
	}
	ws.jobs.at, ws.jobs.jobs = now, total
	return total, nil
}

func addJobs(total, jobs map[string]waitingJobs) {
	for worker, j := range jobs {
		sum, ok := total[worker]
		if !ok || j.Oldest.Before(sum.Oldest) {
			sum.Oldest = j.Oldest
		}
		sum.Count += j.Count
		total[worker] = sum
	}
}

// Waits are the workers that a batch has jobs for and that do not work on them now: they
// are throttled, or not there.
func (ws *Registry) Waits(ctx context.Context, b *model.Batch) ([]api.WorkerWait, error) {
	if b.Status.Terminal() || !inProgress(b) {
		return nil, nil
	}
	oldest, err := ws.store.WorkersWithJobs(ctx, b.ID)
	if err != nil {
		return nil, err
	}
	var waits []api.WorkerWait
	now := ws.now().UTC()
	for _, id := range slices.Sorted(maps.Keys(oldest)) {
		worker, err := ws.Record(ctx, id)
		if err != nil {
			return nil, err
		}
		view := api.WorkerWait{WorkerID: id, State: worker.state(oldest[id], now, ws.startup), Since: orNil(worker.LastSeen()), ThrottledUntil: orNil(worker.throttledUntil(now))}
		switch {
		case view.ThrottledUntil != nil:
			view.Reason = fmt.Sprintf("throttled until %s", clock(*view.ThrottledUntil))
		case view.State == api.WorkerAlive, now.Sub(oldest[id]) < message.HeartbeatInterval: // it may just be about to answer
			continue
		case view.State == api.WorkerScaledToZero:
			view.Reason = fmt.Sprintf("starting, until %s at most", clock(worker.startsUntil(oldest[id], ws.startup)))
		case view.Since == nil:
			view.Reason = "no worker was ever seen"
		default:
			view.Reason = "no worker since " + clock(*view.Since)
		}
		jobs, err := ws.store.CountJobs(ctx, b.ID, store.JobFilter{Worker: id})
		if err != nil {
			return nil, err
		}
		if jobs > 0 {
			view.JobsQueued = max(0, jobs-worker.runningOf(b.ID, now))
			waits = append(waits, view)
		}
	}
	return waits, nil
}

// JobTally has, of each worker with jobs, the batches that have them and the oldest job.
type JobTally struct {
	mu      sync.Mutex
	batches map[string][]int
	oldest  map[string]time.Time
}

// Tally adds the jobs of a batch. What cannot be read is left to the next tick.
func (ws *Registry) Tally(ctx context.Context, b *model.Batch, tally *JobTally) {
	if !inProgress(b) {
		return
	}
	oldest, err := ws.store.WorkersWithJobs(ctx, b.ID)
	if err != nil {
		ws.log.WarnContext(ctx, "failed to count the jobs of a batch", logkey.BatchID, b.ID, logkey.Error, err)
		return
	}
	tally.mu.Lock()
	defer tally.mu.Unlock()
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

// expiresSoon is how long before its end an expiring credential is reported.
const expiresSoon = 14 * 24 * time.Hour

// LogProblems logs the workers that are gone while jobs wait for them, and credentials that
// expire soon.
func (ws *Registry) LogProblems(ctx context.Context, tally *JobTally) {
	records, err := ws.store.AllWorkers(ctx)
	if err != nil {
		ws.log.WarnContext(ctx, "failed to read the records of the workers", logkey.Error, err)
		return
	}
	now := ws.now().UTC()
	known := map[string]*Record{}
	for i := range records {
		worker := (*Record)(&records[i].Doc)
		known[worker.ID] = worker
		if at := worker.credentialExpiresAt(); at != nil && at.Sub(now) < expiresSoon {
			ws.log.WarnContext(ctx, "the credential of a worker expires", logkey.Event, alert.CredentialExpiring, logkey.WorkerID, worker.ID, logkey.ExpiresAt, clock(*at))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tally.oldest)) {
		worker := known[id]
		if worker == nil {
			worker = &Record{ID: id}
		}
		if worker.state(tally.oldest[id], now, ws.startup) == api.WorkerGone {
			ws.logGone(ctx, worker, tally, now)
		}
	}
}

func (ws *Registry) logGone(ctx context.Context, worker *Record, tally *JobTally, now time.Time) {
	jobs := 0
	for _, batch := range tally.batches[worker.ID] {
		n, err := ws.store.CountJobs(ctx, batch, store.JobFilter{Worker: worker.ID})
		if err != nil {
			ws.log.WarnContext(ctx, "failed to count the jobs of a batch", logkey.BatchID, batch, logkey.Error, err)
		}
		jobs += n
	}
	reason := worker.absence(worker.ID)
	if ws.subscriptionMissing(ctx, worker.ID) {
		reason += "; " + missingSubscription(worker.ID)
	}
	ws.log.WarnContext(ctx, "jobs wait for a worker that is gone", logkey.Event, alert.WorkerGone, logkey.WorkerID, worker.ID, logkey.Jobs, jobs,
		logkey.Batches, tally.batches[worker.ID], logkey.OldestSeconds, int64(now.Sub(tally.oldest[worker.ID]).Seconds()), logkey.Reason, reason)
}
