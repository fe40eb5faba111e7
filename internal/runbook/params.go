package runbook

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/storable"
)

// params reads a step's parameters and notes the variables they use.
func (p *parser) params(n *yaml.Node, path string, s *draftStep) map[string]any {
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	if target.Kind != yaml.MappingNode {
		p.errorf(at(n), path, CodeBadType, "must be a mapping, not %s", describe(target))
		return nil
	}
	m, _ := p.value(n, path, 0, s).(map[string]any)
	return m
}

// value reads a parameter's value as encoding/json would give it, numbers as
// json.Number.
func (p *parser) value(n *yaml.Node, path string, depth int, s *draftStep) any {
	if depth > maxDepth {
		p.errorf(at(n), path, CodeDepthLimit, "is nested more than %d deep", maxDepth)
		return nil
	}
	n, ok := p.enter(n, path)
	if !ok {
		return nil
	}
	switch n.Kind {
	case yaml.MappingNode:
		f, ok := p.mapping(n, path)
		if !ok {
			return nil
		}
		m := make(map[string]any, len(f.keys))
		for _, key := range f.keys {
			if key.Value == "" {
				p.errorf(at(key), path, CodeBadValue, "has an empty key")
			}
			if template.Reserved(map[string]any{key.Value: nil}) {
				p.errorf(at(key), f.join(key.Value), CodeReservedName, "names that begin with $secret or $sealed are reserved")
			}
			m[key.Value] = p.value(f.values[key.Value], f.join(key.Value), depth+1, s)
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, len(n.Content))
		for i, item := range n.Content {
			list[i] = p.value(item, fmt.Sprintf("%s[%d]", path, i), depth+1, s)
		}
		return list
	}
	return p.scalar(n, path, s)
}

func (p *parser) scalar(n *yaml.Node, path string, s *draftStep) any {
	switch tag := n.ShortTag(); tag {
	case "!!str":
		value, _ := p.template(n, path, s)
		return value
	case "!!timestamp": // JSON has no dates: it is the text that was written
		return n.Value
	case "!!null":
		return nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			p.errorf(at(n), path, CodeBadValue, "is not true or false")
		}
		return b
	case "!!int", "!!float":
		if !template.IsNumber(n.Value) {
			p.errorf(at(n), path, CodeAmbiguousNumber, "%q can be read in more than one way; write a plain decimal number, or put it in quotes if it is text", clip(n.Value))
			return nil
		}
		if kept, err := storable.JSON(json.RawMessage(n.Value)); err != nil {
			p.errorf(at(n), path, CodeBadValue, "%v; put it in quotes", err)
		} else if string(kept) != n.Value {
			p.warnf(at(n), path, CodeNumberAsText, "%s has more digits than the store keeps, and the function gets it as text; put it in quotes", clip(n.Value))
		}
		return json.Number(n.Value)
	default:
		p.errorf(at(n), path, CodeBadType, "has the unsupported tag %s", clip(tag))
		return nil
	}
}

// template notes the variables of a string and puts the vars of the runbook in their places, or
// reports that it is no template.
func (p *parser) template(n *yaml.Node, path string, s *draftStep) (value any, ok bool) {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	places := p.locate(n)
	segments, err := template.Parse(n.Value)
	if err != nil {
		var bad *template.Error
		errors.As(err, &bad)
		p.errorf(places.at(bad.Offset), path, CodeBadTemplate, "%s", bad.Message)
		return n.Value, false
	}
	expands := false
	for _, seg := range segments {
		if !seg.Variable {
			continue
		}
		p.dollar(n.Value, seg.Offset, places.at(seg.Offset), path, seg.Text)
		if _, isVar := p.vars[seg.Text]; isVar {
			expands = true
		} else {
			s.uses = append(s.uses, use{variable: seg.Text, path: path, pos: places.at(seg.Offset), amidText: len(segments) > 1, segment: seg})
		}
	}
	if !expands {
		return n.Value, true
	}
	return p.expand(segments, p.locate(n), path)
}

// locator finds the positions of bytes of a scalar's value. A position is exact on one
// plain line; where YAML folds, unescapes or indents, it is the start of the scalar.
//
// A locator reads the value once for all positions: a scalar can contain tens of
// thousands of templates.
type locator struct {
	p      *parser
	value  string
	style  yaml.Style
	start  position // of the scalar
	pos    position // of the byte at offset
	offset int
	exact  bool
}

func (p *parser) locate(n *yaml.Node) *locator {
	l := &locator{p: p, value: n.Value, style: n.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle), start: at(n), pos: at(n)}
	l.exact = !strings.Contains(n.Value, "\n") && n.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) == 0 && n.Anchor == ""
	if l.style != 0 {
		l.pos.column++ // the quote
	}
	return l
}

// at is the position of a byte. The offset is not before the one of the last call.
func (l *locator) at(offset int) position {
	between := l.value[l.offset:offset]
	l.offset = offset
	if !l.exact {
		return l.start
	}
	l.p.located += len(between)
	switch l.style {
	case yaml.DoubleQuotedStyle:
		if strings.ContainsAny(between, "\"\\\t") {
			l.exact = false
			return l.start
		}
	case yaml.SingleQuotedStyle:
		l.pos.column += strings.Count(between, "'")
	}
	l.pos.column += utf8.RuneCountInString(between)
	return l.pos
}
