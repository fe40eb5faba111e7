package runbook

import (
	"encoding/json"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// maxVars bounds the constants of a runbook.
const maxVars = 100

// constant is one of the runbook's vars. It stands in the place of its name: what has been parsed
// has the values.
type constant struct {
	value any
	pos   position
	path  string
	used  bool
}

// readVars reads the constants, before all that may use them.
func (p *parser) readVars(f fields) {
	p.vars = map[string]*constant{}
	n, ok := f.values["vars"]
	if !ok {
		return
	}
	g, ok := p.mapping(n, f.join("vars"))
	if !ok {
		return
	}
	if len(g.keys) > maxVars {
		p.errorf(at(g.keys[maxVars]), g.path, CodeTooLarge, "there are %d vars; at most %d are allowed", len(g.keys), maxVars)
		return
	}
	for _, key := range g.keys {
		name, path := key.Value, g.join(key.Value)
		switch {
		case strings.HasPrefix(name, "_"):
			p.errorf(at(key), path, CodeReservedName, "names that begin with _ are reserved for special variables")
			continue
		case !outputName.MatchString(name):
			p.errorf(at(key), path, CodeBadName, "%q is invalid: use letters, digits and _ only, beginning with a letter", clip(name))
			continue
		}
		if value, ok := p.constant(g.values[name], path); ok {
			p.vars[name] = &constant{value: value, pos: at(key), path: path}
		}
	}
}

// constant reads the value of a constant: text, a number, true or false, or a list of these.
func (p *parser) constant(n *yaml.Node, path string) (any, bool) {
	n, ok := p.enter(n, path)
	if !ok {
		return nil, false
	}
	if n.Kind == yaml.SequenceNode {
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			if list[i], ok = p.constantScalar(item, fmt.Sprintf("%s[%d]", path, i)); !ok {
				return nil, false
			}
		}
		return list, true
	}
	return p.constantScalar(n, path)
}

func (p *parser) constantScalar(n *yaml.Node, path string) (any, bool) {
	n, ok := p.enter(n, path)
	if !ok {
		return nil, false
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null" {
		p.errorf(at(n), path, CodeBadType, "must be text, a number, true or false, or a list of these, not %s", describe(n))
		return nil, false
	}
	if n.ShortTag() == "!!str" {
		if strings.Contains(n.Value, "{{") {
			p.errorf(at(n), path, CodeBadValue, "must be a constant, not a template")
			return nil, false
		}
		return n.Value, true
	}
	before := len(p.found)
	value := p.scalar(n, path, &draftStep{})
	return value, value != nil && len(p.found) == before
}

// constants are the values of the vars by their names.
func (p *parser) constants() map[string]any {
	values := make(map[string]any, len(p.vars))
	for name, c := range p.vars {
		values[name] = c.value
	}
	return values
}

// expand replaces the vars in a template by their values. A template that is one var and nothing else
// becomes its value.
func (p *parser) expand(segments []template.Segment, places *locator, path string) (any, bool) {
	var b, literal strings.Builder
	flush := func() {
		b.WriteString(template.Escape(literal.String()))
		literal.Reset()
	}
	for _, seg := range segments {
		c, isVar := p.vars[seg.Text]
		switch {
		case !seg.Variable:
			literal.WriteString(seg.Text)
			continue
		case !isVar:
			flush()
			b.WriteString(seg.Source)
			continue
		}
		c.used = true
		value, err := template.Resolve(seg, c.value, len(segments) > 1)
		if err != nil {
			p.errorf(places.at(seg.Offset), path, CodeFilterType, "%v", err)
			return nil, false
		}
		if len(segments) == 1 {
			return value, true
		}
		text, _ := value.(string)
		if p.visited += 1 + len(text)/16; p.visited > maxVisited {
			p.stop(places.start, path, CodeAliasLimit, "the aliases and vars expand to more than a runbook can contain")
			return nil, false
		}
		literal.WriteString(text)
	}
	flush()
	return b.String(), true
}

// workerID reads the id of a worker, which may use vars.
func (f fields) workerID() string {
	const rule = "use letters, digits and - _ . only, at most 43, and no template but of vars"
	id := f.text("worker_id")
	if !strings.Contains(id, "{{") {
		return f.matching("worker_id", workerID, rule)
	}
	n, path := f.values["worker_id"], f.join("worker_id")
	var uses draftStep
	value, ok := f.p.template(n, path, &uses)
	for _, u := range uses.uses {
		f.p.errorf(u.pos, path, CodeBadName, "{{%s}} is not one of the vars: the worker of a step is the same for all members%s", clip(u.variable), humanize.DidYouMean(u.variable, f.p.varNames()))
		ok = false
	}
	text, isText := value.(string)
	if number, isNumber := value.(json.Number); isNumber {
		text, isText = number.String(), true
	}
	if ok && (!isText || !workerID.MatchString(text)) {
		f.p.errorf(f.at("worker_id"), path, CodeBadName, "%q is invalid: %s", clip(fmt.Sprint(value)), rule)
	}
	return text
}

func (p *parser) varNames() []string {
	names := make([]string, 0, len(p.vars))
	for name := range p.vars {
		names = append(names, name)
	}
	return names
}

// constants checks the names of the vars against those of columns and outputs.
func (v *validator) constants() {
	for name, c := range v.p.vars {
		_, member := v.outputs[name]
		_, batch := v.batchOutputs[name]
		switch {
		case v.columns[name]:
			v.p.errorf(c.pos, c.path, CodeShadowedColumn, "hides the data column %q; choose another name", name)
		case member || batch:
			v.p.errorf(c.pos, c.path, CodeShadowedColumn, "hides the output %q; choose another name", name)
		case !c.used:
			v.p.warnf(c.pos, c.path, CodeUnusedVar, "nothing uses this constant")
		}
	}
}
