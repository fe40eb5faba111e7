package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// onBatchPaused keeps a batch from dispatching anything more for now.
func onBatchPaused(b *model.Batch, by model.Attribution) (model.Decision, error) {
	switch {
	case b.HasEnded():
		return model.Decision{}, refuseEnded(b, "it cannot be paused")
	case b.Paused != nil:
		return model.Decision{Repeated: true, Messages: Revocation(b)}, nil
	}
	b.Paused = &by
	return batchChanged(b, Revocation(b)...), nil
}

// onBatchResumed lets a paused batch go on: its paused runs, the phases that were being fanned
// out or fell due, and the members who were catching up.
func onBatchResumed(b *model.Batch, now time.Time) (model.Decision, error) {
	if b.HasEnded() {
		return model.Decision{}, refuseEnded(b, "it cannot be resumed")
	}
	d := batchChanged(b)
	if b.Paused == nil {
		d = model.Decision{Repeated: true}
	}
	if b.Paused != nil {
		b.ReleaseRevision = b.Revision
	}
	b.Paused = nil
	acknowledgeFailures(b)
	d.Messages = []model.Message{model.Release{}}
	for _, p := range b.Phases {
		if p.Status == model.PhaseDispatched && !p.FannedOut && p.Kind != model.KindDetached {
			d.Messages = append(d.Messages, model.Announce{Phase: p.ID, Page: 1, FanOut: fmt.Sprintf("rev-%d", b.Revision)})
		}
	}
	for _, j := range b.Joining {
		d.Messages = append(d.Messages, model.CatchUp{Join: j})
	}
	d.Messages = append(d.Messages, NextDue(b, now)...)
	return d, nil
}

// onBatchCancelRequested cancels a batch: no further work begins, and work under way ends.
func onBatchCancelRequested(b *model.Batch, by model.Attribution, now time.Time) (model.Decision, error) {
	switch {
	case b.Status == model.BatchCancelled:
		return model.Decision{Repeated: true}, nil
	case b.Status == model.BatchCancelling:
		return model.Decision{Repeated: true, Messages: append(Revocation(b), model.CancelRuns{})}, nil
	case b.Status.Terminal():
		return model.Decision{}, refuseEnded(b, "it cannot be cancelled")
	}
	begun := b.Checks != nil && !b.Filling || slices.ContainsFunc(b.Phases, func(p model.Phase) bool { return p.DispatchedAt != nil })
	b.ReleaseRevision = b.Revision
	b.Status, b.Cancelled, b.Paused, b.Filling, b.RemovalHold, b.StoppedBy = model.BatchCancelling, &by, nil, false, nil, 0
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Status == model.PhasePending {
			p.Status, p.CompletedAt, p.Reason = model.PhaseCancelled, &now, model.ReasonCancelled
		}
	}
	if !begun && len(b.Moves) == 0 {
		b.Status, b.CompletedAt = model.BatchCancelled, &now
		return batchChanged(b), nil
	}
	return batchChanged(b, append(Revocation(b), model.CancelRuns{})...), nil
}

// onBatchDrained ends a cancelled batch of which no run is open.
func onBatchDrained(b *model.Batch, now time.Time) model.Decision {
	if b.Status == model.BatchCancelled {
		return model.Decision{Repeated: true}
	}
	removing := slices.ContainsFunc(b.Phases, func(p model.Phase) bool { return p.Kind == model.KindRemoval && p.Open > 0 })
	if b.Status != model.BatchCancelling || removing || len(b.Moves) > 0 { // a removal's run may be yet to be made; members who move are not in their batch
		return model.Decision{Stale: true}
	}
	b.Status, b.CompletedAt = model.BatchCancelled, &now
	for i := range b.Phases {
		p := &b.Phases[i]
		switch {
		case p.Status.Terminal():
		case p.Kind == model.KindRemoval:
			p.Status, p.CompletedAt = model.PhaseCompleted, &now
		case p.Kind == model.KindPhase && p.FannedOut && p.ShardsClosed >= p.Shards && p.Cancelled == 0 && onCompleteEnded(p):
			completePhase(p, now)
		default:
			p.Status, p.CompletedAt, p.Reason = model.PhaseCancelled, &now, model.ReasonCancelled
		}
	}
	return batchChanged(b)
}
