package membership

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// RemoveMembers removes members from a batch, some at a time, and tells who is out of it: for
// them nothing is under way and nothing to be undone. One who has failed meanwhile, or
// whom an administrator has just kept, stays.
func (ms *Registrar) RemoveMembers(ctx context.Context, batch int, members []int, by audit.Caller, why string) (out []int, err error) {
	most := 40
	for len(members) > 0 {
		some := members[:min(most, len(members))]
		free, err := ms.removeAtOnce(ctx, batch, some, by, why)
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

func (ms *Registrar) removeAtOnce(ctx context.Context, batch int, ids []int, by audit.Caller, why string) (out []int, err error) {
	b, err := store.Read[model.Batch](ctx, ms.store, store.BatchKey(batch))
	if err != nil {
		return nil, err
	}
	if b.Doc.Kept > 0 {
		h, err := store.OrNone(store.Read[store.RemovalHold](ctx, ms.store, store.HoldKey(batch)))
		if err != nil {
			return nil, err
		}
		ids = slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return slices.Contains(h.Doc.Kept, id) })
	}
	members, err := ms.store.MembersByID(ctx, batch, ids)
	if err != nil {
		return nil, err
	}
	var left []int
	c := applier.Command{
		// One that cannot be removed leaves the others to be.
		Events: func(s *applier.Snapshot) ([]model.Event, error) {
			var events []model.Event
			left = nil
			for _, m := range members {
				e := model.MemberLeft{Member: m.Doc.ID}
				_, err := engine.Decide(s, e, s.Now)
				var refusal *model.Refusal
				if errors.As(err, &refusal) {
					ms.log.InfoContext(ctx, "member stays", logkey.BatchID, batch, logkey.MemberID, m.Doc.ID, logkey.Reason, refusal.Reason)
					continue
				}
				if err != nil {
					return nil, err
				}
				events, left = append(events, e), append(left, m.Doc.ID)
			}
			return events, nil
		},
		Extra: func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			before, after := map[int]model.MemberStatus{}, map[int]model.MemberStatus{}
			for i, id := range left {
				if was, is := s.Member(id); !ds[i].Empty() {
					before[id], after[id] = was.Status, is.Status
				}
			}
			if len(after) == 0 {
				return nil, nil
			}
			target := fmt.Sprintf("%s: %s", humanize.Count(len(after), "member"), numbers(left))
			return store.Writes{ms.audit.Record(store.AuditRecord{
				At: s.Now.UTC(), Actor: by.Actor(), Action: "remove-member", Batch: batch, Target: target, Why: why, Before: audit.MemberFacts(before).JSON(), After: audit.MemberFacts(after).JSON(),
			})}, nil
		},
		Once: true, // the fewer, the sooner nobody else has changed one
		Prime: func(s *applier.Snapshot) {
			applier.Prime(s, s.BatchKey(), b)
			for _, m := range members {
				applier.Prime(s, store.MemberKey(batch, m.Doc.ID), m)
			}
		},
	}
	s, ds, err := ms.applier.Run(ctx, batch, c)
	if err != nil {
		return nil, err
	}
	removed := 0
	for i, id := range left {
		if !ds[i].Empty() {
			removed++
		}
		if _, gone := s.Member(id); gone.OpenPhase == 0 && gone.Removal == 0 && !gone.Busy(s.Now) {
			out = append(out, id)
		}
	}
	if removed > 0 {
		ms.log.InfoContext(ctx, "members removed", logkey.BatchID, batch, logkey.Members, removed, logkey.By, by.Name)
	}
	return out, nil
}

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
