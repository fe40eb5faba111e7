package datasync

import (
	"context"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// formerMember is a member who was removed from a batch that has not ended.
type formerMember struct {
	membership.Former
	at      time.Time
	moves   bool // with finished phases and outputs
	byHand  bool // an administrator moves them, to a batch that the source does not know
	leaving bool // a run of the member has not ended
}

// noteFormer notes the members of a batch, and for each key who was removed last.
func (s *syncRun) noteFormer(batch int, members []store.MemberProjection) {
	for _, m := range members {
		if m.Status != model.MemberRemoved {
			s.homes[m.Key] = true
			continue
		}
		f := formerMember{Former: membership.Former{Batch: batch, Member: m.ID}, moves: m.MovedTo != nil || m.MovedToBatch != 0, byHand: m.MovedToBatch != 0, leaving: m.StillLeaving(s.syncer.now())}
		if m.RemovedAt != nil {
			f.at = *m.RemovedAt
		}
		if last, known := s.former[m.Key]; !known || f.at.After(last.at) {
			s.former[m.Key] = f
		}
	}
}

// movedFrom gives the member that a person was who is moved; nil for a person who is not.
func (s *syncRun) movedFrom(key string) *membership.Former {
	if f, known := s.former[key]; known && f.moves {
		return &f.Former
	}
	return nil
}

// movedOut reports whether members who were moved out of a batch since a time still wait for another batch.
// If none waits, it gives the keys of the members without a batch: the data source dropped them, or the
// batch of their start ended first.
func (s *syncRun) movedOut(ctx context.Context, batch int, since time.Time) (coming bool, lost []string, err error) {
	taken := map[int]map[string]bool{} // batch that has ended → keys of its members
	for key, f := range s.former {
		if f.Batch != batch || !f.moves || f.byHand || s.homes[key] {
			continue
		}
		into, ended := s.endedBatchOf(key)
		if f.leaving || s.result.Has(key) && !ended {
			return true, nil, nil
		}
		if ended && taken[into] == nil {
			if taken[into], err = s.membersOf(ctx, into); err != nil {
				return false, nil, err
			}
		}
		if !taken[into][key] && !f.at.Before(since) {
			lost = append(lost, key)
		}
	}
	slices.Sort(lost)
	return false, lost, nil
}

// endedBatchOf gives the batch of the start in a person's row, if the batch has ended and takes no members.
func (s *syncRun) endedBatchOf(key string) (batch int, ended bool) {
	start, ok := s.result.StartOf(key, s.now)
	if !ok {
		return 0, false
	}
	batch, ended = s.ended[start.UTC()]
	return batch, ended
}

// membersOf gives the keys of those who are members of a batch, and were not removed.
func (s *syncRun) membersOf(ctx context.Context, batch int) (map[string]bool, error) {
	members, err := s.syncer.store.MemberProjections(ctx, batch)
	keys := make(map[string]bool, len(members))
	for _, m := range members {
		if m.Status != model.MemberRemoved {
			keys[m.Key] = true
		}
	}
	return keys, err
}
