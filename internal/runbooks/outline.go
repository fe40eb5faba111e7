package runbooks

import (
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
)

// outliner makes the outline of a runbook.
type outliner struct {
	position func(path []any) (line, column int)
}

// outline gives the parts of a runbook that was read from a text. A runbook with errors has zero values
// in the places of what could not be read.
func outline(text []byte, rb *runbook.Runbook) *api.RunbookOutline {
	o := outliner{lint.Positions(text)}
	view := &api.RunbookOutline{Name: rb.Name, Source: source(rb), Sections: []api.OutlineSection{}, Columns: []api.OutlineColumn{}, Workers: append([]string{}, rb.Workers()...), Quiet: rb.QuietHours != nil}
	add := func(kind, name string, steps []runbook.Step, path ...any) {
		if len(steps) > 0 {
			view.Sections = append(view.Sections, api.OutlineSection{Kind: kind, Name: name, Line: o.line(path), Steps: o.steps(steps, path...)})
		}
	}
	if rb.ListsItems() {
		s, line := rb.Request.Source, o.line([]any{"items", "source"})
		view.Sections = append(view.Sections, api.OutlineSection{
			Kind: api.SectionItems, Name: runbook.ItemsName, Line: line,
			Steps: []api.OutlineStep{{Name: s.Name, Line: line, WorkerID: s.WorkerID, Function: s.Function, Polls: s.Poll != nil}},
		})
	}
	add(api.SectionChecks, runbook.ChecksName, rb.Checks, "checks")
	add(api.SectionInit, "init", rb.Init, "init")
	for i, p := range rb.Phases {
		s := api.OutlineSection{
			Kind: api.SectionPhase, Name: p.Name, Line: o.line([]any{"phases", i}), Offset: p.Offset.String(),
			Approval: p.Approval, SecondApprover: p.SecondApprover, RequireSuccess: p.RequireSuccess,
			StopWhen: p.StopWhen.String(), When: p.When.String(),
			Steps: o.steps(p.Steps, "phases", i, "steps"), OnComplete: o.steps(p.OnComplete, "phases", i, "on_complete"),
		}
		view.Sections = append(view.Sections, s)
	}
	add(api.SectionRemoval, "on_member_removed", rb.OnMemberRemoved, "on_member_removed")
	for _, name := range slices.Sorted(maps.Keys(rb.Rollbacks)) {
		add(api.SectionRollback, name, rb.Rollbacks[name], "rollbacks", name)
	}
	for _, name := range rb.Columns() {
		if name != "" { // the primary key, if it could not be read
			view.Columns = append(view.Columns, api.OutlineColumn{Name: name, Optional: rb.Optional(name)})
		}
	}
	rb.EachStep(func(s runbook.Step, _ []any) {
		view.Outputs = slices.AppendSeq(view.Outputs, maps.Keys(s.OutputParams))
	})
	slices.Sort(view.Outputs)
	view.Outputs = slices.Compact(view.Outputs)
	return view
}

// source is the type of the data source that is queried, or empty.
func source(rb *runbook.Runbook) string {
	if rb.DataSource.Queried() {
		return rb.DataSource.Type
	}
	return ""
}

func (o outliner) line(path []any) int {
	line, _ := o.position(path)
	return line
}

func (o outliner) steps(steps []runbook.Step, path ...any) []api.OutlineStep {
	list := []api.OutlineStep{}
	for i, s := range steps {
		list = append(list, api.OutlineStep{
			Name: s.Name, Line: o.line(append(slices.Clone(path), i)), WorkerID: s.WorkerID, Function: s.Function,
			When: s.When.String(), Polls: s.Poll != nil, OnFailure: s.OnFailure,
		})
	}
	return list
}
