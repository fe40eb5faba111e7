package datasync

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// slotEnded reports whether the batch of a start slot has ended, and marks the slot then.
func (s *syncRun) slotEnded(ctx context.Context, item store.Item[store.StartSlot]) (bool, error) {
	if item.Doc.Ended {
		return true, nil
	}
	b, err := store.OrNone(store.Read[model.Batch](ctx, s.syncer.store, store.BatchKey(item.Doc.Batch)))
	if err != nil || b.ETag == "" || !b.Doc.Ended && b.Doc.Status != model.BatchCancelling && !b.Doc.Status.Terminal() {
		return false, err
	}
	if !b.Doc.Status.Terminal() || s.dry {
		return true, nil
	}
	item.Doc.Ended = true
	_, err = s.syncer.store.Apply(ctx, store.Writes{store.Upsert(store.SlotKey(item.Doc.Runbook, item.Doc.Start), item.Doc)})
	return true, err
}

// slotPatience is for how long a slot stays whose batch is not one of its start: a request that
// reschedules a batch takes the slot first, and lasts no longer.
const slotPatience = 10 * time.Minute

// checkSlot reserves the start of a slot whose batch is not one of it. It deletes the slot where the
// batch was not rescheduled to the start in the end, or has released it.
func (s *syncRun) checkSlot(ctx context.Context, situation *schedule.Situation, item store.Item[store.StartSlot]) error {
	b, loaded := s.batches[item.Doc.Batch]
	if !loaded || hasStart(&b.Doc, item.Doc.Start) {
		return nil
	}
	situation.Reserved[item.Doc.Start.UTC()] = item.Doc.Batch
	if s.dry || s.now.Sub(item.Doc.At) <= slotPatience {
		return nil
	}
	_, err := s.syncer.store.Apply(ctx, store.Writes{store.Delete(item.Key, item.ETag)})
	if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// hasStart reports whether rows with a start are of the batch.
func hasStart(b *model.Batch, start time.Time) bool {
	return b.StartTime != nil && b.StartTime.Equal(start) || slices.ContainsFunc(b.EarlierStarts, start.Equal)
}

// claimSlot reserves the next batch number for the slot of a start time, or gives the number that
// the slot has already.
func (s *Syncer) claimSlot(ctx context.Context, runbookName string, start time.Time) (int, error) {
	var id int
	err := store.RetryOnConflict(ctx, func() error { // another tick has claimed the slot: the next call reads its number
		taken, err := store.OrNone(store.Read[store.StartSlot](ctx, s.store, store.SlotKey(runbookName, start)))
		if err != nil {
			return err
		}
		if taken.ETag != "" {
			id = taken.Doc.Batch
			return nil
		}
		id, err = s.members.ReserveBatch(ctx, store.BatchSummary{RunbookName: runbookName, BatchStartTime: &start}, func(id int) (store.Writes, error) {
			return store.Writes{store.Create(store.SlotKey(runbookName, start), store.StartSlot{Runbook: runbookName, Start: start, Batch: id, At: s.now().UTC()})}, nil
		})
		return err
	})
	return id, err
}

// createBatch creates the batch of a start time without members. They are added to it as to any
// other batch, and it opens when all are added. The next tick goes on with a creation that was cut
// short. created is false where the batch existed.
func (s *syncRun) createBatch(ctx context.Context, start time.Time) (b store.Item[model.Batch], created bool, err error) {
	id, err := s.syncer.claimSlot(ctx, s.name, start)
	if err != nil {
		return b, false, err
	}
	st, existed, err := s.syncer.members.CreateDocument(ctx, audit.Scheduler, model.BatchCreated{ID: id, Runbook: s.name, Version: s.version, Start: &start, At: s.syncer.now()}, nil)
	if err != nil && !existed && (st == nil || st.Written == nil) {
		return b, false, err
	}
	if !existed {
		s.syncer.log.InfoContext(ctx, "batch detected", logkey.BatchID, id, logkey.Runbook, s.name, logkey.Start, start)
	}
	if err != nil {
		return st.BatchItem(), !existed, fmt.Errorf("batch %d: %w", id, err)
	}
	return st.BatchItem(), !existed, nil
}
