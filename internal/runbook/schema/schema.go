// Package schema writes the runbook format as a JSON Schema, for editors and other programs
// that check runbooks. [runbook.Format] describes the format.
//
// It is pure. It must not know what the parser finds beyond the schema.
package schema

import (
	"slices"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// Draft is the version of JSON Schema, which the YAML extension of VS Code reads best.
const Draft = "http://json-schema.org/draft-07/schema#"

// The definitions of what calls functions.
const stepsKey, checksKey, itemSourceKey = "steps", "checks", "items-source"

// Document returns the JSON Schema of the format. With functions, steps can call these only, with
// their parameters, and checks those of them that only read.
func Document(functions []signature.Function) map[string]any {
	definitions := map[string]any{}
	objects := runbook.Format()
	for _, o := range objects {
		definitions[o.Key()] = object(o)
	}
	if functions != nil {
		require(definitions[stepsKey].(map[string]any), calls(functions))
		require(definitions[itemSourceKey].(map[string]any), calls(functions))
		require(definitions[checksKey].(map[string]any), calls(slices.DeleteFunc(slices.Clone(functions), func(f signature.Function) bool { return !f.ReadOnly })))
	}
	return map[string]any{
		"$schema":     Draft,
		"title":       "matoolkit runbook",
		"allOf":       []any{map[string]any{"$ref": "#/definitions/" + objects[0].Key()}},
		"definitions": definitions,
	}
}

func object(o runbook.Object) map[string]any {
	properties, required := map[string]any{}, []string{}
	for _, f := range o.Fields {
		property := map[string]any{"description": f.Doc, "markdownDescription": f.Doc}
		if _, refers := f.Form["$ref"]; refers { // draft 7 ignores what is beside a reference
			property["allOf"] = []any{f.Form}
		} else {
			for key, value := range f.Form {
				property[key] = value
			}
		}
		properties[f.Name] = property
		if f.Required {
			required = append(required, f.Name)
		}
	}
	rules := []any{}
	for _, rule := range o.Rules {
		rules = append(rules, rule)
	}
	schema := map[string]any{
		"type": "object", "description": o.Doc, "properties": properties, "required": required, "additionalProperties": false,
	}
	require(schema, rules)
	return schema
}

// require adds rules to a schema, if there are any: an empty list is invalid.
func require(schema map[string]any, rules []any) {
	if before, _ := schema["allOf"].([]any); len(before)+len(rules) > 0 {
		schema["allOf"] = append(before, rules...)
	}
}
