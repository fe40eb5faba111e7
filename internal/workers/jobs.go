package workers

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/store"
)

// waitingJobs counts the jobs of one worker that have no result.
type waitingJobs struct {
	Count  int
	Oldest time.Time // when the first of them became visible to the worker
}

// inProgress reports whether a batch can have jobs in flight.
func inProgress(b *model.Batch) bool {
	return slices.ContainsFunc(b.Phases, func(p model.Phase) bool { return p.Status == model.PhaseDispatched })
}

const (
	// jobsMaxAge is how long the counts of jobs over all batches are reused: callers may read
	// many pages of the list of workers.
	jobsMaxAge = 10 * time.Second
	// countsAtOnce is the number of batches whose jobs are counted concurrently.
	countsAtOnce = 4
)

// jobsCache has the last counts of the jobs of all batches, by worker.
type jobsCache struct {
	mu   sync.Mutex
	at   time.Time
	jobs map[string]waitingJobs
}

// jobsOfAll counts the jobs of all unfinished batches by worker.
func (r *Registry) jobsOfAll(ctx context.Context) (map[string]waitingJobs, error) {
	r.jobs.mu.Lock()
	defer r.jobs.mu.Unlock()
	now := r.now()
	if r.jobs.jobs != nil && now.Sub(r.jobs.at) < jobsMaxAge && !now.Before(r.jobs.at) {
		return r.jobs.jobs, nil
	}
	batches, err := r.store.UnfinishedBatches(ctx, "")
	if err != nil {
		return nil, err
	}
	found := make([]map[string]waitingJobs, len(batches))
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(countsAtOnce)
	for i, b := range batches {
		all.Go(func() error {
			return panics.Catch(ctx, func() (err error) {
				found[i], err = r.jobsOfBatch(ctx, b.ID, now)
				return err
			})
		})
	}
	if err := all.Wait(); err != nil {
		return nil, err
	}
	total := map[string]waitingJobs{}
	for _, jobs := range found {
		addJobs(total, jobs)
	}
	r.jobs.at, r.jobs.jobs = now, total
	return total, nil
}

// jobsOfBatch counts the jobs of a batch that are visible to their worker, by worker.
func (r *Registry) jobsOfBatch(ctx context.Context, batch int, now time.Time) (map[string]waitingJobs, error) {
	oldest, err := r.store.WorkersWithJobs(ctx, batch, now)
	if err != nil {
		return nil, err
	}
	jobs := map[string]waitingJobs{}
	for _, worker := range slices.Sorted(maps.Keys(oldest)) {
		n, err := r.store.CountJobs(ctx, batch, store.JobFilter{VisibleAt: now, Worker: worker})
		if err != nil {
			return nil, err
		}
		if n > 0 {
			jobs[worker] = waitingJobs{Count: n, Oldest: oldest[worker]}
		}
	}
	return jobs, nil
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
