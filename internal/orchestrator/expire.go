package orchestrator

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxDeletions is how many writes, of up to store.MaxOperations documents each, one tick deletes a batch
// by. The next tick goes on.
const maxDeletions = 50

// onExpired leaves the summary, which is deleted, unchanged.
var onExpired = applier.Command{More: true, Events: applier.On(model.BatchExpired{}).Events}

// expireBatch deletes a batch that a request started and whose time is over: first its other documents,
// then the batch, then its line in the list of batches, by which the next tick finds what is left. A batch that was
// opened by a retry meanwhile is left alone.
func (o *Orchestrator) expireBatch(ctx context.Context, b *model.Batch) error {
	s, decisions, err := o.applier.Run(ctx, b.ID, onExpired)
	if err != nil || decisions[0].Stale {
		return err
	}
	if err := o.applier.DeleteOutputs(ctx, b.ID); err != nil { // while the batch is there, by which the next tick comes back
		return err
	}
	for range maxDeletions {
		left, err := o.store.Remains(ctx, b.ID, store.MaxOperations)
		if err != nil {
			return err
		}
		if len(left) == 0 {
			return o.deleteBatch(ctx, s.BatchItem())
		}
		var ops store.Writes
		for _, d := range left {
			ops = append(ops, store.Delete(d.Key, d.ETag))
		}
		if _, err := o.store.Apply(ctx, ops); err != nil && !gone(err) { // a late result has changed one, or another tick deletes them
			return err
		}
	}
	return nil
}

// deleteBatch deletes a batch of which nothing else is left.
func (o *Orchestrator) deleteBatch(ctx context.Context, b store.Item[model.Batch]) error {
	if _, err := o.store.Apply(ctx, store.Writes{store.Delete(b.Key, b.ETag)}); err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	o.log.InfoContext(ctx, "expired batch deleted", logkey.BatchID, b.Doc.ID, logkey.Runbook, b.Doc.Runbook)
	return o.deleteEntry(ctx, b.Doc.ID)
}

// deleteEntry deletes the line of a batch in the list of batches, and the comparison of a shadow.
func (o *Orchestrator) deleteEntry(ctx context.Context, batch int) error {
	entry, err := store.OrNone(store.Read[store.BatchSummary](ctx, o.store, store.EntryKey(batch)))
	if err != nil || entry.ETag == "" {
		return err
	}
	ops := store.Writes{store.Delete(entry.Key, entry.ETag)}
	if entry.Doc.Shadow {
		compared, err := store.OrNone(store.Read[store.Comparison](ctx, o.store, store.ComparisonKey(batch)))
		if err != nil {
			return err
		}
		if compared.ETag != "" {
			ops = append(ops, store.Delete(compared.Key, compared.ETag))
		}
	}
	if _, err := o.store.Apply(ctx, ops); err != nil && !gone(err) {
		return err
	}
	return nil
}

// gone reports whether another process came first with a deletion.
func gone(err error) bool {
	return errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrChanged)
}
