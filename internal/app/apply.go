package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// apply brings the batches to where the plan has them. Those who leave do so first:
// somebody who moves is out of one batch before being in the other. A batch that fails
// is told of, and the others are gone on with; the next tick takes up what is left.
func (s *synchronization) apply(ctx context.Context) error {
	s.stays = map[string]bool{}
	changes := map[int]schedule.Change{}
	for _, c := range s.plan.Changes {
		changes[c.Batch] = c
	}
	var failures []error
	// Batches for which nothing changes have their turn, too: a hold may be over, or the
	// filling have been cut short at its end.
	each := func(do func(context.Context, schedule.Change) error) {
		for _, id := range slices.Sorted(maps.Keys(s.batches)) {
			if b := s.batches[id].Doc; !follows(&b) {
				continue
			}
			c := changes[id]
			c.Batch = id
			if err := do(ctx, c); err != nil {
				failures = append(failures, &concerning{fmt.Sprintf("batch %d", id), err})
			}
		}
	}
	each(s.leave)
	each(s.hold)
	each(s.refresh)
	each(s.enter)
	for _, group := range s.plan.New {
		if err := s.open(ctx, group); err != nil {
			failures = append(failures, &concerning{"the batch for " + group.Start.Format(time.RFC3339), err})
		}
	}
	return errors.Join(failures...)
}

// leave removes the members who are gone from the source, or are in another batch
// there now.
func (s *synchronization) leave(ctx context.Context, c schedule.Change) error {
	if b := s.batches[c.Batch].Doc; b.Held != nil && b.Held.Confirmed != nil {
		// Those who were confirmed to leave are on their way; nobody else is judged
		// before they are out.
		for _, r := range slices.Concat(c.Remove, heldRemovals(c)) {
			s.stays[r.Key] = true
		}
		return nil
	}
	ids := make([]int, len(c.Remove))
	keys := map[int]string{}
	for i, r := range c.Remove {
		ids[i], keys[r.Member] = r.Member, r.Key
	}
	out, err := s.app.takeOut(ctx, c.Batch, ids, scheduler, "the data source no longer has them in this batch")
	for _, id := range out {
		delete(keys, id)
	}
	for _, key := range keys { // they come into another batch when what is under way for them has ended
		s.stays[key] = true
	}
	return err
}

func heldRemovals(c schedule.Change) []schedule.Removal {
	if c.Held == nil {
		return nil
	}
	return c.Held.Removals
}

// takeOut removes members from a batch, some at a time, and tells who is out of it: for
// them nothing is under way and nothing to be undone. One who has failed meanwhile, or
// whom an administrator has just kept, stays.
func (a *App) takeOut(ctx context.Context, batch int, members []int, by Caller, why string) (out []int, err error) {
	most := 40
	for len(members) > 0 {
		some := members[:min(most, len(members))]
		free, err := a.takeOutSome(ctx, batch, some, by, why)
		switch {
		case errors.Is(err, store.ErrChanged) && ctx.Err() == nil, errors.Is(err, store.ErrTooLarge) && most > 1:
			most = max(1, most/2) // the fewer, the sooner nobody else has changed one
			continue
		case err != nil:
			return out, err
		}
		out, members = append(out, free...), members[len(some):]
	}
	return out, nil
}

func (a *App) takeOutSome(ctx context.Context, batch int, ids []int, by Caller, why string) (out []int, err error) {
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(batch))
	if err != nil {
		return nil, err
	}
	if b.Doc.Kept > 0 {
		h, err := orNone(store.Read[store.RemovalHold](ctx, a.store, store.HoldKey(batch)))
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return slices.Contains(h.Doc.Kept, id) })
	}
	members, err := a.store.MembersByID(ctx, batch, ids)
	if err != nil {
		return nil, err
	}
	var left []int
	c := command{
		// One that cannot be removed leaves the others to be.
		events: func(s *snapshot) ([]engine.Event, error) {
			var events []engine.Event
			left = nil
			for _, m := range members {
				e := engine.MemberLeft{Member: m.Doc.ID}
				_, err := engine.Decide(s, e, s.now)
				var refusal *engine.Refusal
				if errors.As(err, &refusal) {
					a.log.InfoContext(ctx, "member stays", logkey.BatchID, batch, logkey.MemberID, m.Doc.ID, logkey.Reason, refusal.Reason)
					continue
				}
				if err != nil {
					return nil, err
				}
				events, left = append(events, e), append(left, m.Doc.ID)
			}
			return events, nil
		},
		extra: func(s *snapshot, ds []engine.Decision) (store.Writes, error) {
			before, after := map[int]engine.MemberStatus{}, map[int]engine.MemberStatus{}
			for i, id := range left {
				if was, is := s.member(id); !ds[i].Empty() {
					before[id], after[id] = was.Status, is.Status
				}
			}
			if len(after) == 0 {
				return nil, nil
			}
			target := fmt.Sprintf("%s: %s", plural(len(after), "member"), numbers(left))
			return store.Writes{a.auditOp(store.AuditRecord{
				At: s.now.UTC(), Actor: by.actor(), Action: "remove-member", Batch: batch, Target: target, Why: why, Before: memberFacts(before).text(), After: memberFacts(after).text(),
			})}, nil
		},
		once: true, // the fewer, the sooner nobody else has changed one
		prime: func(s *snapshot) {
			prime(s, s.batchKey(), b)
			for _, m := range members {
				prime(s, store.MemberKey(batch, m.Doc.ID), m)
			}
		},
	}
	s, ds, err := a.run(ctx, batch, c)
	if err != nil {
		return nil, err
	}
	removed := 0
	for i, id := range left {
		if !ds[i].Empty() {
			removed++
		}
		if _, gone := s.member(id); gone.OpenPhase == 0 && gone.Removal == 0 && !gone.Busy(s.now) {
			out = append(out, id)
		}
	}
	if removed > 0 {
		a.log.InfoContext(ctx, "members removed", logkey.BatchID, batch, logkey.Members, removed, logkey.By, by.Name)
	}
	return out, nil
}

// givenUp tells whether a batch that is being filled has nobody in it and gets nobody
// any more: an immediate one whose moment has passed, or one that would not even be made
// by now.
func (s *synchronization) givenUp(b *engine.Batch) bool {
	if b.Members > b.Removed {
		return false
	}
	last := b.StartTime.Add(lookAhead)
	if s.rb.DataSource.BatchTime != runbook.BatchTimeImmediate {
		for _, p := range b.Phases {
			if p.DueAt != nil && p.DueAt.After(last) {
				last = *p.DueAt
			}
		}
		last = last.Add(abandoned)
	}
	return s.now.After(last)
}

// abandon ends a batch that nobody is in.
func (s *synchronization) abandon(ctx context.Context, id int) error {
	_, err := s.app.control(ctx, scheduler, id, &steering{
		action: "cancel", why: "nobody is left who would be in it", facts: batchFacts,
		event: func(b *engine.Batch, m engine.Mark) (engine.Event, error) {
			if !b.Filling || b.Members > b.Removed {
				return nil, errSomebodyCame
			}
			return engine.BatchStopped{By: m}, nil
		},
	})
	if errors.Is(err, errSomebodyCame) {
		return nil
	}
	return err
}

// errSomebodyCame is that a batch is not abandoned after all.
var errSomebodyCame = &Error{Code: api.CodeConflict, Message: "somebody is in it now"}

// numbers writes the numbers of members as people do: 3, 7 and 9.
func numbers(ids []int) string {
	text := ""
	for i, id := range ids {
		switch {
		case i == 0:
		case i == len(ids)-1:
			text += " and "
		default:
			text += ", "
		}
		text += fmt.Sprint(id)
	}
	return text
}

// refresh brings the data of members to what the source has. Only a tick that holds
// the runbook's lease writes them, so that a member who is being changed otherwise is
// no hindrance.
func (s *synchronization) refresh(ctx context.Context, c schedule.Change) error {
	rows := map[int]schedule.Row{}
	ids := make([]int, 0, len(c.Refresh))
	for _, r := range c.Refresh {
		rows[r.Member] = r.Row
		ids = append(ids, r.Member)
	}
	most := 90
	for len(ids) > 0 {
		some := ids[:min(most, len(ids))]
		members, err := s.app.store.MembersByID(ctx, c.Batch, some)
		if err != nil {
			return err
		}
		var ops store.Writes
		for _, m := range members {
			row := rows[m.Doc.ID]
			data := maps.Clone(m.Doc.Data) // columns that only an older version uses stay
			if data == nil {
				data = row.Data
			}
			fresh, err := s.app.sealData(ctx, s.rb, c.Batch, m.Doc.ID, row.Data)
			if err != nil {
				return err
			}
			maps.Copy(data, fresh)
			guard := ""
			if len(s.rb.Secret) > 0 { // a run that ends may erase some at the same moment
				guard = m.ETag
				keepErased(data, m.Doc.Data)
			}
			ops = append(ops, store.Patch(store.MemberKey(c.Batch, m.Doc.ID), guard, store.Set("/data", data), store.Set("/hash", row.Hash)))
		}
		if len(ops) > 0 {
			if _, err = s.app.store.Apply(ctx, ops); errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrTooLarge) && most > 1 {
				most = max(1, most/2)
				continue
			}
			if err != nil {
				return err
			}
		}
		ids = ids[len(some):]
	}
	if len(c.Refresh) > 0 {
		s.app.log.InfoContext(ctx, "members refreshed", logkey.BatchID, c.Batch, logkey.Members, len(c.Refresh))
	}
	return nil
}

// enter adds the members who are new to a batch, and opens one that was being filled.
func (s *synchronization) enter(ctx context.Context, c schedule.Change) error {
	return s.fill(ctx, s.batches[c.Batch], c.Add, true) // the plan was made of its members at this ETag
}

// open makes a batch for a group of members. Those who are still in another come into
// it at a later tick.
func (s *synchronization) open(ctx context.Context, group schedule.Group) error {
	var keys []string
	for _, row := range group.Rows {
		if !s.stays[row.Key] {
			keys = append(keys, row.Key)
		}
	}
	taken, err := s.app.claimant(0, s.rb, "", false).look(ctx, keys)
	if err != nil {
		return err
	}
	if len(taken) == len(group.Rows) { // there would be nobody in it
		s.reportTaken(taken)
		return nil
	}
	b, made, err := s.detect(ctx, group.Start)
	if err != nil {
		return err
	}
	return s.fill(ctx, b, group.Rows, made)
}

// reportTaken reports rows of people who are not added because another batch has them.
func (s *synchronization) reportTaken(taken []takenPerson) {
	problems := make([]schedule.Problem, len(taken))
	for i, t := range taken {
		problems[i] = schedule.Problem{Key: t.key, Code: schedule.CodeOtherBatch, Message: fmt.Sprintf("%q is in %s; they are added when they are no longer in it", t.key, t.reason)}
	}
	s.plan.Counts.Problems += len(problems)
	s.plan.Problems = append(problems, s.plan.Problems...)
}

// fill adds people to a batch, and opens one that is being filled. It is known of the
// batch who its members are, or they are looked for.
func (s *synchronization) fill(ctx context.Context, b store.Item[engine.Batch], rows []schedule.Row, known bool) error {
	var people []newcomer
	for _, row := range rows {
		if !s.stays[row.Key] {
			people = append(people, newcomer{Key: row.Key, Data: func() (map[string]json.RawMessage, error) { return row.Data, nil }, Hash: row.Hash})
		}
	}
	if len(people) > 0 {
		var view api.AddResult
		c := s.app.claimant(b.Doc.ID, s.rb, s.app.newID(), false)
		c.partly = true
		taken, err := s.app.join(ctx, scheduler, b, people, known, nil, c, &view)
		s.reportTaken(taken)
		if err != nil {
			return err
		}
		s.app.log.InfoContext(ctx, "members added", logkey.BatchID, b.Doc.ID, logkey.Added, view.Added)
	}
	if !b.Doc.Filling {
		return nil
	}
	if len(rows) == 0 && s.givenUp(&b.Doc) {
		return s.abandon(ctx, b.Doc.ID)
	}
	if err := s.app.decide(ctx, b.Doc.ID, engine.BatchFilled{}); err != nil {
		return err
	}
	opened, err := store.Read[engine.Batch](ctx, s.app.store, store.BatchKey(b.Doc.ID))
	if err != nil {
		return err
	}
	return s.app.announceDue(ctx, &opened.Doc)
}
