package engine

import (
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// endPhases ends the phases whose runs have all ended and the batch whose phases
// have. It tells whether anything changed, and what follows.
func endPhases(b *model.Batch, now time.Time) (changed bool, f followUp) {
	if b.Status == model.BatchCancelling { // it ends when no run is open
		return false, followUp{}
	}
	if pauseIfTooManyFailed(b, now) { // before the phase ends and the next one begins
		changed, f.Messages = true, Revocation(b)
	}
	for i := range b.Phases {
		p := &b.Phases[i]
		if p.Kind != model.KindPhase || p.Status != model.PhaseDispatched || !p.FannedOut || p.ShardsClosed < p.Shards || p.OnCompleteStatus == model.RunRunning {
			continue
		}
		changed = true
		if p.OnComplete && p.OnCompleteStatus == "" && p.Succeeded+p.Failed+p.Cancelled > 0 {
			p.OnCompleteStatus = model.RunRunning
			p.Counts = &model.Counts{Members: p.Succeeded + p.Failed + p.Cancelled, Succeeded: p.Succeeded, Failed: p.Failed, Cancelled: p.Cancelled}
			f.Next = append(f.Next, startSequence(p.ID))
			continue
		}
		completePhase(p, now)
	}
	begun := beginDetached(b, now)
	f.Next = append(f.Next, begun...)
	changed = len(begun) > 0 || changed
	paused := b.Paused != nil
	if endBatch(b, now) {
		changed = true
		f.Messages = append(f.Messages, releaseDetached(b, paused)...)
	}
	changed = updateWaitingReason(b, now) || changed
	f.Messages = append(f.Messages, NextDue(b, now)...)
	return changed, f
}

// completePhase ends a phase whose members have all ended.
func completePhase(p *model.Phase, now time.Time) {
	p.CompletedAt = &now
	p.Status = model.PhaseFailed
	switch {
	case p.OnCompleteStatus == model.RunFailed: // whose end told the reason
	case p.Succeeded+p.Carried > 0:
		p.Status = model.PhaseCompleted
	case p.Failed == 0:
		p.Reason = "no active member was left to take part"
	}
}

// endBatch ends a batch whose phases have all ended, and reports whether it did. Members who are
// being moved keep it open until another batch has them.
func endBatch(b *model.Batch, now time.Time) bool {
	if b.Status != model.BatchActive || len(b.Joining) > 0 || len(b.Moves) > 0 || b.RemovalHold.Moved() || slices.ContainsFunc(b.Phases, keepsBatchOpen) {
		return false
	}
	b.Ended, b.CompletedAt, b.Status, b.Paused, b.RemovalHold, b.Error = true, &now, model.BatchFailed, nil, nil, failureReason(b)
	b.StoppedBy = 0
	if b.Error == "" {
		b.Status = model.BatchCompleted
	}
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Kind == model.KindRemoval && !p.Status.Terminal() {
			p.Status, p.CompletedAt = model.PhaseCompleted, &now
		}
	}
	return true
}

// keepsBatchOpen reports whether a batch with this phase execution has not ended.
func keepsBatchOpen(p model.Phase) bool {
	switch p.Kind {
	case model.KindRemoval:
		return p.Open > 0
	case model.KindDetached:
		return false
	}
	return !p.Status.Terminal()
}

// failureReason says why a batch has failed whose phases have all ended; empty where it has not: a
// phase completed.
func failureReason(b *model.Batch) string {
	if reason := failureBeforePhases(b); reason != "" {
		return reason
	}
	var failed []string
	for _, p := range b.Phases {
		switch {
		case p.Kind == model.KindPhase && p.Status == model.PhaseCompleted:
			return ""
		case (p.Kind == model.KindPhase || p.Kind == model.KindInit) && p.Status == model.PhaseFailed:
			failed = append(failed, p.Name)
		}
	}
	reason := "no phase completed"
	if len(failed) > 0 {
		reason += "; failed: " + strings.Join(failed, ", ")
	}
	if p, ok := b.Phase(b.StoppedBy); ok {
		// The members in flight at the stop have ended the phase, and the batch was not resumed.
		reason += "; stopped: " + stopWhenReason(b, *p)
	}
	return model.ClipReason(reason)
}

// onCompleteEnded tells whether the phase's on_complete steps have ended, or there are none
// to run.
func onCompleteEnded(p *model.Phase) bool {
	if !p.OnComplete || p.OnCompleteStatus == "" && p.Succeeded+p.Failed+p.Cancelled == 0 {
		return true
	}
	return p.OnCompleteStatus == model.RunSucceeded || p.OnCompleteStatus == model.RunFailed
}
