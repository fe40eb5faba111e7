// Package template parses texts with {{variables}} and replaces these by values. Secret
// values stay references until they are filled in.
//
// It is pure. It must not know which variables a runbook has, where a template stands in
// its text, or how secret values are kept.
package template

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error says why a text is not a template.
type Error struct {
	Offset  int // in bytes from the start of the text
	Message string
}

func (e *Error) Error() string {
	return fmt.Sprintf("bad template at character %d: %s", e.Offset+1, e.Message)
}

// Segment is a piece of a template: a variable with its filters, or literal text.
type Segment struct {
	Variable bool
	Text     string // the variable's name, or the text with braces unescaped
	Offset   int    // in bytes from the start of the template
	Optional bool   // {{name?}}: it may have no value
	Filters  []Filter
	Source   string // of a variable, with its braces
}

// MayLack reports whether the segment resolves where the variable has no value.
func (s Segment) MayLack() bool {
	given, _ := gives(s.Filters)
	return s.Optional || given
}

// MayBeEmpty reports whether the segment asks for an empty value where the variable has none.
func (s Segment) MayBeEmpty() bool {
	given, empty := gives(s.Filters)
	return empty || s.Optional && !given
}

// HasDefault reports whether a filter gives a value that is not empty where the variable has none.
func (s Segment) HasDefault() bool {
	given, empty := gives(s.Filters)
	return given && !empty
}

// GivesList reports whether the filters make a list of the value, and GivesText whether they make
// text of it. Without a filter that says so, both are false.
func (s Segment) GivesList() bool { return s.gives() == list }

// GivesText is described with GivesList.
func (s Segment) GivesText() bool { return s.gives() == text }

func (s Segment) gives() kind {
	value := anything
	for _, f := range s.Filters {
		value, _ = checkFilter(f, value)
	}
	return value
}

// NeedsText reports whether the first filter that needs a certain value needs text, and NeedsList
// whether it needs a list.
func (s Segment) NeedsText() bool { return s.needs() == text }

// NeedsList is described with NeedsText.
func (s Segment) NeedsList() bool { return s.needs() == list }

func (s Segment) needs() kind {
	for _, f := range s.Filters {
		if d, ok := findFilter(f.Name); ok && d.takes != anything {
			return d.takes
		}
	}
	return anything
}

// Parse cuts a text into segments. The error is an *[Error]. {{name}} is a variable, {{name?}} one
// that may have no value, and {{name | lower}} one with a filter; {{{{ and }}}} stand for a literal
// {{ and }}. Single braces are ordinary text, also around a variable: {{{Id}}} is its value in braces.
//
// The time is proportional to the length of the text.
func Parse(s string) ([]Segment, error) {
	var segments []Segment
	var literal strings.Builder
	start := 0
	flush := func() {
		if literal.Len() > 0 {
			segments = append(segments, Segment{Text: literal.String(), Offset: start})
			literal.Reset()
		}
	}
	for i := 0; i < len(s); {
		rest := s[i:]
		switch {
		case strings.HasPrefix(rest, "{{{{"):
			literal.WriteString("{{")
			i += 4
		case strings.HasPrefix(rest, "{{{"):
			literal.WriteString("{")
			i++
		case strings.HasPrefix(rest, "}}}}"):
			literal.WriteString("}}")
			i += 4
		case strings.HasPrefix(rest, "}}"):
			return nil, &Error{i, "}} closes nothing; write }}}} for a literal }}"}
		case strings.HasPrefix(rest, "{{"):
			flush()
			variable, err := parseVariable(s, i)
			if err != nil {
				return nil, err
			}
			segments = append(segments, variable)
			i += len(variable.Source)
			start = i
		default:
			_, size := utf8.DecodeRuneInString(rest)
			literal.WriteString(rest[:size])
			i += size
		}
	}
	flush()
	return segments, nil
}

// parseVariable reads the variable that begins at a place of a text.
func parseVariable(s string, at int) (Segment, error) {
	v := Segment{Variable: true, Offset: at}
	inside, _, closed := strings.Cut(s[at+2:], "}}")
	if !closed {
		return v, &Error{at, "{{ is never closed; write {{{{ for a literal {{"}
	}
	name, _, filtered := strings.Cut(inside, "|")
	end := at + 2 + len(inside)
	if filtered {
		c := scanner{s, at + 2 + len(name)}
		var err error
		if v.Filters, err = c.filters(); err != nil {
			return v, err
		}
		end = c.i
	}
	v.Source = s[at : end+2]
	v.Text = strings.TrimSpace(name)
	if plain, optional := strings.CutSuffix(v.Text, "?"); optional {
		v.Text, v.Optional = strings.TrimSpace(plain), true
	}
	if err := CheckName(v.Text); err != nil {
		return v, &Error{at, err.Error()}
	}
	return v, nil
}

// CheckName returns an error if a variable cannot have the name. Names are those of
// columns, so spaces inside are possible.
func CheckName(name string) error {
	if name == "" {
		return errors.New("{{ }} has no variable")
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("_-. ", r) {
			return fmt.Errorf("a variable name cannot contain %q; use letters, digits, spaces and _ - .", r)
		}
	}
	return nil
}

// References names the variables that the templates in a value use, sorted, each
// once. It looks into maps and lists; keys and malformed templates have none.
func References(v any) []string {
	names := map[string]bool{}
	EachVariable(v, func(seg Segment) { names[seg.Text] = true })
	return slices.Sorted(maps.Keys(names))
}

// EachVariable visits the variables of the templates in a value, in no order, each as often as it
// is used. It looks where References does.
func EachVariable(v any, visit func(Segment)) {
	walkStrings(v, func(s string) {
		segments, _ := Parse(s)
		for _, seg := range segments {
			if seg.Variable {
				visit(seg)
			}
		}
	})
}

func walkStrings(v any, visit func(string)) {
	switch v := v.(type) {
	case string:
		visit(v)
	case []any:
		for _, e := range v {
			walkStrings(e, visit)
		}
	case []string:
		for _, e := range v {
			visit(e)
		}
	case map[string]any:
		for _, e := range v {
			walkStrings(e, visit)
		}
	case map[string]string:
		for _, e := range v {
			visit(e)
		}
	}
}
