package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/roster"
	"github.com/matoolkit/matoolkit/internal/store"
)

// entry is a batch's line in the list of batches. It follows the batch itself,
// which is the truth; it is written again after each change of its status.
type entry struct {
	BatchView
	Creating bool `json:"creating,omitempty"` // the batch's members are being written
}

type sequence struct {
	Last int `json:"last"`
}

// CreateBatch makes a manual batch of the members in a CSV, under the runbook's
// active version. Nothing is made unless every row is good. Errors: CodeInvalid
// with every bad row, CodeNotFound, CodeTooLarge, CodeUnavailable.
func (a *App) CreateBatch(ctx context.Context, by Caller, runbookName string, csv []byte) (BatchView, error) {
	if len(csv) > roster.MaxBytes {
		return BatchView{}, fail(CodeTooLarge, "the file has %d bytes; at most %d are taken", len(csv), roster.MaxBytes)
	}
	version, rb, err := a.active(ctx, runbookName)
	if err != nil {
		return BatchView{}, err
	}
	rows, warnings, bad := roster.Parse(csv, rb)
	if len(bad) > 0 {
		return BatchView{}, &Error{Code: CodeInvalid, Message: fmt.Sprintf("the CSV has %s; no batch was created", plural(len(bad), "problem")), Problems: csvProblems(bad)}
	}
	keys := make([]string, len(rows))
	for i, row := range rows {
		keys[i] = row.Key
	}
	if err := a.notElsewhere(ctx, rb, 0, keys); err != nil {
		return BatchView{}, a.outward(err)
	}
	// The number is taken, and the batch listed as in the making, first; the batch
	// itself is written last: what dies half-way is a number that never shows.
	id, err := a.reserve(ctx, entry{BatchView: BatchView{RunbookName: runbookName, IsManual: true}}, nil)
	if err != nil {
		return BatchView{}, a.outward(err)
	}
	b := engine.NewBatch(id, rb, version.Version, len(rows), nil, by.Name, a.now())
	if err := a.writeMembers(ctx, b, rows); err != nil {
		return BatchView{}, a.outward(err)
	}
	if _, err := a.store.Commit(ctx, store.Create(store.BatchKey(id), b), a.auditOp(id, auditRecord{At: a.now(), By: by.Name, Action: "create"})); err != nil {
		return BatchView{}, a.outward(err)
	}
	if err := a.list(ctx, &b); err != nil { // it is there: to fail would be to have it made twice
		a.log.Warn("batch is not listed until the next tick", "BatchId", id, "error", err)
	}
	a.log.Info("batch created", "BatchId", id, "runbook", runbookName, "members", len(rows), "by", by.Name)
	view := batchView(b)
	view.Warnings = warnings
	return view, nil
}

// reserve takes the next batch number, for the line that lists the batch as in the
// making, and with it what more the batch needs to be alone with. It fails with
// ErrExists where somebody else has that.
func (a *App) reserve(ctx context.Context, line entry, more func(id int) []store.Op) (int, error) {
	for {
		last, err := orNone(store.Read[sequence](ctx, a.store, store.SequenceKey()))
		if err != nil {
			return 0, err
		}
		next := sequence{Last: last.Doc.Last + 1}
		write := store.Create(store.SequenceKey(), next)
		if last.ETag != "" {
			write = store.Replace(store.SequenceKey(), next, last.ETag)
		}
		line.ID, line.DetectedAt, line.Creating = next.Last, a.now().UTC(), true
		ops := []store.Op{write, store.Create(store.EntryKey(next.Last), line)}
		if more != nil {
			ops = append(ops, more(next.Last)...)
		}
		_, err = a.store.Commit(ctx, ops...)
		if errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrExists) && more == nil {
			continue
		}
		return next.Last, err
	}
}

func (a *App) writeMembers(ctx context.Context, b engine.Batch, rows []roster.Row) error {
	for len(rows) > 0 {
		var ops []store.Op
		first := b.Members - len(rows) + 1
		for i, row := range rows[:min(len(rows), store.MaxOperations)] {
			m := engine.Member{
				ID: first + i, Page: engine.PageOf(first + i), Key: row.Key, Data: row.Data,
				Status: engine.MemberActive, AddedAt: b.DetectedAt,
			}
			ops = append(ops, store.Create(store.MemberKey(b.ID, m.ID), m))
		}
		for _, part := range bySize(ops, 1<<20, func(i int) int { return size(rows[i].Data) }) {
			if _, err := a.store.Commit(ctx, part...); err != nil {
				return fmt.Errorf("members: %w", err)
			}
		}
		rows = rows[len(ops):]
	}
	return nil
}

// bySize cuts operations into commits that stay below the service's limit of 2 MB.
func bySize(ops []store.Op, most int, size func(i int) int) [][]store.Op {
	var parts [][]store.Op
	start, total := 0, 0
	for i := range ops {
		n := size(i) + 512
		if i > start && total+n > most {
			parts = append(parts, ops[start:i])
			start, total = i, 0
		}
		total += n
	}
	return append(parts, ops[start:])
}

func size(data map[string]json.RawMessage) int {
	n := 0
	for k, v := range data {
		n += len(k) + len(v) + 4
	}
	return n
}

// list brings the batch's line in the list of batches up to date. Of a batch that has
// ended the tick takes no more notice, so it must not be listed so by whoever is late:
// a retry may have opened it again.
func (a *App) list(ctx context.Context, b *engine.Batch) error {
	for {
		_, err := a.store.Commit(ctx, store.Upsert(store.EntryKey(b.ID), entry{BatchView: batchView(*b)}))
		if errors.Is(err, store.ErrChanged) && ctx.Err() == nil { // the service asks to try again
			continue
		}
		if err != nil || !b.Status.Terminal() {
			return err
		}
		fresh, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(b.ID))
		if err != nil || fresh.Doc.Status.Terminal() {
			return err
		}
		b = &fresh.Doc
	}
}

func csvProblems(bad []roster.Problem) []Problem {
	out := make([]Problem, len(bad))
	for i, p := range bad {
		out[i] = Problem{Line: p.Line, Column: p.Column, Field: p.Field, Code: p.Code, Message: p.Message}
	}
	return out
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
