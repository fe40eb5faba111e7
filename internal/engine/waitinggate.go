package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// WaitingGate returns the phase that a gate holds back, with the reason and the time since when; nil if
// there is none. In a batch that follows its schedule the phase is due. In a manual batch it is the next
// one, and none is in progress.
func WaitingGate(b *model.Batch, now time.Time) (p *model.Phase, reason string, since time.Time) {
	if b.HasEnded() || b.Filling {
		return nil, "", since
	}
	if b.Manual {
		p, since = nextByHand(b)
	} else if p = firstDue(b, now); p != nil {
		since = *p.DueAt
	}
	if p == nil {
		return nil, "", since
	}
	if reason = gateReason(b, p); reason == "" {
		return nil, "", since
	}
	return p, reason, since
}

// nextByHand returns the phase that an administrator would advance a batch to, and when the phase
// before it ended; nil while a phase is in progress.
func nextByHand(b *model.Batch) (*model.Phase, time.Time) {
	since := b.DetectedAt
	for i := range b.Phases {
		p := &b.Phases[i]
		switch {
		case p.Kind == model.KindRemoval, p.Kind == model.KindDetached:
		case p.Status == model.PhaseDispatched, p.Status == model.PhasePending && p.Kind == model.KindInit:
			return nil, since
		case p.CompletedAt != nil && p.CompletedAt.After(since):
			since = *p.CompletedAt
		}
	}
	for _, p := range inOrder(b) {
		if p.Status == model.PhasePending {
			return p, since
		}
	}
	return nil, since
}
