package runbook

import (
	"cmp"
	"maps"
	"slices"
)

var (
	batchVariables = []string{VariableBatchID, VariableBatchStartTime}
	phaseVariables = []string{VariablePhaseMembers, VariablePhaseSucceeded, VariablePhaseFailed, VariablePhaseCancelled}
)

const completeVariables = "{{" + VariableBatchID + "}}, {{" + VariableBatchStartTime + "}}, {{" + VariablePhaseMembers + "}}, {{" +
	VariablePhaseSucceeded + "}}, {{" + VariablePhaseFailed + "}} and {{" + VariablePhaseCancelled + "}}"

// any tells whether a step calls the rollback at all.
func (c *callers) any() bool {
	return c.init != "" || c.removal != "" || c.earliest != "" || c.complete != ""
}

// inTurn gives the phases in the order they fall due.
func (v *validator) inTurn() []draftPhase {
	phases := slices.Clone(v.d.phases)
	// With an offset that could not be read, the order of the text is the best guess.
	if !slices.ContainsFunc(phases, func(ph draftPhase) bool { return !ph.valid }) {
		slices.SortStableFunc(phases, func(a, b draftPhase) int { return cmp.Compare(b.Offset, a.Offset) })
	}
	return phases
}

// gates refuses require_success where no phase comes before. Such a gate would
// always be open, and whoever wrote it relies on it: that is more than a warning.
// A batch that is advanced by hand takes the phases in the order of the text.
func (v *validator) gates() {
	if len(v.d.phases) == 0 {
		return
	}
	due, listed := v.inTurn()[0], v.d.phases[0]
	if due.RequireSuccess > 0 {
		v.p.errorf(due.success, due.path+".require_success", CodeNoPhaseBefore, "is about the phase before, but this phase falls due first")
	}
	if listed.RequireSuccess > 0 && listed.path != due.path {
		v.p.errorf(listed.success, listed.path+".require_success", CodeNoPhaseBefore, "is about the phase before, but this phase is listed first and so comes first in a batch that is advanced by hand")
	}
}

func (v *validator) declareBatchOutputs(steps []draftStep) {
	mine := map[string]output{}
	for _, s := range steps {
		for _, out := range s.outputs {
			if v.columns[out.variable] {
				v.p.errorf(out.pos, out.path, CodeShadowedColumn, "hides the data column %q; choose another name", out.variable)
			}
			if first, twice := mine[out.variable]; twice {
				v.p.warnf(out.pos, out.path, CodeOutputTwice, "overwrites the output of line %d", first.pos.line)
				continue
			}
			mine[out.variable] = out
			if _, elsewhere := v.batchOutputs[out.variable]; !elsewhere {
				v.batchOutputs[out.variable] = out
			}
		}
	}
}

// completeSteps follows each phase's on_complete list by itself.
func (v *validator) completeSteps() {
	for _, ph := range v.d.phases {
		own := map[string]bool{}
		for _, s := range ph.onComplete {
			for _, u := range s.uses {
				if v.special(u, true) || own[u.variable] {
					continue
				}
				v.p.errorf(u.pos, u.path, CodeOnCompleteData, "{{%s}} is not known: on_complete runs once for the whole batch and has no member; it knows the outputs of earlier steps of this list, %s", clip(u.variable), completeVariables)
			}
			if c := v.call(s); c != nil {
				c.completes(s.Name, own)
			}
			for _, out := range s.outputs {
				own[out.variable] = true
			}
		}
	}
}

// completes notes an on_complete step as a caller, and the outputs it knows.
func (c *callers) completes(step string, outputs map[string]bool) {
	if c.complete == "" {
		c.complete, c.given = step, maps.Clone(outputs)
		return
	}
	maps.DeleteFunc(c.given, func(name string, _ bool) bool { return !outputs[name] })
}

// rollbackOfComplete checks a variable of a rollback that an on_complete step
// calls, which has no member either.
func (v *validator) rollbackOfComplete(u use, c *callers, own map[string]bool) {
	switch other := c.member(); {
	case !own[u.variable] && !c.given[u.variable]:
		v.p.errorf(u.pos, u.path, CodeOnCompleteData, "{{%s}} is not known when the on_complete step %q fails and calls this rollback; it knows the outputs of earlier steps of its list, %s", clip(u.variable), clip(c.complete), completeVariables)
	case !own[u.variable] && other != "":
		v.p.errorf(u.pos, u.path, CodeOnCompleteOutput, "{{%s}} is an output of on_complete, but the step %q calls this rollback for a member", clip(u.variable), clip(other))
	}
}

// rollbackSpecial checks a reserved name in a rollback. The variables of a phase
// are possible when nothing but on_complete calls it.
func (v *validator) rollbackSpecial(u use, c *callers) {
	other := cmp.Or(c.init, c.member())
	if other != "" && c.complete != "" && slices.Contains(phaseVariables, u.variable) {
		v.p.errorf(u.pos, u.path, CodePhaseVariable, "{{%s}} is known only when on_complete calls this rollback, but the step %q does too", u.variable, clip(other))
		return
	}
	v.special(u, other == "")
}

// member is a step that calls the rollback for a member; empty when none does.
func (c *callers) member() string { return cmp.Or(c.earliest, c.removal) }
