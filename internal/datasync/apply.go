package datasync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// apply applies the plan. It removes members first: a person who moves is out of one batch before
// being in the other. An error of one batch does not keep the others from being changed; the next
// tick does the rest.
func (s *syncRun) apply(ctx context.Context) error {
	s.applied, s.stays = true, map[string]bool{}
	if s.plan.Additions != nil {
		s.done.Held = len(s.plan.Additions.People)
	}
	changes := map[int]schedule.Change{}
	for _, c := range s.plan.Changes {
		changes[c.Batch] = c
	}
	for _, c := range s.plan.Changes {
		s.done.Held += len(heldRemovals(c))
	}
	var failures []error
	// Batches without a change have their turn, too: their hold may be over, or the last step of
	// filling them may have been cut short.
	for _, step := range []func(context.Context, schedule.Change) error{s.releaseStarts, s.removeMembers, s.holdRemovals, s.refreshMembers, s.addMembers} {
		for _, id := range slices.Sorted(maps.Keys(s.batches)) {
			if b := s.batches[id].Doc; !followsSource(&b) {
				continue
			}
			c := changes[id]
			c.Batch = id
			if err := step(ctx, c); err != nil {
				failures = append(failures, &subjectError{fmt.Sprintf("batch %d", id), err})
			}
		}
	}
	for _, group := range s.plan.New {
		if err := s.openBatch(ctx, group); err != nil {
			failures = append(failures, &subjectError{"the batch for " + group.Start.Format(time.RFC3339), err})
		}
	}
	return errors.Join(failures...)
}

// removeMembers removes the members whom the data source no longer has, or has in another batch.
func (s *syncRun) removeMembers(ctx context.Context, c schedule.Change) error {
	if b := s.batches[c.Batch].Doc; removalsConfirmed(&b) {
		// The confirmed removals are under way; the sync judges no other member before they are
		// done.
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
	out, err := s.syncer.members.RemoveMembers(ctx, c.Batch, ids, membership.Leave{
		By: audit.Scheduler, Why: "the data source no longer has them in this batch", Start: s.batches[c.Batch].Doc.StartTime,
	})
	if err == nil {
		s.done.Removed += len(ids)
	}
	for _, id := range out {
		delete(keys, id)
	}
	for _, key := range keys { // another batch gets them when their running steps have ended
		s.stays[key] = true
	}
	return err
}

// removalsConfirmed reports whether an administrator confirmed the batch's removal hold.
func removalsConfirmed(b *model.Batch) bool {
	return b.RemovalHold != nil && b.RemovalHold.Confirmed != nil
}

func heldRemovals(c schedule.Change) []schedule.Removal {
	if c.Held == nil {
		return nil
	}
	return c.Held.Removals
}

// addMembers adds people to a batch, and opens a batch that is being filled.
func (s *syncRun) addMembers(ctx context.Context, c schedule.Change) error {
	return s.fill(ctx, s.batches[c.Batch], c.Add, true) // the plan was made from its members at this ETag
}

// openBatch creates a batch for a group of people. Those who are still in another batch are added
// at a later tick.
func (s *syncRun) openBatch(ctx context.Context, group schedule.Group) error {
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
	if len(taken) == len(group.Rows) { // it would have no members
		s.reportTaken(taken)
		return nil
	}
	b, created, err := s.createBatch(ctx, group.Start)
	if err != nil {
		return err
	}
	if !b.Doc.StartTime.Equal(group.Start) { // a batch took the slot that is being rescheduled to the start
		return nil
	}
	return s.fill(ctx, b, group.Rows, created)
}

// releaseStarts gives up the earlier starts of a rescheduled batch that no row of a member has.
func (s *syncRun) releaseStarts(ctx context.Context, c schedule.Change) error {
	if len(c.Released) == 0 {
		return nil
	}
	return s.syncer.applier.Decide(ctx, c.Batch, model.EarlierStartsReleased{Starts: c.Released})
}

// fill adds people to a batch, and opens it where it is being filled. known says that none of them
// is a member of the batch at its ETag.
func (s *syncRun) fill(ctx context.Context, b store.Item[model.Batch], rows []schedule.Row, known bool) error {
	var people []membership.Newcomer
	for _, row := range rows {
		if !s.stays[row.Key] {
			people = append(people, membership.Newcomer{Key: row.Key, Data: func() (map[string]json.RawMessage, error) { return row.Data, nil }, Hash: row.Hash, From: s.movedFrom(row.Key)})
		}
	}
	if len(people) > 0 {
		added, taken, err := s.syncer.members.AddFromSource(ctx, b, s.rb, people, known)
		s.reportTaken(taken)
		s.done.Added += added
		if err != nil {
			return err
		}
		s.syncer.log.InfoContext(ctx, "members added", logkey.BatchID, b.Doc.ID, logkey.Added, added)
	}
	if !b.Doc.Filling {
		return nil
	}
	if len(rows) == 0 && s.staysEmpty(&b.Doc) {
		return s.cancelEmpty(ctx, b.Doc.ID)
	}
	if err := s.syncer.applier.Decide(ctx, b.Doc.ID, model.BatchFilled{}); err != nil {
		return err
	}
	opened, err := store.Read[model.Batch](ctx, s.syncer.store, store.BatchKey(b.Doc.ID))
	if err != nil {
		return err
	}
	return s.syncer.applier.AnnounceUpcoming(ctx, &opened.Doc)
}

// reportTaken reports rows of people who are not added because another batch has them.
func (s *syncRun) reportTaken(taken []membership.InOtherBatch) {
	var problems []schedule.Problem
	for _, t := range taken {
		problems = append(problems, schedule.Problem{Key: t.Key, Code: schedule.CodeOtherBatch, Message: fmt.Sprintf("%q is in %s; they are added when they are no longer in it", t.Key, t.Reason)})
	}
	s.plan.Counts.Problems += len(problems)
	s.plan.Problems = append(problems, s.plan.Problems...)
}
