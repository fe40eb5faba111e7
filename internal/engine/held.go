package engine

import (
	"fmt"
	"time"
)

// Removals that the source asks for and that are so many that somebody is to look at
// them first. Who they are, the source tells; the batch keeps that they are held.

// removalsHeld holds removals, brings the hold up to date, or withdraws it. What is
// confirmed stays as it is until it is done.
func removalsHeld(b *Batch, e RemovalsHeld, now time.Time) (Decision, error) {
	if e.Members < 0 || e.Of < e.Members {
		return Decision{}, fmt.Errorf("engine: %T of %d members of %d", e, e.Members, e.Of)
	}
	held := b.Held
	switch {
	case b.hasEnded(), held != nil && held.Confirmed != nil, held == nil && e.Members == 0:
		return Decision{Stale: true}, nil
	case e.Members == 0:
		b.Held = nil
		return changed(b), nil
	}
	next := Held{Members: e.Members, Of: e.Of, Reason: clip(e.Reason), Since: now}
	if held != nil {
		next.Since = held.Since
		if next == *held {
			return Decision{Stale: true}, nil
		}
	}
	b.Held = &next
	return changed(b), nil
}

// removalsConfirmed lets the members go whose removal is held.
func removalsConfirmed(b *Batch, by Mark) (Decision, error) {
	switch {
	case b.hasEnded():
		return Decision{}, b.refuseEnded("nobody can be removed")
	case b.Held == nil:
		return Decision{}, refuse("no removals of batch %d are held: there is nothing to confirm", b.ID)
	case b.Held.Confirmed != nil:
		return Decision{Repeated: true}, nil
	}
	next := *b.Held
	next.Confirmed = &by
	b.Held = &next
	return changed(b), nil
}

// removalsDiscarded keeps the members whose removal is held.
func removalsDiscarded(b *Batch) (Decision, error) {
	switch {
	case b.hasEnded():
		return Decision{}, b.refuseEnded("nobody is removed any more")
	case b.Held == nil:
		return Decision{}, refuse("no removals of batch %d are held: there is nothing to discard", b.ID)
	case b.Held.Confirmed != nil:
		return Decision{}, refuse("the removals of batch %d were confirmed by %s: they can no longer be discarded", b.ID, b.Held.Confirmed.By)
	}
	b.Kept += b.Held.Members
	b.Held = nil
	return changed(b), nil
}

// removalsDone ends a hold whose members are removed.
func removalsDone(b *Batch) Decision {
	if b.Held == nil || b.Held.Confirmed == nil {
		return Decision{Stale: true}
	}
	b.Held = nil
	return changed(b)
}

// membersKept sets how many members are kept though the source lacks them.
func membersKept(b *Batch, count int) (Decision, error) {
	switch {
	case count < 0 || count > b.Members:
		return Decision{}, fmt.Errorf("engine: %T of %d of batch %d's %d members", MembersKept{}, count, b.ID, b.Members)
	case b.hasEnded() || b.Kept == count:
		return Decision{Stale: true}, nil
	}
	b.Kept = count
	return changed(b), nil
}
