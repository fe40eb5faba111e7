package engine

import (
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// maxEarlierStarts is how many earlier starts a batch keeps that rows of its data source still have.
const maxEarlierStarts = 20

// onBatchRescheduled moves the phases that have not started to another start. The others, and members
// who are in them, continue. An announcement for the time before finds its phase not due.
func onBatchRescheduled(b *model.Batch, e model.BatchRescheduled, now time.Time) (model.Decision, error) {
	start := e.Start.UTC()
	switch {
	case b.HasEnded():
		return model.Decision{}, refuseEnded(b, "it cannot be rescheduled")
	case b.Manual:
		return model.Decision{}, model.Refusef("batch %d has no schedule: you start each phase of a manual batch with an advance", b.ID)
	case b.Requested != nil:
		return model.Decision{}, model.Refusef("batch %d was started by a request: it has no schedule", b.ID)
	case b.StartTime.Equal(start):
		return model.Decision{Repeated: true, Messages: NextDue(b, now)}, nil
	case !slices.ContainsFunc(b.Phases, movable):
		return model.Decision{}, model.Refusef("all phases of batch %d have started: no phase is left to reschedule", b.ID)
	case len(b.EarlierStarts) >= maxEarlierStarts:
		return model.Decision{}, model.Refusef("batch %d was rescheduled %d times, and the data source still has all earlier times: correct the data source first", b.ID, len(b.EarlierStarts))
	}
	by := e.By
	b.EarlierStarts = slices.DeleteFunc(append(slices.Clone(b.EarlierStarts), b.StartTime.UTC()), start.Equal)
	b.StartTime, b.Rescheduled = &start, &by
	if h := b.RemovalHold; h != nil && h.Confirmed == nil && h.MovesTo.Equal(start) { // this is the answer to it
		b.RemovalHold = nil
	}
	for i := range b.Phases {
		if p := &b.Phases[i]; movable(*p) {
			due := start.Add(-time.Duration(p.OffsetMinutes) * time.Minute)
			p.DueAt, p.Reason = &due, ""
			if p.Approved != nil && needsSecondApprover(b, p, p.Approved.By) { // who approved it requests it now
				p.Approved = nil
			}
		}
	}
	updateWaitingReason(b, now)
	return batchChanged(b, NextDue(b, now)...), nil
}

// movable reports whether another start moves a phase.
func movable(p model.Phase) bool {
	return p.Kind == model.KindPhase && p.Status == model.PhasePending && p.DueAt != nil
}

// onEarlierStartsReleased gives up earlier starts that rows of the data source have no more.
func onEarlierStartsReleased(b *model.Batch, e model.EarlierStartsReleased) model.Decision {
	left := slices.DeleteFunc(slices.Clone(b.EarlierStarts), func(start time.Time) bool {
		return slices.ContainsFunc(e.Starts, start.Equal)
	})
	if b.HasEnded() || len(left) == len(b.EarlierStarts) {
		return model.Decision{Stale: true}
	}
	b.EarlierStarts = left
	return batchChanged(b)
}

// PhaseMove is the effect of another start of a batch on one of its phases that has not started.
type PhaseMove struct {
	Phase      model.Phase // as it would be
	From       time.Time   // when it is due now
	QuietUntil *time.Time  // when the quiet hours end that keep it from starting; nil for none
}

// ForeseeReschedule tells what another start would make of a batch now, as [Decide] takes it: nothing is
// changed. Moves are in the order of the phases.
func ForeseeReschedule(b *model.Batch, e model.BatchRescheduled, now time.Time) (next *model.Batch, moves []PhaseMove, err error) {
	d, err := Decide(model.MemoryState{Batch: b}, e, now)
	if err != nil {
		return nil, nil, err
	}
	if next = d.Batch; next == nil {
		next = b
	}
	for _, p := range inOrder(next) {
		if !movable(*p) {
			continue
		}
		was, _ := b.Phase(p.ID)
		move := PhaseMove{Phase: *p, From: *was.DueAt}
		if end, quiet := quietUntil(next, p, now); quiet {
			end = end.UTC()
			move.QuietUntil = &end
		}
		moves = append(moves, move)
	}
	return next, moves, nil
}
