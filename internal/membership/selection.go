package membership

import (
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// SelectionText describes a retry selection for people.
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
		return "all failed members"
	}
	return strings.Join(parts, ", ")
}

// Selects reports whether a retry selects a failed member. It compares names in any case.
func Selects(s api.RetrySelection, m store.FailedMember) bool {
	return (s.Member == 0 || s.Member == m.ID) &&
		(s.Phase == "" || strings.EqualFold(s.Phase, m.FailedIn)) &&
		(s.Step == "" || strings.EqualFold(s.Step, m.FailedStep)) &&
		(s.Error == "" || strings.Contains(strings.ToLower(m.Error), strings.ToLower(s.Error)))
}

// FailedMember gives the fields of a member that a retry selects by.
func FailedMember(m *model.Member) store.FailedMember {
	return store.FailedMember{ID: m.ID, Page: m.Page, Key: m.Key, FailedIn: m.FailedIn, FailedStep: m.FailedStep, Error: m.Error}
}

// SelectsRun reports whether a retry selects a failed run of init or on_complete steps. A
// selection with a member selects none. rb is the version that the run follows.
func SelectsRun(s api.RetrySelection, rb *runbook.Runbook, r *model.Run) bool {
	failed := false
	for i, step := range r.Steps {
		if step.Status == model.StepFailed || step.Status == model.StepPollTimeout {
			definition, err := r.Definition(rb, i)
			failed = failed || err == nil && strings.EqualFold(s.Step, definition.Name)
		}
	}
	return s.Member == 0 && (s.Phase == "" || strings.EqualFold(s.Phase, r.PhaseName)) && (s.Step == "" || failed) &&
		(s.Error == "" || strings.Contains(strings.ToLower(r.Error), strings.ToLower(s.Error)))
}
