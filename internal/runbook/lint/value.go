package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// misfit returns why a value of a runbook does not fit a parameter; empty if it does,
// or if a template decides. It accepts the same values as this repository's worker.
func misfit(p signature.Parameter, value any) string {
	if len(template.References(value)) > 0 {
		return ""
	}
	if value == nil || value == "" {
		if p.Required {
			return "is required and is empty"
		}
		return ""
	}
	if _, err := signature.TypeOf(p).Read(value); err != nil {
		return err.Error()
	}
	return ""
}

// listMisfit returns why a multi-valued column does not fit a parameter that it is the whole value of;
// empty if it does, or if the value is another.
func (c *check) listMisfit(p signature.Parameter, value any) string {
	text, ok := value.(string)
	if !ok {
		return ""
	}
	segments, err := template.Parse(text)
	if err != nil || len(segments) != 1 || !segments[0].Variable || len(segments[0].Filters) > 0 {
		return ""
	}
	for _, column := range c.rb.DataSource.MultiValued {
		if column.Name != segments[0].Text {
			continue
		}
		if _, err := signature.TypeOf(p).Read([]any{}); err != nil {
			return fmt.Sprintf("%s, and {{%s}} is a multi-valued column", err, column.Name)
		}
	}
	return ""
}

// filteredVariable is a variable in a template that has filters; empty for none.
func filteredVariable(value any) (name string) {
	template.EachVariable(value, func(v template.Segment) {
		if len(v.Filters) > 0 {
			name = v.Text
		}
	})
	return name
}

// emptyIf says which variables without a value make a parameter empty; empty if none can, or if
// nothing in the runbook tells. A variable that is the whole value of a parameter may be empty only
// if the runbook says so. Amid other text an empty value is empty text: variables with nothing
// between them may all be empty, and with spaces between them if one is marked as optional. An unmarked
// first name and last name are taken to be there.
func (c *check) emptyIf(value any) string {
	text, ok := value.(string)
	if !ok {
		return ""
	}
	segments, err := template.Parse(text)
	if err != nil || len(segments) == 0 {
		return ""
	}
	var names []string
	marked, spaced := false, false
	for _, s := range segments {
		marked, spaced = marked || s.Variable && s.MayBeEmpty(), spaced || !s.Variable
		switch {
		case !s.Variable && strings.TrimSpace(s.Text) != "", s.Variable && (s.HasDefault() || !c.mayBeEmpty(s.Text)):
			return ""
		case s.Variable && !slices.Contains(names, "{{"+s.Text+"}}"):
			names = append(names, "{{"+s.Text+"}}")
		}
	}
	if len(names) == 0 || !marked && (spaced || len(segments) == 1) {
		return ""
	}
	verb := "have"
	if len(names) == 1 {
		verb = "has"
	}
	return strings.Join(names, " and ") + " " + verb + " no value"
}

// mayBeEmpty reports whether a variable can have an empty value. Every member has a key, and every
// batch its special variables.
func (c *check) mayBeEmpty(variable string) bool {
	return variable != c.rb.DataSource.PrimaryKey && !strings.HasPrefix(variable, "_")
}

// openText tells whether there is a text without a variable in a value.
func openText(value any) bool {
	switch v := value.(type) {
	case string:
		return v != "" && len(template.References(v)) == 0
	case []any:
		return slices.ContainsFunc(v, openText)
	case map[string]any:
		for _, inner := range v {
			if openText(inner) {
				return true
			}
		}
	}
	return false
}
