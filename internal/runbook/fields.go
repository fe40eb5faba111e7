package runbook

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// enter follows an alias and counts the node. It is false when no more is to be
// looked at.
func (p *parser) enter(n *yaml.Node, path string) (*yaml.Node, bool) {
	if p.stopped {
		return n, false
	}
	target := n
	if n.Kind == yaml.AliasNode {
		target = n.Alias
	}
	// Long text counts for more: one text may stand behind many aliases.
	if p.visited += 1 + len(target.Value)/16; p.visited > maxVisited {
		p.stop(at(n), path, CodeAliasLimit, "the aliases expand to more than a runbook can contain")
		return n, false
	}
	return target, true
}

// fields is one mapping, its keys known to be unique and its values to be there.
type fields struct {
	p    *parser
	path string
	pos  position
	// keys in the order of the text; values has the same keys.
	keys    []*yaml.Node
	values  map[string]*yaml.Node
	refused map[string]bool // present, but null or misspelt: not missing as well
}

// mapping reads n as a mapping with any keys.
func (p *parser) mapping(n *yaml.Node, path string) (fields, bool) {
	f := fields{p: p, path: path, values: map[string]*yaml.Node{}, refused: map[string]bool{}}
	n, ok := p.enter(n, path)
	if !ok {
		return f, false
	}
	f.pos = at(n)
	if n.Kind != yaml.MappingNode {
		p.errorf(at(n), path, CodeBadType, "must be a mapping, not %s", describe(n))
		return f, false
	}
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, ok := p.enter(n.Content[i], path)
		if !ok {
			return f, false
		}
		switch {
		case key.Kind == yaml.MappingNode && n.Style&yaml.FlowStyle != 0:
			p.errorf(f.pos, path, CodeUnquoted, unquotedTemplate)
			return f, false
		case key.ShortTag() == "!!merge":
			p.errorf(at(key), path, CodeBadType, "merge keys (<<) are not supported; write the fields out")
			continue
		case key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str":
			p.errorf(at(key), path, CodeBadType, "a key must be a string, not %s", describe(key))
			continue
		}
		if len(key.Value) > maxKey {
			p.errorf(at(key), path, CodeBadValue, "has a key of %d bytes; at most %d are allowed", len(key.Value), maxKey)
			continue
		}
		if earlier, twice := first[key.Value]; twice {
			p.errorf(at(key), joinPath(path, key.Value), CodeDuplicateKey, "%q is already on line %d", key.Value, earlier.Line)
			continue
		}
		first[key.Value] = key
		f.keys = append(f.keys, key)
		f.values[key.Value] = n.Content[i+1]
	}
	return f, true
}

// object reads n as a mapping of the given kind and reports required fields that are missing.
// A field without a value is refused: it could mean "none", or be forgotten.
func (p *parser) object(n *yaml.Node, path string, kind Object) (fields, bool) {
	known := kind.names(false)
	f, ok := p.mapping(n, path)
	if !ok {
		return f, false
	}
	for _, key := range f.keys {
		name := key.Value
		if !slices.Contains(known, name) {
			var hint string
			if near := humanize.Nearest(name, known); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
				f.refused[near] = true
			} else {
				hint = elsewhere(name, kind)
			}
			p.errorf(at(key), joinPath(path, name), CodeUnknownField, "unknown field%s", hint)
			delete(f.values, name)
			continue
		}
		if isNull(f.values[name]) {
			p.errorf(at(key), joinPath(path, name), CodeBadType, "has no value; give it one or leave the field out")
			delete(f.values, name)
			f.refused[name] = true
		}
	}
	f.require(kind.names(true)...)
	return f, true
}

func (f fields) at(name string) position {
	if n, ok := f.values[name]; ok {
		return at(n)
	}
	return f.pos
}

func joinPath(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (f fields) join(name string) string { return joinPath(f.path, name) }

func (f fields) has(name string) bool { return f.values[name] != nil }

// require reports each of the fields that is missing.
func (f fields) require(names ...string) {
	for _, name := range names {
		if !f.has(name) && !f.refused[name] {
			f.p.errorf(f.pos, f.path, CodeMissingField, "%q is missing", name)
		}
	}
}

// text reads a field as a string that is not blank; empty when absent or refused.
func (f fields) text(name string) string {
	n, ok := f.values[name]
	if !ok {
		return ""
	}
	return f.p.text(n, f.join(name))
}

// matching reads a field as text of a given form.
func (f fields) matching(name string, form *regexp.Regexp, rule string) string {
	s := f.text(name)
	if s != "" && !form.MatchString(s) {
		f.p.errorf(f.at(name), f.join(name), CodeBadName, "%q is invalid: %s", clip(s), rule)
		return ""
	}
	return s
}

// oneOf reads a field as one of a few words.
func (f fields) oneOf(name string, words []string) string {
	s := f.text(name)
	if s == "" {
		return ""
	}
	for _, w := range words {
		if s == w {
			return s
		}
	}
	f.p.errorf(f.at(name), f.join(name), CodeBadValue, "%q is invalid; use one of %s%s", clip(s), strings.Join(words, ", "), humanize.DidYouMean(s, words))
	return ""
}

func (p *parser) text(n *yaml.Node, path string) string {
	n, ok := p.enter(n, path)
	if !ok {
		return ""
	}
	if n.Kind != yaml.ScalarNode {
		if p.unquoted(n, path) {
			return ""
		}
		p.errorf(at(n), path, CodeBadType, "must be text, not %s", describe(n))
		return ""
	}
	if n.ShortTag() != "!!str" {
		p.errorf(at(n), path, CodeBadType, "must be text, not %s; put it in quotes", describe(n))
		return ""
	}
	if strings.TrimSpace(n.Value) == "" {
		p.errorf(at(n), path, CodeBadValue, "is empty")
		return ""
	}
	return n.Value
}

// duration reads a field that must be longer than nothing; 0 when absent or
// refused.
func (f fields) duration(name string) time.Duration {
	n, ok := f.values[name]
	if !ok {
		return 0
	}
	path := f.join(name)
	if n, ok = f.p.enter(n, path); !ok {
		return 0
	}
	if n.Kind != yaml.ScalarNode {
		f.p.errorf(at(n), path, CodeBadType, "must be a duration such as 15m, not %s", describe(n))
		return 0
	}
	d, err := ParseDuration(n.Value)
	switch {
	case err != nil:
		f.p.errorf(at(n), path, CodeBadDuration, "%v", err)
	case d == 0:
		f.p.errorf(at(n), path, CodeBadValue, "must be longer than 0")
	}
	return d
}

// list reads a field as a sequence of at most so many items, and reports one that
// is empty when there must be an item.
func (f fields) list(name, items string, least, most int) []*yaml.Node {
	n, ok := f.values[name]
	if !ok {
		return nil
	}
	path := f.join(name)
	if n, ok = f.p.enter(n, path); !ok {
		return nil
	}
	switch {
	case n.Kind != yaml.SequenceNode:
		f.p.errorf(at(n), path, CodeBadType, "must be a list of %ss, not %s", items, describe(n))
		return nil
	case len(n.Content) < least:
		f.p.errorf(at(n), path, CodeBadValue, "needs at least one %s", items)
	case len(n.Content) > most:
		f.p.errorf(at(n), path, CodeTooLarge, "has %d %ss; at most %d are allowed in one list", len(n.Content), items, most)
		return nil
	}
	return n.Content
}

// unquoted recognises {{name}} without quotes, which YAML reads as a mapping
// whose key is a mapping.
func (p *parser) unquoted(n *yaml.Node, path string) bool {
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle == 0 || len(n.Content) == 0 || n.Content[0].Kind != yaml.MappingNode {
		return false
	}
	p.errorf(at(n), path, CodeUnquoted, unquotedTemplate)
	return true
}

func isNull(n *yaml.Node) bool {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null"
}

// describe names a node's kind for a message; never its value.
func describe(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!str":
		return "text"
	case "!!int":
		return "a number"
	case "!!float":
		return "a decimal number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a date"
	}
	return "a value tagged " + n.ShortTag()
}

var percent = regexp.MustCompile(`^[0-9]{1,3}(\.[0-9]{1,4})?%$`)

// percentage reads a field as a percentage above 0 and up to 100; 0 when absent or
// refused.
func (f fields) percentage(name string) float64 {
	n, ok := f.values[name]
	if !ok {
		return 0
	}
	path := f.join(name)
	if n, ok = f.p.enter(n, path); !ok {
		return 0
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		f.p.errorf(at(n), path, CodeBadPercent, "must be a percentage such as 95%%, not %s", describe(n))
		return 0
	}
	share, err := strconv.ParseFloat(strings.TrimSuffix(n.Value, "%"), 64)
	if !percent.MatchString(n.Value) || err != nil || share <= 0 || share > 100 {
		f.p.errorf(at(n), path, CodeBadPercent, "%q is invalid; use a percentage above 0%% and up to 100%%, such as 95%% or 97.5%%", clip(n.Value))
		return 0
	}
	return share
}

// count reads a field as a whole number from least to most; 0 when absent or refused.
func (f fields) count(name string, least, most int) int {
	n, ok := f.values[name]
	if !ok {
		return 0
	}
	path := f.join(name)
	if n, ok = f.p.enter(n, path); !ok {
		return 0
	}
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" {
		f.p.errorf(at(n), path, CodeBadType, "must be a whole number, not %s", describe(n))
		return 0
	}
	c, err := strconv.Atoi(n.Value)
	if err != nil || c < least || c > most {
		f.p.errorf(at(n), path, CodeBadValue, "must be a whole number from %d to %d", least, most)
		return 0
	}
	return c
}
