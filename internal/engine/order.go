package engine

import (
	"fmt"
	"slices"
	"time"
)

// In which order members go through the phases of a batch, and which is next.

// inOrder gives the phases' executions in the order that members go through them.
func (b *Batch) inOrder() []*Phase {
	var all []*Phase
	for i := range b.Phases {
		if b.Phases[i].Kind == KindPhase {
			all = append(all, &b.Phases[i])
		}
	}
	slices.SortStableFunc(all, func(p, q *Phase) int {
		if before(p, q) {
			return -1
		}
		return 1
	})
	return all
}

// NextDue announces the init sequence that is to begin, or the first phase that is
// due and was held up until now: by the filling of the batch, by the init sequence, by
// an earlier phase that was still being walked, by a pause or by a gate. In quiet hours
// no phase is.
func NextDue(b *Batch, now time.Time) []Message {
	first := b.firstDue(now)
	if b.Status == BatchDetected && !b.Manual && !b.Filling {
		first = b.pendingInit()
	}
	if first == nil || b.Gate() != Open || b.waits(first, now) != "" {
		return nil
	}
	return []Message{Announce{Phase: first.ID, Page: 1, Again: fmt.Sprintf("rev-%d", b.Revision)}}
}

// firstDue is the phase that is next, where it is due and nothing before it is
// still to be walked.
func (b *Batch) firstDue(now time.Time) *Phase {
	if b.Status != BatchActive {
		return nil
	}
	var first *Phase
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Status == PhasePending && due(p, now) && (first == nil || before(p, first)) {
			first = p
		}
	}
	if first == nil || held(b, first) {
		return nil
	}
	return first
}

func due(p *Phase, now time.Time) bool { return p.DueAt != nil && !p.DueAt.After(now) }

// before tells whether members go through p before q: what an older version began
// comes before what a newer one begins.
func before(p, q *Phase) bool {
	if p.Version != q.Version {
		return p.Version < q.Version
	}
	if p.DueAt != nil && q.DueAt != nil && !p.DueAt.Equal(*q.DueAt) {
		return p.DueAt.Before(*q.DueAt)
	}
	return p.ID < q.ID
}

// held tells whether a phase whose time has come must wait because one before it,
// whose time has come then too, has not been walked to the end: members would enter
// the two in the wrong order.
func held(b *Batch, p *Phase) bool {
	for i := range b.Phases {
		q := &b.Phases[i]
		if q.Kind != KindPhase || !before(q, p) {
			continue
		}
		if q.Status == PhasePending || q.Status == PhaseDispatched && !q.Walked {
			return true
		}
	}
	return false
}
