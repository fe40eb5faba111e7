package engine

import (
	"fmt"
	"slices"
	"time"
)

// paused keeps a batch from dispatching anything more for now.
func paused(b *Batch, by Mark) (Decision, error) {
	switch {
	case b.hasEnded():
		return Decision{}, b.refuseEnded("it cannot be paused")
	case b.Paused != nil:
		return Decision{Repeated: true, Messages: b.Revocation()}, nil
	}
	b.Paused = &by
	return changed(b, b.Revocation()...), nil
}

// dispatchLag is how long after a pause or a cancellation is stored a process may still
// dispatch jobs of the batch: it remembers for a second that the batch was open, and its
// clock may be ahead.
const dispatchLag = 5 * time.Second

// Until extends a revocation to all that was dispatched before its batch was stored as
// paused or cancelled, at the latest now.
func (r Revoke) Until(now time.Time) Revoke {
	if through := now.UTC().Add(dispatchLag); through.After(r.Through) {
		r.Through = through
	}
	return r
}

// Revocation is what tells the workers that the batch is paused or cancelled, as the
// message that brings it about; nil where it is neither.
func (b *Batch) Revocation() []Message {
	switch {
	case b.Cancelled != nil && b.hasEnded():
		return []Message{Revoke{Through: b.Cancelled.At.Add(dispatchLag)}}
	case b.Paused != nil:
		return []Message{Revoke{Through: b.Paused.At.Add(dispatchLag)}}
	}
	return nil
}

// resumed lets a paused batch go on: the runs that were held, the phases that were
// being walked or fell due, and the members who were catching up.
func resumed(b *Batch, now time.Time) (Decision, error) {
	if b.hasEnded() {
		return Decision{}, b.refuseEnded("it cannot be resumed")
	}
	d := changed(b)
	if b.Paused == nil {
		d = Decision{Repeated: true}
	}
	b.Paused = nil
	b.acknowledge()
	d.Messages = []Message{Release{}}
	for _, p := range b.Phases {
		if p.Status == PhaseDispatched && !p.Walked {
			d.Messages = append(d.Messages, Announce{Phase: p.ID, Page: 1, Again: fmt.Sprintf("rev-%d", b.Revision)})
		}
	}
	for _, j := range b.Joining {
		d.Messages = append(d.Messages, CatchUp{j})
	}
	d.Messages = append(d.Messages, NextDue(b, now)...)
	return d, nil
}

// stopped cancels a batch: nothing more begins, and what is under way is ended.
func stopped(b *Batch, by Mark, now time.Time) (Decision, error) {
	switch {
	case b.Status == BatchCancelled:
		return Decision{Repeated: true}, nil
	case b.Status == BatchCancelling:
		return Decision{Repeated: true, Messages: append(b.Revocation(), Stop{})}, nil
	case b.Status.Terminal():
		return Decision{}, b.refuseEnded("it cannot be cancelled")
	}
	begun := slices.ContainsFunc(b.Phases, func(p Phase) bool { return p.DispatchedAt != nil })
	b.Status, b.Cancelled, b.Paused, b.Filling, b.Held, b.StoppedBy = BatchCancelling, &by, nil, false, nil, 0
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Status == PhasePending {
			p.Status, p.CompletedAt, p.Reason = PhaseCancelled, &now, batchCancelled
		}
	}
	if !begun {
		b.Status, b.CompletedAt = BatchCancelled, &now
		return changed(b), nil
	}
	return changed(b, append(b.Revocation(), Stop{})...), nil
}

// drained ends a cancelled batch of which no run is open.
func drained(b *Batch, now time.Time) Decision {
	removing := slices.ContainsFunc(b.Phases, func(p Phase) bool { return p.Kind == KindRemoval && p.Open > 0 })
	if b.Status != BatchCancelling || removing { // a removal's run may be yet to be made
		return Decision{Stale: true}
	}
	b.Status, b.CompletedAt = BatchCancelled, &now
	for i := range b.Phases {
		p := &b.Phases[i]
		switch {
		case p.Status.Terminal():
		case p.Kind == KindRemoval:
			p.Status, p.CompletedAt = PhaseCompleted, &now
		case p.Kind == KindPhase && p.Walked && p.ShardsClosed >= p.Shards && p.Cancelled == 0 && p.merged():
			p.complete(now)
		default:
			p.Status, p.CompletedAt, p.Reason = PhaseCancelled, &now, batchCancelled
		}
	}
	return changed(b)
}

// merged tells whether the phase's on_complete steps have ended, or there are none
// to run.
func (p *Phase) merged() bool {
	if !p.OnComplete || p.Merge == "" && p.Succeeded+p.Failed+p.Cancelled == 0 {
		return true
	}
	return p.Merge == RunSucceeded || p.Merge == RunFailed
}

// versionPublished takes a batch over to a newer version of its runbook: what was
// pending is superseded, and the new version's phases come in its place. What is
// under way ends under the version that began it.
//
// A phase is past due where its time has come or, in a manual batch, where it was
// advanced to. Such a phase is skipped, unless it is to be run again, or the one that
// it takes the place of was due and still waited, or was cancelled because init failed:
// nobody has been through it. A batch that ended once stays with its version, though a retry opens it again.
//
// One that is still being filled is as if it had been made with the newer version:
// nobody has been through anything, so nothing of it is skipped, init neither.
func versionPublished(s State, b *Batch, e VersionPublished, now time.Time) (Decision, error) {
	if b.Ended || b.hasEnded() || e.Version <= b.Version {
		return Decision{Stale: true}, nil
	}
	rb, err := s.LoadRunbook(b.Runbook, e.Version)
	if err != nil {
		return Decision{}, err
	}
	initPending := b.Filling || b.pendingInit() != nil || b.initFailure() != ""
	passed, waited := b.supersede(e.Version, now)
	b.Version, b.Error = e.Version, ""
	if len(rb.Init) > 0 && (initPending || e.RerunInit) {
		b.addInit(e.Version)
		if b.Status == BatchActive {
			b.Status = BatchDetected
		}
	} else if b.Status == BatchDetected && !b.Filling {
		b.Status = BatchActive
	}
	first := len(b.Phases) // never 0: the version before had phases
	b.addPhases(rb, e.Version)
	if !e.Rerun && !b.Filling {
		b.skipPastDue(first, passed, waited, now)
	}
	_, f := settle(b, now)
	d := changed(b)
	d.then(f)
	return d, nil
}

// supersede ends the phases that are pending, in whose place those of a newer version come. By
// name, passed are the phases that the batch has been in or has skipped, and waited those that
// were due and had not begun.
func (b *Batch) supersede(version int, now time.Time) (passed, waited map[string]bool) {
	passed, waited = map[string]bool{}, map[string]bool{}
	for i := range b.Phases {
		p := &b.Phases[i]
		passed[p.Name] = passed[p.Name] || p.Kind == KindPhase && (p.DispatchedAt != nil || p.Status == PhaseSkipped)
		if p.Kind == KindPhase && (p.Status == PhasePending || b.stoppedByInit(p)) {
			waited[p.Name] = due(p, now)
		}
		if p.Status == PhasePending {
			p.Status, p.CompletedAt, p.Reason = PhaseSuperseded, &now, fmt.Sprintf("superseded by version %d", version)
		}
	}
	return passed, waited
}

// skipPastDue skips the new version's phases, which begin at an index, that are past due.
func (b *Batch) skipPastDue(first int, passed, waited map[string]bool, now time.Time) {
	for i := first; i < len(b.Phases); i++ {
		p := &b.Phases[i]
		if !waited[p.Name] && (due(p, now) || b.Manual && passed[p.Name]) {
			p.Status, p.CompletedAt, p.Reason = PhaseSkipped, &now, fmt.Sprintf("past due when version %d was published", b.Version)
		}
	}
}
