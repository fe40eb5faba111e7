package lint_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
)

const calls = `name: calls
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: a, worker_id: one, function: copy, params: {MAIL: "{{Mail}}", Keep: "perhaps"}, output_params: {Id: id, Size: size}, timeout: 1m}
      - {name: b, worker_id: one, function: Copi}
      - {name: c, worker_id: two, function: Copy, params: {Mail: a@x, Password: "{{Secret}}", Kept: "true"}}
      - {name: d, worker_id: tow, function: "{{Which}}"}
    on_complete:
      - {name: e, worker_id: two, function: Copy, params: {Mail: a@x, Password: Welcome1}}
`

func TestCheck(t *testing.T) {
	t.Parallel()
	rb, diagnostics := runbook.Parse([]byte(calls))
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics.Err())
	}
	functions := []signature.Function{{
		Name:           "Copy",
		Params:         []signature.Parameter{{Name: "Mail", Required: true}, {Name: "Keep", Type: "boolean"}, {Name: "Password", Secret: true}},
		Result:         []signature.Field{{Name: "Id"}},
		TimeoutSeconds: 300,
	}}
	for name, tt := range map[string]struct {
		catalogs lint.Catalogs
		want     []string
	}{
		"nothing is known": {},
		"offline, the standard functions": {lint.Catalogs{Standard: functions}, []string{
			"7:78 parameter-type", "7:120 unknown-result-field", "7:133 timeout-shorter-than-function", "8:35 unknown-function", "9:95 unknown-parameter", "12:71 open-secret",
		}},
		"a worker that is announced with others": {lint.Catalogs{Workers: map[string][]signature.Function{"one": {{Name: "Copi"}}, "two": functions}, Announced: []string{"one", "two"}, Seen: []string{"tow"}}, []string{
			"7:35 unknown-function", "9:95 unknown-parameter", "10:19 unknown-worker", "12:71 open-secret",
		}},
		"workers that never announced themselves": {lint.Catalogs{Announced: []string{}}, []string{"7:19 unknown-worker", "9:19 unknown-worker", "10:19 unknown-worker"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, d := range lint.Check([]byte(calls), rb, tt.catalogs) {
				if d.Severity != runbook.SeverityWarning || d.Path == "" {
					t.Errorf("%+v", d)
				}
				got = append(got, fmt.Sprintf("%d:%d %s", d.Line, d.Column, d.Code))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	if got := (lint.Catalogs{Standard: functions}).Secrets(rb); !slices.Equal(got, []string{"Secret"}) {
		t.Errorf("secrets: %q", got)
	}
	if got := rb.Workers(); !slices.Equal(got, []string{"one", "tow", "two"}) {
		t.Errorf("workers: %q", got)
	}
	if line, column := lint.Position([]byte(calls), []any{"phases", 0, "steps", 2, "function"}); line != 9 || column != 45 {
		t.Errorf("the function of the third step is at %d:%d", line, column)
	}
	if line, column := lint.Position([]byte(calls), []any{"phases", 7}); line != 0 || column != 0 {
		t.Errorf("an eighth phase is at %d:%d", line, column)
	}
}

const secretBodies = `name: bodies
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: a, worker_id: one, function: Send, params: {Path: "/passwords/{{Id}}", Body: {displayName: "{{Name}}", list: [{passwordProfile: {password: "{{First}}", forceChange: true}}]}}}
      - {name: b, worker_id: one, function: Send, params: {Body: {CLIENTSECRET: "{{Second}}", password: "{{Upn}}"}}}
      - {name: c, worker_id: one, function: Send, params: {Body: '{"Password": "{{Third}}"}'}}
      - {name: d, worker_id: one, function: "{{Which}}", params: {Body: {password: ["x {{Fourth}}"]}}}
      - {name: e, worker_id: one, function: Send, params: {Body: {password: Welcome1}}}
      - {name: f, worker_id: one, function: Send, params: {Body: {password: "{{First | upper}}"}}}
`

func TestPasswordsInObjectsAreSecret(t *testing.T) {
	t.Parallel()
	rb, diagnostics := runbook.Parse([]byte(secretBodies))
	if diagnostics.HasErrors() {
		t.Fatal(diagnostics.Err())
	}
	catalogs := lint.Catalogs{Standard: []signature.Function{{Name: "Send", Params: []signature.Parameter{{Name: "Path"}, {Name: "Body", Type: string(signature.Object)}}}}}
	if got := catalogs.Secrets(rb); !slices.Equal(got, []string{"First", "Fourth", "Second", "Third"}) {
		t.Errorf("secrets: %q", got)
	}
	var found []string
	for _, d := range lint.Check([]byte(secretBodies), rb, catalogs) {
		found = append(found, fmt.Sprintf("%d %s", d.Line, d.Code))
	}
	if !slices.Equal(found, []string{"11 open-secret", "12 filtered-secret"}) {
		t.Errorf("found %q", found)
	}
}
