package engine

import (
	"slices"
	"time"
)

// What follows from the end of runs without a member: the init sequence and the
// on_complete steps.

// endOfBatchRun carries the end of a run without a member over to the batch.
func endOfBatchRun(b *Batch, run *Run, now time.Time) ([]Message, []Event) {
	p, ok := b.Phase(run.Phase)
	if !ok || p.Status != PhaseDispatched {
		return nil, nil
	}
	b.Revision++
	if run.Kind == KindOnComplete {
		p.Merge = run.Status
		if run.Status == RunFailed {
			p.Reason = clip("on_complete: " + run.Error)
		}
		_, f := settle(b, now)
		return f.Messages, f.Next
	}
	f := endInit(b, p, run, now)
	return f.Messages, f.Next
}

func initError(reason string) string { return "init failed: " + reason }

func endInit(b *Batch, p *Phase, run *Run, now time.Time) followUp {
	p.Walked, p.CompletedAt = true, &now
	switch run.Status {
	case RunSucceeded:
		p.Status = PhaseCompleted
	case RunCancelled:
		p.Status = PhaseCancelled
	default:
		p.Status, p.Reason = PhaseFailed, run.Error
	}
	next := b.pendingInit()
	switch {
	case b.Status == BatchCancelling: // it ends when no run is open
		return followUp{}
	case next != nil: // of a newer version: it is what counts
		b.Status = BatchDetected
		return followUp{Messages: NextDue(b, now)}
	case p.Status == PhaseFailed:
		return initFailed(b, p, now)
	}
	// Where init was run again for a new version, the phases may all have ended.
	b.Status = BatchActive
	_, f := settle(b, now)
	return f
}

// initFailed fails a batch: nothing new begins. What is under way is finished first:
// removals, and where init was run again for a new version, what the one before it
// has begun.
func initFailed(b *Batch, p *Phase, now time.Time) followUp {
	b.Status, b.Error = BatchActive, initError(p.Reason)
	for i := range b.Phases {
		if q := &b.Phases[i]; q.Status == PhasePending {
			q.Status, q.CompletedAt, q.Reason = PhaseCancelled, &now, b.Error
		}
	}
	_, f := settle(b, now)
	return f
}

// initFailure says why init failed for good; empty where it did not, or a newer
// version has its own or went on without.
func (b *Batch) initFailure() string {
	reason := ""
	for _, p := range b.Phases {
		switch {
		case p.Kind == KindInit && p.Status == PhaseFailed:
			reason = initError(p.Reason)
		case p.Kind == KindInit || p.Kind == KindPhase && p.DispatchedAt != nil:
			reason = ""
		}
	}
	return reason
}

// pendingInit is the init sequence that has not begun.
func (b *Batch) pendingInit() *Phase {
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Kind == KindInit && p.Status == PhasePending {
			return p
		}
	}
	return nil
}

// sequenceRetried begins a run without a member again, at the step that failed.
func sequenceRetried(s State, b *Batch, e SequenceRetried, now time.Time) (Decision, error) {
	failed, err := s.LoadRun(e.Phase, 0)
	if err != nil {
		return Decision{}, err
	}
	p, ok := b.Phase(e.Phase)
	if !ok || failed == nil {
		return Decision{}, refuse("batch %d has no steps without a member in phase execution %d", b.ID, e.Phase)
	}
	switch {
	case failed.Task == e.Task:
		return Decision{Repeated: true, Next: []Event{startSequence(e.Phase)}}, nil
	case failed.Status != RunFailed:
		return Decision{}, refuse("the %s steps of batch %d have not failed", failed.who(), b.ID)
	case b.Gate() == Stopped:
		return Decision{}, refuse("batch %d is cancelled: nothing can be retried", b.ID)
	case p.Kind == KindInit && (b.initFailure() == "" || slices.ContainsFunc(b.Phases[p.ID:], func(q Phase) bool { return q.Kind == KindInit })):
		return Decision{}, refuse("the init steps of batch %d that failed are of version %d, and a newer one has its own or went on without", b.ID, p.Version)
	}
	rb, err := s.LoadRunbook(failed.Runbook, failed.Version)
	if err != nil {
		return Decision{}, err
	}
	run := failed.clone()
	at := run.failedAt()
	run.restart(e.Task)
	if err := run.settle(rb, at, e.Resolve, now); err != nil {
		return Decision{}, err
	}
	if run.Kind == KindOnComplete {
		p.Merge, p.MergeSent = RunRunning, false
	}
	p.reopen()
	b.reopen()
	if run.Kind == KindInit {
		b.Status, b.Error = BatchInitDispatched, ""
		b.bringBack()
	}
	d := changed(b)
	d.Runs, d.Next = []*Run{run}, []Event{startSequence(run.Phase)}
	if run.Kind == KindOnComplete {
		d.Next = startMerge(run.Phase)
	}
	return d, nil
}

// bringBack lets the phases wait again that were not to begin since init failed.
func (b *Batch) bringBack() {
	for i := range b.Phases {
		if p := &b.Phases[i]; b.stoppedByInit(p) {
			p.Status, p.CompletedAt, p.Reason = PhasePending, nil, ""
		}
	}
}

// stoppedByInit reports whether a phase of the batch's version was cancelled before it began,
// because init had failed.
func (b *Batch) stoppedByInit(p *Phase) bool {
	return p.Kind == KindPhase && p.Version == b.Version && p.Status == PhaseCancelled && p.DispatchedAt == nil
}
