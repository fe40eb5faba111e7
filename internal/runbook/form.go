package runbook

import (
	"regexp"
	"strings"
)

// Form is the form of a value, as a JSON Schema of draft 7. The parser finds more than a form
// can say, and nothing else.
type Form map[string]any

// Key names the object in the definitions of a JSON Schema.
func (o Object) Key() string {
	return strings.NewReplacer(".", "-", "[]", "").Replace(o.Name)
}

func (o Object) form() Form { return Form{"$ref": "#/definitions/" + o.Key()} }

func text() Form { return Form{"type": "string", "pattern": `\S`} }

func matching(r *regexp.Regexp) Form { return Form{"type": "string", "pattern": r.String()} }

func oneOf(words ...string) Form {
	values := make([]any, len(words))
	for i, w := range words {
		values[i] = w
	}
	return Form{"enum": values}
}

// title is the form of the name of a phase or a step.
func title() Form {
	return Form{"type": "string", "pattern": `^[^\s/\\?#]([^/\\?#]*[^\s/\\?#])?$`, "maxLength": 100}
}

// columnForm is the form of the name of a column.
func columnForm() Form { return Form{"type": "string", "pattern": `^[^_\s]([^\n]*\S)?$`} }

var (
	durationText = regexp.MustCompile(`^0*[1-9][0-9]{0,8}[smhd]$`)
	offsetText   = regexp.MustCompile(`^T[-+](0|[0-9]+[smhd])$`)
	percentText  = regexp.MustCompile(`^([0-9]{1,2}|0[0-9]{2})(\.[0-9]{1,4})?%$|^100(\.0{1,4})?%$`)
	zeroText     = regexp.MustCompile(`^0+(\.0+)?%$`)
	jitterText   = regexp.MustCompile(`^([0-9]{1,2}|0[0-9]{2}|100)%$`)
)

func durationForm() Form { return matching(durationText) }

func percentForm() Form { return both(matching(percentText), Form{"not": matching(zeroText)}) }

func countForm(least, most int) Form {
	return Form{"type": "integer", "minimum": least, "maximum": most}
}

func list(items Form, least, most int) Form {
	return Form{"type": "array", "items": items, "minItems": least, "maxItems": most}
}

func unique(f Form) Form {
	f["uniqueItems"] = true
	return f
}

// stepsForm is the form of a list of steps for each of which something waits.
func stepsForm(least int) Form { return list(both(stepObject.form(), attached()), least, MaxSteps) }

// attached holds for steps that are not detached.
func attached() Form {
	return Form{"not": Form{"properties": Form{"detached": Form{"enum": []any{true}}}, "required": []string{"detached"}}}
}

// named is the form of a mapping with any keys.
func named(key, value Form) Form {
	return Form{"type": "object", "propertyNames": key, "additionalProperties": value}
}

func both(all ...Form) Form { return Form{"allOf": all} }

func either(some ...Form) Form { return Form{"anyOf": some} }

// when is a rule of an object.
func when(condition, then Form) Form { return Form{"if": condition, "then": then} }

func requires(names ...string) Form { return Form{"required": names} }

// has holds for objects of which a field has one of some values.
func has(name string, values ...string) Form {
	return Form{"properties": Form{name: oneOf(values...)}, "required": []string{name}}
}

// absent holds for objects that have none of these fields.
func absent(names ...string) Form {
	rules := make([]Form, len(names))
	for i, name := range names {
		rules[i] = Form{"not": requires(name)}
	}
	return both(rules...)
}

// eachPhase holds for runbooks each phase of which is of a form.
func eachPhase(f Form) Form {
	return Form{"properties": Form{"phases": Form{"items": f}}}
}

// without holds for objects of which a mapping has no entry.
func without(name string) Form {
	return Form{"properties": Form{name: Form{"maxProperties": 0}}}
}

// varsForm is the form of constants: a mapping of names to scalars without templates, or lists of them.
func varsForm() Form {
	scalar := Form{"type": []string{"string", "number", "boolean"}, "not": Form{"type": "string", "pattern": `\{\{`}}
	f := named(Form{"pattern": outputName.String()}, either(scalar, Form{"type": "array", "items": scalar}))
	f["maxProperties"] = maxVars
	return f
}

// oneRequired holds for objects that have exactly one of these fields.
func oneRequired(names ...string) Form {
	forms := make([]Form, len(names))
	for i, name := range names {
		forms[i] = requires(name)
	}
	return Form{"oneOf": forms}
}

// columnsForm is the form of columns: a mapping of their names to properties.
func columnsForm() Form {
	f := named(columnForm(), matching(propertyPath))
	f["minProperties"], f["maxProperties"] = 1, maxColumns
	return f
}
