package runbook

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// callers are the steps whose failure calls one rollback, as far as they matter:
// what the earliest of them knows, all of them know.
type callers struct {
	init     string // an init step; empty when none
	removal  string // a step of on_member_removed; empty when none
	earliest string // the earliest phase step; empty when none
	turn     int    // of earliest
	complete string // an on_complete step; empty when none
	// given has the outputs that each on_complete step among the callers knows.
	given map[string]bool
}

// any tells whether a step calls the rollback at all.
func (c *callers) any() bool {
	return c.init != "" || c.removal != "" || c.earliest != "" || c.complete != ""
}

// member is a step that calls the rollback for a member; empty when none does.
func (c *callers) member() string { return cmp.Or(c.earliest, c.removal) }

// completes notes an on_complete step as a caller, and the outputs it knows.
func (c *callers) completes(step string, outputs map[string]bool) {
	if c.complete == "" {
		c.complete, c.given = step, maps.Clone(outputs)
		return
	}
	maps.DeleteFunc(c.given, func(name string, _ bool) bool { return !outputs[name] })
}

// call checks a step's on_failure and gives the callers of that rollback, among
// which the step is to be noted; nil when there is no such rollback.
func (v *validator) call(s draftStep) *callers {
	if s.OnFailure == "" {
		return nil
	}
	c, exists := v.callers[s.OnFailure]
	if exists {
		if c == nil {
			c = &callers{}
			v.callers[s.OnFailure] = c
		}
		return c
	}
	if v.p.stopped {
		return nil
	}
	var names []string
	for _, rb := range v.d.rollbacks {
		names = append(names, rb.name)
	}
	hint := ""
	if near := humanize.Nearest(s.OnFailure, names); near != "" {
		hint = "; did you mean \"" + clip(near) + "\"?"
	}
	v.p.errorf(s.onFailure, s.path+".on_failure", CodeUnknownRollback, "there is no rollback %q%s", clip(s.OnFailure), hint)
	return nil
}

func (v *validator) rollbackSteps() {
	for _, rb := range v.d.rollbacks {
		c := v.callers[rb.name]
		if c == nil {
			v.p.warnf(rb.pos, rb.path, CodeUnusedRollback, "no step's on_failure names this rollback")
			c = &callers{}
		}
		own := map[string]bool{}
		for _, s := range rb.steps {
			if s.OnFailure != "" {
				v.p.errorf(s.onFailure, s.path+".on_failure", CodeNestedRollback, "a rollback's own steps cannot be rolled back")
			}
			for _, u := range s.uses {
				v.rollbackUse(u, c, own)
			}
			for _, out := range s.outputs {
				own[out.variable] = true
				if c.init != "" {
					v.p.errorf(out.pos, out.path, CodeInitOutput, "outputs belong to a member, but the init step %q calls this rollback without one", clip(c.init))
				}
			}
		}
	}
}

func (v *validator) rollbackUse(u use, c *callers, own map[string]bool) {
	if strings.HasPrefix(u.variable, "_") {
		v.rollbackSpecial(u, c)
		return
	}
	if c.init != "" {
		v.p.errorf(u.pos, u.path, CodeInitMemberData, "{{%s}} belongs to a member, but the init step %q calls this rollback; use only %s", clip(u.variable), clip(c.init), specialVariables)
		return
	}
	if c.complete != "" {
		v.rollbackOfComplete(u, c, own)
		return
	}
	_, isOutput := v.outputs[u.variable]
	if !isOutput && !c.any() {
		if _, isBatchOutput := v.batchOutputs[u.variable]; isBatchOutput {
			return // for a caller that is not there yet
		}
	}
	v.use(u)
	if isOutput && c.earliest != "" && !own[u.variable] && !u.condition && !u.segment.MayLack() && !v.knownBy(u.variable, c.turn) {
		v.p.errorf(u.pos, u.path, CodeUnresolvable, "{{%s}} is not available when the step %q fails and calls this rollback; {{%s?}} or {{%s | default(\"\")}} accepts that", clip(u.variable), clip(c.earliest), clip(u.variable), clip(u.variable))
	}
}

// rollbackOfComplete checks a variable of a rollback that an on_complete step
// calls, which has no member either.
func (v *validator) rollbackOfComplete(u use, c *callers, own map[string]bool) {
	switch other := c.member(); {
	case !own[u.variable] && !c.given[u.variable]:
		v.p.errorf(u.pos, u.path, CodeOnCompleteData, "{{%s}} is not available when the on_complete step %q fails and calls this rollback; use the outputs of earlier steps of its list, %s", clip(u.variable), clip(c.complete), completeVariables)
	case !own[u.variable] && other != "":
		v.p.errorf(u.pos, u.path, CodeOnCompleteOutput, "{{%s}} is an output of on_complete, but the step %q calls this rollback for a member", clip(u.variable), clip(other))
	}
}

// rollbackSpecial checks a reserved name in a rollback. The variables of a phase
// are possible when nothing but on_complete calls it.
func (v *validator) rollbackSpecial(u use, c *callers) {
	other := cmp.Or(c.init, c.member())
	if other != "" && c.complete != "" && slices.Contains(phaseVariables, u.variable) {
		v.p.errorf(u.pos, u.path, CodePhaseVariable, "{{%s}} is available only when on_complete calls this rollback, but the step %q calls it too", u.variable, clip(other))
		return
	}
	v.special(u, other == "")
}
