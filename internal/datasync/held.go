package datasync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/schedule"
	"github.com/matoolkit/matoolkit/internal/store"
)

// hold keeps with a batch whose removal is held, or that it no longer is, and those
// who were missed and are back.
func (s *syncRun) hold(ctx context.Context, c schedule.Change) error {
	id := c.Batch
	if b := s.batches[id].Doc; b.RemovalHold != nil && b.RemovalHold.Confirmed != nil {
		s.held = append(s.held, id)
		return nil
	}
	var missing []int
	moves := map[int]time.Time{}
	e := model.RemovalsHeld{}
	if c.Held != nil {
		s.held = append(s.held, id)
		e.Members, e.Of, e.Reason = len(c.Held.Removals), c.Held.Active, c.Held.Reason
		for _, r := range c.Held.Removals {
			missing = append(missing, r.Member)
			if r.MovesTo != nil {
				moves[r.Member] = *r.MovesTo
			}
			s.stays[r.Key] = true
		}
		slices.Sort(missing)
	}
	was := s.holds[id]
	kept := slices.DeleteFunc(slices.Clone(was.Kept), func(member int) bool { return slices.Contains(c.Returned, member) })
	same := slices.Equal(missing, was.Members) && maps.EqualFunc(moves, was.Moves, time.Time.Equal) && told(s.batches[id].Doc.RemovalHold, e)
	if same && len(kept) == len(was.Kept) {
		return nil
	}
	var h store.Item[store.RemovalHold]
	_, ds, err := s.syncer.applier.Run(ctx, id, applier.Command{
		Events: func(st *applier.Snapshot) (events []model.Event, err error) {
			var b *model.Batch
			if b, h, err = s.syncer.members.LoadRemovalHold(ctx, st); err != nil {
				return nil, err
			}
			if b.RemovalHold != nil && b.RemovalHold.Confirmed != nil || !slices.Equal(h.Doc.Members, was.Members) || !slices.Equal(h.Doc.Kept, was.Kept) {
				return nil, nil // an administrator has decided meanwhile: the next tick looks again
			}
			events = append(events, e)
			if len(kept) != len(was.Kept) {
				events = append(events, model.MembersKept{Count: len(kept)})
			}
			return events, nil
		},
		Extra: func(st *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if len(ds) == 0 {
				return nil, nil
			}
			return append(st.GuardBatch(), membership.WriteRemovalHold(id, h, store.RemovalHold{Members: missing, Moves: moves, Kept: kept})), nil
		},
	})
	var refusal *model.Refusal
	if errors.As(err, &refusal) || err == nil && len(ds) == 0 { // confirmed or ended meanwhile
		return nil
	}
	if err != nil {
		return err
	}
	if c.Held != nil {
		s.syncer.log.WarnContext(ctx, "removals are held", logkey.Event, alert.RemovalsHeld, logkey.BatchID, id, logkey.Members, e.Members, logkey.Of, e.Of, logkey.Reason, e.Reason)
	}
	return nil
}

// told tells whether a hold says what is to be said.
func told(h *model.RemovalHold, e model.RemovalsHeld) bool {
	if h == nil {
		return e.Members == 0
	}
	return h.Members == e.Members && h.Of == e.Of && h.Reason == e.Reason
}
