package engine

import (
	"errors"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// onMemberRetried brings a member back who failed: the run that failed begins again at the
// step that did, or at its first where it was rolled back, and the phases that the
// member has missed since wait behind it.
//
// A decision that is taken again, for its message came again, starts the run again.
func onMemberRetried(s model.State, b *model.Batch, e model.MemberRetried, now time.Time) (model.Decision, error) {
	loaded, err := s.LoadMember(e.Member)
	if err != nil {
		return model.Decision{}, err
	}
	runs, err := s.LoadRunsOf(e.Member)
	if err != nil {
		return model.Decision{}, err
	}
	m := *loaded
	failed, again := findFailed(runs, e.Task)
	switch {
	case again != nil:
		return model.Decision{Repeated: true, Next: []model.Event{model.OnRun{Phase: again.Phase, Member: m.ID, RunEvent: model.RunStarted{}}}}, nil
	case b.Status == model.BatchCancelling || b.Status == model.BatchCancelled:
		return model.Decision{}, model.Refusef("batch %d is cancelled: nothing can be retried", b.ID)
	case m.Status != model.MemberFailed || failed == nil:
		return model.Decision{}, model.Refusef("member %d has not failed: it is %s", m.ID, m.Status)
	case m.OpenPhase != 0, b.IsJoining(m.Page): // the runs that waited behind the one that failed are being ended, or its page is catching up
		return model.Decision{}, model.ErrNotYet
	}
	run, err := restartFailed(s, failed, &m, e, now)
	if err != nil {
		return model.Decision{}, err
	}
	m.Status, m.FailedAt, m.Error, m.FailedIn, m.FailedStep = model.MemberActive, nil, "", "", ""
	m.FailedAs, m.FailedBy, m.Undone = "", 0, false
	m.OpenPhase, m.Queue, m.Claim = run.Phase, nil, e.Task
	if run.Kind == model.KindCheck {
		b.FailedChecks = max(0, b.FailedChecks-1)
	}
	d := batchChanged(b)
	d.Members, d.Runs = []*model.Member{&m}, []*model.Run{run}
	if run.Kind == model.KindPhase {
		if err := reopenShardOf(&d, s, b, &m, run.Phase, model.RunFailed, now); err != nil {
			return model.Decision{}, err
		}
	}
	if err := queueMissedPhases(&d, s, b, &m, runs, e.RetryOptions, now); err != nil {
		return model.Decision{}, err
	}
	reopenBatch(b)
	d.Next = append(d.Next, model.OnRun{Phase: run.Phase, Member: m.ID, RunEvent: model.RunStarted{}})
	return d, nil
}

// findFailed finds, among a member's runs, the last one of a phase or of checks that failed the member, and
// the one that this task has retried before: also where it has ended, since what follows from that may
// have been cut short. Checks that only warn failed no member.
func findFailed(runs []*model.Run, task string) (failed, again *model.Run) {
	for _, r := range runs {
		switch {
		case r.Kind != model.KindPhase && !r.Holds:
			continue
		case r.Task == task:
			return nil, r
		case r.FailsMember():
			failed = r
		}
	}
	return failed, nil
}

// restartFailed readies a member's run that failed to begin again, with the step that failed
// resolved first where an administrator says so.
func restartFailed(s model.State, failed *model.Run, m *model.Member, e model.MemberRetried, now time.Time) (*model.Run, error) {
	run, at := failed.Clone(), failed.FailedAt()
	rb, err := restart(s, run, e.RetryOptions, e.Task)
	if err != nil {
		return nil, err
	}
	if run.Version != failed.Version {
		runstate.NoteAbandoned(failed, m, now)
	}
	if err := runstate.RefuseErased(run, rb, m, at, e.Resolve); err != nil {
		return nil, err
	}
	return run, runstate.ResolveFailed(run, rb, at, e.Resolve, now)
}

// restart readies a run to begin again, and returns the version that it follows then.
func restart(s model.State, run *model.Run, o model.RetryOptions, task string) (*runbook.Runbook, error) {
	rb, err := s.LoadRunbook(run.Runbook, run.Version)
	if err != nil {
		return nil, err
	}
	if o.Version == 0 {
		o.Version = run.Version
	}
	if o.Version == run.Version && o.From == "" {
		runstate.Restart(run, task)
		return rb, nil
	}
	next, err := s.LoadRunbook(run.Runbook, o.Version)
	if err != nil {
		return nil, err
	}
	return next, runstate.RestartAs(run, rb, next, o.Version, o.From, task)
}

// queueMissedPhases queues the phases that began after the one that the member failed in, and
// those that were ended for the member, who had failed before coming to them. They follow the version
// of the retry, too, if it has the phase.
func queueMissedPhases(d *model.Decision, s model.State, b *model.Batch, m *model.Member, runs []*model.Run, o model.RetryOptions, now time.Time) error {
	for _, p := range inOrder(b) {
		if p.DispatchedAt == nil || p.Status == model.PhaseCancelled || m.Skips(p) {
			continue
		}
		at := slices.IndexFunc(runs, func(r *model.Run) bool { return r.Phase == p.ID })
		outcome := model.RunStatus("")
		switch {
		case at < 0:
			shard, err := s.LoadShard(p.ID, m.Page)
			if err != nil {
				return err
			}
			if shard == nil {
				// The member's page came later and has no part in the phase, or the fan-out
				// comes to it later, and to the member with it.
				continue
			}
			next, err := newMissedRun(s, b, *p, m, o, now)
			if err != nil {
				return err
			}
			next.Yielded = true
			d.Runs = append(d.Runs, &next)
		case runs[at].Status == model.RunCancelled:
			next := runs[at].Clone()
			outcome = next.Status
			if _, err := restart(s, next, model.RetryOptions{Version: o.Version}, ""); err != nil {
				if refusal := (*model.Refusal)(nil); !errors.As(err, &refusal) {
					return err
				}
				runstate.Restart(next, "") // the version of the retry does not have the phase
			}
			d.Runs = append(d.Runs, next)
		default:
			continue
		}
		m.Queue = append(m.Queue, p.ID)
		if err := reopenShardOf(d, s, b, m, p.ID, outcome, now); err != nil {
			return err
		}
	}
	return nil
}

// newMissedRun makes the run of a phase that began after the member had failed.
func newMissedRun(s model.State, b *model.Batch, p model.Phase, m *model.Member, o model.RetryOptions, now time.Time) (model.Run, error) {
	rb, err := s.LoadRunbook(b.Runbook, p.Version)
	if err != nil {
		return model.Run{}, err
	}
	if o.Version != 0 && o.Version != p.Version {
		next, err := s.LoadRunbook(b.Runbook, o.Version)
		if err != nil {
			return model.Run{}, err
		}
		if _, ok := next.Phase(p.Name); ok {
			rb, p.Version = next, o.Version
		}
	}
	return runstate.New(b, p, m, rb, now)
}

// reopenShardOf reopens the member's shard of a phase.
func reopenShardOf(d *model.Decision, s model.State, b *model.Batch, m *model.Member, phase int, outcome model.RunStatus, now time.Time) error {
	shard, err := s.LoadShard(phase, m.Page)
	if err != nil {
		return err
	}
	if shard == nil {
		return model.ErrNotYet
	}
	next := *shard
	p, _ := b.Phase(phase)
	reopenShard(p, &next, outcome, now)
	d.Shards = append(d.Shards, &next)
	if next.HasYielded() && !shard.HasYielded() { // no run that ends announces the next page any more
		d.Next = append(d.Next, model.ShardCounted{Phase: phase, Page: m.Page, Again: true})
	}
	return nil
}

// onSequenceRetried begins a run without a member again, at the step that failed.
func onSequenceRetried(s model.State, b *model.Batch, e model.SequenceRetried, now time.Time) (model.Decision, error) {
	failed, err := s.LoadRun(e.Phase, 0)
	if err != nil {
		return model.Decision{}, err
	}
	p, ok := b.Phase(e.Phase)
	if !ok || failed == nil {
		return model.Decision{}, model.Refusef("batch %d has no init, items, on_complete or detached steps in phase execution %d", b.ID, e.Phase)
	}
	switch {
	case failed.Task == e.Task:
		return model.Decision{Repeated: true, Next: []model.Event{startSequence(e.Phase)}}, nil
	case failed.Status != model.RunFailed:
		return model.Decision{}, model.Refusef("the %s steps of batch %d have not failed", failed.Label(), b.ID)
	case b.DispatchMode() == model.Cancelled:
		return model.Decision{}, model.Refusef("batch %d is cancelled: nothing can be retried", b.ID)
	case p.Kind == model.KindInit && (failureBeforePhases(b) == "" || slices.ContainsFunc(b.Phases[p.ID:], func(q model.Phase) bool { return q.Kind == model.KindInit })):
		return model.Decision{}, model.Refusef("the failed init steps of batch %d belong to version %d, and a newer version replaced them", b.ID, p.Version)
	}
	run := failed.Clone()
	at := run.FailedAt()
	rb, err := restart(s, run, e.RetryOptions, e.Task)
	if err != nil {
		return model.Decision{}, err
	}
	if err := CheckListVersion(run.Kind, failed.Version, run.Version); err != nil {
		return model.Decision{}, err
	}
	if run.Version != failed.Version && runstate.HasAbandoned(failed, now) {
		return model.Decision{}, model.ErrNotYet // the run forgets them, and there is no member who knows
	}
	if err := runstate.ResolveFailed(run, rb, at, e.Resolve, now); err != nil {
		return model.Decision{}, err
	}
	if run.Kind == model.KindOnComplete {
		p.OnCompleteStatus, p.OnCompleteSent = model.RunRunning, false
	} else {
		p.FannedOut = false
	}
	reopenPhase(p)
	if run.Kind != model.KindDetached { // which the batch does not wait for
		reopenBatch(b)
	}
	switch run.Kind {
	case model.KindInit:
		b.Status, b.Error = model.BatchInitDispatched, ""
		bringPhasesBack(b)
	case model.KindItems:
		b.Status, b.Error, b.Filling = model.BatchDetected, "", true
		bringPhasesBack(b)
	}
	d := batchChanged(b)
	d.Runs, d.Next = []*model.Run{run}, []model.Event{startSequence(run.Phase)}
	return d, nil
}

// CheckListVersion refuses to list the items of a batch under another version than its phases have: the items would be
// checked for steps that do not run, and the result be taken for one of the other version.
func CheckListVersion(kind model.PhaseKind, failed, version int) error {
	if kind != model.KindItems || version == failed {
		return nil
	}
	return model.Refusef("the phases of the batch run under version %d, and so must the call that lists its items: send another request for version %d", failed, version)
}

// bringPhasesBack lets the phases wait again that were not to begin since init failed.
func bringPhasesBack(b *model.Batch) {
	for i := range b.Phases {
		if p := &b.Phases[i]; cancelledBeforeStart(b, p) {
			p.Status, p.CompletedAt, p.Reason = model.PhasePending, nil, ""
		}
	}
}
