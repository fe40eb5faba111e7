package lint_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

const columns = `name: columns
data_source: {type: csv, primary_key: Upn}
init:
  - {name: prepare, worker_id: w, function: Copy, params: {Id: "{{_batch_id}}"}}
phases:
  - name: early
    offset: T-1d
    when: "Archive != ''"
    steps:
      - {name: early, worker_id: w, function: Copy, params: {Id: "{{Archive}}"}}
  - name: move
    offset: T-0
    steps:
      - {name: find, worker_id: w, function: Copy, params: {Id: "{{Id}}", Mail: "{{Mail}}"}, output_params: {NewId: id}}
      - {name: copy, worker_id: w, function: copy, params: {ID: "{{NewId}}", Tags: "{{Groups}}", Colour: "{{Colour}}", Mail: "smtp:{{Alias}}"}}
      - {name: late, worker_id: w, function: Paint, params: {Mail: "{{Mail}}", Colour: "{{Colour}}"}}
      - {name: own, worker_id: w, function: Other, params: {Id: "{{Office}}"}}
      - {name: maybe, worker_id: w, function: Copy, params: {Id: "{{Archive}}"}, when: "Archive != ''"}
      - {name: made, worker_id: w, function: Paint, params: {Mail: "{{Nick | lower}}@{{Nick}}.example", Both: "{{First}}@{{Last}}"}}
`

func TestColumnsAreCheckedAgainstTheParametersThatConsistOfThem(t *testing.T) {
	t.Parallel()
	rb, diagnostics := runbook.Parse([]byte(columns))
	if rb == nil {
		t.Fatal(diagnostics.Err())
	}
	rules := lint.Catalogs{Workers: map[string][]signature.Function{"w": {
		{Name: "Copy", Params: []signature.Parameter{
			{Name: "Id", Type: "guid", Required: true}, {Name: "Mail", Type: "email"}, {Name: "Tags", Type: "string list"}, {Name: "Colour", Type: "shade", Required: true},
		}},
		{Name: "Paint", Params: []signature.Parameter{{Name: "Mail", Type: "email", Required: true}}},
	}}}.ColumnRules(rb)
	const id = "00000000-0000-4000-8000-000000000001"
	for _, tt := range []struct {
		column string
		value  any
		want   string // empty: the value is accepted
	}{
		{"Id", id, ""},
		{"Id", "17", "column Id: Id of Copy in step find must be a GUID, not this text"},
		{"Id", "", "column Id: Id of Copy in step find is required and is empty"},
		{"Id", json.Number("5"), "column Id: Id of Copy in step find must be a GUID, not a number"},
		{"Mail", "ada", "column Mail: Mail of Copy in step find must be an address such as ada@contoso.com, not this text"},
		{"Mail", "", "column Mail: Mail of Paint in step late is required and is empty"},
		{"Groups", []any{}, ""},
		{"Groups", []any{json.Number("1")}, "column Groups: Tags of Copy in step copy must be an array of strings, but item 1 is a number"},
		{"Colour", "any", ""}, // of a type that is not known
		{"Colour", nil, "column Colour: Colour of Copy in step copy is required and is empty"},
		{"NewId", "an output", ""},
		{"Nick", "Ada", ""},
		{"Nick", "Ada Lovelace", "column Nick: Mail of Paint in step made must be an address such as ada@contoso.com, not this text"},
		{"Nick", []any{}, "column Nick: Mail of Paint in step made: cannot resolve Mail: {{Nick}} is a list, which has no text, and the filter lower cannot change it; Mail: {{Nick}} is a list, which has no text"},
		{"First", "several variables", ""},
		{"Archive", "", ""},               // only under conditions
		{"Office", "", ""},                // the function is not known
		{"Upn", "in no parameter", ""},    // the key
		{"_batch_id", "not a column", ""}, // of init
	} {
		if got := rules.Check(tt.column, tt.value); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.column, tt.value, got, tt.want)
		}
		if s, ok := tt.value.(string); ok && len(s) > 3 && strings.Contains(rules.Check(tt.column, tt.value), s) {
			t.Errorf("%s: the finding repeats the value", tt.column)
		}
	}
}
