package applier

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/store"
)

// FollowActiveVersion reads a batch and moves it to the active version of its runbook, as Transition
// does.
func (a *Applier) FollowActiveVersion(ctx context.Context, id int) error {
	return store.RetryOnConflict(ctx, func() error {
		b, err := a.ReadBatch(ctx, id)
		if err == nil {
			_, err = a.Transition(ctx, b)
		}
		return err
	})
}

// Transition moves a batch to the active version of its runbook, if that is newer than its own. It
// returns the batch as it is then.
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
