package membership

import (
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/errorgroup"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// SelectionText describes the selection of a repair for people.
func SelectionText(s api.Selection) string {
	var parts []string
	if s.Member != 0 {
		parts = append(parts, fmt.Sprintf("member %d", s.Member))
	}
	for _, p := range []struct{ name, value string }{{"status", s.Status}, {"phase", s.Phase}, {"step", s.Step}, {"error", s.Error}, {"error group", s.ErrorGroup}} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", p.name, p.value))
		}
	}
	if len(parts) == 0 {
		return "all failed members"
	}
	return strings.Join(parts, ", ")
}

// Selects reports whether a repair selects a failed member. It compares names in any case.
func Selects(s api.Selection, m store.FailedMember) bool {
	return (s.Member == 0 || s.Member == m.ID) &&
		(s.Status == "" || s.Status == string(m.FailedAs)) &&
		(s.Phase == "" || strings.EqualFold(s.Phase, m.FailedIn)) &&
		(s.Step == "" || strings.EqualFold(s.Step, m.FailedStep)) &&
		(s.Error == "" || strings.Contains(strings.ToLower(m.Error), strings.ToLower(s.Error))) &&
		(s.ErrorGroup == "" || errorgroup.Same(s.ErrorGroup, StepError(m), m.Key))
}

// ErrorGroup is the group of the error of the step at which a member failed.
func ErrorGroup(m store.FailedMember) string { return errorgroup.Of(StepError(m), m.Key) }

// StepError is the error of the step at which a member failed.
func StepError(m store.FailedMember) string {
	text := strings.TrimPrefix(m.Error, "phase "+m.FailedIn+": ")
	return strings.TrimPrefix(text, fmt.Sprintf("step %q: ", m.FailedStep))
}

// FailedSequence is a failed run of init or on_complete steps, as a repair selects it. rb is the
// version that the run follows.
func FailedSequence(rb *runbook.Runbook, r *model.Run) store.FailedMember {
	m := store.FailedMember{Key: r.Label(), FailedIn: r.PhaseName, FailedBy: r.Version, Undone: r.RolledBack, Error: r.Error}
	if at := r.FailedAt(); at >= 0 {
		m.FailedAs = r.Steps[at].Status
		if d, err := r.Definition(rb, at); err == nil {
			m.FailedStep = d.Name
		}
	}
	return m
}
