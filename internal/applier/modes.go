package applier

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// modeAge is for how long a batch is taken to be open without being asked again: a
// pause or a cancellation takes hold within that time.
const modeAge = time.Second

// modeCache remembers which batches were seen to be open, and when, so that a step
// need not read its batch. Only Running is remembered: a pause or a cancellation must be
// sure. Safe for concurrent use.
type modeCache struct {
	mu      sync.Mutex
	open    *simplelru.LRU[int, time.Time]
	revoked *simplelru.LRU[int, time.Time] // batch → when the pause or cancellation was decided whose revocation this process has sent
}

func newModeCache() *modeCache {
	open, err := simplelru.NewLRU[int, time.Time](1024, nil)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	revoked, err := simplelru.NewLRU[int, time.Time](1024, nil)
	if err != nil {
		panic(err)
	}
	return &modeCache{open: open, revoked: revoked}
}

// enforced reports whether this process has sent the revocation of the batch.
func (c *modeCache) enforced(b *model.Batch) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.revoked.Get(b.ID)
	return ok && at.Equal(stopMark(b).At)
}

// enforces notes that this process has sent the revocation of the batch.
func (c *modeCache) enforces(b *model.Batch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.revoked.Add(b.ID, stopMark(b).At)
}

// stopMark is the mark of the batch's cancellation or else of its pause.
func stopMark(b *model.Batch) model.Mark {
	switch {
	case b.Cancelled != nil:
		return *b.Cancelled
	case b.Paused != nil:
		return *b.Paused
	}
	return model.Mark{}
}

func (c *modeCache) isOpen(batch int, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.open.Get(batch)
	return ok && !now.Before(at) && now.Sub(at) < modeAge
}

func (c *modeCache) saw(b *model.Batch, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b.DispatchMode() == model.Running {
		c.open.Add(b.ID, now)
		return
	}
	c.open.Remove(b.ID)
}

// dispatchMode is what a batch allows its runs.
func (a *Applier) dispatchMode(ctx context.Context, batch int) (model.DispatchMode, error) {
	now := a.now()
	if a.modes.isOpen(batch, now) {
		return model.Running, nil
	}
	return a.ReadDispatchMode(ctx, batch)
}

// ReadDispatchMode asks the store.
func (a *Applier) ReadDispatchMode(ctx context.Context, batch int) (model.DispatchMode, error) {
	now := a.now()
	b, err := store.Read[model.Batch](ctx, a.store, store.BatchKey(batch))
	if err != nil {
		return model.Running, err
	}
	a.modes.saw(&b.Doc, now)
	return b.Doc.DispatchMode(), a.ensureRevoked(ctx, &b.Doc)
}
