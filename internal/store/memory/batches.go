package memory

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

type summary = store.BatchSummary

// unfinished is the condition for the summary of a batch that is being created or has not
// ended.
func unfinished(b *summary) bool {
	return b.Creating || slices.Contains([]model.BatchStatus{model.BatchDetected, model.BatchInitDispatched, model.BatchActive, model.BatchCancelling}, b.Status)
}

// Batches implements store.Batches.
func (s *Store) Batches(ctx context.Context, f store.BatchFilter, page store.Paging) (store.Page[summary], error) {
	o := order{store.Sort{By: store.FieldID, Descending: true}, []store.Field{
		store.FieldID, store.FieldRunbookName, store.FieldStatus, store.FieldStartTime, store.FieldDetectedAt, store.FieldMemberCount,
	}}
	return list(ctx, s, "Batches", store.PartitionBatches, "entry", f, o, page, func(_ *document, b *summary) bool {
		return (f.Creating || !b.Creating) && (f.Newest == 0 || b.ID <= f.Newest) && sameText(b.Name, f.Name) && sameText(b.Owner, f.Owner) && oneOf(f.Statuses, b.Status) && (f.Runbook == "" || b.RunbookName == f.Runbook) && strings.HasPrefix(b.RunbookName, f.RunbookPrefix)
	})
}

// oneOf reports whether a status is one of those that a filter asks for.
func oneOf[S comparable](wanted []S, status S) bool {
	return len(wanted) == 0 || slices.Contains(wanted, status)
}

// sameText reports whether a text is the one that a filter asks for, in any case.
func sameText(text, wanted string) bool {
	return wanted == "" || strings.EqualFold(text, wanted)
}

// BatchesToSweep implements store.Batches.
func (s *Store) BatchesToSweep(ctx context.Context, now time.Time) ([]store.Item[summary], error) {
	return all(ctx, s, "BatchesToSweep", store.PartitionBatches, "entry", func(_ *document, b *summary) bool {
		return unfinished(b) || b.OpenDetached || before(b.EraseAt, now) || before(b.ExpiresAt, now)
	})
}

// Remains implements store.Batches.
func (s *Store) Remains(ctx context.Context, batch, most int) (found []store.Document, err error) {
	s.counts.queries.Add(1)
	pk := store.BatchPartition(batch)
	err = s.do(ctx, Operation{Kind: KindQuery, Name: "Remains", Partition: pk}, func() error {
		s.state.mu.RLock()
		defer s.state.mu.RUnlock()
		found = nil // it may be repeated
		documents := s.state.partition(pk).documents
		for _, id := range slices.Sorted(maps.Keys(documents)) {
			if d := documents[id]; d.key.Type != "batch" && len(found) < most {
				found = append(found, store.Document{Key: d.key, ETag: d.etag})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("querying %s: %w", pk, err)
	}
	return found, nil
}

// BatchesEndedSince implements store.Batches.
func (s *Store) BatchesEndedSince(ctx context.Context, since time.Time) ([]store.Item[summary], error) {
	return all(ctx, s, "BatchesEndedSince", store.PartitionBatches, "entry", func(_ *document, b *summary) bool {
		return b.CompletedAt != nil && !b.CompletedAt.Before(since)
	})
}

// UnfinishedBatches implements store.Batches.
func (s *Store) UnfinishedBatches(ctx context.Context, runbook string) ([]store.UnfinishedBatch, error) {
	return project(ctx, s, "UnfinishedBatches", store.PartitionBatches, "entry", func(_ *document, b *summary) bool {
		return unfinished(b) && (runbook == "" || b.RunbookName == runbook)
	}, func(b *summary) store.UnfinishedBatch { return store.UnfinishedBatch{ID: b.ID} })
}

// StartSlots implements store.Batches.
func (s *Store) StartSlots(ctx context.Context, runbook string, starts []time.Time) ([]store.Item[store.StartSlot], error) {
	ids := map[string]bool{}
	for _, start := range starts {
		ids[store.SlotKey(runbook, start).ID] = true
	}
	return byID[store.StartSlot](ctx, s, "StartSlots", store.PartitionBatches, "slot", ids)
}

// Claims implements store.Batches.
func (s *Store) Claims(ctx context.Context, people []string) ([]store.Item[store.PersonClaim], error) {
	ids := map[string]bool{}
	for _, person := range people {
		ids[store.ClaimKey(person).ID] = true
	}
	return byID[store.PersonClaim](ctx, s, "Claims", store.PartitionBatches, "claim", ids)
}

// byID returns those documents of one type that have one of the given ids. Without ids it asks
// for nothing.
func byID[T any](ctx context.Context, s *Store, name, pk, kind string, ids map[string]bool) ([]store.Item[T], error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return all(ctx, s, name, pk, kind, func(d *document, _ *T) bool { return ids[d.key.ID] })
}
