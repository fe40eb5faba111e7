package applier

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/store"
)

// FollowActiveVersion takes a batch over to its runbook's active version, as transition does.
func (a *Applier) FollowActiveVersion(ctx context.Context, id int) error {
	return retryOnConflict(ctx, func() error {
		b, err := a.ReadBatch(ctx, id)
		if err == nil {
			_, err = a.Transition(ctx, b)
		}
		return err
	})
}

// Transition takes a batch over to its runbook's active version, where that is newer
// than its own: once, however often it is asked for.
func (a *Applier) Transition(ctx context.Context, b store.Item[model.Batch]) (store.Item[model.Batch], error) {
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
	c := On(runbookstore.Publication(version.Doc))
	c.Once = true
	c.Prime = func(s *Snapshot) { Prime(s, s.BatchKey(), b) }
	from := b.Doc.Version
	s, ds, err := a.Run(ctx, b.Doc.ID, c)
	if err != nil || ds[0].Batch == nil {
		return b, err
	}
	a.log.InfoContext(ctx, "batch follows a newer version", logkey.BatchID, b.Doc.ID, logkey.Runbook, b.Doc.Runbook, logkey.FromVersion, from, logkey.ToVersion, s.After().Version)
	return s.BatchItem(), nil
}
