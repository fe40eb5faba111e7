package runstate

import (
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// NewChecks makes the run of a member's checks, in place of the one before, if there is one. What is
// in flight of that only reads: its results change nothing any more. The counts of its steps go on,
// so that the ids of jobs and messages stay unique.
func NewChecks(b *model.Batch, m *model.Member, rb *runbook.Runbook, before *model.Run, task string, now time.Time) (model.Run, error) {
	p := model.Phase{ID: model.CheckPhase, Kind: model.KindCheck, Name: runbook.ChecksName, Version: b.Version}
	run, err := New(b, p, m, rb, now)
	if err != nil {
		return model.Run{}, err
	}
	run.CheckTask, run.Holds = task, m.OpenPhase == model.CheckPhase
	for i := range run.Steps {
		s := &run.Steps[i]
		s.Required = rb.Checks[i].Require
		if before == nil || i >= len(before.Steps) {
			continue
		}
		old := before.Steps[i]
		s.Round, s.Attempts, s.PollCount, s.RetryCount, s.RetriesBefore = old.Round+1, old.Attempts, old.PollCount, old.RetryCount, old.RetryCount
	}
	return run, nil
}

// BeginChecks starts the run of a member's checks. It writes the member only if they wait for the
// run.
func BeginChecks(s model.State, rb *runbook.Runbook, mode model.DispatchMode, run *model.Run, m *model.Member, now time.Time) (model.Decision, error) {
	t, err := newTransition(transition{state: s, rb: rb, mode: mode, run: run, member: m, memberChanged: run.Holds, now: now})
	if err != nil {
		return model.Decision{}, err
	}
	t.run.LastEvent = EventStart
	if err := t.start(); err != nil {
		return model.Decision{}, err
	}
	return t.decision()
}

// aside reports whether the run is of checks that its member does not wait for.
func (t *transition) aside() bool { return t.run.Kind == model.KindCheck && !t.run.Holds }

// noteBatchEnd cancels a run of checks for which no member waits if its batch has ended, or its member
// has left. Neither waits for it: the next result, poll, retry or deadline ends it.
func (t *transition) noteBatchEnd() error {
	if !t.aside() || t.run.Status.Terminal() {
		return nil
	}
	m, err := t.loadMember()
	if err != nil {
		return err
	}
	if m.Status == model.MemberRemoved && t.run.CancelReason == "" {
		t.run.CancelReason = model.ReasonRemoved
		return nil
	}
	b, err := t.state.LoadBatch()
	if err == nil && b.Status.Terminal() && t.run.CancelReason == "" && t.mode != model.Cancelled {
		t.run.CancelReason = model.ReasonEnded
	}
	return err
}

// failedChecks says which checks of the run failed, and why, the required ones first; empty where
// none did.
func (t *transition) failedChecks() string {
	if t.run.Kind != model.KindCheck {
		return ""
	}
	var required, others []string
	for i, s := range t.run.Steps {
		text := fmt.Sprintf("step %q: %s", t.definitions[i].Name, s.Error)
		switch {
		case !s.Status.Failed():
		case s.Required:
			required = append(required, text)
		default:
			others = append(others, text)
		}
	}
	return model.ClipReason(strings.Join(append(required, others...), "; "))
}

// FailedChecks reports whether a member failed in the checks.
func FailedChecks(m *model.Member) bool {
	return m.Status == model.MemberFailed && m.FailedIn == runbook.ChecksName
}
