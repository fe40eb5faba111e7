package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// In which order members go through the phases of a batch, and which is next.

// inOrder gives the phases' executions in the order that members go through them.
func inOrder(b *model.Batch) []*model.Phase {
	var all []*model.Phase
	for i := range b.Phases {
		if b.Phases[i].Kind == model.KindPhase {
			all = append(all, &b.Phases[i])
		}
	}
	slices.SortStableFunc(all, func(p, q *model.Phase) int {
		if before(p, q) {
			return -1
		}
		return 1
	})
	return all
}

// NextDue announces the call that lists the items or the init sequence that is to begin, or the first phase that is
// due and had to wait until now: for the filling of the batch, for the init sequence, for
// the fan-out of an earlier phase, for a pause or for a gate. In quiet hours no phase is
// announced.
func NextDue(b *model.Batch, now time.Time) []model.Message {
	if b.IsListing() {
		return nextItems(b)
	}
	first := firstDue(b, now)
	if b.Status == model.BatchDetected && !b.Manual && !b.Filling {
		first = pendingInit(b)
	}
	if first == nil || b.DispatchMode() != model.Running || waitingReason(b, first, now) != "" {
		return nil
	}
	return []model.Message{model.Announce{Phase: first.ID, Page: 1, FanOut: fmt.Sprintf("rev-%d", b.Revision)}}
}

// firstDue returns the next phase if it is due and every phase before it is fanned
// out.
func firstDue(b *model.Batch, now time.Time) *model.Phase {
	if b.Status != model.BatchActive {
		return nil
	}
	var first *model.Phase
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Status == model.PhasePending && due(p, now) && (first == nil || before(p, first)) {
			first = p
		}
	}
	if first == nil || waitsForEarlier(b, first) {
		return nil
	}
	return first
}

// due reports whether the time of a phase has come.
func due(p *model.Phase, now time.Time) bool { return p.DueAt != nil && !p.DueAt.After(now) }

// before tells whether members go through p before q: what an older version began
// comes before what a newer one begins.
func before(p, q *model.Phase) bool {
	if p.Version != q.Version {
		return p.Version < q.Version
	}
	if p.DueAt != nil && q.DueAt != nil && p.OffsetMinutes != q.OffsetMinutes {
		return p.OffsetMinutes > q.OffsetMinutes // not by DueAt: a batch that was rescheduled has two starts
	}
	return p.ID < q.ID
}

// waitsForEarlier tells whether a phase whose time has come must wait because one before it,
// whose time has come then too, is not fanned out: members would enter
// the two in the wrong order.
func waitsForEarlier(b *model.Batch, p *model.Phase) bool {
	for i := range b.Phases {
		q := &b.Phases[i]
		if q.Kind != model.KindPhase || !before(q, p) {
			continue
		}
		if q.Status == model.PhasePending || q.Status == model.PhaseDispatched && !q.FannedOut {
			return true
		}
	}
	return false
}
