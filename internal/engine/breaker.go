package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// system is who pauses a batch whose phase has a stop_when.
const system = "system"

// onFailureCounted pauses the batch if too many members of a phase have failed. If it is
// paused for that phase already, it repeats the follow-ups: the process that paused it
// may have died before them.
func onFailureCounted(b *model.Batch, e model.FailureCounted, now time.Time) model.Decision {
	switch {
	case pauseIfTooManyFailed(b, now):
		return batchChanged(b, Revocation(b)...)
	case b.StoppedBy != 0 && b.StoppedBy == e.Phase:
		return model.Decision{Repeated: true, Messages: Revocation(b)}
	}
	return model.Decision{Stale: true}
}

// StopWhenReached reports whether a phase's stop_when is reached, and the batch not yet paused
// for it: a process died between the failure and the decision on it.
func StopWhenReached(b *model.Batch, now time.Time) bool { return pauseIfTooManyFailed(b.Clone(), now) }

// pauseIfTooManyFailed pauses the batch if the failed members of a phase reach its
// stop_when, and reports whether it did. It does so once: it pauses again only after a resume, and then
// only after as many further failures. It replaces an administrator's pause, so
// that the person who resumes the batch sees the reason.
func pauseIfTooManyFailed(b *model.Batch, now time.Time) bool {
	if b.HasEnded() || b.StoppedBy != 0 {
		return false
	}
	for _, p := range b.Phases {
		if p.StopWhen == nil || p.Status != model.PhaseDispatched || !tooManyFailed(b, p) {
			continue
		}
		why := stopWhenReason(b, p)
		if b.Paused != nil {
			why += "; it was paused by " + b.Paused.By
			if b.Paused.Why != "" {
				why += ": " + b.Paused.Why
			}
		}
		b.Paused, b.StoppedBy = &model.Attribution{By: system, At: now, Why: why}, p.ID
		return true
	}
	return false
}

// stopWhenReason says how many members of a phase have failed, and at how many its stop_when
// pauses the batch.
func stopWhenReason(b *model.Batch, p model.Phase) string {
	why := fmt.Sprintf("phase %s: %d of %d members failed", p.Name, p.FailedSoFar, TakingPart(b, p))
	if p.FailedBefore > 0 {
		why += fmt.Sprintf(", %d of them since the batch was resumed", p.FailedSoFar-p.FailedBefore)
	}
	return why + "; stop_when: " + p.StopWhen.String()
}

// tooManyFailed reports whether the members who have failed in a phase, and were not
// there yet when the batch was last resumed, reach its stop_when.
func tooManyFailed(b *model.Batch, p model.Phase) bool {
	failed := p.FailedSoFar - p.FailedBefore
	if failed < 1 {
		return false
	}
	return p.StopWhen.Failed > 0 && failed >= p.StopWhen.Failed ||
		p.StopWhen.FailedPercent > 0 && reaches(failed, TakingPart(b, p), p.StopWhen.FailedPercent)
}

// TakingPart counts the members who take part in a phase, also those whom its fan-out has
// not come to: all who were not removed and have not failed in a phase before it. Of a
// phase before it that still runs, it knows only the pages that have ended.
func TakingPart(b *model.Batch, p model.Phase) int {
	all := b.Members - b.Removed
	for _, q := range b.Phases {
		if q.Kind == model.KindPhase && before(&q, &p) {
			all -= q.Failed
		}
	}
	return max(all, p.FailedSoFar)
}

// acknowledgeFailures takes the failures for which the batch was paused as known: an
// administrator resumes it.
func acknowledgeFailures(b *model.Batch) {
	if p, ok := b.Phase(b.StoppedBy); ok {
		p.FailedBefore = p.FailedSoFar
	}
	b.StoppedBy = 0
}

// forgetFailure subtracts a retried member from the failed ones.
func forgetFailure(p *model.Phase) {
	if p.StopWhen != nil {
		p.FailedSoFar = max(0, p.FailedSoFar-1)
		p.FailedBefore = min(p.FailedBefore, p.FailedSoFar)
	}
}
