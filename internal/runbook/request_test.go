package runbook_test

import (
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
