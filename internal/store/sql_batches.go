package store

import (
	"context"
	"slices"
	"time"
)

// notEnded is the condition for the summary of a batch that has not ended.
const notEnded = "c.doc.status IN ('detected', 'init_dispatched', 'active', 'cancelling')"

// idsAtOnce is how many ids one query takes: a query's text may have 512 KB.
const idsAtOnce = 200

// Batches implements Batches.
func (s *Store) Batches(ctx context.Context, f BatchFilter, page Paging) (Page[BatchSummary], error) {
	q := newQuery("c.type = 'entry'", "NOT IS_DEFINED(c.doc.creating)")
	if f.Status != "" {
		q.where("c.doc.status = @status", "@status", f.Status)
	}
	if f.Runbook != "" {
		q.where("c.doc.runbookName = @runbook", "@runbook", f.Runbook)
	}
	q.startsWith("c.doc.runbookName", f.RunbookPrefix)
	order, err := orderBy(page.Sort, Sort{By: FieldID, Descending: true}, FieldID, FieldRunbookName, FieldStatus, FieldStartTime, FieldDetectedAt, FieldMemberCount)
	if err != nil {
		return Page[BatchSummary]{}, err
	}
	return list[BatchSummary](ctx, s, PartitionBatches, q.items(order), page)
}

// BatchesToSweep implements Batches.
func (s *Store) BatchesToSweep(ctx context.Context, now time.Time) ([]Item[BatchSummary], error) {
	q := newQuery("c.type = 'entry'")
	q.where("(IS_DEFINED(c.doc.creating) OR "+notEnded+" OR c.doc.eraseSecretsAt < @now)", "@now", now.UTC().Format(time.RFC3339Nano))
	return all[BatchSummary](ctx, s, PartitionBatches, q.items(""))
}

// UnfinishedBatches implements Batches.
func (s *Store) UnfinishedBatches(ctx context.Context, runbook string) ([]UnfinishedBatch, error) {
	q := newQuery("c.type = 'entry'", "(IS_DEFINED(c.doc.creating) OR "+notEnded+")")
	if runbook != "" {
		q.where("c.doc.runbookName = @name", "@name", runbook)
	}
	return project[UnfinishedBatch](ctx, s, PartitionBatches, q.fields("c.doc.id AS id, c.doc.creating AS creating"))
}

// StartSlots implements Batches.
func (s *Store) StartSlots(ctx context.Context, runbook string, starts []time.Time) ([]Item[StartSlot], error) {
	ids := make([]string, len(starts))
	for i, start := range starts {
		ids[i] = SlotKey(runbook, start).ID
	}
	return byID[StartSlot](ctx, s, PartitionBatches, "slot", ids)
}

// Claims implements Batches.
func (s *Store) Claims(ctx context.Context, people []string) ([]Item[PersonClaim], error) {
	ids := make([]string, len(people))
	for i, person := range people {
		ids[i] = ClaimKey(person).ID
	}
	return byID[PersonClaim](ctx, s, PartitionBatches, "claim", ids)
}

// byID returns those documents of one type that have one of the given ids.
func byID[T any](ctx context.Context, s *Store, pk, kind string, ids []string) ([]Item[T], error) {
	var found []Item[T]
	for chunk := range slices.Chunk(ids, idsAtOnce) {
		q := newQuery("c.type = '" + kind + "'")
		q.where("ARRAY_CONTAINS(@ids, c.id)", "@ids", chunk)
		some, err := all[T](ctx, s, pk, q.items(""))
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

var _ interface {
	Batches
	Members
	Runs
	Shards
	Runbooks
	Workers
	Audit
	Messages
} = (*Store)(nil)
