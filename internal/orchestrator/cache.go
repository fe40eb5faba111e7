package orchestrator

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxExpiredEntries is how many entries of the cache of steps one tick looks at.
const maxExpiredEntries = store.MaxOperations

// SweepCache deletes the entries of the cache of steps that are of no use any more, of the partition whose
// turn it is: each comes in one of store.CachePartitions ticks. An entry whose run still has a result to give,
// or does the work, stays. No entry is used after its time: those that are left only take room.
func (o *Orchestrator) SweepCache(ctx context.Context) error {
	now := o.now().UTC()
	part := int(now.Unix()/int64(model.TickInterval/time.Second)) % store.CachePartitions
	expired, err := o.store.ExpiredCacheEntries(ctx, part, now, maxExpiredEntries)
	if err != nil {
		return err
	}
	var ops store.Writes
	for _, e := range expired {
		run, err := store.OrNone(store.Read[model.Run](ctx, o.store, store.RunKey(e.Doc.Batch, e.Doc.Phase, e.Doc.Member)))
		if err != nil {
			return err
		}
		var holder *model.Run
		if run.ETag != "" {
			holder = &run.Doc
		}
		if until := runstate.CacheEntryUntil(&e.Doc, holder, now); !until.IsZero() {
			ops = append(ops, store.Patch(e.Key, e.ETag, store.Set("/expiresAt", until.UTC())))
			continue
		}
		ops = append(ops, store.Delete(e.Key, e.ETag))
	}
	if len(ops) == 0 {
		return nil
	}
	if _, err := o.store.Apply(ctx, ops); err != nil && !gone(err) { // a run has claimed one meanwhile: the rest waits for the next turn
		return err
	}
	return nil
}
