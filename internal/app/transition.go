package app

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// transition takes a batch over to its runbook's active version, where that is newer
// than its own: once, however often it is asked for.
func (a *App) transition(ctx context.Context, b store.Item[engine.Batch]) (store.Item[engine.Batch], error) {
	head, err := store.Read[store.RunbookHead](ctx, a.store, store.RunbookKey(b.Doc.Runbook))
	if errors.Is(err, store.ErrNotFound) {
		return b, nil
	}
	if err != nil || head.Doc.Active <= b.Doc.Version {
		return b, err
	}
	version, err := store.Read[store.RunbookVersion](ctx, a.store, store.VersionKey(b.Doc.Runbook, head.Doc.Active))
	if err != nil {
		return b, err
	}
	rb, err := a.runbook(ctx, b.Doc.Runbook, head.Doc.Active)
	if err != nil {
		return b, err
	}
	d, err := engine.Decide(engine.State{Batch: &b.Doc, Runbook: rb}, publicationOf(version.Doc), a.now())
	if err != nil || d.Batch == nil {
		return b, err
	}
	from := b.Doc.Version
	if b, err = a.replaceBatch(ctx, b, d.Batch); err != nil {
		return b, err
	}
	a.log.Info("batch follows a newer version", "BatchId", b.Doc.ID, "runbook", b.Doc.Runbook, "from", from, "to", b.Doc.Version)
	if err := a.carryOut(ctx, &b.Doc, nil, d.Effects); err != nil {
		return b, err
	}
	return b, a.list(ctx, &b.Doc)
}
