package datasync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// apply brings the batches to where the plan has them. Those who leave do so first:
// somebody who moves is out of one batch before being in the other. A batch that fails
// is told of, and the others are gone on with; the next tick takes up what is left.
func (s *syncRun) apply(ctx context.Context) error {
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
func (s *syncRun) leave(ctx context.Context, c schedule.Change) error {
	if b := s.batches[c.Batch].Doc; b.RemovalHold != nil && b.RemovalHold.Confirmed != nil {
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
	out, err := s.syncer.members.RemoveMembers(ctx, c.Batch, ids, audit.Scheduler, "the data source no longer has them in this batch")
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

// givenUp tells whether a batch that is being filled has nobody in it and gets nobody
// any more: an immediate one whose moment has passed, or one that would not even be made
// by now.
func (s *syncRun) givenUp(b *model.Batch) bool {
	if b.Members > b.Removed {
		return false
	}
	last := b.StartTime.Add(applier.LookAhead)
	if s.rb.DataSource.BatchTime != runbook.BatchTimeImmediate {
		for _, p := range b.Phases {
			if p.DueAt != nil && p.DueAt.After(last) {
				last = *p.DueAt
			}
		}
		last = last.Add(applier.AbandonAfter)
	}
	return s.now.After(last)
}

// abandon cancels a batch that nobody is in, unless somebody has come in meanwhile.
func (s *syncRun) abandon(ctx context.Context, id int) error {
	why := "nobody is left who would be in it"
	_, _, err := s.syncer.applier.Run(ctx, id, applier.Command{
		Events: func(st *applier.Snapshot) ([]model.Event, error) {
			b, err := st.LoadBatch()
			if err != nil || !b.Filling || b.Members > b.Removed {
				return nil, err
			}
			return []model.Event{model.BatchStopped{By: model.Mark{By: audit.Scheduler.Name, At: st.Now.UTC(), Why: why}}}, nil
		},
		Extra: func(st *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if len(ds) == 0 || ds[0].Batch == nil {
				return nil, nil
			}
			return store.Writes{s.syncer.audit.Record(store.AuditRecord{
				At: st.Now.UTC(), Actor: audit.Scheduler.Actor(), Action: "cancel", Batch: id, Why: why, Before: audit.BatchFacts(st.Before()).JSON(), After: audit.BatchFacts(st.After()).JSON(),
			})}, nil
		},
	})
	return err
}

// refresh brings the data of members to what the source has. Only a tick that holds
// the runbook's lease writes them, so that a member who is being changed otherwise is
// no hindrance.
func (s *syncRun) refresh(ctx context.Context, c schedule.Change) error {
	rows := map[int]schedule.Row{}
	ids := make([]int, 0, len(c.Refresh))
	for _, r := range c.Refresh {
		rows[r.Member] = r.Row
		ids = append(ids, r.Member)
	}
	most := 90
	for len(ids) > 0 {
		some := ids[:min(most, len(ids))]
		members, err := s.syncer.store.MembersByID(ctx, c.Batch, some)
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
			fresh, err := s.syncer.sealer.SealData(ctx, s.rb, c.Batch, m.Doc.ID, row.Data)
			if err != nil {
				return err
			}
			maps.Copy(data, fresh)
			guard := ""
			if len(s.rb.Secret) > 0 { // a run that ends may erase some at the same moment
				guard = m.ETag
				sealing.KeepErased(data, m.Doc.Data)
			}
			ops = append(ops, store.Patch(store.MemberKey(c.Batch, m.Doc.ID), guard, store.Set("/data", data), store.Set("/hash", row.Hash)))
		}
		if len(ops) > 0 {
			if _, err = s.syncer.store.Apply(ctx, ops); errors.Is(err, store.ErrChanged) || errors.Is(err, store.ErrTooLarge) && most > 1 {
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
		s.syncer.log.InfoContext(ctx, "members refreshed", logkey.BatchID, c.Batch, logkey.Members, len(c.Refresh))
	}
	return nil
}

// enter adds the members who are new to a batch, and opens one that was being filled.
func (s *syncRun) enter(ctx context.Context, c schedule.Change) error {
	return s.fill(ctx, s.batches[c.Batch], c.Add, true) // the plan was made of its members at this ETag
}

// open makes a batch for a group of members. Those who are still in another come into
// it at a later tick.
func (s *syncRun) open(ctx context.Context, group schedule.Group) error {
	var keys []string
	for _, row := range group.Rows {
		if !s.stays[row.Key] {
			keys = append(keys, row.Key)
		}
	}
	taken, err := s.syncer.members.FindTaken(ctx, s.rb, keys)
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
func (s *syncRun) reportTaken(taken []membership.InOtherBatch) {
	problems := make([]schedule.Problem, len(taken))
	for i, t := range taken {
		problems[i] = schedule.Problem{Key: t.Key, Code: schedule.CodeOtherBatch, Message: fmt.Sprintf("%q is in %s; they are added when they are no longer in it", t.Key, t.Reason)}
	}
	s.plan.Counts.Problems += len(problems)
	s.plan.Problems = append(problems, s.plan.Problems...)
}

// fill adds people to a batch, and opens one that is being filled. It is known of the
// batch who its members are, or they are looked for.
func (s *syncRun) fill(ctx context.Context, b store.Item[model.Batch], rows []schedule.Row, known bool) error {
	var people []membership.Newcomer
	for _, row := range rows {
		if !s.stays[row.Key] {
			people = append(people, membership.Newcomer{Key: row.Key, Data: func() (map[string]json.RawMessage, error) { return row.Data, nil }, Hash: row.Hash})
		}
	}
	if len(people) > 0 {
		added, taken, err := s.syncer.members.AddFromSource(ctx, b, s.rb, people, known)
		s.reportTaken(taken)
		if err != nil {
			return err
		}
		s.syncer.log.InfoContext(ctx, "members added", logkey.BatchID, b.Doc.ID, logkey.Added, added)
	}
	if !b.Doc.Filling {
		return nil
	}
	if len(rows) == 0 && s.givenUp(&b.Doc) {
		return s.abandon(ctx, b.Doc.ID)
	}
	if err := s.syncer.applier.Decide(ctx, b.Doc.ID, model.BatchFilled{}); err != nil {
		return err
	}
	opened, err := store.Read[model.Batch](ctx, s.syncer.store, store.BatchKey(b.Doc.ID))
	if err != nil {
		return err
	}
	return s.syncer.applier.AnnounceDue(ctx, &opened.Doc)
}
