package membership

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// CreateBatch is CreateBatchFrom with a CSV in memory.
func (ms *Registrar) CreateBatch(ctx context.Context, by audit.Caller, runbookName string, csv []byte, options ...api.UploadOption) (api.Batch, error) {
	return ms.CreateBatchFrom(ctx, by, runbookName, bytes.NewReader(csv), options...)
}

// CreateBatchFrom makes a manual batch of the members in a CSV, under the runbook's
// active version. Nothing is made unless every row is good, and nobody is in another
// batch that has not ended, except with AllowInOtherBatches. Asked again by the same
// key, it goes on with the batch that was begun, or answers with it as it stands.
// Errors: CodeInvalid with every bad row, CodeConflict with the people who are in other
// batches, CodeNotFound, CodeKeyReused, CodeTooLarge, CodeUnavailable.
func (ms *Registrar) CreateBatchFrom(ctx context.Context, by audit.Caller, runbookName string, csv membercsv.File, options ...api.UploadOption) (api.Batch, error) {
	if csv.Size() > membercsv.MaxBytes {
		return api.Batch{}, problem.New(api.CodeTooLarge, "the file has %d bytes; at most %d are taken", csv.Size(), membercsv.MaxBytes)
	}
	for {
		view, err := ms.createBatch(ctx, by, runbookName, csv, slices.Contains(options, api.AllowInOtherBatches))
		if errors.Is(err, store.ErrExists) && ctx.Err() == nil {
			continue // the same request, or one for the same people, has just begun elsewhere
		}
		if err != nil {
			return api.Batch{}, err
		}
		return view, nil
	}
}

func (ms *Registrar) createBatch(ctx context.Context, by audit.Caller, runbookName string, csv membercsv.File, shared bool) (api.Batch, error) {
	content, err := idempotency.FileDigest(csv)
	if err != nil {
		return api.Batch{}, err
	}
	content = idempotency.Digest(runbookName, content)
	if shared {
		content = idempotency.Digest(content, "shared")
	}
	asked, err := ms.requests.Find(ctx, by, store.PartitionBatches, content)
	if err != nil {
		return api.Batch{}, err
	}
	begun := asked.ETag != ""
	if !begun {
		version, _, err := ms.runbooks.Active(ctx, runbookName)
		if err != nil {
			return api.Batch{}, err
		}
		asked.Doc = store.IdempotencyRecord{By: by.Name, Content: content, At: ms.now().UTC(), Version: version.Version}
	}
	rb, err := ms.runbooks.Load(ctx, runbookName, asked.Doc.Version)
	if err != nil {
		return api.Batch{}, err
	}
	if !begun {
		if asked.Doc.Content, err = ms.sealer.ContentDigest(ctx, rb, content); err != nil {
			return api.Batch{}, err
		}
	}
	rows, warnings, bad, err := membercsv.Read(csv, rb)
	if err != nil {
		return api.Batch{}, err
	}
	if len(bad) > 0 {
		return api.Batch{}, &problem.Error{Code: api.CodeInvalid, Message: fmt.Sprintf("the CSV has %s; no batch was created", humanize.Count(len(bad), "problem")), Problems: csvProblems(bad)}
	}
	b, there, err := ms.made(ctx, asked)
	if err != nil {
		return api.Batch{}, err
	}
	if !there {
		if begun { // it may have been deactivated since: no batches are made of it then
			if _, _, err := ms.runbooks.Active(ctx, runbookName); err != nil {
				return api.Batch{}, err
			}
		}
		b, there, err = ms.makeBatch(ctx, by, asked, rb, rows, shared)
		if err != nil {
			return api.Batch{}, err
		}
	}
	if err := ms.applier.UpsertSummary(ctx, &b); err != nil { // it is there: to fail would be to have it made twice
		ms.log.WarnContext(ctx, "batch is not listed until the next tick", logkey.BatchID, b.ID, logkey.Error, err)
	}
	ms.log.InfoContext(ctx, "batch created", logkey.BatchID, b.ID, logkey.Runbook, runbookName, logkey.Members, len(rows), logkey.By, by.Name, logkey.Repeated, begun || there)
	view := apiview.Batch(b)
	view.Warnings, view.Replayed = warnings, begun || there
	return view, nil
}

// made gives the batch of a request, where it has been made.
func (ms *Registrar) made(ctx context.Context, asked store.Item[store.IdempotencyRecord]) (model.Batch, bool, error) {
	if asked.ETag == "" {
		return model.Batch{}, false, nil
	}
	b, err := store.OrNone(store.Read[model.Batch](ctx, ms.store, store.BatchKey(asked.Doc.Batch)))
	return b.Doc, b.ETag != "", err
}

// makeBatch makes the batch of a request, or goes on with it. The number is taken, and
// the batch listed as in the making, first; the batch itself is written last: what dies
// half-way is a number that never shows. Whoever goes on with it has the same number,
// version and time, and so writes the same. It tells whether somebody else has made it
// meanwhile. It fails with ErrExists where somebody else has just begun with the request.
func (ms *Registrar) makeBatch(ctx context.Context, by audit.Caller, asked store.Item[store.IdempotencyRecord], rb *runbook.Runbook, rows []membercsv.Row, shared bool) (b model.Batch, there bool, err error) {
	began := ms.now()
	id, err := ms.claimBatch(ctx, by, asked, rb, rows, shared)
	if err != nil {
		if id > 0 && by.Key == "" {
			ms.giveUp(ctx, id)
		}
		return b, false, err
	}
	b = engine.NewBatch(id, rb, asked.Doc.Version, len(rows), nil, by.Name, asked.Doc.At)
	b.Shared = shared
	if err = ms.writeMembers(ctx, b, rb, rows); err == nil && ms.now().Sub(began) >= claimTime {
		err = problem.New(api.CodeUnavailable, "creating the batch took longer than %s, so that its members may be in another batch by now; try again", claimTime)
	}
	if err != nil {
		if by.Key == "" {
			ms.giveUp(ctx, id)
		}
		return b, false, err
	}
	_, err = ms.store.Apply(ctx, store.Writes{store.Create(store.BatchKey(id), b), ms.audit.Record(audit.BatchCreated(by, &b, ms.now()))})
	if errors.Is(err, store.ErrExists) {
		fresh, err := store.Read[model.Batch](ctx, ms.store, store.BatchKey(id))
		return fresh.Doc, true, err
	}
	return b, false, err
}

// claimBatch takes the number of a batch and claims its people. The number comes with the
// first claims, so that of two batches for the same people the lower number gets them.
// Where some of the others cannot be claimed, the number is taken back.
func (ms *Registrar) claimBatch(ctx context.Context, by audit.Caller, asked store.Item[store.IdempotencyRecord], rb *runbook.Runbook, rows []membercsv.Row, shared bool) (id int, err error) {
	keys, lines := make([]string, len(rows)), make(map[string]int, len(rows))
	for i, row := range rows {
		keys[i], lines[row.Key] = row.Key, row.Line
	}
	keys = inClaimOrder(keys)
	c := ms.NewClaimant(asked.Doc.Batch, rb, "", shared)
	refuse := func(taken []InOtherBatch, err error) error {
		if err != nil || len(taken) == 0 {
			return err
		}
		if by.Key != "" && asked.ETag == "" { // by the same request, perhaps, which has just begun elsewhere
			begun, err := store.OrNone(store.Read[store.IdempotencyRecord](ctx, ms.store, idempotency.Key(by, store.PartitionBatches)))
			if err != nil {
				return err
			}
			if begun.ETag != "" {
				return fmt.Errorf("the request was begun elsewhere: %w", store.ErrExists)
			}
		}
		return RefuseInOtherBatch(taken, len(keys), "added", lines, true)
	}
	if err := refuse(c.Look(ctx, keys)); err != nil {
		return 0, err
	}
	line := store.BatchSummary{RunbookName: rb.Name, IsManual: true, Claimed: len(keys) <= claimsAtOnce}
	if id = c.batch; id == 0 {
		id, err = ms.ReserveBatch(ctx, line, func(id int) (store.Writes, error) {
			c.batch = id
			ops, taken, err := c.ops(ctx, keys[:min(len(keys), claimsAtOnce)])
			if err == nil && len(taken) > 0 {
				taken, err = c.all(ctx, keys, taken)
			}
			if by.Key != "" {
				named := asked.Doc
				named.Batch = id
				ops = append(ops, store.Create(idempotency.Key(by, store.PartitionBatches), named))
			}
			return ops, refuse(taken, err)
		})
	} else {
		c.again = true
		line.Claimed, err = ms.relist(ctx, id, line)
	}
	if err != nil || line.Claimed {
		return id, err
	}
	taken, err := c.claim(ctx, keys)
	if err != nil {
		return id, err
	}
	if len(taken) > 0 {
		return id, cmp.Or(ms.withdraw(ctx, by, id), RefuseInOtherBatch(taken, len(keys), "added", lines, true))
	}
	return id, ms.sealClaims(ctx, id)
}

// relist lists a batch as in the making that was begun some time ago: the tick gives up
// such a line in the end. It tells whether the batch's members are claimed.
func (ms *Registrar) relist(ctx context.Context, id int, line store.BatchSummary) (claimed bool, err error) {
	line.ID, line.DetectedAt, line.Creating = id, ms.now().UTC(), true
	for {
		listed, err := store.OrNone(store.Read[store.BatchSummary](ctx, ms.store, store.EntryKey(id)))
		if err != nil || listed.ETag != "" && !listed.Doc.Creating { // it has just been made
			return true, err
		}
		// Claims that nobody came back to for long are void, and are claimed again.
		line.Claimed = listed.Doc.Claimed && ms.now().Sub(listed.Doc.DetectedAt) < claimTime-time.Minute
		write := store.Create(store.EntryKey(id), line)
		if listed.ETag != "" {
			write = store.Replace(store.EntryKey(id), line, listed.Version)
		}
		if _, err = ms.store.Apply(ctx, store.Writes{write}); !store.Overtaken(err) && !errors.Is(err, store.ErrNotFound) {
			return line.Claimed, err
		}
	}
}

// ReserveBatch takes the next batch number, for the line that lists the batch as in the
// making, and with it what more the batch needs to be alone with. It fails with
// ErrExists where somebody else has that.
func (ms *Registrar) ReserveBatch(ctx context.Context, line store.BatchSummary, more func(id int) (store.Writes, error)) (int, error) {
	for {
		last, err := store.OrNone(store.Read[store.BatchSequence](ctx, ms.store, store.SequenceKey()))
		if err != nil {
			return 0, err
		}
		next := store.BatchSequence{Last: last.Doc.Last + 1}
		write := store.Create(store.SequenceKey(), next)
		if last.ETag != "" {
			write = store.Replace(store.SequenceKey(), next, last.Version)
		}
		line.ID, line.DetectedAt, line.Creating = next.Last, ms.now().UTC(), true
		with, err := more(next.Last)
		if err != nil {
			return 0, err
		}
		_, err = ms.store.Apply(ctx, append(store.Writes{write, store.Create(store.EntryKey(next.Last), line)}, with...))
		if errors.Is(err, store.ErrChanged) {
			continue
		}
		if err != nil {
			return 0, err
		}
		return next.Last, nil
	}
}

// writeMembers writes the members of a batch that is being made. They are written in
// their order, so that those who are there already, of whoever began with it before or
// is at it as well, are the first; they are left as they are.
func (ms *Registrar) writeMembers(ctx context.Context, b model.Batch, rb *runbook.Runbook, rows []membercsv.Row) error {
	for done := 0; done < len(rows); {
		page, err := sized(rows[done:], store.MaxOperations, membercsv.Row.Data)
		if err != nil {
			return err
		}
		var ops store.Writes
		for i, plain := range page {
			row := rows[done+i]
			data, err := ms.sealer.SealData(ctx, rb, b.ID, done+i+1, plain)
			if err != nil {
				return err
			}
			m := model.Member{
				ID: done + i + 1, Page: model.PageOf(done + i + 1), Key: row.Key, Data: data,
				Status: model.MemberActive, AddedAt: b.DetectedAt,
			}
			ops = append(ops, store.Create(store.MemberKey(b.ID, m.ID), m))
		}
		_, err = ms.store.Apply(ctx, ops)
		if errors.Is(err, store.ErrExists) {
			if done, err = ms.lastMember(ctx, b.ID); err == nil {
				continue
			}
		}
		if err != nil {
			return fmt.Errorf("members: %w", err)
		}
		done += len(page)
	}
	return nil
}

// lastMember is the highest number that a member of a batch has.
func (ms *Registrar) lastMember(ctx context.Context, batch int) (int, error) {
	last, err := ms.store.LastMember(ctx, batch)
	if err == nil && last == 0 {
		return 0, fmt.Errorf("batch %d has members that cannot be found", batch)
	}
	return last, err
}

// sized makes the data of the first rows that can be written at once: at most so many, and
// fewer where they would come near the 2 MB that the service takes.
func sized[R any](rows []R, most int, data func(R) (map[string]json.RawMessage, error)) (page []map[string]json.RawMessage, err error) {
	const limit = 1 << 20
	total := 0
	for _, row := range rows[:min(len(rows), most)] {
		d, err := data(row)
		if err != nil {
			return nil, err
		}
		if total += size(d) + 512; total > limit && len(page) > 0 {
			break
		}
		page = append(page, d)
	}
	return page, nil
}

func size(data map[string]json.RawMessage) int {
	n := 0
	for k, v := range data {
		n += len(k) + len(v) + 4
	}
	return n
}

func csvProblems(bad []membercsv.Problem) []api.InputProblem {
	out := make([]api.InputProblem, len(bad))
	for i, p := range bad {
		out[i] = api.InputProblem{Line: p.Line, Column: p.Column, Field: p.Field, Code: p.Code, Message: p.Message}
	}
	return out
}
