package graph

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// Clauses of a filter: property eq 'text', startswith(property,'text') and
// collection/any(x:x eq 'text').
var (
	equalsClause     = regexp.MustCompile(`^\s*([A-Za-z]+)\s+eq\s+'((?:[^']|'')*)'\s*$`)
	startsWithClause = regexp.MustCompile(`(?i)^\s*startswith\(\s*([A-Za-z]+)\s*,\s*'((?:[^']|'')*)'\s*\)\s*$`)
	anyClause        = regexp.MustCompile(`^\s*([A-Za-z]+)/any\(\s*([a-z]+)\s*:\s*([a-z]+)\s+eq\s+'((?:[^']|'')*)'\s*\)\s*$`)
)

// filter understands clauses joined by `or`, and refuses all else. It compares texts without case.
func (c *call) filter(resource string, properties []string, collections ...string) (func(map[string]any) bool, *reply) {
	expression, present := c.Option("filter")
	if !present {
		return func(map[string]any) bool { return true }, nil
	}
	var clauses []func(map[string]any) bool
	for _, text := range alternatives(expression) {
		clause, refusal := readClause(text, resource, properties, collections)
		if refusal != nil {
			return nil, refusal
		}
		clauses = append(clauses, clause)
	}
	return func(object map[string]any) bool {
		return slices.ContainsFunc(clauses, func(matches func(map[string]any) bool) bool { return matches(object) })
	}, nil
}

// alternatives splits an expression at each ` or ` outside of a text in quotes.
func alternatives(expression string) []string {
	var parts []string
	quoted, start := false, 0
	for i := range expression {
		if expression[i] == '\'' {
			quoted = !quoted // a doubled quote does it twice
		}
		if !quoted && strings.HasPrefix(expression[i:], " or ") {
			parts = append(parts, expression[start:i])
			start = i + len(" or ")
		}
	}
	return append(parts, expression[start:])
}

func readClause(clause, resource string, properties, collections []string) (func(map[string]any) bool, *reply) {
	if m := anyClause.FindStringSubmatch(clause); m != nil && m[2] == m[3] {
		name, refusal := filtered(m[1], resource, collections)
		value := directory.Fold(unquote(m[4]))
		return func(object map[string]any) bool {
			return slices.ContainsFunc(directory.Texts(object[name]), func(item string) bool { return directory.Fold(item) == value })
		}, refusal
	}
	m, starts := equalsClause.FindStringSubmatch(clause), false
	if m == nil {
		m, starts = startsWithClause.FindStringSubmatch(clause), true
	}
	if m == nil {
		return nil, odata.Error(http.StatusBadRequest, "BadRequest", "Invalid filter clause: %s", clause)
	}
	name, refusal := filtered(m[1], resource, properties)
	value := directory.Fold(unquote(m[2]))
	return func(object map[string]any) bool {
		actual := directory.Fold(directory.Text(object[name]))
		return actual == value || starts && strings.HasPrefix(actual, value)
	}, refusal
}

// filtered is the name of a property that the resource can be filtered by.
func filtered(name, resource string, properties []string) (string, *reply) {
	at := slices.IndexFunc(properties, func(p string) bool { return strings.EqualFold(p, name) })
	if at < 0 {
		return "", odata.Error(http.StatusBadRequest, "Request_UnsupportedQuery",
			"Unsupported or invalid query filter clause specified for property '%s' of resource '%s'.", name, resource)
	}
	return properties[at], nil
}

func unquote(s string) string { return strings.ReplaceAll(s, "''", "'") }
