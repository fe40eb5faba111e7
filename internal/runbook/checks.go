package runbook

import (
	"fmt"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// ChecksName is the name under which the checks of a member are shown among the phases.
const ChecksName = "checks"

// HoldsMembers reports whether a member starts no phase before required checks have passed.
func (r *Runbook) HoldsMembers() bool {
	return slices.ContainsFunc(r.Checks, func(s Step) bool { return s.Require })
}

var checkObject = Object{
	Name: "checks[]", Doc: "One call of a function that only reads, for each member when they are added to the batch, and again by `batch check`. The check fails unless the function succeeds and does not answer `{\"complete\": false}`. A check that fails does not keep the next one from running.",
	Fields: []Field{
		{"name", true, "Unique among the checks, as the name of a step.", title()},
		{"worker_id", true, "As in a step.", either(matching(workerID), Form{"type": "string", "pattern": `\{\{`})},
		{"function", true, "The name of a function whose worker declares that it only reads. No template but of `vars`.", either(matching(functionName), Form{"type": "string", "pattern": `\{\{`})},
		{"require", false, "`true`: the member starts no phase until the check has passed, and fails if it fails. Default: `false`.", Form{"type": "boolean"}},
		{"when", false, "A [condition](#conditions). If it is false, the check is skipped.", text()},
		{"params", false, "As in a step. They use columns, and outputs as `{{name?}}`, since a check usually runs before the steps.", named(Form{"minLength": 1, "maxLength": maxKey}, Form{})},
		{"poll", false, "As in a step: repeats the check until it passes.", pollObject.form()},
		{"retry", false, "As in a step.", retryObject.form()},
		{"timeout", false, "As in a step.", durationForm()},
	},
}

// checks reads the checks of the runbook.
func (f fields) checks() []draftStep {
	var out []draftStep
	seen := map[string]int{}
	for i, item := range f.list("checks", "check", 0, MaxSteps) {
		path := fmt.Sprintf("%s[%d]", f.join("checks"), i)
		s, g, ok := f.p.call(item, path, checkObject)
		if !ok {
			continue
		}
		s.Require = g.boolean("require")
		if len(template.References(s.Function)) > 0 {
			f.p.errorf(g.at("function"), g.join("function"), CodeBadValue, "must name a function, not a template: whether the function only reads has to be known before the batch")
		}
		if line, twice := seen[s.Name]; twice && s.Name != "" {
			f.p.errorf(g.at("name"), g.join("name"), CodeDuplicateStep, "a check %q is already on line %d", clip(s.Name), line)
		}
		seen[s.Name] = g.at("name").line
		out = append(out, s)
	}
	return out
}

// boolean reads a field as true or false; false when absent or refused.
func (f fields) boolean(name string) bool {
	n, ok := f.values[name]
	if !ok {
		return false
	}
	path := f.join(name)
	if n, ok = f.p.enter(n, path); !ok {
		return false
	}
	var b bool
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" || n.Decode(&b) != nil {
		f.p.errorf(at(n), path, CodeBadType, "must be true or false, not %s", describe(n))
	}
	return b
}

// checkSteps checks the variables of the checks, which run before any step gives an output.
func (v *validator) checkSteps() {
	for _, s := range v.d.checks {
		for _, u := range s.uses {
			if v.special(u, false) {
				continue
			}
			v.use(u)
			if out, isOutput := v.outputs[u.variable]; isOutput && !u.condition && !u.segment.MayLack() {
				v.p.errorf(u.pos, u.path, CodeUnresolvable, "{{%s}} is the output of line %d, which runs after the checks; write {{%s?}} to use it when a member is checked again", clip(u.variable), out.pos.line, clip(u.variable))
			}
		}
	}
}
