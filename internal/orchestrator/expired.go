package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxSweeps is how often one tick looks for what has expired, for store.MaxOperations documents each time. The next
// tick goes on.
const maxSweeps = 20

// SweepExpired deletes documents that are of no use any more: idempotency records, and entries of the cache of steps.
// No entry is used after its time: those that are left only take room.
func (o *Orchestrator) SweepExpired(ctx context.Context) error {
	return errors.Join(inRounds(func() (int, error) { return o.sweepRecords(ctx) }), inRounds(func() (int, error) { return o.sweepCache(ctx) }))
}

// inRounds sweeps as long as a round finds as much as it looks for.
func inRounds(round func() (found int, err error)) error {
	for range maxSweeps {
		if found, err := round(); err != nil || found < store.MaxOperations {
			return err
		}
	}
	return nil
}

// sweepRecords deletes idempotency records whose time is over.
func (o *Orchestrator) sweepRecords(ctx context.Context) (found int, err error) {
	expired, err := o.store.ExpiredRecords(ctx, o.now(), store.MaxOperations)
	var ops store.Writes
	for _, r := range expired {
		ops = append(ops, store.Delete(r.Key, r.ETag))
	}
	if err == nil {
		err = o.applyUnlessGone(ctx, ops)
	}
	return len(expired), err
}

// sweepCache deletes expired entries of the cache of steps, of the partition whose turn it is: each comes in one of
// store.CachePartitions ticks. An entry whose run still has a result to give, or does the work, stays.
func (o *Orchestrator) sweepCache(ctx context.Context) (found int, err error) {
	now := o.now().UTC()
	part := int(now.Unix()/int64(model.TickInterval/time.Second)) % store.CachePartitions
	expired, err := o.store.ExpiredCacheEntries(ctx, part, now, store.MaxOperations)
	if err != nil {
		return 0, err
	}
	var ops store.Writes
	for _, e := range expired {
		run, err := store.OrNone(store.Read[model.Run](ctx, o.store, store.RunKey(e.Doc.Batch, e.Doc.Phase, e.Doc.Member)))
		if err != nil {
			return 0, err
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
	return len(expired), o.applyUnlessGone(ctx, ops)
}

// applyUnlessGone applies writes. If another process has changed or deleted one of the documents meanwhile, it applies none
// of them: the rest waits for the next turn.
func (o *Orchestrator) applyUnlessGone(ctx context.Context, ops store.Writes) error {
	if len(ops) == 0 {
		return nil
	}
	if _, err := o.store.Apply(ctx, ops); err != nil && !gone(err) {
		return err
	}
	return nil
}
