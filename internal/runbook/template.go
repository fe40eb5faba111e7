package runbook

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// TemplateError says why a text is not a template.
type TemplateError struct {
	Offset  int // in bytes from the start of the text
	Message string
}

func (e *TemplateError) Error() string {
	return fmt.Sprintf("bad template at character %d: %s", e.Offset+1, e.Message)
}

// segment is a piece of a template: a variable, or literal text.
type segment struct {
	variable bool
	text     string // the variable's name, or the text with braces unescaped
	offset   int    // in bytes from the start of the template
}

// parseTemplate cuts a text into segments. {{name}} is a variable; {{{{ and }}}}
// stand for a literal {{ and }}. Single braces are ordinary text, also around a
// variable: {{{Id}}} is its value in braces.
func parseTemplate(s string) ([]segment, error) {
	var segments []segment
	var literal strings.Builder
	start := 0
	flush := func() {
		if literal.Len() > 0 {
			segments = append(segments, segment{text: literal.String(), offset: start})
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
			return nil, &TemplateError{i, "}} closes nothing; write }}}} for a literal }}"}
		case strings.HasPrefix(rest, "{{"):
			flush()
			inside, _, closed := strings.Cut(rest[2:], "}}")
			if !closed {
				return nil, &TemplateError{i, "{{ is never closed; write {{{{ for a literal {{"}
			}
			name := strings.TrimSpace(inside)
			if fault := variableFault(name); fault != "" {
				return nil, &TemplateError{i, fault}
			}
			segments = append(segments, segment{variable: true, text: name, offset: i})
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

// variableFault says what is wrong with a variable's name; empty when nothing
// is. Names are those of columns, so spaces inside are possible.
func variableFault(name string) string {
	if name == "" {
		return "{{ }} names no variable"
	}
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune("_-. ", r) {
			return fmt.Sprintf("a variable's name cannot contain %q; letters, digits, spaces and _ - . are possible", r)
		}
	}
	return ""
}

// References names the variables that the templates in a value use, sorted, each
// once. It looks into maps and lists; keys and malformed templates have none.
func References(v any) []string {
	names := map[string]bool{}
	walkStrings(v, func(s string) {
		segments, _ := parseTemplate(s)
		for _, seg := range segments {
			if seg.variable {
				names[seg.text] = true
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
