package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// What follows from the end of runs without a member: the init sequence, the
// on_complete steps and the detached steps. The call that lists the items is in items.go.

// onSequenceEnded carries the end of a run without a member over to the batch.
func onSequenceEnded(b *model.Batch, run *model.Run, now time.Time) ([]model.Message, []model.Event) {
	p, ok := b.Phase(run.Phase)
	if !ok || p.Status != model.PhaseDispatched {
		return nil, nil
	}
	b.Revision++
	var f followUp
	switch run.Kind {
	case model.KindInit:
		f = endInit(b, p, run, now)
	case model.KindItems:
		f = endItems(b, p, run, now)
	case model.KindOnComplete:
		f = endOnComplete(b, p, run, now)
	case model.KindDetached:
		endDetached(p, run, now)
	}
	return f.Messages, f.Next
}

// endOnComplete carries the end of the on_complete steps of a phase over to the batch.
func endOnComplete(b *model.Batch, p *model.Phase, run *model.Run, now time.Time) followUp {
	p.OnCompleteStatus = run.Status
	if run.Status == model.RunFailed {
		p.Reason = model.ClipReason("on_complete: " + run.Error)
	}
	_, f := endPhases(b, now)
	return f
}

// initError is the error of a batch whose init sequence failed.
func initError(reason string) string { return "init failed: " + reason }

// endExecution ends the execution of a run before all phases as the run ended.
func endExecution(p *model.Phase, run *model.Run, now time.Time) {
	p.FannedOut, p.CompletedAt = true, &now
	switch run.Status {
	case model.RunSucceeded:
		p.Status = model.PhaseCompleted
	case model.RunCancelled:
		p.Status = model.PhaseCancelled
	default:
		p.Status, p.Reason = model.PhaseFailed, run.Error
	}
}

// endInit carries the end of an init sequence over to the batch.
func endInit(b *model.Batch, p *model.Phase, run *model.Run, now time.Time) followUp {
	endExecution(p, run, now)
	next := pendingInit(b)
	switch {
	case b.Status == model.BatchCancelling: // it ends when no run is open
		return followUp{}
	case next != nil: // of a newer version: it is what counts
		b.Status = model.BatchDetected
		return followUp{Messages: NextDue(b, now)}
	case p.Status == model.PhaseFailed:
		return failBeforePhases(b, initError(p.Reason), now)
	}
	// Where init was run again for a new version, the phases may all have ended.
	b.Status = model.BatchActive
	_, f := endPhases(b, now)
	return f
}

// failBeforePhases fails a batch: no further work begins. Work under way ends first:
// removals, and phases of the previous version if a new version ran init again.
func failBeforePhases(b *model.Batch, reason string, now time.Time) followUp {
	b.Status, b.Error = model.BatchActive, model.ClipReason(reason)
	for i := range b.Phases {
		if q := &b.Phases[i]; q.Status == model.PhasePending {
			q.Status, q.CompletedAt, q.Reason = model.PhaseCancelled, &now, b.Error
		}
	}
	_, f := endPhases(b, now)
	return f
}

// failureBeforePhases says why init, or the call that lists the items, failed for good; empty where neither did, or a newer
// version has its own or went on without.
func failureBeforePhases(b *model.Batch) string {
	reason := ""
	for _, p := range b.Phases {
		switch {
		case p.Kind == model.KindItems && p.Status == model.PhaseFailed:
			return itemsError(p.Reason)
		case p.Kind == model.KindInit && p.Status == model.PhaseFailed:
			reason = initError(p.Reason)
		case p.Kind == model.KindInit || p.Kind == model.KindPhase && p.DispatchedAt != nil:
			reason = ""
		}
	}
	return reason
}

// pendingInit is the init sequence that has not begun.
func pendingInit(b *model.Batch) *model.Phase {
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Kind == model.KindInit && p.Status == model.PhasePending {
			return p
		}
	}
	return nil
}

// cancelledBeforeStart reports whether a phase of the batch's version, or its init sequence, was cancelled before it began,
// because init or the call that lists the items had failed.
func cancelledBeforeStart(b *model.Batch, p *model.Phase) bool {
	return (p.Kind == model.KindPhase || p.Kind == model.KindInit) && p.Version == b.Version && p.Status == model.PhaseCancelled && p.DispatchedAt == nil
}
