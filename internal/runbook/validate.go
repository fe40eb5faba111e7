package runbook

import (
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// validate checks what only the whole runbook can tell: references between its parts
// and where each variable comes from. A name is either a data column or an
// output of steps, never both.
func (p *parser) validate(d *draft) {
	v := &validator{
		p: p, d: d,
		outputs: map[string]output{}, known: map[string]int{},
		columns: map[string]bool{}, lists: map[string]bool{}, folded: map[string]string{},
		callers: map[string]*callers{}, batchOutputs: map[string]output{},
	}
	v.title()
	v.declare()
	v.order()
	v.timing()
	v.gates()
	v.initSteps()
	v.phaseSteps()
	v.removalSteps()
	v.completeSteps()
	v.rollbackSteps()
	v.secrets()
}

type validator struct {
	p *parser
	d *draft
	// outputs has every output of any step, where it is first written; known, the
	// turn after which a member has it, for those that a phase writes.
	outputs map[string]output
	known   map[string]int
	columns map[string]bool   // data columns that the data source names
	lists   map[string]bool   // those that are multi-valued
	folded  map[string]string // outputs and columns, by their name in lower case
	callers map[string]*callers
	// batchOutputs has every output of an on_complete step, where it is first
	// written. They belong to one list of one phase, and never to a member.
	batchOutputs map[string]output
}

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

// title warns of a name that commands take for that of a file. It is no more than a
// warning, for there may be batches of such a runbook.
func (v *validator) title() {
	for _, extension := range []string{".yaml", ".yml"} {
		if strings.HasSuffix(strings.ToLower(v.d.name), extension) {
			v.p.warnf(v.d.namePos, "name", CodeFileName, "ends in %s, so that commands would take it for a file: leave that out", extension)
		}
	}
}

// declare notes every column and output, and reports outputs that hide something.
func (v *validator) declare() {
	for _, name := range []string{v.d.source.PrimaryKey, v.d.source.BatchTimeColumn} {
		if name != "" {
			v.columns[name] = true
		}
	}
	for _, mv := range v.d.source.MultiValued {
		v.columns[mv.Name], v.lists[mv.Name] = true, true
	}
	for _, name := range slices.Sorted(maps.Keys(v.columns)) {
		v.folded[strings.ToLower(name)] = name
	}
	for _, ph := range v.d.phases {
		v.declareOutputs(ph.steps)
		v.declareBatchOutputs(ph.onComplete)
	}
	for _, rb := range v.d.rollbacks {
		v.declareOutputs(rb.steps)
		v.callers[rb.name] = nil
	}
	v.declareOutputs(v.d.removed)
}

func (v *validator) declareOutputs(steps []draftStep) {
	for _, s := range steps {
		for _, out := range s.outputs {
			if v.columns[out.variable] {
				v.p.errorf(out.pos, out.path, CodeShadowedColumn, "hides the data column %q; choose another name", out.variable)
			}
			if first, twice := v.outputs[out.variable]; twice {
				v.p.warnf(out.pos, out.path, CodeOutputTwice, "overwrites the output of line %d", first.pos.line)
				continue
			}
			v.outputs[out.variable] = out
			v.folded[strings.ToLower(out.variable)] = out.variable
		}
	}
}

// order warns of phases that are not listed in the order they fall due.
func (v *validator) order() {
	var before *draftPhase
	for i := range v.d.phases {
		ph := &v.d.phases[i]
		if !ph.valid {
			continue
		}
		if before != nil && ph.Offset > before.Offset {
			v.p.warnf(ph.pos, ph.path+".offset", CodePhaseOrder, "falls due before the phase %q, which is listed above it and so comes first in a batch that is advanced by hand", clip(before.Name))
		}
		before = ph
	}
}

// timing warns of what the source of the members makes pointless.
func (v *validator) timing() {
	if v.d.quiet != nil && v.d.source.uploaded {
		v.p.warnf(v.d.quietPos, "quiet_hours", CodeNoEffect, "hold automated batches only; those of a csv without a connection are advanced by hand")
	}
	if v.d.source.BatchTime != BatchTimeImmediate {
		return
	}
	for _, ph := range v.d.phases {
		if ph.valid && ph.Offset > 0 {
			v.p.warnf(ph.pos, ph.path+".offset", CodePastDue, "is before the start, and with batch_time: immediate a batch starts when it is made: the phase is due at once, as with T-0")
		}
	}
}

func (v *validator) initSteps() {
	for _, s := range v.d.init {
		for _, out := range s.outputs {
			v.p.errorf(out.pos, out.path, CodeInitOutput, "outputs are kept with a member, and init has none")
		}
		for _, u := range s.uses {
			if !v.special(u, false) {
				v.p.errorf(u.pos, u.path, CodeInitMemberData, "{{%s}} is a member's, and init runs once for the whole batch; only %s are known", clip(u.variable), specialVariables)
			}
		}
		if c := v.call(s); c != nil && c.init == "" {
			c.init = s.Name
		}
	}
}

// phaseSteps follows one member through the phases in the order they fall due.
func (v *validator) phaseSteps() {
	turn := 0
	for _, ph := range v.inTurn() {
		for _, s := range ph.steps {
			turn++
			for _, u := range s.uses {
				if v.special(u, false) {
					continue
				}
				v.use(u)
				if out, isOutput := v.outputs[u.variable]; isOutput && !v.knownBy(u.variable, turn) {
					v.p.errorf(u.pos, u.path, CodeUnresolvable, "{{%s}} is the output of line %d, which has not run by then", clip(u.variable), out.pos.line)
				}
			}
			if c := v.call(s); c != nil && c.earliest == "" {
				c.earliest, c.turn = s.Name, turn
			}
			for _, out := range s.outputs {
				if _, already := v.known[out.variable]; !already {
					v.known[out.variable] = turn
				}
			}
		}
	}
}

// knownBy tells whether a member has an output when a turn begins.
func (v *validator) knownBy(variable string, turn int) bool {
	since, ok := v.known[variable]
	return ok && since < turn
}

func (v *validator) removalSteps() {
	own := map[string]bool{}
	for _, s := range v.d.removed {
		for _, u := range s.uses {
			if v.special(u, false) {
				continue
			}
			v.use(u)
			if out, isOutput := v.outputs[u.variable]; isOutput && !own[u.variable] {
				v.p.warnf(u.pos, u.path, CodeOutputMaybe, "{{%s}} is the output of line %d; for a member removed before that step this one fails", clip(u.variable), out.pos.line)
			}
		}
		if c := v.call(s); c != nil && c.removal == "" {
			c.removal = s.Name
		}
		for _, out := range s.outputs {
			own[out.variable] = true
		}
	}
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
					v.p.errorf(out.pos, out.path, CodeInitOutput, "outputs are kept with a member, and the init step %q calls this rollback without one", clip(c.init))
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
		v.p.errorf(u.pos, u.path, CodeInitMemberData, "{{%s}} is a member's, but the init step %q calls this rollback; only %s are known then", clip(u.variable), clip(c.init), specialVariables)
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
	if isOutput && c.earliest != "" && !own[u.variable] && !v.knownBy(u.variable, c.turn) {
		v.p.errorf(u.pos, u.path, CodeUnresolvable, "{{%s}} is not known yet when the step %q fails and calls this rollback", clip(u.variable), clip(c.earliest))
	}
}

const specialVariables = "{{" + VariableBatchID + "}} and {{" + VariableBatchStartTime + "}}"

// special tells whether a variable has a reserved name, and reports one that is
// unknown or not known there. Those of a phase are known to on_complete only.
func (v *validator) special(u use, onComplete bool) bool {
	if !strings.HasPrefix(u.variable, "_") {
		return false
	}
	switch {
	case v.p.stopped: // nothing is reported
	case slices.Contains(batchVariables, u.variable):
	case !slices.Contains(phaseVariables, u.variable):
		hint := ""
		if near := humanize.Nearest(u.variable, slices.Concat(batchVariables, phaseVariables)); near != "" {
			hint = "; did you mean {{" + near + "}}?"
		}
		known := specialVariables
		if onComplete {
			known = completeVariables
		}
		v.p.errorf(u.pos, u.path, CodeUnknownSpecial, "{{%s}} is not a special variable; there are %s%s", clip(u.variable), known, hint)
	case !onComplete:
		v.p.errorf(u.pos, u.path, CodePhaseVariable, "{{%s}} is known only to the on_complete steps of a phase, when all its members have ended", u.variable)
	}
	return true
}

// use checks a member's variable wherever it is used.
func (v *validator) use(u use) {
	if u.amidText && v.lists[u.variable] {
		v.p.errorf(u.pos, u.path, CodeListInText, "{{%s}} is a multi-valued column: a list can only be a parameter's whole value", clip(u.variable))
	}
	if _, isOutput := v.outputs[u.variable]; isOutput || v.columns[u.variable] {
		return
	}
	if out, isBatchOutput := v.batchOutputs[u.variable]; isBatchOutput {
		v.p.errorf(u.pos, u.path, CodeOnCompleteOutput, "{{%s}} is the output of line %d, an on_complete step; only later steps of its list know it, and no member", clip(u.variable), out.pos.line)
		return
	}
	if name, near := v.folded[strings.ToLower(u.variable)]; near {
		v.p.warnf(u.pos, u.path, CodeCaseMismatch, "{{%s}} differs from {{%s}} by case, and so is another variable", clip(u.variable), clip(name))
	}
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
