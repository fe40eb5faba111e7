package lint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

func TestAMultiValuedColumnDoesNotFitASingleValue(t *testing.T) {
	t.Parallel()
	const text = `name: groups
data_source: {type: csv, primary_key: Upn, multi_valued_columns: [{name: Groups, format: semicolon_delimited}]}
phases:
  - name: leave
    offset: T-0
    steps:
      - {name: a, worker_id: w, function: Leave, params: {Group: "{{Groups}}", All: "{{Groups}}", Any: "{{Groups}}"}}
      - {name: b, worker_id: w, function: Leave, params: {Group: "{{Groups | join(';')}}"}}
      - {name: c, worker_id: w, function: Leave, params: {Group: "{{Upn}}"}}
`
	rb, found := runbook.Parse([]byte(text))
	if found.HasErrors() {
		t.Fatal(found.Err())
	}
	var got []string
	for _, d := range lint.Check([]byte(text), rb, lint.Catalogs{Standard: []signature.Function{{Name: "Leave", Params: []signature.Parameter{
		{Name: "Group", Type: "guid", Required: true}, {Name: "All", Type: "string list"}, {Name: "Any"},
	}}}}) {
		got = append(got, fmt.Sprintf("%d:%d %s, always %t: %s", d.Line, d.Column, d.Code, d.AlwaysFails, d.Message))
	}
	want := []string{"7:59 parameter-type, always true: the parameter Group of Leave must be a GUID, not an array, and {{Groups}} is a multi-valued column: each call will fail"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
