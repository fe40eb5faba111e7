package runbook

import (
	"cmp"
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
		outputs: map[string]output{}, known: map[string]int{}, certain: map[string]bool{},
		columns: map[string]bool{}, lists: map[string]bool{}, folded: map[string]string{},
		callers: map[string]*callers{}, batchOutputs: map[string]output{}, nearMisses: map[string]bool{},
	}
	v.title()
	v.declare()
	v.order()
	v.timing()
	v.gates()
	v.checkSteps()
	v.itemSource()
	v.initSteps()
	v.phaseSteps()
	v.removalSteps()
	v.completeSteps()
	v.detachedSteps()
	v.rollbackSteps()
	v.display()
	v.secrets()
	v.cached()
	v.conditions()
	v.constants()
	v.graphColumns()
}

type validator struct {
	p *parser
	d *draft
	// outputs has every output of any step, where it is first written; known, the
	// turn after which a member has it, for those that a phase writes.
	outputs map[string]output
	known   map[string]int
	certain map[string]bool   // of known, those of which a step without a condition is the source
	columns map[string]bool   // data columns that the data source names
	lists   map[string]bool   // those that are multi-valued
	folded  map[string]string // outputs and columns, by their name in lower case
	callers map[string]*callers
	// batchOutputs has every output of an on_complete step, where it is first
	// written. They belong to one list of one phase, and never to a member.
	batchOutputs map[string]output
	nearMisses   map[string]bool // variables of which nearMiss has warned
}

// title warns of a name that commands take for that of a file. It is no more than a
// warning, for there may be batches of such a runbook.
func (v *validator) title() {
	for _, extension := range []string{".yaml", ".yml"} {
		if strings.HasSuffix(strings.ToLower(v.d.name), extension) {
			v.p.warnf(v.d.namePos, "name", CodeFileName, "ends in %s, so commands would read it as a file name: remove the ending", extension)
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

// display checks the column that is shown for a member.
func (v *validator) display() {
	d := v.d.display
	_, given := v.outputs[d.variable]
	_, constant := v.p.vars[d.variable]
	switch {
	case d.variable == "":
	case given || constant:
		v.p.errorf(d.pos, d.path, CodeBadValue, "%q is not a column, but an output of a step or one of the vars", clip(d.variable))
	case v.lists[d.variable]:
		v.p.errorf(d.pos, d.path, CodeBadValue, "%q is a multi-valued column; show a column with text", clip(d.variable))
	case slices.ContainsFunc(v.d.secret, func(s output) bool { return s.variable == d.variable }):
		v.p.errorf(d.pos, d.path, CodeSecretPlace, "%q is secret, and the display column is visible to every reader", clip(d.variable))
	case d.variable == v.d.source.PrimaryKey:
		v.p.warnf(d.pos, d.path, CodeNoEffect, "has no effect: the key is shown for each member")
	default:
		v.displayName(d)
	}
}

// displayName warns of a column that no step uses and that has nearly the name of one that a step does.
func (v *validator) displayName(d output) {
	used := v.usedNames()
	maps.Copy(used, v.columns)
	for name := range v.outputs {
		delete(used, name)
	}
	if used[d.variable] {
		return
	}
	names := slices.Sorted(maps.Keys(used))
	near := humanize.Nearest(d.variable, names)
	if i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, d.variable) }); i >= 0 {
		near = names[i]
	}
	if near != "" {
		v.p.warnf(d.pos, d.path, CodeUnknownName, "%q is a column that nothing else uses; did you mean %q?", clip(d.variable), clip(near))
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
			v.p.warnf(ph.pos, ph.path+".offset", CodePhaseOrder, "is due before the phase %q, which is listed above it and runs first in a manual batch", clip(before.Name))
		}
		before = ph
	}
}

// timing warns of what the source of the members makes pointless.
func (v *validator) timing() {
	if v.d.quiet != nil && v.d.source.uploaded {
		v.p.warnf(v.d.quietPos, "quiet_hours", CodeNoEffect, "have no effect: you advance the batches of a csv without a connection by hand")
	}
	if v.d.source.BatchTime != BatchTimeImmediate {
		return
	}
	for _, ph := range v.d.phases {
		if ph.valid && ph.Offset > 0 {
			v.p.warnf(ph.pos, ph.path+".offset", CodePastDue, "is before the start, but with batch_time: immediate a batch starts when it is created: the phase is due at once, as with T-0")
		}
	}
}

// gates refuses require_success where no phase comes before. Such a gate would
// always be open although the author relies on it, so it is an error and not a warning.
// A batch that is advanced by hand takes the phases in the order of the text.
func (v *validator) gates() {
	if len(v.d.phases) == 0 {
		return
	}
	due, listed := v.inTurn()[0], v.d.phases[0]
	if due.RequireSuccess > 0 {
		v.p.errorf(due.success, due.path+".require_success", CodeNoPhaseBefore, "refers to the previous phase, but this phase is due first")
	}
	if listed.RequireSuccess > 0 && listed.path != due.path {
		v.p.errorf(listed.success, listed.path+".require_success", CodeNoPhaseBefore, "refers to the previous phase, but this phase is listed first and runs first in a manual batch")
	}
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

var (
	batchVariables = []string{VariableBatchID, VariableBatchStartTime, VariableBatchOwner, VariableBatchShadow}
	phaseVariables = []string{VariablePhaseMembers, VariablePhaseSucceeded, VariablePhaseFailed, VariablePhaseCancelled, VariableOutputs}
)

const completeVariables = "{{" + VariableBatchID + "}}, {{" + VariableBatchStartTime + "}}, {{" + VariableBatchOwner + "}}, {{" + VariableBatchShadow + "}}, {{" + VariablePhaseMembers + "}}, {{" +
	VariablePhaseSucceeded + "}}, {{" + VariablePhaseFailed + "}}, {{" + VariablePhaseCancelled + "}} and {{" + VariableOutputs + "}}"

const specialVariables = "{{" + VariableBatchID + "}}, {{" + VariableBatchStartTime + "}}, {{" + VariableBatchOwner + "}} and {{" + VariableBatchShadow + "}}"

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
		v.p.errorf(u.pos, u.path, CodeUnknownSpecial, "{{%s}} is not a special variable; use %s%s", clip(u.variable), known, hint)
	case !onComplete:
		v.p.errorf(u.pos, u.path, CodePhaseVariable, "{{%s}} is available only in the on_complete steps of a phase", u.variable)
	}
	return true
}

// filtered checks the value of a variable, after its filters, for its place.
func (v *validator) filtered(u use) {
	isList := v.lists[u.variable]
	switch {
	case isList && u.segment.NeedsText():
		v.p.errorf(u.pos, u.path, CodeFilterType, "{{%s}} is a multi-valued column, and its filter needs text: write join before it", clip(u.variable))
	case u.segment.NeedsList() && !isList && (v.columns[u.variable] || strings.HasPrefix(u.variable, "_")):
		v.p.errorf(u.pos, u.path, CodeFilterType, "{{%s}} is text, and its filter needs a list: write split before it", clip(u.variable))
	case u.amidText && u.segment.GivesList():
		v.p.errorf(u.pos, u.path, CodeListInText, "{{%s}} is a list after its filters: a list can only be a parameter's whole value", clip(u.variable))
	case u.amidText && isList && !u.segment.GivesText():
		v.p.errorf(u.pos, u.path, CodeListInText, "{{%s}} is a multi-valued column: a list can only be a parameter's whole value; join makes text of it", clip(u.variable))
	}
}

// use checks each use of a member's variable.
func (v *validator) use(u use) {
	v.filtered(u)
	if _, isOutput := v.outputs[u.variable]; isOutput || v.columns[u.variable] {
		return
	}
	if out, isBatchOutput := v.batchOutputs[u.variable]; isBatchOutput {
		v.p.errorf(u.pos, u.path, CodeOnCompleteOutput, "{{%s}} is the output of line %d, an on_complete step; only later steps of its list can use it", clip(u.variable), out.pos.line)
		return
	}
	if name, near := v.folded[strings.ToLower(u.variable)]; near {
		v.p.warnf(u.pos, u.path, CodeCaseMismatch, "{{%s}} differs from {{%s}} only in case, but is another variable", clip(u.variable), clip(name))
		return
	}
	v.nearMiss(u)
}
