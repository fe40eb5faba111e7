package applier

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// UpsertSummary writes the summary of a batch, unless a newer one is stored: another process may have
// changed the batch since b was written.
func (a *Applier) UpsertSummary(ctx context.Context, b *model.Batch) error {
	if b.Status == model.BatchFailed {
		if err := a.logFailed(ctx, b); err != nil {
			return err
		}
	}
	if b.StoppedBy != 0 {
		if err := a.logStopped(ctx, b); err != nil {
			return err
		}
	}
	key, summary := store.EntryKey(b.ID), store.SummaryOf(b)
	for {
		_, err := a.store.Apply(ctx, store.Writes{store.ReplaceUnlessNewer(key, summary, "revision", summary.Revision)})
		if errors.Is(err, store.ErrNotFound) {
			_, err = a.store.Apply(ctx, store.Writes{store.Create(key, summary)})
		}
		switch {
		case errors.Is(err, store.ErrNewer):
			return nil
		case errors.Is(err, store.ErrExists), errors.Is(err, store.ErrChanged): // the service asks to try again
			if ctx.Err() == nil {
				continue
			}
		}
		return err
	}
}

// logFailed tells that a batch has failed, unless its line in the list tells so already.
// That line is written afterwards: whoever is killed in between leaves it to whoever does
// the same again, or to the next tick, so that it is told twice rather than never.
func (a *Applier) logFailed(ctx context.Context, b *model.Batch) error {
	listed, err := store.OrNone(store.Read[store.BatchSummary](ctx, a.store, store.EntryKey(b.ID)))
	if err != nil || listed.Doc.Status == model.BatchFailed {
		return err
	}
	a.log.WarnContext(ctx, "a batch has failed", logkey.Event, alert.BatchFailed, logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.RunbookVersion, b.Version, logkey.Reason, b.Error)
	return nil
}
