package schema

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/matoolkit/matoolkit/internal/signature"
)

// aTemplate is the schema of a text with a template, which stands for any text.
var aTemplate = map[string]any{"type": "string", "pattern": `\{\{`}

// calls returns the rules of a step that calls one of these functions.
func calls(functions []signature.Function) []any {
	var names []string
	for _, f := range functions {
		names = append(names, f.Name)
	}
	slices.Sort(names)
	rules := []any{map[string]any{"properties": map[string]any{"function": map[string]any{"anyOf": []any{
		map[string]any{"enum": slices.Compact(names)}, anyOf(names), aTemplate,
	}}}}}
	for _, f := range functions {
		rules = append(rules, map[string]any{
			"if":   map[string]any{"properties": map[string]any{"function": anyOf([]string{f.Name})}, "required": []string{"function"}},
			"then": call(f),
		})
	}
	return rules
}

// call is the schema of a step that calls a function.
func call(f signature.Function) map[string]any {
	properties, patterns := map[string]any{}, map[string]any{}
	names, rules := []string{}, []any{}
	for _, p := range f.Params {
		value := parameter(p)
		described := map[string]any{"description": p.Description, "anyOf": []any{value}}
		properties[p.Name], patterns[inAnyCase([]string{p.Name})] = described, value
		names = append(names, p.Name)
		if p.Required {
			otherCase := map[string]any{"not": map[string]any{"propertyNames": map[string]any{"not": anyOf([]string{p.Name})}}}
			rules = append(rules, map[string]any{"anyOf": []any{map[string]any{"required": []string{p.Name}}, otherCase}})
		}
	}
	params := map[string]any{"properties": properties, "patternProperties": patterns, "propertyNames": anyOf(names)}
	require(params, rules)
	schema := map[string]any{"description": f.Description, "properties": map[string]any{"params": params}}
	if len(rules) > 0 {
		schema["required"] = []string{"params"}
	}
	return schema
}

// parameter is the schema of a parameter's value. Each type can be given as text, and an optional
// parameter can be empty.
func parameter(p signature.Parameter) map[string]any {
	ways := []any{aTemplate}
	if !p.Required {
		ways = append(ways, map[string]any{"type": "null"}, map[string]any{"const": ""})
	}
	filled := map[string]any{"type": "string", "minLength": 1}
	switch kind := signature.TypeOf(p); {
	case strings.Contains(string(kind), "|"):
		words := strings.Split(string(kind), "|")
		ways = append(ways, map[string]any{"enum": words}, anyOf(words))
	case kind == signature.Boolean:
		ways = append(ways, map[string]any{"type": "boolean"}, anyOf([]string{"true", "false"}))
	case kind == signature.StringList:
		ways = append(ways, filled, map[string]any{"type": "array", "items": map[string]any{"type": "string"}})
	case kind == signature.Object:
		ways = append(ways, map[string]any{"type": "object"}, map[string]any{"type": "string", "pattern": `^\s*\{`})
	case kind == signature.String:
		ways = append(ways, filled, map[string]any{"type": "number"})
	case patterns[kind] != "":
		ways = append(ways, map[string]any{"type": "string", "pattern": patterns[kind]})
	case p.Required:
		return map[string]any{"not": map[string]any{"enum": []any{nil, ""}}}
	default:
		return map[string]any{}
	}
	return map[string]any{"anyOf": ways}
}

// patterns are those of types that are texts of some form. They accept what the type accepts.
var patterns = map[signature.Type]string{
	signature.GUID:   "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
	signature.Email:  `^[^@\s]+@[^@\s]+\.[^@\s]+$`,
	signature.Domain: `^[^@\s/:]+\.[^@\s/:]+$`,
}

// anyOf is the schema of one of these words, in any case.
func anyOf(words []string) map[string]any {
	return map[string]any{"type": "string", "pattern": inAnyCase(words)}
}

// inAnyCase is a pattern of these words, compared without case.
func inAnyCase(words []string) string {
	var b strings.Builder
	for i, word := range words {
		if i > 0 {
			b.WriteString("|")
		}
		for _, r := range word {
			if lower, upper := unicode.ToLower(r), unicode.ToUpper(r); lower != upper {
				b.WriteString("[" + string(upper) + string(lower) + "]")
			} else {
				b.WriteString(regexp.QuoteMeta(string(r)))
			}
		}
	}
	return "^(" + b.String() + ")$"
}
