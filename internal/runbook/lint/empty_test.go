package lint_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// warningsOf are the warnings about a call of Copy with a parameter.
func warningsOf(t *testing.T, parameter, value string) []string {
	t.Helper()
	text := fmt.Sprintf(`name: calls
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: a, worker_id: one, function: Copy, params: {Name: x, %s: "%s"}}
`, parameter, value)
	if parameter == "Name" {
		text = strings.Replace(text, "Name: x, ", "", 1)
	}
	rb, found := runbook.Parse([]byte(text))
	if found.HasErrors() {
		t.Fatal(found.Err())
	}
	var got []string
	for _, d := range lint.Check([]byte(text), rb, lint.Catalogs{Standard: []signature.Function{{Name: "Copy", Params: []signature.Parameter{
		{Name: "Name", Required: true}, {Name: "Note"}, {Name: "Password", Secret: true},
	}}}}) {
		got = append(got, fmt.Sprintf("%d:%d %s: %s", d.Line, d.Column, d.Code, d.Message))
	}
	return got
}

func TestSpecificationARequiredParameterThatMayBeEmptyIsAWarning(t *testing.T) {
	t.Parallel()
	const fails = ": the call will fail then; the filter default gives a value"
	for value, want := range map[string]string{
		"{{First?}}":                           "{{First}} has no value",
		"{{First | default('')}}":              "{{First}} has no value",
		"{{First}}{{Last}}":                    "{{First}} and {{Last}} have no value",
		"{{First}} {{Last?}}":                  "{{First}} and {{Last}} have no value",
		"{{First}} {{Last}}":                   "",
		" {{First?}} {{First}}":                "{{First}} has no value",
		"{{First}}":                            "",
		"{{First}} x":                          "",
		"{{First?}}{{Upn}}":                    "",
		"{{First | default('x')}}":             "",
		"{{First}}{{Last | default('none')}}":  "",
		"{{First?}} of {{_batch_id}} {{Last}}": "",
	} {
		got := warningsOf(t, "Name", value)
		if want == "" && len(got) > 0 || want != "" && !slices.Equal(got, []string{"7:60 may-be-empty: the parameter Name of Copy is required, and is empty if " + want + fails}) {
			t.Errorf("%s: %q", value, got)
		}
		if got := warningsOf(t, "Note", value); len(got) > 0 {
			t.Errorf("%s in an optional parameter: %q", value, got)
		}
	}
}

func TestFilterOfASecretParameter(t *testing.T) {
	t.Parallel()
	want := []string{"7:69 filtered-secret: the parameter Password of Copy is secret, and a filter cannot change {{Pw}}, which is encrypted: each call will fail"}
	if got := warningsOf(t, "Password", "{{Pw | trim}}"); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := warningsOf(t, "Password", "{{Pw?}}"); len(got) > 0 {
		t.Errorf("%q", got)
	}
}
