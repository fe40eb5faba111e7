package datasync

import (
	"context"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// loadSituation loads the runbook's batches that have not ended, with their members, and the
// batches that had the start times of the result and have ended.
func (s *syncRun) loadSituation(ctx context.Context) (schedule.Situation, error) {
	situation := schedule.Situation{Now: s.now, Automation: s.enabled || s.dry, Ended: map[time.Time]int{}, Reserved: map[time.Time]int{}, Former: map[string]bool{}}
	s.batches, s.holds = map[int]store.Item[model.Batch]{}, map[int]store.RemovalHoldMembers{}
	s.former, s.homes = map[string]formerMember{}, map[string]bool{}
	unfinished, err := s.syncer.store.UnfinishedBatches(ctx, s.name)
	if err != nil {
		return situation, err
	}
	for _, b := range unfinished {
		if err := s.loadBatch(ctx, &situation, b.ID); err != nil {
			return situation, err
		}
	}
	slots, err := s.syncer.store.StartSlots(ctx, s.name, s.unknownStarts(situation.Batches))
	if err != nil {
		return situation, err
	}
	for _, item := range slots {
		ended, err := s.slotEnded(ctx, item)
		if err != nil {
			return situation, err
		}
		if ended {
			situation.Ended[item.Doc.Start.UTC()] = item.Doc.Batch
			continue
		}
		if err := s.loadBatch(ctx, &situation, item.Doc.Batch); err != nil { // UnfinishedBatches did not have it yet
			return situation, err
		}
		if err := s.checkSlot(ctx, &situation, item); err != nil {
			return situation, err
		}
	}
	return situation, nil
}

// unknownStarts gives the start times of the result for which no batch was made from the data
// source.
func (s *syncRun) unknownStarts(batches []schedule.Batch) []time.Time {
	known := map[time.Time]bool{}
	for _, b := range batches {
		known[b.Start] = known[b.Start] || !b.Manual
		for _, start := range b.Earlier {
			known[start.UTC()] = true
		}
	}
	var starts []time.Time
	for _, start := range s.result.Starts(s.now) {
		if !known[start.UTC()] {
			starts = append(starts, start)
		}
	}
	return starts
}

// loadBatch adds a batch with its members to the situation, unless it has ended or does not
// exist yet.
func (s *syncRun) loadBatch(ctx context.Context, situation *schedule.Situation, id int) error {
	if _, loaded := s.batches[id]; loaded {
		return nil
	}
	// The batch is read before its members: its ETag then guards the plan.
	b, err := store.OrNone(store.Read[model.Batch](ctx, s.syncer.store, store.BatchKey(id)))
	if err != nil || b.ETag == "" || b.Doc.Status.Terminal() {
		return err
	}
	s.batches[id] = b
	if b.Doc.RemovalHold != nil || b.Doc.DiscardedRemovals > 0 {
		h, err := store.ReadRemovalHold(ctx, s.syncer.store, &b.Doc)
		if err != nil {
			return err
		}
		s.holds[id] = h.Doc
	}
	members, err := s.syncer.store.MemberProjections(ctx, id)
	if err != nil {
		return err
	}
	batch := schedule.Batch{ID: id, Manual: !followsSource(&b.Doc), Filling: b.Doc.Filling}
	if b.Doc.StartTime != nil {
		batch.Start = b.Doc.StartTime.UTC()
	}
	batch.Earlier = b.Doc.EarlierStarts
	if b.Doc.RemovalHold != nil {
		batch.HeldOf = b.Doc.RemovalHold.Of
	}
	s.noteFormer(id, members)
	batch.Members = s.scheduleMembers(situation.Former, &b.Doc, members)
	situation.Batches = append(situation.Batches, batch)
	return nil
}

// scheduleMembers gives the members of a batch as the plan sees them. Members who are out of the
// batch it adds to former.
func (s *syncRun) scheduleMembers(former map[string]bool, b *model.Batch, members []store.MemberProjection) []schedule.Member {
	kept := map[int]bool{}
	for _, member := range s.holds[b.ID].Discarded {
		kept[member] = true
	}
	added := lastAdded(members)
	var out []schedule.Member
	for _, m := range members {
		removed := m.Status == model.MemberRemoved
		// A removal by an administrator lasts until an administrator adds the person again.
		byHand := removed && m.RemovedBy != "" && added[strings.ToLower(m.Key)] <= m.ID
		// A member whom an administrator moves is in neither batch until the other one takes them.
		leaving := m.StillLeaving(s.syncer.now()) || removed && b.MovesTo(m.MovedToBatch)
		if removed && !byHand && !leaving {
			former[m.Key] = true
			continue
		}
		out = append(out, schedule.Member{
			ID: m.ID, Key: m.Key, Hash: m.Hash,
			Failed: m.Status == model.MemberFailed, RemovedByHand: byHand, Leaving: leaving,
			// The data source does not remove members whom an administrator added.
			Kept: kept[m.ID] || m.Hash == "",
		})
	}
	return out
}

// lastAdded gives for each key, in lower case, the last member whom an administrator added.
func lastAdded(members []store.MemberProjection) map[string]int {
	last := map[string]int{}
	for _, m := range members {
		if key := strings.ToLower(m.Key); m.AddedBy != "" {
			last[key] = max(last[key], m.ID)
		}
	}
	return last
}

// followsSource reports whether the data source determines a batch's members. It does not for a
// batch that was created by an administrator, is being cancelled, or had ended and was reopened by
// a retry: their members only count as being in a batch.
func followsSource(b *model.Batch) bool {
	return b.FollowsSource() && !b.Ended && b.Status != model.BatchCancelling
}
