package workers

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Workers returns one page of the workers that have a record or that jobs wait for, in the order
// of their ids. The continuation is the last id of the page before. Errors: CodeInvalid,
// CodeUnavailable.
func (r *Registry) Workers(ctx context.Context, o api.ListOptions) (api.Page[api.Worker], error) {
	if o.Continuation != "" && !message.ValidWorkerID(o.Continuation) {
		return api.Page[api.Worker]{}, problem.New(api.CodeInvalid, "the continuation token %q does not belong to this list", clipName(o.Continuation))
	}
	found, err := r.store.AllWorkers(ctx)
	if err != nil {
		return api.Page[api.Worker]{}, err
	}
	jobs, err := r.jobsOfAll(ctx)
	if err != nil {
		return api.Page[api.Worker]{}, err
	}
	records := map[string]*Record{}
	for id := range jobs {
		records[id] = &Record{ID: id}
	}
	for i := range found {
		records[found[i].Doc.ID] = (*Record)(&found[i].Doc)
	}
	page := api.Page[api.Worker]{Items: []api.Worker{}}
	for _, id := range slices.Sorted(maps.Keys(records)) {
		switch {
		case id <= o.Continuation:
		case len(page.Items) == o.PageSize():
			page.Continuation = page.Items[len(page.Items)-1].ID
			return page, nil
		default:
			page.Items = append(page.Items, r.workerView(records[id], jobs[id]))
		}
	}
	return page, nil
}

// Worker returns a worker with its functions. A worker without a record that jobs wait for is
// one that was never seen. Errors: CodeNotFound, CodeUnavailable.
func (r *Registry) Worker(ctx context.Context, id string) (api.Worker, error) {
	if !message.ValidWorkerID(id) {
		return api.Worker{}, problem.New(api.CodeNotFound, "unknown worker %q", clipName(id))
	}
	record, err := store.OrNone(store.Read[Record](ctx, r.store, store.WorkerKey(id)))
	if err != nil {
		return api.Worker{}, err
	}
	jobs, err := r.jobsOfAll(ctx)
	if err != nil {
		return api.Worker{}, err
	}
	if record.Doc.ID != id {
		record = store.Item[Record]{}
	}
	if record.ETag == "" {
		if jobs[id].Count == 0 {
			return api.Worker{}, problem.New(api.CodeNotFound, "unknown worker %q: it never announced itself, sent a heartbeat or answered a job, and no job waits for it", id)
		}
		record.Doc.ID = id
	}
	view := r.workerView(&record.Doc, jobs[id])
	functions, err := store.OrNone(store.Read[store.Catalog](ctx, r.store, store.CatalogKey(id)))
	if err != nil {
		return api.Worker{}, err
	}
	view.Functions = functionViews(functions.Doc.Functions)
	if missing := r.missingSubscription(ctx, id); missing != "" {
		view.Problem = missing
	}
	return view, nil
}

// workerView returns the view of a record and of the worker's jobs without a result.
func (r *Registry) workerView(rec *Record, jobs waitingJobs) api.Worker {
	now := r.now().UTC()
	view := api.Worker{
		ID: rec.ID, State: rec.state(jobs.Oldest, now, r.startup), LastSeenAt: orNil(rec.LastSeen()),
		OldestQueuedAt: orNil(jobs.Oldest), ThrottledUntil: orNil(rec.throttledUntil(now)),
	}
	if c := rec.Catalog; c != nil {
		view.Version, view.StartedAt, view.SeenAt, view.FunctionCount = c.Version, &c.StartedAt, &c.SeenAt, c.FunctionCount
	}
	for _, p := range slices.Backward(rec.Replicas) {
		replica := api.Replica{
			ID: p.ID, Version: p.Version, State: "alive", StartedAt: p.StartedAt, LastSeenAt: p.SeenAt, MaxParallelism: p.MaxParallelism,
			JobsInFlight: p.InFlight, OldestJobAt: p.OldestJobAt, ThrottledUntil: p.ThrottledUntil, CredentialExpiresAt: p.CredentialExpiresAt,
		}
		switch {
		case p.Stopped:
			replica.State = "stopped"
		case !isFresh(&p, now):
			replica.State = "silent"
		default:
			view.JobsInFlight += p.InFlight
			view.JobsPerMinute += jobsPerMinute(&p)
			view.OldestJobAt = earliest(view.OldestJobAt, p.OldestJobAt)
		}
		view.Replicas = append(view.Replicas, replica)
	}
	view.JobsQueued = max(0, jobs.Count-view.JobsInFlight)
	view.CredentialExpiresAt = rec.credentialExpiresAt()
	return view
}

// jobsPerMinute is how many jobs of a replica ended per minute of late, to a tenth.
func jobsPerMinute(p *store.ReplicaRecord) float64 {
	if p.EndedBeforeAt == nil || p.Ended < p.EndedBefore {
		return 0
	}
	return math.Round(10*float64(p.Ended-p.EndedBefore)/p.ReportedAt.Sub(*p.EndedBeforeAt).Minutes()) / 10
}

func functionViews(all []signature.Function) []api.Function {
	var views []api.Function
	for _, f := range all {
		view := api.Function{Name: f.Name, Description: f.Description, Params: []api.Parameter{}, Permissions: f.Permissions, TimeoutSeconds: f.TimeoutSeconds, ReadOnly: f.ReadOnly}
		for _, p := range f.Params {
			view.Params = append(view.Params, api.Parameter(p))
		}
		for _, r := range f.Result {
			view.Result = append(view.Result, api.Field(r))
		}
		views = append(views, view)
	}
	return views
}

// WorkersWaitedFor returns the workers that a batch has jobs for and that do not work on them
// now, because they are throttled or not running.
func (r *Registry) WorkersWaitedFor(ctx context.Context, b *model.Batch) ([]api.WorkerWait, error) {
	if b.Status.Terminal() || !inProgress(b) {
		return nil, nil
	}
	oldest, err := r.store.WorkersWithJobs(ctx, b.ID, r.now())
	if err != nil {
		return nil, err
	}
	var waits []api.WorkerWait
	now := r.now().UTC()
	for _, id := range slices.Sorted(maps.Keys(oldest)) {
		worker, err := r.ReadRecord(ctx, id)
		if err != nil {
			return nil, err
		}
		wait, ok := r.workerWait(id, &worker, oldest[id], now)
		if !ok {
			continue
		}
		jobs, err := r.store.CountJobs(ctx, b.ID, store.JobFilter{VisibleAt: r.now(), Worker: id})
		if err != nil {
			return nil, err
		}
		if jobs > 0 {
			wait.JobsQueued = max(0, jobs-worker.countRunning(b.ID, now))
			waits = append(waits, wait)
		}
	}
	return waits, nil
}

// recentWaits are the workers that a batch waited for at a time.
type recentWaits struct {
	at    time.Time
	waits []api.WorkerWait
}

// RecentWaits returns what WorkersWaitedFor does, as of at most jobsMaxAge ago: for lists, which are read
// often.
func (r *Registry) RecentWaits(ctx context.Context, b *model.Batch) ([]api.WorkerWait, error) {
	if b.Status.Terminal() || !inProgress(b) {
		return nil, nil
	}
	now := r.now()
	if last, ok := r.waits.Get(b.ID); ok && now.Sub(last.at) < jobsMaxAge && !now.Before(last.at) {
		return last.waits, nil
	}
	waits, err := r.WorkersWaitedFor(ctx, b)
	if err == nil {
		r.waits.Add(b.ID, recentWaits{now, waits})
	}
	return waits, err
}

// workerWait returns why jobs wait for a worker; the oldest was dispatched at dispatchedAt. It
// reports false if the worker works on them.
func (r *Registry) workerWait(id string, worker *Record, dispatchedAt, now time.Time) (wait api.WorkerWait, ok bool) {
	wait = api.WorkerWait{
		WorkerID: id, State: worker.state(dispatchedAt, now, r.startup),
		Since: orNil(worker.LastSeen()), ThrottledUntil: orNil(worker.throttledUntil(now)),
	}
	switch {
	case wait.ThrottledUntil != nil:
		wait.Reason = fmt.Sprintf("throttled until %s", formatTime(*wait.ThrottledUntil))
	case wait.State == api.WorkerAlive, now.Sub(dispatchedAt) < message.HeartbeatInterval: // the worker may be about to answer
		return wait, false
	case wait.State == api.WorkerScaledToZero:
		wait.Reason = fmt.Sprintf("starting, until %s at most", formatTime(worker.startsUntil(dispatchedAt, r.startup)))
	case wait.Since == nil:
		wait.Reason = "never seen"
	default:
		wait.Reason = "last seen at " + formatTime(*wait.Since)
	}
	return wait, true
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}
