package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/roster"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxAdded is how many people one request adds: each page of them is a write of its
// own, for which somebody waits.
const maxAdded = 10_000

// AddMembers adds the people in a CSV to a batch that is under way: they catch up on
// its phases in order and take part in the later ones. Nobody is added unless every
// row is good. Those whose key is a member's already are left as they are, so that
// what was cut short can be asked for again; somebody who was removed is added anew.
// Errors: CodeInvalid with every bad row, CodeNotFound, CodeConflict, CodeTooLarge,
// CodeUnavailable.
func (a *App) AddMembers(ctx context.Context, by Caller, batch int, csv []byte) (AddedView, error) {
	if len(csv) > roster.MaxBytes {
		return AddedView{}, fail(CodeTooLarge, "the file has %d bytes; at most %d are taken", len(csv), roster.MaxBytes)
	}
	b, err := a.batch(ctx, batch)
	if err != nil {
		return AddedView{}, a.outward(err)
	}
	rb, err := a.runbook(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return AddedView{}, a.outward(err)
	}
	rows, warnings, bad := roster.Parse(csv, rb)
	if len(bad) > 0 {
		return AddedView{}, &Error{Code: CodeInvalid, Message: fmt.Sprintf("the CSV has %s; nobody was added", plural(len(bad), "problem")), Problems: csvProblems(bad)}
	}
	if len(rows) > maxAdded {
		return AddedView{}, fail(CodeTooLarge, "the CSV has %d rows; at most %d people are added to a batch at once", len(rows), maxAdded)
	}
	people, keys := make([]newcomer, len(rows)), make([]string, len(rows))
	for i, row := range rows {
		people[i], keys[i] = newcomer{Key: row.Key, Data: row.Data}, row.Key
	}
	if err := a.notElsewhere(ctx, rb, batch, keys); err != nil {
		return AddedView{}, a.outward(err)
	}
	view := AddedView{Warnings: warnings}
	if err := a.join(ctx, by, b, people, false, &view); err != nil {
		return AddedView{}, a.outward(err)
	}
	a.log.Info("members added", "BatchId", batch, "added", view.Added, "present", len(view.Present), "by", by.Name)
	return view, nil
}

// newcomer is somebody who is to be a member. Hash is of the source's row; empty where
// an administrator adds them, whom no source then removes.
type newcomer struct {
	Key  string
	Data map[string]json.RawMessage
	Hash string
}

// join adds people a page at a time, each in one write with the batch that counts
// it. Who of them is a member already is looked for, unless that is known of the batch
// at this ETag; and again when somebody else has changed it, who may have added the same
// people.
func (a *App) join(ctx context.Context, by Caller, b store.Item[engine.Batch], rows []newcomer, known bool, view *AddedView) error {
	for first := true; ; first = false {
		if !known || !first {
			fresh, err := a.newcomers(ctx, b.Doc.ID, rows, view, first)
			if err != nil {
				return err
			}
			rows = fresh
		}
		for len(rows) > 0 {
			n := pageOfRows(rows)
			next, err := a.joinPage(ctx, by, b, rows[:n])
			if errors.Is(err, store.ErrChanged) {
				break
			}
			if err != nil {
				return err
			}
			b, rows = next, rows[n:]
			view.Added += n
		}
		if len(rows) == 0 {
			view.Batch = batchView(b.Doc)
			if view.Added == 0 { // asked for again: they may not have been announced
				if err := a.carryOut(ctx, &b.Doc, nil, catchUps(&b.Doc)); err != nil {
					return err
				}
			}
			return a.list(ctx, &b.Doc)
		}
		var err error
		if b, err = a.batch(ctx, b.Doc.ID); err != nil {
			return err
		}
	}
}

func catchUps(b *engine.Batch) []engine.Effect {
	var effects []engine.Effect
	for _, j := range b.Joining {
		effects = append(effects, engine.CatchUp{Join: j})
	}
	return effects
}

// pageOfRows is how many rows make one page that can be written at once.
func pageOfRows(rows []newcomer) int {
	const most = 1 << 20
	total := 0
	for i, row := range rows[:min(len(rows), engine.PageSize)] {
		if total += size(row.Data) + 512; total > most && i > 0 {
			return i
		}
	}
	return min(len(rows), engine.PageSize)
}

func (a *App) joinPage(ctx context.Context, by Caller, b store.Item[engine.Batch], rows []newcomer) (store.Item[engine.Batch], error) {
	now := a.now().UTC()
	d, err := engine.Decide(engine.State{Batch: &b.Doc}, engine.MembersJoined{Members: len(rows), Key: rows[0].Key}, now)
	if err != nil {
		return b, err
	}
	join := engine.Join{Page: d.Batch.PageCount(), First: b.Doc.Members + 1}
	ops := []store.Op{store.Replace(store.BatchKey(b.Doc.ID), d.Batch, b.ETag)}
	for i, row := range rows {
		m := engine.Member{ID: join.First + i, Page: join.Page, Key: row.Key, Data: row.Data, Hash: row.Hash, Status: engine.MemberActive, AddedAt: now}
		ops = append(ops, store.Create(store.MemberKey(b.Doc.ID, m.ID), m))
	}
	if !b.Doc.Filling || by.Name != scheduler { // or it is part of the batch's creation
		ops = append(ops, a.auditOp(b.Doc.ID, auditRecord{
			At: now, By: by.Name, Action: "add-members", Target: places(join.First, len(rows)),
		}))
	}
	outcome, err := a.store.Commit(ctx, ops...)
	if err != nil {
		return b, err
	}
	b.Doc, b.ETag = *d.Batch, outcome.ETag(0)
	return b, a.carryOut(ctx, d.Batch, nil, d.Effects)
}

// places names members that follow each other.
func places(first, n int) string {
	if n == 1 {
		return fmt.Sprintf("member %d", first)
	}
	return fmt.Sprintf("members %d to %d", first, first+n-1)
}

// newcomers leaves out the rows whose key belongs to a member who was not removed.
func (a *App) newcomers(ctx context.Context, batch int, rows []newcomer, view *AddedView, tell bool) ([]newcomer, error) {
	present := map[string]bool{}
	for chunk := range slices.Chunk(rows, 200) {
		keys := make([]string, len(chunk))
		for i, row := range chunk {
			keys[i] = row.Key
		}
		members, err := store.All[engine.Member](ctx, a.store, store.BatchPartition(batch),
			"SELECT * FROM c WHERE c.type = 'member' AND c.doc.status != 'removed' AND ARRAY_CONTAINS(@keys, c.doc.key)", store.Param{Name: "@keys", Value: keys})
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			present[m.Doc.Key] = true
		}
	}
	var fresh []newcomer
	for _, row := range rows {
		switch {
		case !present[row.Key]:
			fresh = append(fresh, row)
		case tell:
			view.Present = append(view.Present, row.Key)
		}
	}
	return fresh, nil
}

// memberAdded brings the page of a late member to where the others are.
func (a *App) memberAdded(ctx context.Context, m message.MemberEvent) error {
	b, err := a.known(ctx, m.BatchID)
	if err != nil {
		return err
	}
	member, err := store.Read[engine.Member](ctx, a.store, store.MemberKey(m.BatchID, m.BatchMemberID))
	if errors.Is(err, store.ErrNotFound) {
		return reject("batch %d has no member %d", m.BatchID, m.BatchMemberID)
	}
	if err != nil {
		return err
	}
	if b.Doc.Gate() == engine.Stopped {
		return a.stopPage(ctx, m.BatchID, member.Doc.Page, "stopped")
	}
	return a.catchUp(ctx, b, member.Doc.Page)
}

// catchUp dispatches to a page of late members, in order, the phases that the others
// have been dispatched to. A page that has caught up is left as it is.
func (a *App) catchUp(ctx context.Context, b store.Item[engine.Batch], page int) error {
	at := slices.IndexFunc(b.Doc.Joining, func(j engine.Join) bool { return j.Page == page })
	if at < 0 || b.Doc.Gate() != engine.Open { // resuming the batch comes back to it
		return nil
	}
	for _, phase := range b.Doc.Joining[at].Phases {
		p, _ := b.Doc.Phase(phase)
		if err := a.walkPage(ctx, &b.Doc, *p, page); err != nil {
			return err
		}
	}
	return a.batchEvent(ctx, b.Doc.ID, engine.PageCaughtUp{Page: page})
}
