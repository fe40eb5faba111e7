package runbook

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook/condition"
)

// draftCondition is a condition with its place, and the names that it uses as those of templates.
type draftCondition struct {
	*condition.Condition
	node *yaml.Node
	path string
	uses []use
}

// when reads the condition of a step or a phase; its Condition is nil if there is none.
func (f fields) when() draftCondition {
	c := draftCondition{path: f.join("when")}
	text := f.text("when")
	if text == "" {
		return c
	}
	c.node = f.values["when"]
	if c.node.Kind == yaml.AliasNode {
		c.node = c.node.Alias
	}
	var err error
	if c.Condition, err = condition.Parse(c.node.Value, f.p.constants()); err != nil {
		f.p.conditionError(c, err)
		c.Condition = nil
		return c
	}
	for _, name := range c.Constants() {
		f.p.vars[name].used = true
	}
	places := f.p.locate(c.node)
	for _, r := range c.References() {
		c.uses = append(c.uses, use{variable: r.Name, path: c.path, pos: places.at(r.Offset), condition: true})
	}
	return c
}

func (p *parser) conditionError(c draftCondition, err error) {
	var bad *condition.Error
	errors.As(err, &bad)
	p.errorf(p.locate(c.node).at(bad.Offset), c.path, CodeBadCondition, "%s", bad.Message)
}

// conditions compares all conditions with the types of their names, and warns of names that nothing
// else knows and that are close to one that something does.
func (v *validator) conditions() {
	var all []draftCondition
	for _, ph := range v.d.phases {
		all = append(all, ph.when)
	}
	elsewhere := maps.Clone(v.columns)
	v.eachStep(func(s draftStep) {
		all = append(all, s.when)
		for _, u := range s.uses {
			if !u.condition {
				elsewhere[u.variable] = true
			}
		}
	})
	for name := range v.outputs {
		elsewhere[name] = true
	}
	for name := range v.p.vars {
		elsewhere[name] = true
	}
	for name := range v.batchOutputs {
		elsewhere[name] = true
	}
	names := slices.Sorted(maps.Keys(elsewhere))
	for _, c := range all {
		if c.Condition == nil {
			continue
		}
		if err := c.Check(v.typeOf); err != nil {
			v.p.conditionError(c, err)
		}
		for _, u := range c.uses {
			if elsewhere[u.variable] || strings.HasPrefix(u.variable, "_") || v.p.stopped {
				continue
			}
			if _, mismatch := v.folded[strings.ToLower(u.variable)]; mismatch || v.nearMisses[u.variable] {
				continue // which is a finding by itself
			}
			if near := humanize.Nearest(u.variable, names); near != "" {
				v.p.warnf(u.pos, u.path, CodeUnknownName, "%q is a column that nothing else uses; did you mean %q?", clip(u.variable), clip(near))
			}
		}
	}
}

// typeOf describes the values of a name, as far as they are known. Uploaded columns are text.
func (v *validator) typeOf(name string) condition.Type {
	_, output := v.outputs[name]
	_, batchOutput := v.batchOutputs[name]
	switch {
	case name == VariableBatchStartTime, name == VariableBatchOwner:
		return condition.Text
	case name == VariableBatchShadow:
		return condition.Boolean
	case strings.HasPrefix(name, "_"):
		return condition.Number
	case output || batchOutput:
		return condition.Unknown
	case v.lists[name]:
		return condition.List
	case v.d.source.Type == SourceCSV:
		return condition.Text
	}
	return condition.Unknown
}
