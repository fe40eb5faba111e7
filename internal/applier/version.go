package applier

import (
	"context"
	"errors"
	"slices"

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
			_, err = a.Transition(ctx, b, 0)
		}
		return err
	})
}

// Transition moves a batch to the active version of its runbook, if that is newer than its own. It
// returns the batch as it is then. synced is the version by which the data source of the runbook was
// synced just now; 0 for none. A batch that follows a data source waits for that sync, so that its
// members have the columns that the version uses first.
func (a *Applier) Transition(ctx context.Context, b store.Item[model.Batch], synced int) (store.Item[model.Batch], error) {
	head, err := store.Read[store.RunbookHead](ctx, a.store, store.RunbookKey(b.Doc.Runbook))
	if errors.Is(err, store.ErrNotFound) {
		return b, nil
	}
	if err != nil || head.Doc.Active <= b.Doc.Version {
		return b, err
	}
	if waits, err := a.waitsForSync(ctx, &b.Doc, head.Doc.Active, synced); err != nil || waits {
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

// waitsForSync reports whether a batch stays with its version until a sync has given its members the
// columns that a newer version uses and its own does not.
func (a *Applier) waitsForSync(ctx context.Context, b *model.Batch, version, synced int) (bool, error) {
	if b.Manual || b.Ended || synced == version {
		return false, nil
	}
	next, err := a.runbooks.Load(ctx, b.Runbook, version)
	if err != nil || !next.DataSource.Queried() {
		return false, err
	}
	own, err := a.runbooks.Load(ctx, b.Runbook, b.Version)
	if err != nil {
		return false, err
	}
	lacks := slices.ContainsFunc(next.Columns(), func(column string) bool { return !slices.Contains(own.Columns(), column) })
	if lacks {
		a.log.InfoContext(ctx, "batch waits for a sync before it follows a newer version", logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.ToVersion, version)
	}
	return lacks, nil
}
