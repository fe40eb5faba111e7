package runbook_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// requested is a runbook whose batches are started by requests.
const requested = `name: context-bundle
trigger: request
items:
  primary_key: Repository
  max: 50
  expires: 2d
  multi_valued_columns:
    - {name: Topics, format: json_array}
phases:
  - name: sync
    steps:
      - {name: sync, worker_id: w, function: F, params: {Name: "{{Repository}}", Topics: "{{Topics}}"}}
`

func TestRequestsAreRead(t *testing.T) {
	t.Parallel()
	rb, found := runbook.Parse([]byte(requested))
	if len(found) > 0 {
		t.Fatal(found)
	}
	if !rb.IsRequested() || rb.Request.MaxItems != 50 || rb.Request.Expires != 48*time.Hour {
		t.Errorf("request %+v", rb.Request)
	}
	if rb.DataSource.Queried() || rb.DataSource.Type != runbook.SourceRequest || rb.DataSource.PrimaryKey != "Repository" || rb.DataSource.Format("Topics") != runbook.FormatJSONArray {
		t.Errorf("items %+v", rb.DataSource)
	}
	if got := strings.Join(rb.Columns(), " "); got != "Repository Topics" {
		t.Errorf("columns %s", got)
	}
	if rb.Phases[0].Offset != 0 {
		t.Errorf("offset %v", rb.Phases[0].Offset)
	}

	short := strings.NewReplacer("  max: 50\n", "", "  expires: 2d\n", "").Replace(requested)
	rb, found = runbook.Parse([]byte(short))
	if len(found) > 0 || rb.Request.MaxItems != runbook.DefaultMaxItems || rb.Request.Expires != runbook.DefaultExpires {
		t.Errorf("without limits: %v %+v", found, rb)
	}
}

// listed is a runbook whose items a function lists.
var listed = strings.Replace(requested, "  max: 50\n", `  max: 50
  source:
    worker_id: w
    function: List
    params: {Owner: "{{_batch_owner}}"}
    output: Repositories
    retry: {max_retries: 2, interval: 1s}
    timeout: 30s
`, 1)

func TestSourceOfItemsIsRead(t *testing.T) {
	t.Parallel()
	rb, found := runbook.Parse([]byte(listed))
	if len(found) > 0 {
		t.Fatal(found)
	}
	s := rb.Request.Source
	if !rb.ListsItems() || s.Name != runbook.ItemsName || s.WorkerID != "w" || s.Function != "List" || s.Output != "Repositories" || s.Timeout != 30*time.Second || s.Retry.MaxRetries != 2 {
		t.Errorf("source %+v", s)
	}
	var places []string
	rb.EachStep(func(s runbook.Step, path []any) { places = append(places, runbook.PathText(path)+" "+s.Function) })
	if got := strings.Join(places, ", "); got != "items.source List, phases[0].steps[0] F" {
		t.Errorf("steps %s", got)
	}
	if got := strings.Join(rb.Columns(), " "); got != "Repository Topics" {
		t.Errorf("columns %s", got)
	}
}

func TestSourceOfItemsIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, old, is string
		want          string // a part of the first finding
	}{
		{"no function", "    function: List\n", "", `7:5: error: items.source: "function" is missing`},
		{"no output", "    output: Repositories\n", "", `items.source: "output" is missing`},
		{"a template as output", "output: Repositories", `output: "{{_batch_owner}}"`, "items.source.output: must be a field of the result, not a template"},
		{"data of a member", "{{_batch_owner}}", "{{Repository}}", "items.source.params.Owner: {{Repository}} belongs to a member, but the source lists the items before there are members"},
		{"counts of a phase", "{{_batch_owner}}", "{{_phase_members}}", "items.source.params.Owner: {{_phase_members}} is available only in the on_complete steps of a phase"},
		{"a condition", "    output:", "    when: 'true'\n    output:", "items.source.when: unknown field"},
		{"a cache", "    output:", "    cache: {key: \"{{_batch_owner}}\"}\n    output:", "items.source.cache: unknown field"},
		{"a rollback", "    output:", "    on_failure: undo\n    output:", "items.source.on_failure: unknown field"},
		{"a secret column", "phases:", "secret: [Repository, Topics, Token]\nphases:", `secret[2]: "Token" is a column whose values a function lists, and its result is visible to every reader`},
		{"a phase of its name", "- name: sync\n    steps", "- name: Items\n    steps", `phases[0].name: a phase cannot be called "Items": the source of the items is shown under that name`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := strings.Replace(listed, tt.old, tt.is, 1)
			if src == listed {
				t.Fatalf("the runbook has no %q", tt.old)
			}
			rb, found := runbook.Parse([]byte(src))
			if rb != nil || !slices.ContainsFunc(found, func(d runbook.Diagnostic) bool { return strings.Contains(d.String(), tt.want) }) {
				t.Errorf("%v, want %q", found, tt.want)
			}
		})
	}
}

func TestRequestsAreRefused(t *testing.T) {
	t.Parallel()
	const source = "data_source: {type: csv, primary_key: Repository}\n"
	const items = "items:\n  primary_key: Repository\n  max: 50\n  expires: 2d\n  multi_valued_columns:\n    - {name: Topics, format: json_array}\n"
	for _, tt := range []struct {
		name, old, is string
		want          string // a part of the first finding
	}{
		{"another trigger", "trigger: request", "trigger: requests", `2:10: error: trigger: "requests" is invalid; use one of request; did you mean "request"?`},
		{"no items", items, "", `"items" is missing`},
		{"no trigger and no data source", "trigger: request\n" + items, "", `"data_source" is missing`},
		{"items without the trigger", "trigger: request\n", source, "items: is only for a runbook with trigger: request"},
		{"a data source, too", items, items + source, "data_source: excludes trigger: request"},
		{"an offset", "name: sync\n", "name: sync\n    offset: T-0\n", "phases[0].offset: excludes trigger: request"},
		{"no offset without the trigger", "trigger: request\n" + items, source, `phases[0]: "offset" is missing`},
		{"no key", "primary_key: Repository", "", `items: "primary_key" is missing`},
		{"too many items", "max: 50", "max: 10001", "items.max: must be a whole number from 1 to 10000"},
		{"expires too soon", "expires: 2d", "expires: 14m", "items.expires: must be at least 15m"},
		{"never expires", "expires: 2d", "expires: 0d", "items.expires: must be longer than 0"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			src := strings.Replace(requested, tt.old, tt.is, 1)
			if src == requested {
				t.Fatalf("the runbook has no %q", tt.old)
			}
			rb, found := runbook.Parse([]byte(src))
			if rb != nil || len(found) == 0 || !strings.Contains(found[0].String(), tt.want) {
				t.Errorf("%v, want %q", found, tt.want)
			}
		})
	}
}
