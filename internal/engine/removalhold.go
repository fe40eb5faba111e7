package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// Removals by the data source that exceed the guard and wait for an administrator.
// The source determines the members; the batch records that they are held.

// onRemovalsHeld holds removals, updates the hold, or withdraws it. A confirmed hold
// stays until its removals are complete.
func onRemovalsHeld(b *model.Batch, e model.RemovalsHeld, now time.Time) (model.Decision, error) {
	if e.Members < 0 || e.Of < e.Members || e.Moving < 0 || e.Moving > e.Members {
		return model.Decision{}, fmt.Errorf("engine: %T of %d members of %d", e, e.Members, e.Of)
	}
	hold := b.RemovalHold
	switch {
	case b.HasEnded(), hold != nil && hold.Confirmed != nil, hold == nil && e.Members == 0:
		return model.Decision{Stale: true}, nil
	case e.Members == 0:
		return endHold(b, now), nil
	}
	next := model.RemovalHold{Members: e.Members, Of: e.Of, Reason: model.ClipReason(e.Reason), Since: now, Moving: e.Moving, MovesTo: e.MovesTo.UTC(), MovesInto: e.MovesInto}
	if hold != nil {
		next.Since = hold.Since
		if next.MovesTo.Equal(hold.MovesTo) {
			next.MovesTo = hold.MovesTo
		}
		if next == *hold {
			return model.Decision{Stale: true}, nil
		}
	}
	b.RemovalHold = &next
	updateWaitingReason(b, now)
	if hold == nil || hold.Moving == 0 { // no phase waited for it
		return batchChanged(b), nil
	}
	return batchChanged(b, NextDue(b, now)...), nil
}

// endHold ends a hold, and announces the phase that waited for that.
func endHold(b *model.Batch, now time.Time) model.Decision {
	waited := b.RemovalHold.Moving > 0
	b.RemovalHold = nil
	if !waited {
		return batchChanged(b)
	}
	_, f := endPhases(b, now)
	d := batchChanged(b)
	appendFollowUp(&d, f)
	return d
}

// onRemovalsConfirmed lets the members go whose removal is held.
func onRemovalsConfirmed(b *model.Batch, e model.RemovalsConfirmed) (model.Decision, error) {
	switch {
	case b.HasEnded():
		return model.Decision{}, refuseEnded(b, "no member can be removed")
	case b.RemovalHold == nil:
		return model.Decision{}, model.Refusef("no removals of batch %d are held: there is nothing to confirm", b.ID)
	case b.RemovalHold.Confirmed != nil && b.RemovalHold.Move != e.Move:
		return model.Decision{}, model.Refusef("%s has decided on the held removals of batch %d: the members are being %s", b.RemovalHold.Confirmed.By, b.ID, goingWord(b.RemovalHold))
	case b.RemovalHold.Confirmed != nil:
		return model.Decision{Repeated: true}, nil
	case e.Move && b.RemovalHold.Moving == 0:
		return model.Decision{}, model.Refusef("the data source does not move most members of batch %d to one other start: confirm or discard their removal", b.ID)
	}
	next := *b.RemovalHold
	next.Confirmed, next.Move = &e.By, e.Move
	b.RemovalHold = &next
	return batchChanged(b), nil
}

// goingWord says how the members of a confirmed hold go.
func goingWord(h *model.RemovalHold) string {
	if h.Move {
		return "moved"
	}
	return "removed"
}

// onRemovalsDiscarded keeps the members whose removal is held.
func onRemovalsDiscarded(b *model.Batch, now time.Time) (model.Decision, error) {
	switch {
	case b.HasEnded():
		return model.Decision{}, refuseEnded(b, "no removals are held")
	case b.RemovalHold == nil:
		return model.Decision{}, model.Refusef("no removals of batch %d are held: there is nothing to discard", b.ID)
	case b.RemovalHold.Confirmed != nil:
		return model.Decision{}, model.Refusef("the removals of batch %d were confirmed by %s: they can no longer be discarded", b.ID, b.RemovalHold.Confirmed.By)
	}
	b.DiscardedRemovals += b.RemovalHold.Members
	return endHold(b, now), nil
}

// onRemovalsDone ends a hold whose members are removed. A hold whose members move ends when other
// batches have them.
func onRemovalsDone(b *model.Batch, now time.Time) model.Decision {
	switch h := b.RemovalHold; {
	case h == nil || h.Confirmed == nil, h.Out:
		return model.Decision{Stale: true}
	case h.Move:
		next := *h
		next.Out = true
		b.RemovalHold = &next
		updateWaitingReason(b, now)
		return batchChanged(b, NextDue(b, now)...)
	}
	return endHold(b, now)
}

// onMovesDone ends a hold whose members other batches have.
func onMovesDone(b *model.Batch, now time.Time) model.Decision {
	if !b.RemovalHold.Moved() || !b.RemovalHold.Out {
		return model.Decision{Stale: true}
	}
	return endHold(b, now)
}

// onDiscardedRemovalsChanged sets how many discarded removals are left.
func onDiscardedRemovalsChanged(b *model.Batch, count int) (model.Decision, error) {
	switch {
	case count < 0 || count > b.Members:
		return model.Decision{}, fmt.Errorf("engine: %T of %d of batch %d's %d members", model.DiscardedRemovalsChanged{}, count, b.ID, b.Members)
	case b.HasEnded() || b.DiscardedRemovals == count:
		return model.Decision{Stale: true}, nil
	}
	b.DiscardedRemovals = count
	return batchChanged(b), nil
}
