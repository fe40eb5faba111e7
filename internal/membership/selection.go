package membership

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/errorgroup"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// SelectionText describes the selection of a repair for people.
func SelectionText(s api.Selection) string {
	var parts []string
	switch n := len(s.Members); {
	case n == 1:
		parts = append(parts, fmt.Sprintf("member %d", s.Members[0]))
	case n > maxListed:
		parts = append(parts, humanize.Count(n, "member"))
	case n > 1:
		parts = append(parts, "members "+listIDs(s.Members))
	}
	switch n := len(s.Steps); {
	case n == 1:
		parts = append(parts, fmt.Sprintf("step %d", s.Steps[0]))
	case n > 1:
		parts = append(parts, humanize.Count(n, "step"))
	}
	for _, p := range []struct{ name, value string }{{"status", s.Status}, {"phase", s.Phase}, {"step", s.Step}, {"error", s.Error}, {"error group", s.ErrorGroup}, {"text", s.Search}} {
		if p.value != "" {
			parts = append(parts, fmt.Sprintf("%s %q", p.name, p.value))
		}
	}
	if len(parts) == 0 {
		return "all failed members"
	}
	return strings.Join(parts, ", ")
}

// maxListed is how many numbers of members a text has at most.
const maxListed = 10

// SelectFailed returns those of the failed members of a batch whom a repair selects. Where it selects
// by steps, it reads the failed runs of the pages of those whom the other fields select.
func (r *Registrar) SelectFailed(ctx context.Context, batch int, s api.Selection, failed []store.FailedMember) ([]store.FailedMember, error) {
	var selected []store.FailedMember
	pages := map[int]bool{}
	for _, m := range failed {
		if Selects(s, m) && (len(s.Steps) == 0 || stepOf(s.Steps, m.ID)) {
			selected, pages[m.Page] = append(selected, m), true
		}
	}
	if len(s.Steps) == 0 {
		return selected, nil
	}
	at := map[int]bool{} // members who failed at one of the steps
	for page := range pages {
		runs, err := r.store.RunsOfPage(ctx, batch, page, store.RunSelection{Statuses: []model.RunStatus{model.RunFailed}})
		if err != nil {
			return nil, err
		}
		for _, run := range runs {
			if SelectsStep(s, &run.Doc) {
				at[run.Doc.Member] = true
			}
		}
	}
	return slices.DeleteFunc(selected, func(m store.FailedMember) bool { return !at[m.ID] }), nil
}

// stepOf reports whether one of the steps is a member's.
func stepOf(steps []int64, member int) bool {
	return slices.ContainsFunc(steps, func(id int64) bool {
		_, of, _, err := model.ParseStepID(id)
		return err == nil && of == member
	})
}

// SelectsStep reports whether a repair selects a run that failed by the step at which it did.
func SelectsStep(s api.Selection, run *model.Run) bool {
	at := run.FailedAt()
	return len(s.Steps) == 0 || at >= 0 && slices.Contains(s.Steps, run.StepID(at))
}

// Selects reports whether a repair selects a failed member, apart from the steps that it names. It
// compares names in any case.
func Selects(s api.Selection, m store.FailedMember) bool {
	return (len(s.Members) == 0 || slices.Contains(s.Members, m.ID)) &&
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
