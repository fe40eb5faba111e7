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

// Segment is a piece of a template: a variable, or literal text.
type Segment struct {
	Variable bool
	Text     string // the variable's name, or the text with braces unescaped
	Offset   int    // in bytes from the start of the template
}

// Parse cuts a text into segments. The error is an *[Error]. {{name}} is a variable; {{{{ and }}}}
// stand for a literal {{ and }}. Single braces are ordinary text, also around a
// variable: {{{Id}}} is its value in braces.
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
			inside, _, closed := strings.Cut(rest[2:], "}}")
			if !closed {
				return nil, &Error{i, "{{ is never closed; write {{{{ for a literal {{"}
			}
			name := strings.TrimSpace(inside)
			if err := CheckName(name); err != nil {
				return nil, &Error{i, err.Error()}
			}
			segments = append(segments, Segment{Variable: true, Text: name, Offset: i})
			i += 2 + len(inside) + 2
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
	walkStrings(v, func(s string) {
		segments, _ := Parse(s)
		for _, seg := range segments {
			if seg.Variable {
				names[seg.Text] = true
			}
		}
	})
	return slices.Sorted(maps.Keys(names))
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
