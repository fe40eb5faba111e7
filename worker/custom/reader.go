package custom

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// reader reads YAML strictly and collects the errors. A method that finds an
// error returns the zero value; a nil node, an absent field, is an empty
// value.
type reader struct {
	file   string
	faults []error
}

// at is an error with its place.
func (r *reader) at(n *yaml.Node, format string, args ...any) error {
	return fmt.Errorf("%s:%d:%d: %w", r.file, n.Line, n.Column, fmt.Errorf(format, args...))
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, r.at(n, format, args...))
}

var yamlLine = regexp.MustCompile(`^yaml: line (\d+): `)

// syntax gives an error of the YAML library its file.
func (r *reader) syntax(err error) error {
	line, text := "1", strings.TrimPrefix(err.Error(), "yaml: ")
	if found := yamlLine.FindStringSubmatch(err.Error()); found != nil {
		line, text = found[1], err.Error()[len(found[0]):]
	}
	return fmt.Errorf("%s:%s:1: not valid YAML: %s", r.file, line, text)
}

// mapping gives the fields of a mapping, or nil when it is none.
func (r *reader) mapping(n *yaml.Node, what string, known ...string) map[string]*yaml.Node {
	if n.Kind != yaml.MappingNode {
		r.fault(n, "%s must be a mapping with the fields %s", what, strings.Join(known, ", "))
		return nil
	}
	fields := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		switch {
		case !slices.Contains(known, key.Value):
			r.fault(key, "%s has no field %q: use %s", what, key.Value, strings.Join(known, ", "))
		case fields[key.Value] != nil:
			r.fault(key, "%s is given twice", key.Value)
		default:
			fields[key.Value] = value
		}
	}
	return fields
}

func (r *reader) list(n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.fault(n, "expected a list")
		return nil
	}
	return n.Content
}

func (r *reader) text(n *yaml.Node) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		r.fault(n, "expected text")
	case n.ShortTag() != "!!str":
		r.fault(n, "expected text: put %s in quotes", n.Value)
	case strings.TrimSpace(n.Value) == "":
		r.fault(n, "the text is empty")
	case strings.ContainsRune(n.Value, 0):
		r.fault(n, "the text has a NUL character")
	default:
		return n.Value
	}
	return ""
}

func (r *reader) texts(list *yaml.Node) []string {
	var all []string
	for _, n := range r.list(list) {
		all = append(all, r.text(n))
	}
	return all
}

func (r *reader) boolean(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		r.fault(n, "expected true or false")
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

func (r *reader) duration(n *yaml.Node) time.Duration {
	text := r.text(n)
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Millisecond || d > maxTimeout {
		r.fault(n, "invalid timeout %q: use a duration such as 90s or 5m, at most %s", text, maxTimeout)
		return 0
	}
	return d
}

// required reads a text that must be there.
func (r *reader) required(parent *yaml.Node, fields map[string]*yaml.Node, name string) string {
	n := fields[name]
	if n == nil {
		r.fault(parent, "%s is missing", name)
		return ""
	}
	return r.text(n)
}

// named reads a required text of a given form.
func (r *reader) named(parent *yaml.Node, fields map[string]*yaml.Node, name string, form *regexp.Regexp, rule string) string {
	s := r.required(parent, fields, name)
	if s != "" && !form.MatchString(s) {
		r.fault(fields[name], "invalid name %q: use %s", s, rule)
		return ""
	}
	return s
}
