package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/roster"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxAdded is how many people one request adds: each page of them is a write of its
// own, for which somebody waits.
const maxAdded = 10_000

// AddMembers is AddMembersFrom with a CSV in memory.
func (a *App) AddMembers(ctx context.Context, by Caller, batch int, csv []byte, options ...api.UploadOption) (api.AddResult, error) {
	return a.AddMembersFrom(ctx, by, batch, bytes.NewReader(csv), options...)
}

// AddMembersFrom adds the people in a CSV to a batch that is under way: they catch up on
// its phases in order and take part in the later ones. Nobody is added unless every
// row is good. Those whose key is a member's already are left as they are, so that
// what was cut short can be asked for again; somebody who was removed is added anew.
// Nobody is added who is in another batch that has not ended, except with
// AllowInOtherBatches, which a batch that follows a data source does not take.
// Asked again by the same key, it goes on where it stopped and adds nobody anew who was
// removed in between; what has been done to the end is only told again.
// Errors: CodeInvalid with every bad row, CodeNotFound, CodeConflict, with the people who
// are in other batches, CodeKeyReused, CodeTooLarge, CodeUnavailable.
func (a *App) AddMembersFrom(ctx context.Context, by Caller, batch int, csv roster.File, options ...api.UploadOption) (api.AddResult, error) {
	if csv.Size() > roster.MaxBytes {
		return api.AddResult{}, fail(api.CodeTooLarge, "the file has %d bytes; at most %d are taken", csv.Size(), roster.MaxBytes)
	}
	b, err := a.batch(ctx, batch)
	if err != nil {
		return api.AddResult{}, err
	}
	shared := slices.Contains(options, api.AllowInOtherBatches)
	if shared && !b.Doc.Manual {
		return api.AddResult{}, fail(api.CodeConflict, "batch %d follows a data source: its members cannot be in other batches", batch)
	}
	content, err := digestOf(csv)
	if err != nil {
		return api.AddResult{}, err
	}
	content = digest(content)
	if shared {
		content = digest(content, "shared")
	}
	asked, err := a.named(ctx, by, store.BatchPartition(batch), content)
	if err != nil {
		return api.AddResult{}, err
	}
	begun := asked.ETag != ""
	if !begun {
		asked.Doc = store.IdempotencyRecord{By: by.Name, Content: content, At: a.now().UTC(), Version: b.Doc.Version}
	}
	rb, err := a.runbook(ctx, b.Doc.Runbook, asked.Doc.Version)
	if err != nil {
		return api.AddResult{}, err
	}
	if !begun {
		if asked.Doc.Content, err = a.contentOf(ctx, rb, content); err != nil {
			return api.AddResult{}, err
		}
	}
	rows, warnings, bad, err := roster.Read(csv, rb)
	if err != nil {
		return api.AddResult{}, err
	}
	if len(bad) > 0 {
		return api.AddResult{}, &Error{Code: api.CodeInvalid, Message: fmt.Sprintf("the CSV has %s; nobody was added", plural(len(bad), "problem")), Problems: csvProblems(bad)}
	}
	if len(rows) > maxAdded {
		return api.AddResult{}, fail(api.CodeTooLarge, "the CSV has %d rows; at most %d people are added to a batch at once", len(rows), maxAdded)
	}
	people, lines := make([]newcomer, len(rows)), make(map[string]int, len(rows))
	for i, row := range rows {
		people[i], lines[row.Key] = newcomer{Key: row.Key, Data: row.Data}, row.Line
	}
	view := api.AddResult{Warnings: warnings, Replayed: begun}
	var note *addition
	if by.Key != "" {
		note = newAddition(by, batch, asked, people)
		people = note.left()
	}
	taken, err := a.join(ctx, by, b, people, false, note, a.claimant(batch, rb, a.newID(), shared), &view)
	if err = cmp.Or(err, refuseTaken(taken, len(people), "added", lines, b.Doc.Manual)); err != nil {
		return api.AddResult{}, err
	}
	a.log.InfoContext(ctx, "members added", logkey.BatchID, batch, logkey.Added, view.Added, logkey.Present, len(view.Present), logkey.By, by.Name, logkey.Repeated, begun)
	return view, nil
}

// newcomer is somebody who is to be a member. Hash is of the source's row; empty where
// an administrator adds them, whom no source then removes.
type newcomer struct {
	Key  string
	Data func() (map[string]json.RawMessage, error) // made for one page at a time
	Hash string
}

// join adds people a page at a time, each in one write with the batch that counts it,
// and with the note of how far a named request has come; nil for none. Who of them is a
// member already is looked for, unless that is known of the batch at this ETag; and
// again when somebody else has changed it, who may have added the same people. Each is
// claimed before being added. Where some cannot be claimed, the scheduler adds the others,
// and anybody else adds nobody.
func (a *App) join(ctx context.Context, by Caller, b store.Item[engine.Batch], rows []newcomer, known bool, note *addition, c *claimant, view *api.AddResult) (taken []takenPerson, err error) {
	for first := true; ; first = false {
		if note != nil && !first {
			if err := note.look(ctx, a); err != nil { // after the batch was read, whose pages it goes by
				return nil, err
			}
			rows = note.left()
		}
		if !known || !first {
			fresh, err := a.newcomers(ctx, b.Doc.ID, rows, view, first)
			if err != nil {
				return nil, err
			}
			rows = fresh
		}
		found, err := c.claimRows(ctx, rows)
		if err != nil || len(found) > 0 && !c.partly {
			return found, err
		}
		if len(found) > 0 {
			taken = append(taken, found...)
			rows = slices.DeleteFunc(rows, func(row newcomer) bool { return !c.done[row.Key] })
		}
		if note != nil && note.item.ETag == "" && first {
			note.found(view.Present)
		}
		for len(rows) > 0 {
			data, err := pageOfRows(rows)
			if err != nil {
				return taken, err
			}
			n := len(data)
			next, err := a.joinPage(ctx, by, b, rows[:n], data, note, rows[n:], c)
			if overtaken(err) {
				break
			}
			if err != nil {
				return taken, err
			}
			b, rows = next, rows[n:]
			view.Added += n
		}
		if len(rows) == 0 {
			again, err := a.joined(ctx, &b.Doc, note, view)
			if !again {
				return taken, err
			}
		}
		if b, err = a.batch(ctx, b.Doc.ID); err != nil {
			return taken, err
		}
	}
}

// joined ends an addition; again tells that somebody else has gone on with it.
func (a *App) joined(ctx context.Context, b *engine.Batch, note *addition, view *api.AddResult) (again bool, err error) {
	if note != nil {
		if err := note.end(ctx, a); err != nil {
			return overtaken(err), err
		}
		note.tell(view)
	}
	view.Batch = batchView(*b)
	if view.Added == 0 || view.Replayed { // asked for again: they may not have been announced
		var o outbox
		if err := o.add(b, catchUps(b), a.now()); err != nil {
			return false, err
		}
		if err := a.send(ctx, &o); err != nil {
			return false, err
		}
	}
	return false, a.list(ctx, b)
}

func catchUps(b *engine.Batch) []engine.Message {
	var messages []engine.Message
	for _, j := range b.Joining {
		messages = append(messages, engine.CatchUp{Join: j})
	}
	return messages
}

// pageOfRows makes the data of the first rows, which make one page that can be written at once.
func pageOfRows(rows []newcomer) ([]map[string]json.RawMessage, error) {
	return sized(rows, engine.PageSize, func(n newcomer) (map[string]json.RawMessage, error) { return n.Data() })
}

// joinPage adds the people of one page, each with their data; rest are those who are left for later ones.
func (a *App) joinPage(ctx context.Context, by Caller, b store.Item[engine.Batch], rows []newcomer, data []map[string]json.RawMessage, note *addition, rest []newcomer, c0 *claimant) (store.Item[engine.Batch], error) {
	rb, err := a.runbook(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return b, err
	}
	var progress store.IdempotencyRecord
	if note != nil {
		progress = note.after(len(rows), rest)
	}
	c := occurred(engine.MembersJoined{Members: len(rows), Key: rows[0].Key, Shared: c0.shared})
	c.once, c.more = true, true // what the page is made of is known of the batch at this ETag
	c.prime = func(s *snapshot) { prime(s, s.batchKey(), b) }
	c.extra = func(s *snapshot, ds []engine.Decision) (store.Writes, error) {
		now := s.now.UTC()
		join := engine.Join{Page: s.after().PageCount(), First: b.Doc.Members + 1}
		var ops store.Writes
		for i, row := range rows {
			sealed, err := a.sealData(ctx, rb, b.Doc.ID, join.First+i, data[i])
			if err != nil {
				return nil, err
			}
			m := engine.Member{ID: join.First + i, Page: join.Page, Key: row.Key, Data: sealed, Hash: row.Hash, Status: engine.MemberActive, AddedAt: now, Claim: c0.round}
			if row.Hash == "" {
				m.AddedBy = by.Name
			}
			ops = append(ops, store.Create(store.MemberKey(b.Doc.ID, m.ID), m))
		}
		if !b.Doc.Filling || by.Kind != api.ActorSystem { // or it is part of the batch's creation
			after := facts{"memberCount": s.after().Members}
			if c0.shared {
				after["allowInOtherBatches"] = true
			}
			ops = append(ops, a.auditOp(store.AuditRecord{
				At: now, Actor: by.actor(), Action: "add-members", Batch: b.Doc.ID, Target: places(join.First, len(rows)),
				Before: facts{"memberCount": b.Doc.Members}.text(), After: after.text(),
			}))
		}
		if note != nil {
			ops = append(ops, note.op(progress))
		}
		return ops, nil
	}
	s, _, err := a.run(ctx, b.Doc.ID, c)
	if s != nil && s.written != nil { // also where what follows from it was cut short
		if note != nil {
			note.item = store.Item[store.IdempotencyRecord]{Doc: progress, Version: s.written.Version(len(s.written) - 1)}
		}
		b = s.batchItem()
	}
	return b, err
}

// places names members that follow each other.
func places(first, n int) string {
	if n == 1 {
		return fmt.Sprintf("member %d", first)
	}
	return fmt.Sprintf("members %d to %d", first, first+n-1)
}

// newcomers leaves out the rows whose key belongs to a member who was not removed.
func (a *App) newcomers(ctx context.Context, batch int, rows []newcomer, view *api.AddResult, tell bool) ([]newcomer, error) {
	present := map[string]bool{}
	for chunk := range slices.Chunk(rows, 200) {
		keys := make([]string, len(chunk))
		for i, row := range chunk {
			keys[i] = row.Key
		}
		members, err := a.store.MembersByKey(ctx, batch, keys)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			present[m.Key] = present[m.Key] || m.Status != engine.MemberRemoved
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
	page := member.Doc.Page
	switch b.Doc.Gate() {
	case engine.Stopped:
		return a.stopPage(ctx, m.BatchID, page, "stopped")
	case engine.Paused: // resuming the batch comes back to it
		return a.sendUnsent(ctx, m.BatchID, page)
	}
	if joiningAt(&b.Doc, page) < 0 { // it has caught up, perhaps without announcing the next
		return a.announceJoin(ctx, m.BatchID, page)
	}
	open, err := a.joinWindowOpen(ctx, &b.Doc, page)
	if err != nil {
		return err
	}
	if !open {
		return a.waitToJoin(ctx, &b.Doc, page)
	}
	c := occurred(engine.CatchUpDue{Page: page})
	c.prime = func(s *snapshot) { prime(s, s.batchKey(), b) }
	if _, _, err = a.run(ctx, m.BatchID, c); err != nil {
		return refused(err)
	}
	// If the batch was cancelled as its page was made, its jobs are revoked.
	if gate, err := a.gateNow(ctx, m.BatchID); err != nil || gate != engine.Stopped {
		return err
	}
	return a.stopPage(ctx, m.BatchID, page, "stopped")
}
