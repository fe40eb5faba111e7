package lint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

const withChecks = `name: calls
data_source: {type: csv, primary_key: Upn}
checks:
  - {name: a, worker_id: one, function: look}
  - {name: b, worker_id: one, function: Move}
  - {name: c, worker_id: two, function: Look}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: a, worker_id: one, function: Move}
`

// A check may only call a function that is declared to read.
func TestChecksCallFunctionsThatOnlyRead(t *testing.T) {
	t.Parallel()
	rb, found := runbook.Parse([]byte(withChecks))
	if found.HasErrors() {
		t.Fatal(found.Err())
	}
	functions := []signature.Function{{Name: "Look", ReadOnly: true}, {Name: "Move"}}
	for name, tt := range map[string]struct {
		known lint.Catalogs
		want  []string
	}{
		"nothing is known":       {},
		"the standard functions": {lint.Catalogs{Standard: functions}, []string{"5:31 error not-read-only"}},
		"announced workers": {lint.Catalogs{Workers: map[string][]signature.Function{"one": functions}, Announced: []string{"one"}}, []string{
			"5:31 error not-read-only", "6:31 warning may-write",
		}},
	} {
		var got []string
		for _, d := range lint.ReadOnly([]byte(withChecks), rb, tt.known) {
			got = append(got, fmt.Sprintf("%d:%d %s %s", d.Line, d.Column, d.Severity, d.Code))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
