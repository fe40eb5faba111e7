package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// The detached steps of a phase. They have an execution of their own, which is added when the phase has
// ended. No phase waits for it and the batch does not: it can end first. The batch that has ended is swept
// until they have ended, too, and expires only then.

// beginDetached adds an execution for the detached steps of each phase that has ended, once: members who
// are retried later do not begin them again. It returns the events that start them. Detached steps use what
// the on_complete steps before them give, so that they wait for a retry of those if they failed.
//
// A batch that is cancelled begins none: its phases may be ended by a repeated event. A shadow begins none
// either: no one gets its result.
func beginDetached(b *model.Batch, now time.Time) (next []model.Event) {
	if b.DispatchMode() == model.Cancelled || b.IsShadow() {
		return nil
	}
	for i := range b.Phases {
		p := b.Phases[i]
		ended := p.Status == model.PhaseCompleted || p.Status == model.PhaseFailed
		if !p.Detached || p.DetachedPhase != 0 || !ended || p.Succeeded+p.Failed+p.Cancelled == 0 || !onCompleteSucceeded(&p) {
			continue
		}
		id := len(b.Phases) + 1
		b.Phases[i].DetachedPhase = id
		b.Phases = append(b.Phases, model.Phase{
			ID: id, Kind: model.KindDetached, Name: p.Name + " (detached)", Version: p.Version, Of: p.ID, Status: model.PhaseDispatched, DispatchedAt: &now,
			Counts: &model.Counts{Members: p.Succeeded + p.Failed + p.Cancelled, Succeeded: p.Succeeded, Failed: p.Failed, Cancelled: p.Cancelled},
		})
		next = append(next, startSequence(id))
	}
	return next
}

// onCompleteSucceeded reports whether the on_complete steps of a phase that are not detached have
// succeeded, or there are none.
func onCompleteSucceeded(p *model.Phase) bool {
	return !p.OnComplete || p.OnCompleteStatus == model.RunSucceeded
}

// restartDetached starts the detached steps of a phase whose first job may not have been sent.
func restartDetached(b *model.Batch, p *model.Phase) []model.Event {
	d, ok := b.Phase(p.DetachedPhase)
	if !ok || !d.SequenceUnsent() {
		return nil
	}
	return []model.Event{startSequence(d.ID)}
}

// releaseDetached lets detached steps go on that were paused with their batch, which has ended.
func releaseDetached(b *model.Batch, paused bool) []model.Message {
	if !paused || !b.HasOpenDetached() {
		return nil
	}
	b.ReleaseRevision = b.Revision
	return []model.Message{model.Release{}}
}

// endDetached carries the end of detached steps over to their execution, and to nothing else.
func endDetached(p *model.Phase, run *model.Run, now time.Time) {
	p.FannedOut, p.CompletedAt, p.Status = true, &now, model.PhaseCompleted
	switch run.Status {
	case model.RunCancelled:
		p.Status = model.PhaseCancelled
	case model.RunFailed:
		p.Status, p.Reason = model.PhaseFailed, run.Error
	}
}
