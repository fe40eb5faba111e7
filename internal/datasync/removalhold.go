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

// holdRemovals writes the removal hold of a batch as the plan has it: new, changed or ended. Of
// the members whom an administrator kept, it releases those whom the data source has again.
func (s *syncRun) holdRemovals(ctx context.Context, c schedule.Change) error {
	b := s.batches[c.Batch].Doc
	if b.RemovalHold.Moved() && b.RemovalHold.Out {
		coming, lost, err := s.movedOut(ctx, c.Batch, b.RemovalHold.Confirmed.At)
		if err != nil {
			return err
		}
		if !coming {
			return s.syncer.members.EndMoves(ctx, c.Batch, lost)
		}
	}
	if removalsConfirmed(&b) {
		s.held = append(s.held, c.Batch)
		return nil
	}
	if c.Held != nil {
		s.held = append(s.held, c.Batch)
		for _, r := range c.Held.Removals {
			s.stays[r.Key] = true
		}
	}
	p := planHold(c, s.holds[c.Batch])
	if p.unchanged(b.RemovalHold) {
		return nil
	}
	_, ds, err := s.syncer.applier.Run(ctx, c.Batch, applier.Command{
		Events: func(st *applier.Snapshot) (_ []model.Event, err error) {
			b, h, err := s.syncer.members.LoadRemovalHold(ctx, st)
			if err != nil {
				return nil, err
			}
			return p.events(b, h), nil
		},
		Extra: func(st *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
			if len(ds) == 0 {
				return nil, nil
			}
			p.next.Decided = p.stored.Doc.Decided
			return append(st.GuardBatch(), membership.WriteRemovalHold(c.Batch, p.stored, p.next)), nil
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
		s.syncer.log.WarnContext(ctx, "removals are held", logkey.Event, alert.RemovalsHeld, logkey.BatchID, c.Batch, logkey.Members, p.event.Members, logkey.Of, p.event.Of, logkey.Reason, p.event.Reason)
	}
	return nil
}

// holdPlan is the change of a batch's removal hold that a sync makes.
type holdPlan struct {
	event  model.RemovalsHeld
	before store.RemovalHoldMembers // that the plan was made from
	next   store.RemovalHoldMembers
	stored store.Item[store.RemovalHoldMembers] // that next replaces, as events was given it
}

// planHold gives the removal hold of a change, which may be empty, in place of the one before.
func planHold(c schedule.Change, before store.RemovalHoldMembers) *holdPlan {
	p := &holdPlan{before: before, next: store.RemovalHoldMembers{Moves: map[int]time.Time{}}}
	if c.Held != nil {
		p.event = model.RemovalsHeld{Members: len(c.Held.Removals), Of: c.Held.Active, Reason: c.Held.Reason, Moving: c.Held.Moving, MovesTo: c.Held.MovesTo, MovesInto: c.Held.MovesInto}
		for _, r := range c.Held.Removals {
			p.next.Members = append(p.next.Members, r.Member)
			if r.MovesTo != nil {
				p.next.Moves[r.Member] = *r.MovesTo
			}
		}
		slices.Sort(p.next.Members)
	}
	p.next.Discarded = slices.DeleteFunc(slices.Clone(before.Discarded), func(member int) bool { return slices.Contains(c.Returned, member) })
	return p
}

// unchanged reports whether the batch, with this hold, is as planned already.
func (p *holdPlan) unchanged(hold *model.RemovalHold) bool {
	same := p.event.Members == 0
	if hold != nil {
		same = hold.Members == p.event.Members && hold.Of == p.event.Of && hold.Reason == p.event.Reason && hold.Moving == p.event.Moving && hold.MovesTo.Equal(p.event.MovesTo) && hold.MovesInto == p.event.MovesInto
	}
	return same && slices.Equal(p.next.Members, p.before.Members) && maps.EqualFunc(p.next.Moves, p.before.Moves, time.Time.Equal) && !p.returned()
}

// returned reports whether the data source has members again whom an administrator kept.
func (p *holdPlan) returned() bool { return len(p.next.Discarded) != len(p.before.Discarded) }

// events gives the events of the plan; none where an administrator has decided meanwhile, after
// which the next tick makes another plan.
func (p *holdPlan) events(b *model.Batch, stored store.Item[store.RemovalHoldMembers]) []model.Event {
	p.stored = stored
	if removalsConfirmed(b) || !slices.Equal(stored.Doc.Members, p.before.Members) || !slices.Equal(stored.Doc.Discarded, p.before.Discarded) {
		return nil
	}
	events := []model.Event{p.event}
	if p.returned() {
		events = append(events, model.DiscardedRemovalsChanged{Count: len(p.next.Discarded)})
	}
	return events
}
