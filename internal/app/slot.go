package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// slot says which batch a runbook has for a start time. It outlives the batch: a
// group of members whose batch has ended does not get another.
type slot struct {
	Runbook string    `json:"runbook"`
	Start   time.Time `json:"start"`
	Batch   int       `json:"batchId"`
	Ended   bool      `json:"ended,omitempty"` // it was seen to have, which spares looking again
}

// slots gives those of the slots that are taken.
func (a *App) slots(ctx context.Context, ids []string) ([]store.Item[slot], error) {
	var all []store.Item[slot]
	for chunk := range slices.Chunk(ids, 200) {
		items, err := store.All[slot](ctx, a.store, store.PartitionBatches,
			"SELECT * FROM c WHERE c.type = 'slot' AND ARRAY_CONTAINS(@ids, c.id)", store.Param{Name: "@ids", Value: chunk})
		if err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, nil
}

// ended tells whether the batch of a slot has, and notes it there.
func (s *synchronization) ended(ctx context.Context, item store.Item[slot]) (bool, error) {
	if item.Doc.Ended {
		return true, nil
	}
	b, err := orNone(store.Read[engine.Batch](ctx, s.app.store, store.BatchKey(item.Doc.Batch)))
	if err != nil || b.ETag == "" || !b.Doc.Ended && b.Doc.Status != engine.BatchCancelling && !b.Doc.Status.Terminal() {
		return false, err
	}
	if !b.Doc.Status.Terminal() {
		return true, nil
	}
	if s.dry {
		return true, nil
	}
	item.Doc.Ended = true
	_, err = s.app.store.Commit(ctx, store.Upsert(store.SlotKey(item.Doc.Runbook, item.Doc.Start), item.Doc))
	return true, err
}

// claim takes the slot of a start time with the next batch number, or gives the number
// that it was taken with before.
func (a *App) claim(ctx context.Context, runbookName string, start time.Time) (int, error) {
	for {
		taken, err := orNone(store.Read[slot](ctx, a.store, store.SlotKey(runbookName, start)))
		if err != nil {
			return 0, err
		}
		if taken.ETag != "" {
			return taken.Doc.Batch, nil
		}
		id, err := a.reserve(ctx, entry{BatchView: BatchView{RunbookName: runbookName, BatchStartTime: &start}}, func(id int) ([]store.Op, error) {
			return []store.Op{store.Create(store.SlotKey(runbookName, start), slot{Runbook: runbookName, Start: start, Batch: id})}, nil
		})
		if !errors.Is(err, store.ErrExists) {
			return id, err
		}
	}
}

// detect makes the batch of a start time, without members: they are added to it as to
// any other, and it opens when all of them are there. What dies half-way is gone on
// with by the next tick.
func (s *synchronization) detect(ctx context.Context, start time.Time) (b store.Item[engine.Batch], made bool, err error) {
	id, err := s.app.claim(ctx, s.name, start)
	if err != nil {
		return b, false, err
	}
	b.Doc = engine.NewDetected(id, s.rb, s.version, start, s.app.now())
	outcome, err := s.app.store.Commit(ctx, store.Create(store.BatchKey(id), b.Doc),
		s.app.auditOp(creation(scheduler, &b.Doc, b.Doc.DetectedAt)))
	if errors.Is(err, store.ErrExists) {
		b, err = store.Read[engine.Batch](ctx, s.app.store, store.BatchKey(id))
		return b, false, err
	}
	if err != nil {
		return b, false, err
	}
	s.app.log.Info("batch detected", "BatchId", id, "runbook", s.name, "start", start)
	b.ETag = outcome.ETag(0)
	if err := s.app.list(ctx, &b.Doc); err != nil {
		return b, true, fmt.Errorf("batch %d: %w", id, err)
	}
	return b, true, nil
}
