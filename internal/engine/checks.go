package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// The checks of members. They are runs beside the phases, which they do not delay, unless a check is
// required: a member who joins a batch then waits in the checks until they have passed, as in a phase,
// and fails with a required one. A member who has come out of the checks does not wait for them again.

// checksDue asks for the checks of the members of the first page whose checks are not under way, and
// of those behind it. It begins at that page also if members join behind it: the message that asked for
// it may be lost.
func checksDue(b *model.Batch) []model.Message {
	if b.Checks == nil || b.ChecksDispatched() || b.Filling {
		return nil
	}
	return []model.Message{model.Check{Page: b.Checks.Pages + 1}}
}

// ChecksDue asks for the checks of all members again, in case the message that asked for them was
// lost.
func ChecksDue(b *model.Batch, now time.Time) []model.Message {
	if b.Status.Terminal() || b.Checks != nil && now.Sub(b.Checks.At) <= model.SweepGrace {
		return nil
	}
	return checksDue(b)
}

// onChecksRequested has the checks of all members made, by the version that the batch follows.
func onChecksRequested(s model.State, b *model.Batch, e model.ChecksRequested, now time.Time) (model.Decision, error) {
	rb, err := s.LoadRunbook(b.Runbook, b.Version)
	if err != nil {
		return model.Decision{}, err
	}
	if err := RefuseChecks(b, rb); err != nil {
		return model.Decision{}, err
	}
	if b.Checks != nil && b.Checks.Task == e.Task {
		return model.Decision{Repeated: true, Messages: checksDue(b)}, nil
	}
	b.Checks = &model.Checks{Task: e.Task, At: now, By: e.By}
	return batchChanged(b, checksDue(b)...), nil
}

// RefuseChecks refuses to make the checks of a batch that has none, or whose members are not there
// yet, or that has ended; nil otherwise. rb is the version that the batch follows.
func RefuseChecks(b *model.Batch, rb *runbook.Runbook) error {
	switch {
	case b.HasEnded():
		return refuseEnded(b, "its members cannot be checked")
	case len(rb.Checks) == 0:
		return model.Refusef("version %d of runbook %s, which batch %d follows, has no checks", b.Version, b.Runbook, b.ID)
	case b.Filling:
		return model.Refusef("the members of batch %d are being added: they are checked when all are", b.ID)
	}
	return nil
}

// RefuseMemberChecks refuses to make the checks of one member as RefuseChecks does, and of a member who
// was removed; nil otherwise.
func RefuseMemberChecks(b *model.Batch, rb *runbook.Runbook, m *model.Member) error {
	if err := RefuseChecks(b, rb); err != nil {
		return err
	}
	if m.Status == model.MemberRemoved {
		return model.Refusef("%s was removed from batch %d: there is nothing to check", m.Label(), b.ID)
	}
	return nil
}

// onChecksDispatched notes that the checks of the members of the first pages are under way, and asks
// for those of pages that were added meanwhile.
func onChecksDispatched(b *model.Batch, e model.ChecksDispatched) model.Decision {
	switch {
	case b.Checks == nil || b.Checks.Task != e.Task || b.Status.Terminal():
		return model.Decision{Stale: true}
	case b.Checks.Pages >= e.Pages:
		return model.Decision{Repeated: true, Messages: checksDue(b)}
	}
	checks := *b.Checks
	checks.Pages = e.Pages
	b.Checks = &checks
	return batchChanged(b, checksDue(b)...)
}

// onCheckDue makes and starts the run of a member's checks, in place of the one before. A member who
// failed in the checks is retried instead.
func onCheckDue(s model.State, e model.CheckDue, now time.Time) (model.Decision, error) {
	b, err := s.LoadBatch()
	if err != nil {
		return model.Decision{}, err
	}
	m, err := s.LoadMember(e.Member)
	if err != nil {
		return model.Decision{}, err
	}
	before, err := s.LoadRun(model.CheckPhase, m.ID)
	if err != nil {
		return model.Decision{}, err
	}
	waits := m.OpenPhase == model.CheckPhase
	switch {
	case b.Status.Terminal() && !waits:
		return model.Decision{Stale: true}, nil
	case before != nil && CheckedFor(b, before, e.Task): // the process that did may have ended before it started the member's next run
		return model.Decision{Repeated: true, Next: []model.Event{model.OnRun{Phase: model.CheckPhase, Member: m.ID, RunEvent: model.RunMended{}}}}, nil
	case (b.HasEnded() || m.Status == model.MemberRemoved) && !waits, runstate.FailedChecks(m):
		return model.Decision{Stale: true}, nil
	}
	rb, err := s.LoadRunbook(b.Runbook, b.Version)
	if err != nil {
		return model.Decision{}, err
	}
	if len(rb.Checks) == 0 && !waits {
		return model.Decision{Stale: true}, nil
	}
	run, err := runstate.NewChecks(b, m, rb, before, e.Task, now)
	if err != nil {
		return model.Decision{}, err
	}
	entered := *m
	mode := b.DispatchMode()
	if b.Status.Terminal() { // the member is only let go
		mode = model.Cancelled
	}
	return runstate.BeginChecks(s, rb, mode, &run, &entered, now)
}

// CheckedFor reports whether the run of a member's checks was made for a request, or for a request for
// this member after it.
func CheckedFor(b *model.Batch, run *model.Run, task string) bool {
	return run.CheckTask == task || run.Task == task || b.Checks != nil && task == b.Checks.Task && run.CreatedAt.After(b.Checks.At)
}
