package runbook

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

const smallest = `name: n
data_source: {type: csv, primary_key: Mail}
phases:
  - {name: p, offset: T-0, steps: [{name: s, worker_id: w, function: F}]}
`

// What YAML allows and a person may well write is accepted without a finding.
func TestAccepted(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"smallest":          smallest,
		"line ends of DOS":  strings.ReplaceAll(smallest, "\n", "\r\n"),
		"byte order mark":   "\ufeff" + smallest,
		"one document mark": "---\n" + smallest,
		"empty lists":       smallest + "init: []\non_member_removed: []\nrollbacks: {}\n",
		"csv from a place":  strings.Replace(smallest, "{type: csv,", "{type: csv, connection: MEMBERS_CSV, batch_time: immediate,", 1),
		"postgres":          strings.Replace(smallest, "{type: csv,", "{type: postgres, connection: PEOPLE, query: SELECT 1, batch_time: immediate,", 1),
		"databricks": strings.Replace(smallest, "{type: csv,",
			"{type: databricks, connection: DBX__Url, warehouse_id: DBX_WAREHOUSE, query: SELECT 1, batch_time_column: Start Time,", 1),
		"removal with a rollback": smallest + `on_member_removed:
  - {name: a, worker_id: w, function: F, output_params: {Ticket: id}, on_failure: tell}
  - {name: b, worker_id: w, function: F, params: {Ticket: "{{Ticket}}"}}
rollbacks:
  tell:
    - {name: a, worker_id: w, function: F, output_params: {Alert: id}}
    - {name: b, worker_id: w, function: F, params: {Alert: "{{Alert}}", Mail: "{{Mail}}"}}
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if rb, found := Parse([]byte(src)); rb == nil || len(found) > 0 {
				t.Errorf("found:\n%v", found)
			}
		})
	}
}

// An alias stands for what its anchor marks, wherever it is.
func TestAliasesAreFollowed(t *testing.T) {
	t.Parallel()
	rb, found := Parse([]byte(`name: n
data_source: {type: csv, primary_key: Mail}
phases:
  - name: p
    offset: T-0
    steps:
      - {name: a, worker_id: &w worker-01, function: &f "New-{{Kind}}", params: &params {To: ["{{Mail}}", 1]}, poll: &poll {interval: 1s, timeout: 2s}}
      - {name: b, worker_id: *w, function: *f, params: *params, poll: *poll}
`))
	if len(found) > 0 {
		t.Fatal(found)
	}
	a, b := rb.Phases[0].Steps[0], rb.Phases[0].Steps[1]
	a.Name = b.Name
	if !reflect.DeepEqual(a, b) {
		t.Errorf("the alias is read as\n%+v, its anchor as\n%+v", b, a)
	}
}

// A parameter's value is a JSON value: numbers keep every digit, dates and
// words like yes stay text.
func TestParametersAreReadAsJSON(t *testing.T) {
	t.Parallel()
	src := strings.Replace(smallest, "function: F", `function: F, params: {v: [12345678901234567890, -2.50, 1e3, true, null, ~, 2025-01-01, "01234", yes, '', {}]}`, 1)
	rb, found := Parse([]byte(src))
	if len(found) != 1 || found[0].Code != CodeNumberAsText || found[0].Line != 4 {
		t.Fatal(found)
	}
	want := []any{
		json.Number("12345678901234567890"), json.Number("-2.50"), json.Number("1e3"), true, nil, nil,
		"2025-01-01", "01234", "yes", "",
		map[string]any{},
	}
	if got := rb.Phases[0].Steps[0].Params["v"]; !reflect.DeepEqual(got, want) {
		t.Errorf("params = %#v\nwant %#v", got, want)
	}
}

// An init step's rollback has no member either, and keeps no outputs.
func TestRollbackOfInitHasNoMember(t *testing.T) {
	t.Parallel()
	_, found := Parse([]byte(smallest + `init:
  - {name: i, worker_id: w, function: F, on_failure: undo}
rollbacks:
  undo:
    - {name: a, worker_id: w, function: F, output_params: {Id: id}}
`))
	if len(found) != 1 || found[0].Code != CodeInitOutput || found[0].Path != "rollbacks.undo[0].output_params.Id" {
		t.Errorf("found %v", found)
	}
}

func TestLongKeysAreRefused(t *testing.T) {
	t.Parallel()
	src := strings.Replace(smallest, "function: F", "function: F, params: {"+strings.Repeat("k", 201)+": 1}", 1)
	if _, found := Parse([]byte(src)); len(found) != 1 || found[0].Code != CodeBadValue {
		t.Errorf("found %v", found)
	}
}
