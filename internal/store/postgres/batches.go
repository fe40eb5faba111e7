package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/matoolkit/matoolkit/internal/store"
)

// unfinished is the condition for the summary of a batch that is being created or has not ended.
const unfinished = "fields->>'creating' IS NOT NULL OR fields->>'status' IN ('detected', 'init_dispatched', 'active', 'cancelling')"

// Batches implements store.Batches.
func (s *Store) Batches(ctx context.Context, f store.BatchFilter, page store.Paging) (store.Page[store.BatchSummary], error) {
	q := of(store.PartitionBatches, "entry")
	if !f.Creating {
		q.where("fields->>'creating' IS NULL")
	}
	in(q, "status", f.Statuses).is("runbookName", f.Runbook).startsWith("fields->>'runbookName'", f.RunbookPrefix)
	q.is("name", strings.ToLower(f.Name)).is("owner", strings.ToLower(f.Owner))
	if f.Newest != 0 {
		q.where("id <= ?", store.EntryKey(f.Newest).ID)
	}
	o := order{store.Sort{By: store.FieldID, Descending: true}, []store.Field{
		store.FieldID, store.FieldRunbookName, store.FieldStatus, store.FieldStartTime, store.FieldDetectedAt, store.FieldMemberCount,
	}}
	return list[store.BatchSummary](ctx, s, store.PartitionBatches, q, o, documentColumns, page)
}

// BatchesToSweep implements store.Batches.
func (s *Store) BatchesToSweep(ctx context.Context, now time.Time) ([]store.Item[store.BatchSummary], error) {
	q := of(store.PartitionBatches, "entry").where("("+unfinished+" OR fields->>'openDetached' IS NOT NULL OR "+timeOf("eraseSecretsAt")+" < ? OR "+timeOf("expiresAt")+" < ?)", stored(now), stored(now))
	return items[store.BatchSummary](ctx, s, store.PartitionBatches, q, "")
}

// Remains implements store.Batches.
func (s *Store) Remains(ctx context.Context, batch, most int) ([]store.Document, error) {
	pk := store.BatchPartition(batch)
	q := of(pk, "").where("type <> ?", store.BatchKey(batch).Type)
	after := q.place(" LIMIT ?", most)
	documents := []store.Document{}
	err := s.query(ctx, pk, q.selected("id, type, version", after), q.params, func(rows pgx.Rows) error {
		var version int64
		d := store.Document{Key: store.Key{PK: pk}}
		err := rows.Scan(&d.ID, &d.Type, &version)
		d.ETag = etag(version)
		documents = append(documents, d)
		return err
	})
	return documents, err
}

// BatchesEndedSince implements store.Batches.
func (s *Store) BatchesEndedSince(ctx context.Context, since time.Time) ([]store.Item[store.BatchSummary], error) {
	q := of(store.PartitionBatches, "entry").where(timeOf("completedAt")+" >= ?", stored(since))
	return items[store.BatchSummary](ctx, s, store.PartitionBatches, q, "")
}

// UnfinishedBatches implements store.Batches.
func (s *Store) UnfinishedBatches(ctx context.Context, runbook string) ([]store.UnfinishedBatch, error) {
	q := of(store.PartitionBatches, "entry").where("(" + unfinished + ")")
	return project[store.UnfinishedBatch](ctx, s, store.PartitionBatches, q.is("runbookName", runbook), "fields")
}

// StartSlots implements store.Batches.
func (s *Store) StartSlots(ctx context.Context, runbook string, starts []time.Time) ([]store.Item[store.StartSlot], error) {
	return byKey[store.StartSlot](ctx, s, starts, func(start time.Time) store.Key { return store.SlotKey(runbook, start) }, "")
}

// Claims implements store.Batches.
func (s *Store) Claims(ctx context.Context, people []string) ([]store.Item[store.PersonClaim], error) {
	return byKey[store.PersonClaim](ctx, s, people, store.ClaimKey, "")
}

// ChangeMark implements store.ChangeMarks: the version of the partition, which each Apply with an effect raises.
func (s *Store) ChangeMark(ctx context.Context, batch int, _ time.Time) (mark string, err error) {
	pk := store.BatchPartition(batch)
	const sql = "SELECT version FROM partitions p WHERE pk = $1 AND EXISTS (SELECT FROM documents d WHERE d.pk = p.pk)"
	err = s.query(ctx, pk, sql, []any{pk}, func(rows pgx.Rows) error {
		var version int64
		err := rows.Scan(&version)
		mark = strconv.FormatInt(version, 16)
		return err
	})
	return mark, err
}
