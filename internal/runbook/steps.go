package runbook

import (
	"fmt"
	"maps"
	"slices"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// EachStep visits all steps of the runbook, each with its path in the text.
func (r *Runbook) EachStep(visit func(s Step, path []any)) {
	steps := func(list []Step, path ...any) {
		for i, s := range list {
			visit(s, append(slices.Clone(path), i))
		}
	}
	if r.ListsItems() {
		visit(r.Request.Source.Step, []any{"items", "source"})
	}
	steps(r.Checks, "checks")
	steps(r.Init, "init")
	for i, p := range r.Phases {
		steps(p.Steps, "phases", i, "steps")
		steps(p.OnComplete, "phases", i, "on_complete")
	}
	steps(r.OnMemberRemoved, "on_member_removed")
	for _, name := range slices.Sorted(maps.Keys(r.Rollbacks)) {
		steps(r.Rollbacks[name], "rollbacks", name)
	}
}

// UsesOutputs reports whether a step uses the outputs of a phase's members by reference.
func (r *Runbook) UsesOutputs() (uses bool) {
	r.EachStep(func(s Step, _ []any) { uses = uses || s.UsesOutputs() })
	return uses
}

// UsesOutputs reports whether the step uses the outputs of the phase's members by reference.
func (s Step) UsesOutputs() bool {
	return slices.Contains(template.References(s.Function), VariableOutputs) || slices.Contains(template.References(s.Params), VariableOutputs) ||
		s.When != nil && slices.Contains(s.When.Names(), VariableOutputs)
}

// Workers are the ids of the workers that the runbook's steps name, sorted.
func (r *Runbook) Workers() []string {
	var ids []string
	r.EachStep(func(s Step, _ []any) {
		if s.WorkerID != "" {
			ids = append(ids, s.WorkerID)
		}
	})
	slices.Sort(ids)
	return slices.Compact(ids)
}

// PathText writes a path, such as phases[0].steps[1].function.
func PathText(path []any) string {
	text := ""
	for _, step := range path {
		switch step := step.(type) {
		case int:
			text += fmt.Sprintf("[%d]", step)
		case string:
			if text != "" {
				text += "."
			}
			text += step
		}
	}
	return text
}
