package lint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// TestErrorsDoNotHideFindingsOfCalls: what follows from an error of the text is not reported, everything
// else is, in the order of the text.
func TestErrorsDoNotHideFindingsOfCalls(t *testing.T) {
	t.Parallel()
	functions := []signature.Function{{Name: "Copy", Params: []signature.Parameter{{Name: "Mail", Required: true}, {Name: "Note"}}, ReadOnly: true}}
	for steps, want := range map[string][]string{
		`[{name: a, worker_id: w, function: Copi}]`:                                                  {"5:13 bad-offset", "6:37 unknown-function"},
		`[{name: a, worker_id: w, function: Copy, params: {Mail: "{{x"}}]`:                           {"5:13 bad-offset", "6:69 bad-template"},
		`[{name: a, worker_id: w, function: Copy, params: {Mail: "{{x", Nate: n}}]`:                  {"5:13 bad-offset", "6:69 bad-template", "6:75 unknown-parameter"},
		`[{name: a, worker_id: w, function: Copy, params: Mail}]`:                                    {"5:13 bad-offset", "6:61 bad-type"},
		`[{name: a, worker_id: w, function: Copy, parms: {Mail: x}}]`:                                {"5:13 bad-offset", "6:37 missing-parameter", "6:53 unknown-field"},
		`[{name: a, worker_id: w}, {name: b, worker_id: w, function: Copi}]`:                         {"5:13 bad-offset", "6:13 missing-field", "6:62 unknown-function"},
		`[Copy, {name: b, worker_id: w, function: Copi}]`:                                            {"5:13 bad-offset", "6:13 bad-type", "6:43 unknown-function"},
		`[{name: a, worker_id: w, function: "Co py", params: {Nate: n}}]`:                            {"5:13 bad-offset", "6:47 bad-name"},
		`[{name: a, worker_id: "w!", function: Copy}]`:                                               {"5:13 bad-offset", "6:34 bad-name"},
		`[{name: a, worker_id: w, function: Copy, params: {Mail: a}, output_params: {_Id: number}}]`: {"5:13 bad-offset", "6:88 reserved-name"},
	} {
		text := []byte("name: calls\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: move\n    offset: now\n    steps: " + steps + "\n")
		rb, found := runbook.Read(text)
		if rb == nil {
			t.Fatalf("%s: no runbook", steps)
		}
		known := lint.Catalogs{Standard: functions}
		var got []string
		for _, d := range lint.Join(found, slices.Concat(lint.Check(text, rb, known), lint.ReadOnly(text, rb, known))) {
			got = append(got, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", steps, got, want)
		}
	}
}

// TestACallThatWasNotReadIsNotCompared: reading stops after many findings, and the parameters behind
// them would seem to be missing.
func TestACallThatWasNotReadIsNotCompared(t *testing.T) {
	t.Parallel()
	text := "name: calls\ndata_source: {type: csv, primary_key: Upn}\n"
	for i := range 300 {
		text += fmt.Sprintf("unknown%d: 1\n", i)
	}
	text += "phases:\n  - {name: move, offset: T-0, steps: [{name: a, worker_id: w, function: Copy, params: {Mail: x}}]}\n"
	rb, found := runbook.Read([]byte(text))
	if rb != nil || !slices.ContainsFunc(found, func(d runbook.Diagnostic) bool { return d.Code == runbook.CodeTooMany }) {
		t.Errorf("a runbook %v with %d findings", rb, len(found))
	}
}
