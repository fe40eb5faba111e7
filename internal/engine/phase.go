package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// onPhaseDue dispatches a phase whose time has come. While the batch is being filled,
// the init sequence runs, an earlier phase that is due has not reached all members, the
// batch is paused, a gate is closed or it is quiet, it stays pending: what it waits for
// announces it in the end (see NextDue), but for the end of quiet hours, which nothing
// tells but the clock (see StartsAt).
func onPhaseDue(b *model.Batch, e model.PhaseDue, now time.Time) (model.Decision, error) {
	p, ok := b.Phase(e.Phase)
	page := max(e.Page, 1)
	switch {
	case !ok || p.Kind == model.KindRemoval || p.Kind == model.KindDetached:
		return model.Decision{}, model.Refusef("batch %d has no phase execution %d", b.ID, e.Phase)
	case b.Filling && p.Kind != model.KindItems, b.DispatchMode() != model.Running:
		return model.Decision{Stale: true}, nil
	case p.Kind == model.KindPhase && page > b.PageCount()+FanOutWindow:
		return model.Decision{}, model.Refusef("batch %d has %d pages of members, not %d", b.ID, b.PageCount(), page)
	case p.Kind == model.KindPhase && page > max(1, b.PageCount()): // one of the last pages has yielded
		return model.Decision{Stale: true}, nil
	case p.Status == model.PhaseDispatched && !p.FannedOut:
		return model.Decision{Repeated: page == 1, Next: fanOut(b, p, page, e.FanOut)}, nil
	case !isReady(b, p, now):
		return model.Decision{Stale: true}, nil
	}
	if reason := waitingReason(b, p, now); reason != "" {
		if reason == p.Reason {
			return model.Decision{Stale: true}, nil
		}
		p.Reason = reason
		return batchChanged(b), nil
	}
	dispatchPhase(b, p, now)
	d := batchChanged(b)
	d.Next = fanOut(b, p, page, e.FanOut)
	return d, nil
}

// isReady reports whether the batch has come to a phase, which is pending: no init sequence of an
// earlier version runs, its time has come, and no phase before it has still to reach all members.
func isReady(b *model.Batch, p *model.Phase, now time.Time) bool {
	switch {
	case p.Status != model.PhasePending, b.Status.Terminal():
		return false
	case p.DueAt != nil && now.Before(p.DueAt.Add(-model.ClockSlack)): // the message is of the time before the batch was rescheduled
		return false
	case p.Kind.PrecedesPhases():
		return b.Status == model.BatchDetected
	}
	return b.Status == model.BatchActive && !waitsForEarlier(b, p)
}

// fanOut gives the events that bring a dispatched phase to a page of members, or a sequence
// before the phases to its run. Late members enter the phases in their order. From its start on that
// run sees to itself: announcing the sequence again would send a slow first step to the worker a
// second time.
func fanOut(b *model.Batch, p *model.Phase, page int, name string) []model.Event {
	if p.Kind.PrecedesPhases() {
		return []model.Event{startSequence(p.ID)}
	}
	var next []model.Event
	if b.IsJoining(page) {
		next = append(next, model.CatchUpDue{Page: page})
	}
	return append(next, model.PageDue{Phase: p.ID, Page: page}, model.PageFannedOut{Phase: p.ID, Page: page, FanOut: name})
}

// dispatchPhase begins a phase, or an init sequence.
func dispatchPhase(b *model.Batch, p *model.Phase, now time.Time) {
	p.Status, p.DispatchedAt, p.Reason = model.PhaseDispatched, &now, ""
	if p.Kind == model.KindInit {
		b.Status, b.InitDispatchedAt = model.BatchInitDispatched, &now
	}
	b.CurrentPhase = p.Name
}

// endFanOut ends the fan-out of a phase to the pages of members after the last page.
func endFanOut(b *model.Batch, e model.PageFannedOut, now time.Time) model.Decision {
	p, ok := b.Phase(e.Phase)
	switch {
	case !ok || p.Status != model.PhaseDispatched:
		return model.Decision{Stale: true}
	case p.FannedOut:
		return repeatPhaseEnd(b, e.Phase, now)
	}
	p.FannedOut, p.Shards = true, e.Page
	_, f := endPhases(b, now)
	d := batchChanged(b)
	appendFollowUp(&d, f)
	return d
}

// onPhaseCounted ends what the count of a shard, or of a removal run, ends.
func onPhaseCounted(b *model.Batch, e model.PhaseCounted, now time.Time) model.Decision {
	if ended, f := endPhases(b, now); ended {
		d := batchChanged(b)
		appendFollowUp(&d, f)
		return d
	}
	return repeatPhaseEnd(b, e.Phase, now)
}

// repeatPhaseEnd asks again for what follows from the end of a phase's members, where it was cut
// short.
func repeatPhaseEnd(b *model.Batch, phase int, now time.Time) model.Decision {
	d := model.Decision{Messages: NextDue(b, now)}
	p, ok := b.Phase(phase)
	if !ok {
		return d
	}
	if p.OnCompleteStatus == model.RunRunning && p.Status == model.PhaseDispatched {
		d.Next = []model.Event{startSequence(phase)}
	}
	d.Next = append(d.Next, restartDetached(b, p)...)
	d.Repeated = d.Next != nil || p.Status.Terminal()
	return d
}

// onSequenceSent notes that the first job of init, on_complete or detached steps is sent. Until then the
// tick starts them again: what began them need not come again, for example where the last member
// of a phase was removed, or where another delivery of the message completed it too early.
func onSequenceSent(b *model.Batch, e model.SequenceSent) model.Decision {
	p, ok := b.Phase(e.Phase)
	switch {
	case !ok || !p.SequenceUnsent():
		return model.Decision{Stale: true}
	case p.Kind.IsSequence():
		p.FannedOut = true
	default:
		p.OnCompleteSent = true
	}
	return batchChanged(b)
}

// startSequence starts the init sequence, or the on_complete or detached steps of a phase. SequenceSent
// follows when the run is stored.
func startSequence(phase int) model.Event {
	return model.OnRun{Phase: phase, RunEvent: model.RunStarted{}}
}
