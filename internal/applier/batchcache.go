package applier

import (
	"context"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// modeAge is how long a process takes a batch to be running without reading it: a pause or a
// cancellation takes effect within that time.
const modeAge = time.Second

// refreshAge is the age at which one of the handlers that look at a running batch reads it again.
// The others do not wait for it: they take the batch to be running until modeAge. Without this,
// all handlers that are at work when modeAge has passed read the batch.
const refreshAge = modeAge * 3 / 4

// sighting is the observation that a batch is running.
type sighting struct {
	at         time.Time
	refreshing atomic.Bool // a handler reads the batch again
}

// batchCache remembers what this process has seen and done of batches. It is safe for concurrent
// use.
type batchCache struct {
	// running has when a batch was last seen running, so that a step need not read its batch. A paused or cancelled batch is never remembered: a run is stopped only by the stored
	// batch.
	running *lru.Cache[int, *sighting]
	// revocations has the time of the pause or cancellation whose revocation this process has sent.
	revocations *lru.Cache[int, time.Time]
	// summaries has the revision of the batch whose summary this process has written.
	summaries *lru.Cache[int, int]
}

func newBatchCache() *batchCache {
	return &batchCache{running: newLRU[*sighting](), revocations: newLRU[time.Time](), summaries: newLRU[int]()}
}

func newLRU[V any]() *lru.Cache[int, V] {
	c, err := lru.New[int, V](1024)
	if err != nil {
		panic(err) // lru.New refuses only a size below 1
	}
	return c
}

// isRunning reports whether the batch was seen running within modeAge. It returns false to one
// caller earlier, after refreshAge: that caller is to read the batch.
func (c *batchCache) isRunning(batch int, now time.Time) bool {
	seen, ok := c.running.Get(batch)
	if !ok || now.Before(seen.at) {
		return false
	}
	switch age := now.Sub(seen.at); {
	case age >= modeAge:
		return false
	case age >= refreshAge:
		return !seen.refreshing.CompareAndSwap(false, true)
	}
	return true
}

// noteMode notes whether the batch is running. The batch was read or written after now.
func (c *batchCache) noteMode(b *model.Batch, now time.Time) {
	if b.DispatchMode() == model.Running {
		c.running.Add(b.ID, &sighting{at: now})
		return
	}
	c.running.Remove(b.ID)
}

// revoked reports whether this process has sent the revocation of the batch.
func (c *batchCache) revoked(b *model.Batch) bool {
	at, ok := c.revocations.Get(b.ID)
	return ok && at.Equal(stopMark(b).At)
}

func (c *batchCache) noteRevoked(b *model.Batch) { c.revocations.Add(b.ID, stopMark(b).At) }

// stopMark returns the mark of the batch's cancellation, or else of its pause.
func stopMark(b *model.Batch) model.Attribution {
	switch {
	case b.Cancelled != nil:
		return *b.Cancelled
	case b.Paused != nil:
		return *b.Paused
	}
	return model.Attribution{}
}

// summarized reports whether this process has written the summary of this revision of the batch,
// or of a later one.
func (c *batchCache) summarized(b *model.Batch) bool {
	revision, ok := c.summaries.Get(b.ID)
	return ok && revision >= b.Revision
}

func (c *batchCache) noteSummarized(b *model.Batch) { c.summaries.Add(b.ID, b.Revision) }

// dispatchMode returns the mode of a batch. Running may be up to modeAge old.
func (a *Applier) dispatchMode(ctx context.Context, batch int) (model.DispatchMode, error) {
	if a.batches.isRunning(batch, a.now()) {
		return model.Running, nil
	}
	return a.ReadDispatchMode(ctx, batch)
}

// ReadDispatchMode returns the stored mode of a batch.
func (a *Applier) ReadDispatchMode(ctx context.Context, batch int) (model.DispatchMode, error) {
	now := a.now()
	b, err := store.Read[model.Batch](ctx, a.store, store.BatchKey(batch))
	if err != nil {
		return model.Running, err
	}
	a.batches.noteMode(&b.Doc, now)
	return b.Doc.DispatchMode(), a.ensureRevoked(ctx, &b.Doc)
}
