package app

import (
	"context"
	"errors"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// The fan-out of a phase goes by a window: the page after the last one that was begun
// waits until the page that is engine.FanOutWindow before it has yielded. So a batch of
// any size has a few pages of jobs at its workers, and a batch that starts behind it does
// not wait behind all of it. Nothing is counted for that but the page's shard, and the
// page that yields announces the next.

// announceNext announces the page after one that was just begun, where the window allows
// it, and ends the fan-out after the last page.
func (a *App) announceNext(ctx context.Context, b *engine.Batch, p *engine.Phase, page int, walk string) error {
	if page >= b.PageCount() {
		return a.batchEvent(ctx, b.ID, engine.PhaseWalked{Phase: p.ID, Pages: page})
	}
	open, err := a.windowOpen(ctx, b.ID, p.ID, page+1)
	if err != nil || !open {
		return err // the page that yields announces it
	}
	return a.bus.Send(ctx, message.TopicOrchestratorEvents, announcement(b, *p, page+1, walk, time.Time{}))
}

// windowOpen reports whether a page of a phase may be begun.
func (a *App) windowOpen(ctx context.Context, batch, phase, page int) (bool, error) {
	before := page - engine.FanOutWindow
	if before < 1 {
		return true, nil
	}
	shard, err := store.Read[engine.Shard](ctx, a.store, store.ShardKey(batch, phase, before))
	if errors.Is(err, store.ErrNotFound) { // a page that late members made has no part in an earlier phase
		return true, nil
	}
	return shard.Doc.HasYielded(), err
}

// pageYielded announces the page that waits for this one to yield. Where the page before
// that one is yet to be begun, announceNext finds the yield: it was stored before this
// read, and the page is stored before that one.
func (a *App) pageYielded(ctx context.Context, batch int, shard *engine.Shard) error {
	next := shard.Page + engine.FanOutWindow
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(batch))
	if err != nil {
		return err
	}
	p, ok := b.Doc.Phase(shard.Phase)
	if !ok || p.Status != engine.PhaseDispatched || p.Walked || next > b.Doc.PageCount() {
		return nil
	}
	_, err = store.Read[engine.Shard](ctx, a.store, store.ShardKey(batch, shard.Phase, next-1))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	return a.bus.Send(ctx, message.TopicOrchestratorEvents, announcement(&b.Doc, *p, next, "", time.Time{}))
}
