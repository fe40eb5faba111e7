package membership

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxAdded is how many people one request adds: each page of them is a write of its
// own, for which somebody waits.
const maxAdded = 10_000

// AddMembers is AddMembersFrom with a CSV in memory.
func (ms *Registrar) AddMembers(ctx context.Context, by audit.Caller, batch int, csv []byte, options ...api.UploadOption) (api.AddResult, error) {
	return ms.AddMembersFrom(ctx, by, batch, bytes.NewReader(csv), options...)
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
func (ms *Registrar) AddMembersFrom(ctx context.Context, by audit.Caller, batch int, csv membercsv.File, options ...api.UploadOption) (api.AddResult, error) {
	if csv.Size() > membercsv.MaxBytes {
		return api.AddResult{}, problem.New(api.CodeTooLarge, "the file has %d bytes; at most %d are taken", csv.Size(), membercsv.MaxBytes)
	}
	b, err := ms.applier.ReadBatch(ctx, batch)
	if err != nil {
		return api.AddResult{}, err
	}
	shared := slices.Contains(options, api.AllowInOtherBatches)
	if shared && !b.Doc.Manual {
		return api.AddResult{}, problem.New(api.CodeConflict, "batch %d follows a data source: its members cannot be in other batches", batch)
	}
	content, err := idempotency.FileDigest(csv)
	if err != nil {
		return api.AddResult{}, err
	}
	content = idempotency.Digest(content)
	if shared {
		content = idempotency.Digest(content, "shared")
	}
	asked, err := ms.requests.Find(ctx, by, store.BatchPartition(batch), content)
	if err != nil {
		return api.AddResult{}, err
	}
	begun := asked.ETag != ""
	if !begun {
		asked.Doc = store.IdempotencyRecord{By: by.Name, Content: content, At: ms.now().UTC(), Version: b.Doc.Version}
	}
	rb, err := ms.runbooks.Load(ctx, b.Doc.Runbook, asked.Doc.Version)
	if err != nil {
		return api.AddResult{}, err
	}
	if !begun {
		if asked.Doc.Content, err = ms.sealer.ContentDigest(ctx, rb, content); err != nil {
			return api.AddResult{}, err
		}
	}
	rows, warnings, bad, err := membercsv.Read(csv, rb)
	if err != nil {
		return api.AddResult{}, err
	}
	if len(bad) > 0 {
		return api.AddResult{}, &problem.Error{Code: api.CodeInvalid, Message: fmt.Sprintf("the CSV has %s; nobody was added", humanize.Count(len(bad), "problem")), Problems: csvProblems(bad)}
	}
	if len(rows) > maxAdded {
		return api.AddResult{}, problem.New(api.CodeTooLarge, "the CSV has %d rows; at most %d people are added to a batch at once", len(rows), maxAdded)
	}
	people, lines := make([]Newcomer, len(rows)), make(map[string]int, len(rows))
	for i, row := range rows {
		people[i], lines[row.Key] = Newcomer{Key: row.Key, Data: row.Data}, row.Line
	}
	view := api.AddResult{Warnings: warnings, Replayed: begun}
	var note *addition
	if by.Key != "" {
		note = newAddition(by, batch, asked, people)
		people = note.left()
	}
	taken, err := ms.Join(ctx, by, b, people, false, note, ms.NewClaimant(batch, rb, ms.newID(), shared), &view)
	if err = cmp.Or(err, RefuseInOtherBatch(taken, len(people), "added", lines, b.Doc.Manual)); err != nil {
		return api.AddResult{}, err
	}
	ms.log.InfoContext(ctx, "members added", logkey.BatchID, batch, logkey.Added, view.Added, logkey.Present, len(view.Present), logkey.By, by.Name, logkey.Repeated, begun)
	return view, nil
}

// Newcomer is somebody who is to be a member. Hash is of the source's row; empty where
// an administrator adds them, whom no source then removes.
type Newcomer struct {
	Key  string
	Data func() (map[string]json.RawMessage, error) // made for one page at a time
	Hash string
}

// Join adds people a page at a time, each in one write with the batch that counts it,
// and with the note of how far a named request has come; nil for none. Who of them is a
// member already is looked for, unless that is known of the batch at this ETag; and
// again when somebody else has changed it, who may have added the same people. Each is
// claimed before being added. Where some cannot be claimed, the scheduler adds the others,
// and anybody else adds nobody.
func (ms *Registrar) Join(ctx context.Context, by audit.Caller, b store.Item[model.Batch], rows []Newcomer, known bool, note *addition, c *Claimant, view *api.AddResult) (taken []InOtherBatch, err error) {
	for first := true; ; first = false {
		if note != nil && !first {
			if err := note.look(ctx, ms); err != nil { // after the batch was read, whose pages it goes by
				return nil, err
			}
			rows = note.left()
		}
		if !known || !first {
			fresh, err := ms.newcomers(ctx, b.Doc.ID, rows, view, first)
			if err != nil {
				return nil, err
			}
			rows = fresh
		}
		found, err := c.claimRows(ctx, rows)
		if err != nil || len(found) > 0 && !c.Partly {
			return found, err
		}
		if len(found) > 0 {
			taken = append(taken, found...)
			rows = slices.DeleteFunc(rows, func(row Newcomer) bool { return !c.done[row.Key] })
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
			next, err := ms.joinPage(ctx, by, b, rows[:n], data, note, rows[n:], c)
			if store.Overtaken(err) {
				break
			}
			if err != nil {
				return taken, err
			}
			b, rows = next, rows[n:]
			view.Added += n
		}
		if len(rows) == 0 {
			again, err := ms.joined(ctx, &b.Doc, note, view)
			if !again {
				return taken, err
			}
		}
		if b, err = ms.applier.ReadBatch(ctx, b.Doc.ID); err != nil {
			return taken, err
		}
	}
}

// joined ends an addition; again tells that somebody else has gone on with it.
func (ms *Registrar) joined(ctx context.Context, b *model.Batch, note *addition, view *api.AddResult) (again bool, err error) {
	if note != nil {
		if err := note.end(ctx, ms); err != nil {
			return store.Overtaken(err), err
		}
		note.tell(view)
	}
	view.Batch = apiview.Batch(*b)
	if view.Added == 0 || view.Replayed { // asked for again: they may not have been announced
		var o applier.Outbox
		if err := o.Add(b, catchUps(b), ms.now()); err != nil {
			return false, err
		}
		if err := ms.applier.Send(ctx, &o); err != nil {
			return false, err
		}
	}
	return false, ms.applier.UpsertSummary(ctx, b)
}

func catchUps(b *model.Batch) []model.Message {
	var messages []model.Message
	for _, j := range b.Joining {
		messages = append(messages, model.CatchUp{Join: j})
	}
	return messages
}

// pageOfRows makes the data of the first rows, which make one page that can be written at once.
func pageOfRows(rows []Newcomer) ([]map[string]json.RawMessage, error) {
	return sized(rows, model.PageSize, func(n Newcomer) (map[string]json.RawMessage, error) { return n.Data() })
}

// joinPage adds the people of one page, each with their data; rest are those who are left for later ones.
func (ms *Registrar) joinPage(ctx context.Context, by audit.Caller, b store.Item[model.Batch], rows []Newcomer, data []map[string]json.RawMessage, note *addition, rest []Newcomer, c0 *Claimant) (store.Item[model.Batch], error) {
	rb, err := ms.runbooks.Load(ctx, b.Doc.Runbook, b.Doc.Version)
	if err != nil {
		return b, err
	}
	var progress store.IdempotencyRecord
	if note != nil {
		progress = note.after(len(rows), rest)
	}
	c := applier.On(model.MembersJoined{Members: len(rows), Key: rows[0].Key, Shared: c0.shared})
	c.Once, c.More = true, true // what the page is made of is known of the batch at this ETag
	c.Prime = func(s *applier.Snapshot) { applier.Prime(s, s.BatchKey(), b) }
	c.Extra = func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		now := s.Now.UTC()
		join := model.Join{Page: s.After().PageCount(), First: b.Doc.Members + 1}
		var ops store.Writes
		for i, row := range rows {
			sealed, err := ms.sealer.SealData(ctx, rb, b.Doc.ID, join.First+i, data[i])
			if err != nil {
				return nil, err
			}
			m := model.Member{ID: join.First + i, Page: join.Page, Key: row.Key, Data: sealed, Hash: row.Hash, Status: model.MemberActive, AddedAt: now, Claim: c0.round}
			if row.Hash == "" {
				m.AddedBy = by.Name
			}
			ops = append(ops, store.Create(store.MemberKey(b.Doc.ID, m.ID), m))
		}
		if !b.Doc.Filling || by.Kind != api.ActorSystem { // or it is part of the batch's creation
			after := audit.Facts{"memberCount": s.After().Members}
			if c0.shared {
				after["allowInOtherBatches"] = true
			}
			ops = append(ops, ms.audit.Record(store.AuditRecord{
				At: now, Actor: by.Actor(), Action: "add-members", Batch: b.Doc.ID, Target: places(join.First, len(rows)),
				Before: audit.Facts{"memberCount": b.Doc.Members}.JSON(), After: after.JSON(),
			}))
		}
		if note != nil {
			ops = append(ops, note.op(progress))
		}
		return ops, nil
	}
	s, _, err := ms.applier.Run(ctx, b.Doc.ID, c)
	if s != nil && s.Written != nil { // also where what follows from it was cut short
		if note != nil {
			note.item = store.Item[store.IdempotencyRecord]{Doc: progress, Version: s.Written.Version(len(s.Written) - 1)}
		}
		b = s.BatchItem()
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
func (ms *Registrar) newcomers(ctx context.Context, batch int, rows []Newcomer, view *api.AddResult, tell bool) ([]Newcomer, error) {
	present := map[string]bool{}
	for chunk := range slices.Chunk(rows, 200) {
		keys := make([]string, len(chunk))
		for i, row := range chunk {
			keys[i] = row.Key
		}
		members, err := ms.store.MembersByKey(ctx, batch, keys)
		if err != nil {
			return nil, err
		}
		for _, m := range members {
			present[m.Key] = present[m.Key] || m.Status != model.MemberRemoved
		}
	}
	var fresh []Newcomer
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
