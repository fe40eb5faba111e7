package membership

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// StartIfNext starts a waiting run that its member has come to.
func (ms *Registrar) StartIfNext(ctx context.Context, run *model.Run) error {
	if run.Member != 0 {
		m, err := ms.applier.ReadMember(ctx, run.Batch, run.Member)
		if err != nil || m.Doc.OpenPhase != run.Phase {
			return err
		}
	}
	return ms.applier.Decide(ctx, run.Batch, model.OnRun{Phase: run.Phase, Member: run.Member, RunEvent: model.RunStarted{}})
}

// SelectionText says in words who is selected.
func SelectionText(s api.RetrySelection) string {
	var parts []string
	if s.Member != 0 {
		parts = append(parts, fmt.Sprintf("member %d", s.Member))
	}
	for _, p := range []struct{ name, value string }{{"phase", s.Phase}, {"step", s.Step}, {"error", s.Error}} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", p.name, p.value))
		}
	}
	if len(parts) == 0 {
		return "all who failed"
	}
	return strings.Join(parts, ", ")
}

// Selects reports whether a retry selects a failed member.
func Selects(s api.RetrySelection, m store.FailedMember) bool {
	return (s.Member == 0 || s.Member == m.ID) &&
		(s.Phase == "" || strings.EqualFold(s.Phase, m.FailedIn)) &&
		(s.Step == "" || strings.EqualFold(s.Step, m.FailedStep)) &&
		(s.Error == "" || strings.Contains(strings.ToLower(m.Error), strings.ToLower(s.Error)))
}

func FailedMember(m *model.Member) store.FailedMember {
	return store.FailedMember{ID: m.ID, Page: m.Page, Key: m.Key, FailedIn: m.FailedIn, FailedStep: m.FailedStep, Error: m.Error}
}

// SelectsRun reports whether a retry selects init or on_complete steps: never with a member.
func SelectsRun(s api.RetrySelection, r *model.Run) bool {
	failed := slices.ContainsFunc(r.Steps, func(step model.Step) bool {
		return strings.EqualFold(s.Step, step.Name) && (step.Status == model.StepFailed || step.Status == model.StepPollTimeout)
	})
	return s.Member == 0 && (s.Phase == "" || strings.EqualFold(s.Phase, r.PhaseName)) && (s.Step == "" || failed) &&
		(s.Error == "" || strings.Contains(strings.ToLower(r.Error), strings.ToLower(s.Error)))
}

// RetryMember brings one member back, in one write, and starts it.
func (ms *Registrar) RetryMember(ctx context.Context, batch int, m store.Item[model.Member], e model.MemberRetried, audit ...store.Write) error {
	c := applier.On(e)
	c.Extra = func(s *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		b := s.After()
		rb, err := ms.runbooks.Load(ctx, b.Runbook, b.Version)
		if err != nil {
			return nil, err
		}
		// Another batch may have got the member since they failed here.
		taken, err := ms.NewClaimant(batch, rb, e.Task, b.Shared).claim(ctx, []string{m.Doc.Key})
		if err != nil {
			return nil, err
		}
		if len(taken) > 0 {
			return nil, &model.Refusal{Reason: fmt.Sprintf("%s is in %s: remove them there first", taken[0].Key, taken[0].Reason)}
		}
		if ops, _ := s.Writes(); len(ops)+len(audit) > store.MaxOperations {
			return nil, &model.Refusal{Reason: fmt.Sprintf("member %d has missed too many phases to be brought back in one write", m.Doc.ID)}
		}
		return audit, nil
	}
	_, _, err := ms.applier.Run(ctx, batch, c)
	return err
}

// RetrySequence starts a run without a member again.
func (ms *Registrar) RetrySequence(ctx context.Context, run store.Item[model.Run], e model.SequenceRetried, audit ...store.Write) error {
	c := applier.On(e)
	c.Extra = func(_ *applier.Snapshot, ds []model.Decision) (store.Writes, error) {
		if ds[0].Empty() {
			return nil, nil
		}
		return audit, nil
	}
	_, _, err := ms.applier.Run(ctx, run.Doc.Batch, c)
	return err
}
