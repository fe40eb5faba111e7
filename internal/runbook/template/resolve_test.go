package template

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"testing"
)

var member = Variables{
	"Name": "Ada", "First Name": "Ada", "Straße-Nr_2.a": "5b", "Empty": "",
	"True": true, "Null": nil,
	"Int": 42, "Big": json.Number("9007199254740993"), "Float": 1e21, "Small": 1e-7,
	"Scientific": json.Number("1.5e3"), "Tiny": json.Number("-2.50E-3"), "Huge": json.Number("1e400"), "Inf": math.Inf(1),
	"List": []any{"a", json.Number("1")}, "Map": map[string]any{"k": "v"},
	"Recursive": "{{Name}}",
}

func TestResolveString(t *testing.T) {
	t.Parallel()
	for tmpl, want := range map[string]string{
		"":                         "",
		"plain { } text":           "plain { } text",
		"{{Name}}":                 "Ada",
		"{{ Name }}":               "Ada",
		"New-{{Name}}{{Name}}":     "New-AdaAda",
		"{{First Name}}":           "Ada",
		"{{Straße-Nr_2.a}}":        "5b",
		"[{{Empty}}]":              "[]",
		"{{True}}":                 "true",
		"a{{Null}}b":               "ab",
		"{{Int}} {{Big}}":          "42 9007199254740993",
		"{{Float}} {{Small}}":      "1000000000000000000000 0.0000001",
		"{{Scientific}} {{Tiny}}":  "1500 -0.0025",
		"{{{{Name}}}}":             "{{Name}}",
		"{{{{ {{Name}} }}}}":       "{{ Ada }}",
		"{{{{{{Name}}}}}}":         "{{Ada}}",
		"{{{Name}}}":               "{Ada}",
		"{{Recursive}}":            "{{Name}}", // values are not templates
		`{"a":{"n":"{{Name}}"}}}}`: `{"a":{"n":"Ada"}}`,
	} {
		if got, err := ResolveString(tmpl, member); err != nil || got != want {
			t.Errorf("ResolveString(%q) = %q, %v; want %q", tmpl, got, err, want)
		}
	}
}

func TestResolveStringRefuses(t *testing.T) {
	t.Parallel()
	for tmpl, want := range map[string]string{
		"{{Nam}}":    "cannot resolve {{Nam}} is not known; did you mean {{Name}}?",
		"{{name}}":   "cannot resolve {{name}} is not known; did you mean {{Name}}?",
		"{{Absent}}": "cannot resolve {{Absent}} is not known",
		"a{{List}}":  "cannot resolve {{List}} is a list, which has no text",
		"{{Map}}":    "cannot resolve {{Map}} is an object, which has no text",
		"{{Huge}}":   "cannot resolve {{Huge}} is a number too large or too small to write as text",
		"{{Inf}}":    "cannot resolve {{Inf}} is not a finite number",
		"x{{":        "bad template at character 2: {{ is never closed; write {{{{ for a literal {{",
		"x}}":        "bad template at character 2: }} closes nothing; write }}}} for a literal }}",
		"{{}}":       "bad template at character 1: {{ }} has no variable",
		"{{a{b}}":    "bad template at character 1: a variable name cannot contain '{'; use letters, digits, spaces and _ - .",
		"{{a\nb}}":   `bad template at character 1: a variable name cannot contain '\n'; use letters, digits, spaces and _ - .`,
	} {
		if got, err := ResolveString(tmpl, member); err == nil || err.Error() != want {
			t.Errorf("ResolveString(%q) = %q, %v; want the error %q", tmpl, got, err, want)
		}
	}
}

func TestResolveParamsKeepsTypes(t *testing.T) {
	t.Parallel()
	params := map[string]any{
		"Text": "Dear {{Name}}", "Bool": "{{True}}", "Null": "{{Null}}", "Big": "{{ Big }}", "Float": "{{Float}}",
		"List": "{{List}}", "Map": "{{Map}}", "Fixed": json.Number("1e3"), "No": nil, "Spaced": " {{Int}}",
		"{{Name}}": "keys are not templates",
		"Deep":     map[string]any{"L": []any{"{{Name}}", map[string]any{"X": "{{Int}}"}, false}},
	}
	want := map[string]any{
		"Text": "Dear Ada", "Bool": true, "Null": nil, "Big": json.Number("9007199254740993"), "Float": 1e21,
		"List": []any{"a", json.Number("1")}, "Map": map[string]any{"k": "v"}, "Fixed": json.Number("1e3"), "No": nil, "Spaced": " 42",
		"{{Name}}": "keys are not templates",
		"Deep":     map[string]any{"L": []any{"Ada", map[string]any{"X": 42}, false}},
	}
	got, err := ResolveParams(params, member)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("ResolveParams = %v, %v\nwant %v", got, err, want)
	}
	if params["Text"] != "Dear {{Name}}" || params["Deep"].(map[string]any)["L"].([]any)[0] != "{{Name}}" {
		t.Error("ResolveParams changed the parameters it was given")
	}
}

func TestResolveParamsOfNoneIsAnEmptyObject(t *testing.T) {
	t.Parallel()
	if got, err := ResolveParams(nil, nil); err != nil || got == nil || len(got) != 0 {
		t.Errorf("ResolveParams(nil) = %v, %v", got, err)
	}
}

func TestResolveParamsNamesEveryMissingVariable(t *testing.T) {
	t.Parallel()
	_, err := ResolveParams(map[string]any{
		"Z":    "{{Absent}}",
		"Deep": map[string]any{"L": []any{"{{Name}}", "{{Gone}} and {{Elsewhere}}"}},
		"Text": "id {{List}}",
	}, member)
	var unresolved *UnresolvedError
	if !errors.As(err, &unresolved) {
		t.Fatalf("error is %T: %v", err, err)
	}
	want := []Unresolved{
		{"Gone", "Deep.L[1]", "is not known"},
		{"Elsewhere", "Deep.L[1]", "is not known"},
		{"List", "Text", "is a list, which has no text"},
		{"Absent", "Z", "is not known"},
	}
	if !reflect.DeepEqual(unresolved.Missing, want) {
		t.Errorf("missing = %v\nwant %v", unresolved.Missing, want)
	}
	if want := "cannot resolve Deep.L[1]: {{Gone}} is not known; Deep.L[1]: {{Elsewhere}} is not known; Text: {{List}} is a list, which has no text; Z: {{Absent}} is not known"; err.Error() != want {
		t.Errorf("error = %q\nwant %q", err, want)
	}
}

func TestReferences(t *testing.T) {
	t.Parallel()
	got := References(map[string]any{
		"a": "{{B}} {{A}} {{{{C}}}}", "{{Key}}": json.Number("1"),
		"n": []any{"{{ D }}", map[string]any{"x": "{{A}}"}, "{{broken"},
	})
	if want := []string{"A", "B", "D"}; !reflect.DeepEqual(got, want) {
		t.Errorf("References = %v; want %v", got, want)
	}
	if got := References("none"); len(got) != 0 {
		t.Errorf("References of plain text = %v", got)
	}
}
