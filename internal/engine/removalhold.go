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
	if e.Members < 0 || e.Of < e.Members {
		return model.Decision{}, fmt.Errorf("engine: %T of %d members of %d", e, e.Members, e.Of)
	}
	hold := b.RemovalHold
	switch {
	case b.HasEnded(), hold != nil && hold.Confirmed != nil, hold == nil && e.Members == 0:
		return model.Decision{Stale: true}, nil
	case e.Members == 0:
		b.RemovalHold = nil
		return batchChanged(b), nil
	}
	next := model.RemovalHold{Members: e.Members, Of: e.Of, Reason: model.ClipReason(e.Reason), Since: now}
	if hold != nil {
		next.Since = hold.Since
		if next == *hold {
			return model.Decision{Stale: true}, nil
		}
	}
	b.RemovalHold = &next
	return batchChanged(b), nil
}

// onRemovalsConfirmed lets the members go whose removal is held.
func onRemovalsConfirmed(b *model.Batch, by model.Attribution) (model.Decision, error) {
	switch {
	case b.HasEnded():
		return model.Decision{}, refuseEnded(b, "no member can be removed")
	case b.RemovalHold == nil:
		return model.Decision{}, model.Refusef("no removals of batch %d are held: there is nothing to confirm", b.ID)
	case b.RemovalHold.Confirmed != nil:
		return model.Decision{Repeated: true}, nil
	}
	next := *b.RemovalHold
	next.Confirmed = &by
	b.RemovalHold = &next
	return batchChanged(b), nil
}

// onRemovalsDiscarded keeps the members whose removal is held.
func onRemovalsDiscarded(b *model.Batch) (model.Decision, error) {
	switch {
	case b.HasEnded():
		return model.Decision{}, refuseEnded(b, "no removals are held")
	case b.RemovalHold == nil:
		return model.Decision{}, model.Refusef("no removals of batch %d are held: there is nothing to discard", b.ID)
	case b.RemovalHold.Confirmed != nil:
		return model.Decision{}, model.Refusef("the removals of batch %d were confirmed by %s: they can no longer be discarded", b.ID, b.RemovalHold.Confirmed.By)
	}
	b.DiscardedRemovals += b.RemovalHold.Members
	b.RemovalHold = nil
	return batchChanged(b), nil
}

// onRemovalsDone ends a hold whose members are removed.
func onRemovalsDone(b *model.Batch) model.Decision {
	if b.RemovalHold == nil || b.RemovalHold.Confirmed == nil {
		return model.Decision{Stale: true}
	}
	b.RemovalHold = nil
	return batchChanged(b)
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
