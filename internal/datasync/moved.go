package datasync

import (
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
	leaving bool // a run of the member has not ended
}

// noteFormer notes the members of a batch, and for each key who was removed last.
func (s *syncRun) noteFormer(batch int, members []store.MemberProjection) {
	for _, m := range members {
		if m.Status != model.MemberRemoved {
			s.homes[m.Key] = true
			continue
		}
		f := formerMember{Former: membership.Former{Batch: batch, Member: m.ID}, moves: m.MovedTo != nil, leaving: m.StillLeaving(s.syncer.now())}
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

// lost gives the keys of the members who were moved out of a batch since a time, whom no other batch has
// and the data source no longer has.
func (s *syncRun) lost(batch int, since time.Time) (keys []string) {
	for key, f := range s.former {
		if f.Batch == batch && f.moves && !s.homes[key] && !f.at.Before(since) && !s.result.Has(key) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// moving reports whether members were moved out of a batch whom no other batch has yet. It leaves out
// those whom the data source no longer has.
func (s *syncRun) moving(batch int) bool {
	for key, f := range s.former {
		if f.Batch == batch && f.moves && !s.homes[key] && (f.leaving || s.result.Has(key)) {
			return true
		}
	}
	return false
}
