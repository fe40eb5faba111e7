package runbook

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// lint checks what only the whole runbook can tell: references between its parts
// and where each variable comes from. A name is either a data column or an
// output of steps, never both.
func (p *parser) lint(d *draft) {
	l := &linter{p: p, d: d, outputs: map[string]output{}, lists: map[string]bool{}}
	l.declare()
	l.order()
	l.initSteps()
	l.phaseSteps()
	l.rollbackSteps()
	l.removalSteps()
}

type linter struct {
	p       *parser
	d       *draft
	outputs map[string]output // every output of any step, where first written
	lists   map[string]bool   // multi-valued columns
	// callers holds, for each rollback, what was known each time it can be called.
	callers map[string][]caller
}

// caller is a step whose failure calls a rollback.
type caller struct {
	step   string
	init   bool
	always bool            // called from on_member_removed: anything may be known
	known  map[string]bool // outputs of earlier steps
}

// declare notes every output, and reports those that hide something.
func (l *linter) declare() {
	for _, mv := range l.d.source.MultiValued {
		l.lists[mv.Name] = true
	}
	columns := map[string]bool{l.d.source.PrimaryKey: true, l.d.source.BatchTimeColumn: true}
	maps.Copy(columns, l.lists)
	declare := func(steps []draftStep) {
		for _, s := range steps {
			for _, out := range s.outputs {
				if columns[out.variable] {
					l.p.errorf(out.pos, out.path, CodeShadowedColumn, "hides the data column %q; choose another name", out.variable)
				}
				if first, twice := l.outputs[out.variable]; twice {
					l.p.warnf(out.pos, out.path, CodeOutputTwice, "overwrites the output of line %d", first.pos.line)
					continue
				}
				l.outputs[out.variable] = out
			}
		}
	}
	for _, ph := range l.d.phases {
		declare(ph.steps)
	}
	for _, rb := range l.d.rollbacks {
		declare(rb.steps)
	}
	declare(l.d.removed)
}

// order warns of phases that are not listed in the order they fall due.
func (l *linter) order() {
	var before *draftPhase
	for i := range l.d.phases {
		ph := &l.d.phases[i]
		if !ph.valid {
			continue
		}
		if before != nil && ph.Offset > before.Offset {
			l.p.warnf(ph.pos, ph.path+".offset", CodePhaseOrder, "falls due before the phase %q, which is listed above it", clip(before.Name))
		}
		before = ph
	}
}

func (l *linter) initSteps() {
	for _, s := range l.d.init {
		for _, out := range s.outputs {
			l.p.errorf(out.pos, out.path, CodeInitOutput, "outputs are kept with a member, and init has none")
		}
		for _, u := range s.uses {
			if !l.special(u) {
				l.p.errorf(u.pos, u.path, CodeInitMemberData, "{{%s}} is a member's, and init runs once for the whole batch; only %s are known", clip(u.variable), specialVariables)
			}
		}
		l.call(s, caller{step: s.Name, init: true})
	}
}

// phaseSteps follows one member through the phases in the order they fall due.
func (l *linter) phaseSteps() {
	phases := slices.Clone(l.d.phases)
	slices.SortStableFunc(phases, func(a, b draftPhase) int { return cmp.Compare(b.Offset, a.Offset) })
	known := map[string]bool{}
	for _, ph := range phases {
		for _, s := range ph.steps {
			l.variables(s, known)
			l.call(s, caller{step: s.Name, known: maps.Clone(known)})
			for _, out := range s.outputs {
				known[out.variable] = true
			}
		}
	}
}

func (l *linter) rollbackSteps() {
	for _, rb := range l.d.rollbacks {
		callers := l.callers[rb.name]
		if len(callers) == 0 {
			l.p.warnf(rb.pos, rb.path, CodeUnusedRollback, "no step's on_failure names this rollback")
		}
		for _, s := range rb.steps {
			if s.OnFailure != "" {
				l.p.errorf(s.onFailure, s.path+".on_failure", CodeNestedRollback, "a rollback's own steps cannot be rolled back")
			}
			for _, u := range s.uses {
				l.rollbackUse(u, callers)
			}
			for _, out := range s.outputs {
				for _, c := range callers {
					if c.known != nil {
						c.known[out.variable] = true
					}
				}
			}
		}
	}
}

func (l *linter) rollbackUse(u use, callers []caller) {
	if l.special(u) {
		return
	}
	l.amidText(u)
	for _, c := range callers {
		_, isOutput := l.outputs[u.variable]
		switch {
		case c.init:
			l.p.errorf(u.pos, u.path, CodeInitMemberData, "{{%s}} is a member's, but the init step %q calls this rollback; only %s are known then", clip(u.variable), clip(c.step), specialVariables)
			return
		case isOutput && !c.always && !c.known[u.variable]:
			l.p.errorf(u.pos, u.path, CodeUnresolvable, "{{%s}} is not known yet when the step %q fails and calls this rollback", clip(u.variable), clip(c.step))
			return
		}
	}
	l.spelling(u)
}

func (l *linter) removalSteps() {
	own := map[string]bool{}
	for _, s := range l.d.removed {
		for _, u := range s.uses {
			if l.special(u) {
				continue
			}
			l.amidText(u)
			l.spelling(u)
			if out, isOutput := l.outputs[u.variable]; isOutput && !own[u.variable] {
				l.p.warnf(u.pos, u.path, CodeOutputMaybe, "{{%s}} is the output of line %d; for a member removed before that step this step fails", clip(u.variable), out.pos.line)
			}
		}
		l.call(s, caller{step: s.Name, always: true})
		for _, out := range s.outputs {
			own[out.variable] = true
		}
	}
}

// variables checks what a phase's step uses against what is known by then.
func (l *linter) variables(s draftStep, known map[string]bool) {
	for _, u := range s.uses {
		if l.special(u) {
			continue
		}
		l.amidText(u)
		l.spelling(u)
		if out, isOutput := l.outputs[u.variable]; isOutput && !known[u.variable] {
			l.p.errorf(u.pos, u.path, CodeUnresolvable, "{{%s}} is the output of line %d, which has not run by then", clip(u.variable), out.pos.line)
		}
	}
}

const specialVariables = "{{" + VariableBatchID + "}} and {{" + VariableBatchStartTime + "}}"

// special tells whether a variable has a reserved name, and reports an unknown
// one.
func (l *linter) special(u use) bool {
	if !strings.HasPrefix(u.variable, "_") {
		return false
	}
	if u.variable != VariableBatchID && u.variable != VariableBatchStartTime {
		l.p.errorf(u.pos, u.path, CodeUnknownSpecial, "{{%s}} is not a special variable; there are %s", clip(u.variable), specialVariables)
	}
	return true
}

func (l *linter) amidText(u use) {
	if u.amidText && l.lists[u.variable] {
		l.p.errorf(u.pos, u.path, CodeListInText, "{{%s}} is a multi-valued column: a list can only be a parameter's whole value", clip(u.variable))
	}
}

// spelling warns of a column that differs from an output only by case: names
// match exactly.
func (l *linter) spelling(u use) {
	if _, exact := l.outputs[u.variable]; exact {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(l.outputs)) {
		if strings.EqualFold(name, u.variable) {
			l.p.warnf(u.pos, u.path, CodeCaseMismatch, "{{%s}} is taken for a data column; did you mean the output {{%s}}?", clip(u.variable), name)
		}
	}
}

// call checks and notes a step's on_failure.
func (l *linter) call(s draftStep, c caller) {
	if s.OnFailure == "" {
		return
	}
	var names []string
	for _, rb := range l.d.rollbacks {
		if rb.name == s.OnFailure {
			if l.callers == nil {
				l.callers = map[string][]caller{}
			}
			l.callers[rb.name] = append(l.callers[rb.name], c)
			return
		}
		names = append(names, rb.name)
	}
	hint := ""
	if near := nearest(s.OnFailure, names); near != "" {
		hint = "; did you mean \"" + clip(near) + "\"?"
	}
	l.p.errorf(s.onFailure, s.path+".on_failure", CodeUnknownRollback, "there is no rollback %q%s", clip(s.OnFailure), hint)
}
