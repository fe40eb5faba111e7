package cosmos

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// notEnded is the condition for the summary of a batch that has not ended.
const notEnded = "c.doc.status IN ('detected', 'init_dispatched', 'active', 'cancelling')"

// idsAtOnce is how many ids one query takes: a query's text may have 512 KB.
const idsAtOnce = 200

// Batches implements store.Batches.
func (s *Store) Batches(ctx context.Context, f store.BatchFilter, page store.Paging) (store.Page[store.BatchSummary], error) {
	q := newQuery("c.type = 'entry'")
	if !f.Creating {
		q.and("NOT IS_DEFINED(c.doc.creating)")
	}
	if len(f.Statuses) > 0 {
		q.where("ARRAY_CONTAINS(@statuses, c.doc.status)", "@statuses", f.Statuses)
	}
	if f.Runbook != "" {
		q.where("c.doc.runbookName = @runbook", "@runbook", f.Runbook)
	}
	q.startsWith("c.doc.runbookName", f.RunbookPrefix)
	if f.Name != "" {
		q.where("STRINGEQUALS(c.doc.name, @name, true)", "@name", f.Name)
	}
	if f.Owner != "" {
		q.where("STRINGEQUALS(c.doc.owner, @owner, true)", "@owner", f.Owner)
	}
	if f.Newest != 0 {
		q.where("c.id <= @newest", "@newest", store.EntryKey(f.Newest).ID)
	}
	order, err := orderBy(page.Sort, store.Sort{By: store.FieldID, Descending: true}, store.FieldID, store.FieldRunbookName, store.FieldStatus, store.FieldStartTime, store.FieldDetectedAt, store.FieldMemberCount)
	if err != nil {
		return store.Page[store.BatchSummary]{}, err
	}
	return list[store.BatchSummary](ctx, s, store.PartitionBatches, q.items(order), page)
}

// BatchesToSweep implements store.Batches.
func (s *Store) BatchesToSweep(ctx context.Context, now time.Time) ([]store.Item[store.BatchSummary], error) {
	q := newQuery("c.type = 'entry'")
	q.where("(IS_DEFINED(c.doc.creating) OR "+notEnded+" OR IS_DEFINED(c.doc.openDetached) OR c.doc.eraseSecretsAt < @now OR c.doc.expiresAt < @now)", "@now", now.UTC().Format(time.RFC3339Nano))
	return all[store.BatchSummary](ctx, s, store.PartitionBatches, q.items(""))
}

// Remains implements store.Batches.
func (s *Store) Remains(ctx context.Context, batch, most int) ([]store.Document, error) {
	pk := store.BatchPartition(batch)
	// Without a condition, which no index would serve.
	found, err := project[item](ctx, s, pk, text{sql: fmt.Sprintf("SELECT TOP %d c.id, c.type, c._etag FROM c", most+1)})
	documents := make([]store.Document, 0, len(found))
	for _, f := range found {
		if f.Type != store.BatchKey(batch).Type && len(documents) < most {
			documents = append(documents, store.Document{Key: store.Key{PK: pk, ID: f.ID, Type: f.Type}, ETag: f.ETag})
		}
	}
	return documents, err
}

// BatchesEndedSince implements store.Batches.
func (s *Store) BatchesEndedSince(ctx context.Context, since time.Time) ([]store.Item[store.BatchSummary], error) {
	q := newQuery("c.type = 'entry'")
	q.where("c.doc.completedAt >= @since", "@since", since.UTC().Format(time.RFC3339Nano))
	return all[store.BatchSummary](ctx, s, store.PartitionBatches, q.items(""))
}

// UnfinishedBatches implements store.Batches.
func (s *Store) UnfinishedBatches(ctx context.Context, runbook string) ([]store.UnfinishedBatch, error) {
	q := newQuery("c.type = 'entry'", "(IS_DEFINED(c.doc.creating) OR "+notEnded+")")
	if runbook != "" {
		q.where("c.doc.runbookName = @name", "@name", runbook)
	}
	return project[store.UnfinishedBatch](ctx, s, store.PartitionBatches, q.fields("c.doc.id AS id"))
}

// StartSlots implements store.Batches.
func (s *Store) StartSlots(ctx context.Context, runbook string, starts []time.Time) ([]store.Item[store.StartSlot], error) {
	ids := make([]string, len(starts))
	for i, start := range starts {
		ids[i] = store.SlotKey(runbook, start).ID
	}
	return byID[store.StartSlot](ctx, s, store.PartitionBatches, "slot", ids)
}

// Claims implements store.Batches.
func (s *Store) Claims(ctx context.Context, people []string) ([]store.Item[store.PersonClaim], error) {
	ids := make([]string, len(people))
	for i, person := range people {
		ids[i] = store.ClaimKey(person).ID
	}
	return byID[store.PersonClaim](ctx, s, store.PartitionBatches, "claim", ids)
}

// byID returns those documents of one type that have one of the given ids.
func byID[T any](ctx context.Context, s *Store, pk, kind string, ids []string) ([]store.Item[T], error) {
	var found []store.Item[T]
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
