package runbooks_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// TestLint checks the findings of a text that is being written, with the outline of what can be read.
func TestLint(t *testing.T) {
	t.Parallel()
	rich := strings.Replace(move, "    offset: T-0\n", "    offset: T+5d\n    approval: required\n    stop_when: {failed: 10%}\n    when: dept == \"Sales\"\n", 1) + `
      - {name: wait, worker_id: w2, function: Wait, poll: {interval: 5m, timeout: 1h}, on_failure: undo, output_params: {Id: Id}}
rollbacks:
  undo:
    - {name: back, worker_id: w1, function: Back, params: {Id: "{{Id?}}", Note: "{{note?}}"}}
`
	for name, tt := range map[string]struct {
		name, yaml string
		findings   []string // without unknown workers
		sections   []string
		columns    []string
		unread     bool
	}{
		"good":         {yaml: move, sections: []string{"phase create 5 T-0: new 8"}, columns: []string{"upn"}},
		"another name": {name: "other", yaml: move, findings: []string{"error other-name 2"}, sections: []string{"phase create 5 T-0: new 8"}, columns: []string{"upn"}},
		"rich": {
			yaml: rich, sections: []string{"phase create 5 T+5d approval 10% when: new 11, wait 13 polls undo", `rollback undo 16: back 16`}, columns: []string{"dept", "note?", "upn"},
		},
		"with an error": {
			yaml: strings.Replace(rich, "on_failure: undo", "on_failure: unto", 1), findings: []string{"error unknown-rollback 13", "warning unused-rollback 15"},
			sections: []string{"phase create 5 T+5d approval 10% when: new 11, wait 13 polls unto", `rollback undo 16: back 16`}, columns: []string{"dept", "note?", "upn"},
		},
		"no YAML": {yaml: "name: [", findings: []string{"error syntax 1"}, unread: true},
		"empty":   {yaml: "", findings: []string{"error empty-runbook 1"}, unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := memory.New(memory.Config{})
			view, err := newPublisher(s).Lint(t.Context(), tt.name, []byte(tt.yaml))
			if err != nil {
				t.Fatal(err)
			}
			var findings []string
			for _, d := range view.Findings {
				if d.Code != "unknown-worker" {
					findings = append(findings, fmt.Sprintf("%s %s %d", d.Severity, d.Code, d.Line))
				}
			}
			if !slices.Equal(findings, tt.findings) {
				t.Errorf("findings %q, want %q", findings, tt.findings)
			}
			if tt.unread != (view.Outline == nil) {
				t.Fatalf("outline %+v", view.Outline)
			}
			if view.Outline != nil {
				if got := sections(view.Outline); !slices.Equal(got, tt.sections) {
					t.Errorf("sections %q, want %q", got, tt.sections)
				}
				var columns []string
				for _, c := range view.Outline.Columns {
					columns = append(columns, c.Name+map[bool]string{true: "?"}[c.Optional])
				}
				if !slices.Equal(columns, tt.columns) {
					t.Errorf("columns %q, want %q", columns, tt.columns)
				}
			}
			if s.Versions() != 0 {
				t.Error("something was stored")
			}
		})
	}
}

// sections writes each section of an outline in one line.
func sections(o *api.RunbookOutline) []string {
	var all []string
	for _, s := range o.Sections {
		text := fmt.Sprintf("%s %s %d", s.Kind, s.Name, s.Line)
		for _, part := range []string{s.Offset, map[bool]string{true: "approval"}[s.Approval], s.StopWhen, map[bool]string{true: "when"}[s.When != ""]} {
			if part != "" {
				text += " " + part
			}
		}
		var steps []string
		for _, step := range s.Steps {
			one := fmt.Sprintf("%s %d", step.Name, step.Line)
			if step.Polls {
				one += " polls"
			}
			if step.OnFailure != "" {
				one += " " + step.OnFailure
			}
			steps = append(steps, one)
		}
		all = append(all, text+": "+strings.Join(steps, ", "))
	}
	return all
}

// announceNew stores that worker w1 has announced the function New, whose parameter Dept is secret.
func announceNew(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New(memory.Config{})
	announced := message.Catalog{WorkerID: "w1", Version: "1.0", Timestamp: time.Now(), Functions: []message.CatalogFunction{
		{Name: "New", Parameters: []message.CatalogParameter{{Name: "Dept", Type: "string", Secret: true}, {Name: "Upn", Type: "string"}}},
	}}
	body, err := json.Marshal(announced)
	if err != nil {
		t.Fatal(err)
	}
	known := workers.New(workers.Config{Store: s, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err := known.OnCatalog(t.Context(), message.Delivery{Body: body, EnqueuedAt: time.Now()}, announced); err != nil {
		t.Fatal(err)
	}
	return s
}

// A column that a function lists cannot go into a parameter that is secret: the list is shown to every reader.
func TestASecretIsNotListed(t *testing.T) {
	t.Parallel()
	const listed = `name: bundle
trigger: request
items: {primary_key: Upn, source: {worker_id: w1, function: List, output: People}}
phases:
  - name: create
    steps:
      - {name: new, worker_id: w1, function: New, params: {Dept: "%s"}}
`
	for value, want := range map[string][]string{
		"{{Department}}":   {`3: items.source: it lists the column "Department", which goes into a secret parameter`},
		"{{_batch_owner}}": nil,
	} {
		view, err := newPublisher(announceNew(t)).Lint(t.Context(), "", fmt.Appendf(nil, listed, value))
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, d := range view.Findings {
			if d.Code == "secret-place" {
				found = append(found, fmt.Sprintf("%d: %s: %s", d.Line, d.Path, d.Message))
			}
		}
		if len(found) != len(want) || len(want) == 1 && !strings.HasPrefix(found[0], want[0]) {
			t.Errorf("%s: found %q of %+v, want %q", value, found, view.Findings, want)
		}
	}
}

// TestLintBoundsTheFindingsOfSecrets checks a text each of whose steps has a secret where it would show:
// the column of a parameter that the worker announced as secret.
func TestLintBoundsTheFindingsOfSecrets(t *testing.T) {
	t.Parallel()
	s := announceNew(t)
	text := move
	for i := range 300 {
		text += fmt.Sprintf("      - {name: s%d, worker_id: w1, function: New, when: dept == \"Sales\", params: {Dept: \"{{dept}}\"}}\n", i)
	}
	view, err := newPublisher(s).Lint(t.Context(), "", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var places []int
	more := 0
	for _, d := range view.Findings {
		switch d.Code {
		case "secret-place":
			places = append(places, d.Line)
		case "too-many-diagnostics":
			more = d.Line
		}
	}
	if len(places) != 200 || more <= places[len(places)-1] {
		t.Errorf("%d findings, the last in line %d, and the rest from line %d", len(places), places[len(places)-1], more)
	}
}

// TestLintBoundsTheFindings checks a text of many warnings and one error, which is shown among the first.
func TestLintBoundsTheFindings(t *testing.T) {
	t.Parallel()
	text := move
	for i := range 300 {
		text += fmt.Sprintf("      - {name: s%d, worker_id: w1, function: New, params: {Nope: x}}\n", i)
	}
	text += "      - {name: last, worker_id: w1, function: New, params: {Upn: \"{{upn}}\"}, on_failure: nowhere}\n"
	view, err := newPublisher(announceNew(t)).Lint(t.Context(), "", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]int{}
	for _, d := range view.Findings {
		codes[d.Code]++
	}
	if len(view.Findings) != 201 || codes["unknown-rollback"] != 1 || codes["too-many-diagnostics"] != 1 {
		t.Errorf("%d findings: %v", len(view.Findings), codes)
	}
}
