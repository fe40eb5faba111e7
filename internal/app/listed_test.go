package app_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// TestPublishRefusesSettingsThatAreNotListed checks that a runbook can name no other
// environment variable of the handler than those in DATA_SOURCES.
func TestPublishRefusesSettingsThatAreNotListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const warehouse = `name: moves
data_source:
  type: databricks
  connection: %s
  warehouse_id: %s
  query: SELECT Upn, Start FROM people
  primary_key: Upn
  batch_time_column: Start
phases:
  - name: move
    offset: T-0
    steps:
      - {name: only, worker_id: worker-01, function: Do, params: {Upn: "{{Upn}}"}}
`
	w.allowed = []string{"PEOPLE", "WAREHOUSE"}
	w.app = app.New(w.config())
	for _, tt := range []struct {
		connection, warehouse string
		want                  []string
	}{
		{"COSMOS_ENDPOINT", "WAREHOUSE", []string{"4:15 data_source.connection COSMOS_ENDPOINT"}},
		{"PATH", "COSMOS_KEY", []string{"4:15 data_source.connection PATH", "5:17 data_source.warehouse_id COSMOS_KEY"}},
		{"people", "WAREHOUSE", []string{"4:15 data_source.connection people"}},
		{"PEOPLE", "WAREHOUSE", nil},
	} {
		yaml := fmt.Sprintf(warehouse, tt.connection, tt.warehouse)
		for _, dry := range []bool{true, false} {
			_, err := w.app.PublishRunbook(w.ctx, ada, "", []byte(yaml), api.PublishOptions{DryRun: dry})
			var got []string
			for _, p := range problemsOf(err) {
				if p.Severity == "warning" {
					continue
				}
				name := strings.Fields(strings.TrimPrefix(p.Message, "the setting "))[0]
				got = append(got, fmt.Sprintf("%d:%d %s %s", p.Line, p.Column, p.Field, name))
				if p.Code != "unlisted-setting" || p.Severity != "error" || !strings.Contains(p.Message, "is not listed in DATA_SOURCES of the handler; give it in dataSourceSettings") || !strings.Contains(p.Message, "local up --setting "+name+"=") {
					t.Errorf("%+v", p)
				}
			}
			if !slices.Equal(got, tt.want) || len(tt.want) > 0 && problem.CodeOf(err) != api.CodeInvalid || len(tt.want) == 0 && err != nil {
				t.Errorf("%s, %s: %q, %v, want %q", tt.connection, tt.warehouse, got, err, tt.want)
			}
		}
		if _, err := w.app.Runbook(w.ctx, "moves"); len(tt.want) > 0 && problem.CodeOf(err) != api.CodeNotFound {
			t.Errorf("%s, %s: the runbook is there: %v", tt.connection, tt.warehouse, err)
		}
	}
}

// TestDataSourcesThatAreNoLongerListedAreNotRead checks a runbook that was published while
// its connection was listed: the tick reads nothing and changes nothing, and says why.
func TestDataSourcesThatAreNoLongerListedAreNotRead(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(2*day), crowd(3)...)
		s.findBatches(found(twoPhases, ""))
		s.wantBatches("1 03 09:00 active: p000 p001 p002")

		listed := s.app
		s.allowed = []string{"OTHER"}
		s.app = app.New(s.config())
		people.drop("p000")
		people.put(dawn.Add(2*day), "p009")
		s.tick()
		s.wantBatches("1 03 09:00 active: p000 p001 p002")
		const want = "the setting PEOPLE is not listed in DATA_SOURCES of the handler"
		v := s.automation("found")
		if !strings.Contains(v.LastError, want) || !strings.Contains(v.LastError, "data_source.connection") || strings.Contains(v.LastError, filepath.Base(s.env["PEOPLE"])) {
			t.Fatalf("the sync error is %q", v.LastError)
		}
		if _, err := s.app.PreviewQuery(s.ctx, ada, "found", 0); problem.CodeOf(err) != api.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Fatalf("the preview: %v", err)
		}

		s.app = listed
		s.tick()
		s.wantBatches("1 03 09:00 active: -p000 p001 p002 p009")
		if v := s.automation("found"); v.LastError != "" {
			t.Fatalf("the sync error is %q", v.LastError)
		}
	})
}
