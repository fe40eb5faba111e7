package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Enter puts a member into a phase execution, or behind the one it is still in,
// and tells whether it may start there at once.
func Enter(m Member, phase int) (Member, bool) {
	if m.OpenPhase == 0 {
		m.OpenPhase = phase
		return m, true
	}
	m.Queue = append(slices.Clone(m.Queue), phase)
	return m, false
}

// Busy reports whether a job of the member that an administrator no longer waits for may
// still run.
func (m *Member) Busy(now time.Time) bool {
	return m.BusyUntil != nil && now.Before(*m.BusyUntil) || m.UndoingUntil != nil && now.Before(*m.UndoingUntil)
}

// leave takes a member out of the phase whose run has ended: what the run's
// workers returned is kept, a failure marks the member, and the next phase in the
// queue is entered. A failed or a removed member enters too, so that its waiting
// runs are ended and counted.
func leave(m *Member, run *Run, now time.Time) *Member {
	next := *m
	if len(run.Outputs) > 0 {
		next.WorkerData = maps.Clone(m.WorkerData)
		if next.WorkerData == nil {
			next.WorkerData = run.Outputs
		} else {
			maps.Copy(next.WorkerData, run.Outputs)
		}
	}
	if run.Status == RunFailed {
		next.Error = clip("phase " + run.PhaseName + ": " + run.Error)
		if m.Status == MemberActive {
			next.Status, next.FailedAt = MemberFailed, &now
			next.FailedIn, next.FailedStep = run.PhaseName, run.failedStep()
		}
	}
	next.OpenPhase = 0
	if len(m.Queue) == 0 {
		return &next
	}
	next.OpenPhase, next.Queue = m.Queue[0], slices.Clone(m.Queue[1:])
	return &next
}

// failedStep names the step that the run failed at.
func (r *Run) failedStep() string {
	if at := r.failedAt(); at >= 0 {
		return r.Steps[at].Name
	}
	return ""
}

// failedAt is the place of the step that the run failed at; -1 for none.
func (r *Run) failedAt() int {
	return slices.IndexFunc(r.Steps, func(s Step) bool {
		return s.Rollback == "" && (s.Status == StepFailed || s.Status == StepPollTimeout)
	})
}

// Count adds a run that ended, and had not yielded, to what its shard has counted.
func (s *Shard) Count(outcome RunStatus) {
	*s.counter(outcome)++
	s.Yielded++
}

func (s *Shard) counter(outcome RunStatus) *int {
	switch outcome {
	case RunSucceeded:
		return &s.Succeeded
	case RunFailed:
		return &s.Failed
	}
	return &s.Cancelled
}

// reopen takes a run that had ended back into what its shard counts as open, and
// the shard's report back from its phase. A run that the shard did not have is
// counted in with an empty outcome.
func reopen(p *Phase, s *Shard, outcome RunStatus, now time.Time) {
	if s.Reported {
		s.Reported = false
		p.ShardsClosed--
		p.Succeeded, p.Failed, p.Cancelled = p.Succeeded-s.Succeeded, p.Failed-s.Failed, p.Cancelled-s.Cancelled
	}
	s.Open++
	if outcome == "" {
		s.Runs++
		s.Yielded++ // a retry does not hold the fan-out up
		s.YieldedAt = &now
	} else {
		*s.counter(outcome)--
	}
	if outcome == RunFailed {
		p.forgetFailure()
	}
	p.reopen()
}

// reopen lets a phase that had ended wait for a run again.
func (p *Phase) reopen() {
	if p.Status.Terminal() {
		p.Status, p.CompletedAt = PhaseDispatched, nil
		if p.Merge != RunFailed { // which stays the reason: they are not run again
			p.Reason = ""
		}
	}
}

// reopen lets a batch that had ended go on.
func (b *Batch) reopen() {
	if b.Status.Terminal() {
		b.Status, b.CompletedAt, b.Error = BatchActive, nil, ""
	}
}

// mostJoining is how many pages of members may be catching up at a time: the batch
// tells of each of them.
const mostJoining = 500

func (b *Batch) joiningWaits() string {
	if b.Paused != nil {
		return "the batch is paused"
	}
	return "they are on their way"
}

// joined adds members of one page to a batch, and the page to what the phases that
// are under way or done wait for. Where there are none the page has nothing to catch
// up on: the walk of the phase that comes next, or of the one that is under way, comes
// to it as to the others.
func joined(b *Batch, e MembersJoined) (Decision, error) {
	if b.hasEnded() {
		return Decision{}, b.refuseEnded("nobody can be added")
	}
	if len(b.Joining) >= mostJoining {
		return Decision{}, refuse("%d pages of members who were added to batch %d have not caught up: add more when they have (%s)", len(b.Joining), b.ID, b.joiningWaits())
	}
	join := Join{Page: b.PageCount() + 1, First: b.Members + 1, Key: e.Key}
	for _, p := range b.behind() {
		join.Phases = append(join.Phases, p.ID)
		p.Shards++
		p.reopen()
	}
	b.Members, b.Pages, b.Shared = b.Members+e.Members, join.Page, b.Shared || e.Shared
	if len(join.Phases) == 0 {
		return changed(b), nil
	}
	b.Joining = append(slices.Clone(b.Joining), join)
	return changed(b, CatchUp{join}), nil
}

// behind gives the newest execution of every phase that has been walked, in the
// order of the phases, whichever version each is of.
func (b *Batch) behind() []*Phase {
	newest := map[string]*Phase{}
	place := map[int]int{} // of an execution among those of its version
	versions := map[int]int{}
	for _, p := range b.inOrder() {
		place[p.ID] = versions[p.Version]
		versions[p.Version]++
		if p.Walked && p.Status != PhaseCancelled {
			newest[p.Name] = p
		}
	}
	return slices.SortedFunc(maps.Values(newest), func(p, q *Phase) int {
		if p.DueAt != nil && q.DueAt != nil {
			return cmp.Or(p.DueAt.Compare(*q.DueAt), place[p.ID]-place[q.ID], p.ID-q.ID)
		}
		return cmp.Or(place[p.ID]-place[q.ID], p.ID-q.ID)
	})
}

// caughtUp notes that a page of late members is where the others are.
func caughtUp(b *Batch, page int, now time.Time) Decision {
	at := slices.IndexFunc(b.Joining, func(j Join) bool { return j.Page == page })
	if at < 0 {
		if len(b.Joining) == 0 {
			return Decision{Stale: true}
		}
		return Decision{Repeated: true, Messages: b.catchUps(FanOutWindow)}
	}
	b.Joining = slices.Delete(slices.Clone(b.Joining), at, at+1)
	_, f := settle(b, now)
	d := changed(b, b.catchUps(FanOutWindow)...)
	d.then(f)
	return d
}

// catchUps announces the first pages of late members that have not caught up, at most so
// many: the ones behind them wait until they have.
func (b *Batch) catchUps(most int) []Message {
	var messages []Message
	for _, j := range b.Joining[:min(most, len(b.Joining))] {
		messages = append(messages, CatchUp{j})
	}
	return messages
}

func (b *Batch) joins(page int) bool {
	return slices.ContainsFunc(b.Joining, func(j Join) bool { return j.Page == page })
}

// joinsBefore reports whether a page of late members has still to come to phases before
// this one.
func (b *Batch) joinsBefore(page, phase int) bool {
	return slices.ContainsFunc(b.Joining, func(j Join) bool { return j.Page == page && !slices.Contains(j.Phases, phase) })
}

// PageCount is how many pages of members the batch has.
func (b *Batch) PageCount() int {
	if b.Pages == 0 && b.Members > 0 {
		return PageOf(b.Members)
	}
	return b.Pages
}

// left removes a member: what is under way for it ends, and the runbook's steps
// for those who leave are run. While the batch is being filled they are not: nothing
// was started for anybody, so there is nothing to undo, and the member is shown as
// removed without a removal.
func left(s State, b *Batch, e MemberLeft, now time.Time) (Decision, error) {
	rb, err := s.LoadRunbook(b.Runbook, b.Version)
	if err != nil {
		return Decision{}, err
	}
	loaded, err := s.LoadMember(e.Member)
	if err != nil {
		return Decision{}, err
	}
	m := *loaded
	switch {
	case m.Status == MemberRemoved:
		return Decision{Repeated: true, Messages: []Message{Remove{&m}}}, nil
	case b.hasEnded():
		return Decision{}, b.refuseEnded("nobody can be removed")
	case m.Status == MemberFailed:
		return Decision{}, refuse("member %d has failed and takes part in nothing more; retry the member, or leave it", m.ID)
	}
	m.Status, m.RemovedAt, m.RemovedBy, m.Leaving = MemberRemoved, &now, e.By, true
	b.Removed++
	d := changed(b, Remove{&m})
	d.Members = []*Member{&m}
	if b.Filling || len(rb.OnMemberRemoved) == 0 {
		m.eraseIfOver()
		return d, nil
	}
	m.Removal = b.removal(now)
	p := &b.Phases[m.Removal-1]
	p.reopen() // a batch that ended and goes on has it as ended
	p.Open++
	return d, nil
}

// removal is the execution of the removal steps for the batch's version, which the
// first member who is removed makes.
func (b *Batch) removal(now time.Time) int {
	for _, p := range b.Phases {
		if p.Kind == KindRemoval && p.Version == b.Version {
			return p.ID
		}
	}
	b.Phases = append(b.Phases, Phase{
		ID: len(b.Phases) + 1, Kind: KindRemoval, Name: "on_member_removed", Version: b.Version,
		Status: PhaseDispatched, DispatchedAt: &now, Walked: true,
	})
	return len(b.Phases)
}

// retried brings a member back who failed: the run that failed begins again at the
// step that did, or at its first where it was rolled back, and the phases that the
// member has missed since wait behind it.
//
// A decision that is taken again, for its message came again, starts the run again.
func retried(s State, b *Batch, e MemberRetried, now time.Time) (Decision, error) {
	loaded, err := s.LoadMember(e.Member)
	if err != nil {
		return Decision{}, err
	}
	runs, err := s.LoadRunsOf(e.Member)
	if err != nil {
		return Decision{}, err
	}
	m := *loaded
	failed, again := findFailed(runs, e.Task)
	switch {
	case again != nil:
		return Decision{Repeated: true, Next: []Event{OnRun{again.Phase, m.ID, RunStarted{}}}}, nil
	case b.Status == BatchCancelling || b.Status == BatchCancelled:
		return Decision{}, refuse("batch %d is cancelled: nothing can be retried", b.ID)
	case m.Status != MemberFailed || failed == nil:
		return Decision{}, refuse("member %d has not failed: it is %s", m.ID, m.Status)
	case m.OpenPhase != 0, b.joins(m.Page): // the runs that waited behind the one that failed are being ended, or its page is catching up
		return Decision{}, ErrNotYet
	}
	run, err := restartFailed(s, failed, &m, e, now)
	if err != nil {
		return Decision{}, err
	}
	m.Status, m.FailedAt, m.Error, m.FailedIn, m.FailedStep = MemberActive, nil, "", "", ""
	m.OpenPhase, m.Queue, m.Claim = run.Phase, nil, e.Task
	d := changed(b)
	d.Members, d.Runs = []*Member{&m}, []*Run{run}
	if err := d.takeBack(s, b, &m, run.Phase, RunFailed, now); err != nil {
		return Decision{}, err
	}
	if err := d.missed(s, b, &m, runs, now); err != nil {
		return Decision{}, err
	}
	b.reopen()
	d.Next = append(d.Next, OnRun{run.Phase, m.ID, RunStarted{}})
	return d, nil
}

// findFailed finds, among a member's runs, the last one of a phase that failed, and the one
// that this task has retried before: also where it has ended, since what follows from that may
// have been cut short.
func findFailed(runs []*Run, task string) (failed, again *Run) {
	for _, r := range runs {
		switch {
		case r.Kind != KindPhase:
			continue
		case r.Task == task:
			return nil, r
		case r.Status == RunFailed:
			failed = r
		}
	}
	return failed, nil
}

// restartFailed readies a member's run that failed to begin again, with the step that failed
// resolved first where an administrator says so.
func restartFailed(s State, failed *Run, m *Member, e MemberRetried, now time.Time) (*Run, error) {
	rb, err := s.LoadRunbook(failed.Runbook, failed.Version)
	if err != nil {
		return nil, err
	}
	run, at := failed.clone(), failed.failedAt()
	run.restart(e.Task)
	if err := run.needErased(rb, m, at, e.Resolve); err != nil {
		return nil, err
	}
	return run, run.settle(rb, at, e.Resolve, now)
}

// missed queues the phases that began after the one that the member failed in, and
// those that were ended for the member, who had failed before coming to them.
func (d *Decision) missed(s State, b *Batch, m *Member, runs []*Run, now time.Time) error {
	for _, p := range b.inOrder() {
		if p.DispatchedAt == nil || p.Status == PhaseCancelled {
			continue
		}
		at := slices.IndexFunc(runs, func(r *Run) bool { return r.Phase == p.ID })
		outcome := RunStatus("")
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
			rb, err := s.LoadRunbook(b.Runbook, p.Version)
			if err != nil {
				return err
			}
			next, err := NewRun(b, *p, m, rb, now)
			if err != nil {
				return err
			}
			next.Yielded = true
			d.Runs = append(d.Runs, &next)
		case runs[at].Status == RunCancelled:
			next := runs[at].clone()
			outcome = next.Status
			next.restart("")
			d.Runs = append(d.Runs, next)
		default:
			continue
		}
		m.Queue = append(m.Queue, p.ID)
		if err := d.takeBack(s, b, m, p.ID, outcome, now); err != nil {
			return err
		}
	}
	return nil
}

// takeBack reopens the member's shard of a phase.
func (d *Decision) takeBack(s State, b *Batch, m *Member, phase int, outcome RunStatus, now time.Time) error {
	shard, err := s.LoadShard(phase, m.Page)
	if err != nil {
		return err
	}
	if shard == nil {
		return ErrNotYet
	}
	next := *shard
	p, _ := b.Phase(phase)
	reopen(p, &next, outcome, now)
	d.Shards = append(d.Shards, &next)
	if next.HasYielded() && !shard.HasYielded() { // no run that ends announces the next page any more
		d.Next = append(d.Next, ShardCounted{Phase: phase, Page: m.Page, Again: true})
	}
	return nil
}

// restart readies a run that ended to be started again: at the step that failed,
// or at the first where what came before it was undone. A step that was skipped
// stays so.
func (r *Run) restart(task string) {
	first := slices.IndexFunc(r.Steps, func(s Step) bool {
		return s.Rollback == "" && s.Status != StepSucceeded && s.Status != StepSkipped
	})
	if r.RolledBack || first < 0 {
		first = 0
	}
	for i := first; i < len(r.Steps); i++ {
		if s := &r.Steps[i]; s.Rollback == "" && s.Status != StepSkipped {
			if s.DispatchedAt != nil {
				s.Round++
			}
			s.Status, s.JobID, s.Result, s.Error, s.Resolved = StepPending, "", nil, "", nil
			s.DispatchedAt, s.CompletedAt, s.RetryAfter, s.Postponed, s.QueuedUntil = nil, nil, nil, false, nil
			s.PollStartedAt, s.LastPolledAt, s.RetriesBefore = nil, nil, s.RetryCount
		}
	}
	r.Status, r.Current, r.EndedAt, r.Error, r.LastEvent, r.Next = RunWaiting, first, nil, "", "", 0
	r.RolledBack, r.Task = false, task
}

func (r *Run) nameOf(step int) string {
	if step < 0 || step >= len(r.Steps) {
		return fmt.Sprint(step)
	}
	return r.Steps[step].Name
}
