package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/matoolkit/matoolkit/internal/store"
)

// ReadDocument implements store.Documents.
func (s *Store) ReadDocument(ctx context.Context, k store.Key) (store.Document, error) {
	s.counts.reads.Add(1)
	var found []store.Document
	err := s.read(ctx, "SELECT "+documentColumns+" FROM documents WHERE pk = $1 AND id = $2", []any{k.PK, k.ID}, func(rows pgx.Rows) error {
		d, err := scanDocument(rows)
		found = append(found, d)
		return err
	})
	if err == nil && len(found) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return store.Document{}, fmt.Errorf("reading %s: %w", k, err)
	}
	return found[0], nil
}

// etag returns the ETag of a version.
func etag(version int64) string { return `"` + strconv.FormatInt(version, 16) + `"` }

// Apply implements store.Documents.
func (s *Store) Apply(ctx context.Context, writes store.Writes) (store.Applied, error) {
	o := s.ApplyEach(ctx, []store.Writes{writes})[0]
	return o.Applied, o.Err
}

// ApplyEach implements store.Documents. Applies of one partition that come at the same time share a
// transaction.
func (s *Store) ApplyEach(ctx context.Context, all []store.Writes) []store.Outcome {
	outcomes := make([]store.Outcome, len(all))
	var applies []*pending
	for i, writes := range all {
		if outcomes[i].Err = writes.Check(); outcomes[i].Err != nil {
			continue
		}
		s.counts.writes.Add(1)
		if err := ctx.Err(); err != nil {
			outcomes[i].Err = failed(writes, classify(err))
			continue
		}
		applies = append(applies, &pending{ctx: ctx, writes: writes, done: make(chan struct{}), place: i})
	}
	s.lanes.enter(applies)
	for _, p := range applies {
		o := s.lanes.wait(ctx, p)
		if errors.Is(o.Err, store.ErrChanged) {
			s.counts.conflicts.Add(1)
		}
		outcomes[p.place] = o
	}
	return outcomes
}

// failed is the error of an Apply that failed as a whole.
func failed(writes store.Writes, err error) error {
	if len(writes) == 1 {
		return fmt.Errorf("writing %s: %w", writes[0].Key, err)
	}
	return fmt.Errorf("applying %d writes in %s: %w", len(writes), writes[0].Key.PK, err)
}

// carryOut carries out the Applies of one partition in one transaction, in their order. If the server
// refuses what they write, each is tried alone, so that one does not fail for another.
func (s *Store) carryOut(ctx context.Context, all []store.Writes) []store.Outcome {
	outcomes, err := s.transact(ctx, all)
	switch {
	case err == nil:
		return outcomes
	case len(all) > 1 && (errors.Is(err, store.ErrRefused) || errors.Is(err, store.ErrFull)):
		outcomes = nil
		for _, writes := range all {
			outcomes = append(outcomes, s.carryOut(ctx, []store.Writes{writes})...)
		}
		return outcomes
	}
	outcomes = make([]store.Outcome, len(all))
	for i, writes := range all {
		outcomes[i].Err = failed(writes, err)
	}
	return outcomes
}

// transact returns the outcome of each Apply, or why none was carried out, or why that is not known. The
// first round trip takes the lock and reads the documents, the second writes and commits.
func (s *Store) transact(ctx context.Context, all []store.Writes) ([]store.Outcome, error) {
	if err := s.declare(ctx); err != nil {
		return nil, err
	}
	outcomes := make([]store.Outcome, len(all))
	saving := error(nil)
	err := s.connected(ctx, func(conn *pgx.Conn) error {
		v := &view{pk: all[0][0].Key.PK, stored: map[string]*store.Document{}, changed: map[string]bool{}}
		if err := v.load(ctx, conn, all); err != nil {
			return err
		}
		done := false
		for i, writes := range all {
			outcomes[i] = v.apply(writes)
			done = done || outcomes[i].Err == nil
		}
		if done {
			saving = v.save(ctx, conn) // which is not repeated
			return nil
		}
		_, _ = conn.Exec(ctx, "ROLLBACK") // the connection ends if this fails
		return nil
	})
	return outcomes, cmp.Or(err, saving)
}

// view is the documents of a partition that a transaction reads and writes.
type view struct {
	pk      string
	version int64                      // the last that was given
	stored  map[string]*store.Document // as the Applies so far leave them; nil: it does not exist
	changed map[string]bool
}

// longestID is as long as the id of a document may be in Azure Cosmos DB, in bytes; an index here takes some more.
const longestID = 1023

const (
	lockPartition = "INSERT INTO partitions AS p (pk, version) VALUES ($1, $2) ON CONFLICT (pk) DO UPDATE SET version = p.version + $2 RETURNING version - $2"
	readDocuments = "SELECT id, type, version, doc FROM documents WHERE pk = $1 AND id = ANY($2)"
	writeDocument = "INSERT INTO documents (pk, id, type, version, doc, fields) VALUES ($1, $2, $3, $4, $5, $6) " +
		"ON CONFLICT (pk, id) DO UPDATE SET type = EXCLUDED.type, version = EXCLUDED.version, doc = EXCLUDED.doc, fields = EXCLUDED.fields"
	deleteDocuments = "DELETE FROM documents WHERE pk = $1 AND id = ANY($2)"
)

// load begins the transaction, locks the partition and reads the documents that the Applies touch.
func (v *view) load(ctx context.Context, conn *pgx.Conn, all []store.Writes) error {
	ids, operations := map[string]bool{}, 0
	for _, writes := range all {
		operations += len(writes)
		for _, w := range writes {
			ids[w.Key.ID] = true
		}
	}
	batch := &pgx.Batch{}
	batch.Queue("BEGIN ISOLATION LEVEL READ COMMITTED")
	batch.Queue(lockPartition, v.pk, operations).QueryRow(func(row pgx.Row) error { return row.Scan(&v.version) })
	batch.Queue(readDocuments, v.pk, slices.Sorted(maps.Keys(ids))).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			var version int64
			d := &store.Document{Key: store.Key{PK: v.pk}}
			if err := rows.Scan(&d.ID, &d.Type, &version, (*[]byte)(&d.Doc)); err != nil {
				return err
			}
			d.ETag = etag(version)
			v.stored[d.ID] = d
		}
		return rows.Err()
	})
	return classify(conn.SendBatch(ctx, batch).Close())
}

// apply carries out an Apply in the view, or none of it.
func (v *view) apply(writes store.Writes) store.Outcome {
	before, touched := map[string]*store.Document{}, map[string]bool{}
	applied, bytes := make(store.Applied, len(writes)), 0
	for i, w := range writes {
		old := v.stored[w.Key.ID]
		if _, seen := before[w.Key.ID]; !seen {
			before[w.Key.ID] = old
		}
		next, err := w.Next(old)
		if len(w.Key.ID) > longestID {
			err = fmt.Errorf("%w: the id has %d bytes; at most %d are allowed", store.ErrRefused, len(w.Key.ID), longestID)
		}
		if err == nil && next != nil {
			v.version++
			d := &store.Document{Key: w.Key, Doc: next, ETag: etag(v.version)}
			if old != nil && w.Op == store.OpPatch {
				d.Type = old.Type
			}
			if bytes += d.Size(); bytes > store.MaxBytes {
				err = &store.SizeError{Bytes: bytes}
			}
			v.stored[w.Key.ID], touched[w.Key.ID], applied[i].ETag = d, true, d.ETag
		}
		switch {
		case err != nil:
			maps.Copy(v.stored, before)
			if len(writes) == 1 {
				return store.Outcome{Err: failed(writes, err)}
			}
			return store.Outcome{Err: fmt.Errorf("operation %d on %s: %w", i, w.Key, err)}
		case w.Op == store.OpGet:
			applied[i] = store.Result{ETag: old.ETag, Document: store.Document{Key: old.Key, Doc: slices.Clone(old.Doc), ETag: old.ETag}}
		case w.Op == store.OpDelete:
			v.stored[w.Key.ID], touched[w.Key.ID] = nil, true
		}
	}
	maps.Copy(v.changed, touched)
	return store.Outcome{Applied: applied}
}

// save writes what the Applies changed, and commits.
func (v *view) save(ctx context.Context, conn *pgx.Conn) error {
	batch := &pgx.Batch{}
	var deleted []string
	for _, id := range slices.Sorted(maps.Keys(v.changed)) {
		d := v.stored[id]
		if d == nil {
			deleted = append(deleted, id)
			continue
		}
		found, err := extract(d.Type, d.Doc)
		if err != nil {
			return err
		}
		version, err := strconv.ParseInt(strings.Trim(d.ETag, `"`), 16, 64)
		if err != nil {
			return err
		}
		batch.Queue(writeDocument, v.pk, id, d.Type, version, []byte(d.Doc), found)
	}
	if len(deleted) > 0 {
		batch.Queue(deleteDocuments, v.pk, deleted)
	}
	batch.Queue("COMMIT")
	return classify(conn.SendBatch(ctx, batch).Close())
}
