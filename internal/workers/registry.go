// Package workers stores the record of each worker: the functions that it announced, the
// heartbeats of its replicas and the time of its last answer. From the record and the jobs
// without a result it computes the state of the worker, and whether a job still waits for it.
//
// It decides nothing about runs: package engine decides what a job's outlook means.
package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Registry reads and writes the records of workers. It is safe for concurrent use.
type Registry struct {
	store    store.Store
	now      func() time.Time
	log      *slog.Logger
	watcher  bus.Watcher
	standard []signature.Function
	startup  time.Duration
	answers  *lru.Cache[string, time.Time]         // by worker: the last answer that this process recorded
	checks   *lru.Cache[string, subscriptionCheck] // by worker
	jobs     jobsCache
	waits    *lru.Cache[int, recentWaits] // by batch
}

// Config has the dependencies of a Registry.
type Config struct {
	Store     store.Store
	Now       func() time.Time
	Log       *slog.Logger
	Waiting   bus.Watcher          // nil: missing subscriptions are not detected
	Functions []signature.Function // of workers that have not announced theirs
	Startup   time.Duration        // how long a worker that was scaled to zero may take to start
}

// New returns a Registry with the dependencies of c.
func New(c Config) *Registry {
	return &Registry{
		store: c.Store, now: c.Now, log: c.Log, watcher: c.Waiting, standard: c.Functions, startup: c.Startup,
		answers: newCache[string, time.Time](), checks: newCache[string, subscriptionCheck](), waits: newCache[int, recentWaits](),
	}
}

// newCache returns a cache of one value for each worker, or each batch.
func newCache[K comparable, T any]() *lru.Cache[K, T] {
	cache, err := lru.New[K, T](256)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return cache
}

// ReadRecord reads the record of a worker. For a worker without one it returns a record that
// has only the id.
func (r *Registry) ReadRecord(ctx context.Context, id string) (Record, error) {
	item, err := store.Read[Record](ctx, r.store, store.WorkerKey(id))
	if errors.Is(err, store.ErrNotFound) || err == nil && item.Doc.ID != id {
		return Record{ID: id}, nil
	}
	return item.Doc, err
}

// ReadRecords reads the records of the workers that have jobs of the runs, by worker id.
func (r *Registry) ReadRecords(ctx context.Context, runs ...*model.Run) (map[string]Record, error) {
	records := map[string]Record{}
	for _, run := range runs {
		if _, known := records[run.Worker]; known || run.Worker == "" || run.Steps[run.Current].Status != model.StepDispatched {
			continue
		}
		worker, err := r.ReadRecord(ctx, run.Worker)
		if err != nil {
			return nil, err
		}
		records[run.Worker] = worker
	}
	return records, nil
}

// idRetention is how long after a worker was seen no other worker can have its id in another case.
const idRetention = time.Hour

// caseConflict says that the id of a worker differs only in case from that of another one.
type caseConflict struct {
	id, other string
	seen      time.Time
}

func (e *caseConflict) Error() string {
	return fmt.Sprintf("the worker id %q differs only in case from that of the worker %q, seen at %s: give it another id", e.id, e.other, formatTime(e.seen))
}

// changeRecord writes the record of a worker together with extra if change reports that it
// changed it. Errors: *caseConflict; store.ErrChanged after a conflict, which asks for the message again.
func (r *Registry) changeRecord(ctx context.Context, id string, change func(*Record) bool, extra ...store.Write) error {
	item, err := store.OrNone(store.Read[Record](ctx, r.store, store.WorkerKey(id)))
	if err != nil {
		return err
	}
	next := item.Doc
	if item.ETag != "" && item.Doc.ID != id {
		seen := next.LastSeen()
		if next.Catalog != nil {
			seen = later(seen, next.Catalog.SeenAt)
		}
		if r.now().Sub(seen) < idRetention {
			return &caseConflict{id: id, other: next.ID, seen: seen}
		}
		next = Record{}
	}
	next.ID = id
	if !change(&next) {
		return nil
	}
	write := store.Create(store.WorkerKey(id), next)
	if item.ETag != "" {
		write = store.Replace(store.WorkerKey(id), next, item.Version)
	}
	_, err = r.store.Apply(ctx, append(store.Writes{write}, extra...))
	if errors.Is(err, store.ErrExists) {
		return store.ErrChanged
	}
	return err
}
