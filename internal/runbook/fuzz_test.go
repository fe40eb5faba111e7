package runbook

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// For every text, Parse returns either a runbook or an error, with every
// position inside the text.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/*.yaml", "testdata/diagnostics/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, file := range files {
			src, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(src)
		}
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		rb, found := Parse(src)
		if (rb == nil) != found.HasErrors() {
			t.Fatalf("runbook is nil: %v, findings: %v", rb == nil, found)
		}
		lines := strings.Split(string(src), "\n")
		for _, d := range found {
			if d.Line < 1 || d.Line > len(lines) || d.Column < 1 || d.Column > utf8.RuneCountInString(lines[d.Line-1])+1 {
				t.Errorf("outside of the text: %v", d)
			}
			if d.Code == "" || d.Message == "" || d.Severity == "" {
				t.Errorf("incomplete: %+v", d)
			}
		}
		if rb == nil {
			return
		}
		// What Parse accepts resolves once every variable has a value.
		vars := template.Variables{VariableBatchID: 1, VariableBatchStartTime: "2026-01-01T00:00:00Z"}
		for _, name := range rb.Columns() {
			vars[name] = "x"
		}
		for _, ph := range rb.Phases {
			for _, s := range ph.Steps {
				for name := range s.OutputParams {
					vars[name] = "x"
				}
				for _, name := range s.References() {
					if _, ok := vars[name]; !ok && !declared(rb, name) {
						t.Errorf("%q is neither a column nor an output nor special", name)
					}
				}
			}
			checkOnComplete(t, ph)
			if ph.RequireSuccess < 0 || ph.RequireSuccess > 100 {
				t.Errorf("requires %v %%", ph.RequireSuccess)
			}
			if o, err := ParseOffset(ph.Offset.String()); err != nil || o != ph.Offset {
				t.Errorf("the offset %d is written as %v, which is %d, %v", ph.Offset, ph.Offset, o, err)
			}
		}
		checkTimes(t, rb)
	})
}

// checkTimes holds what the scheduler reckons with against its bounds.
func checkTimes(t *testing.T, rb *Runbook) {
	t.Helper()
	ds := rb.DataSource
	within := ds.Timeout > 0 && ds.Timeout <= MaxQueryTimeout && ds.RemovalGuard > 0 && ds.RemovalGuard <= 100 &&
		ds.AdditionGuard.Share > 0 && ds.AdditionGuard.Share <= 100 && ds.AdditionGuard.Number > 0 && ds.AdditionGuard.Number <= MaxAdditions
	if ds.Queried() != within || !ds.Queried() && (ds.Timeout != 0 || ds.RemovalGuard != 0 || ds.AdditionGuard != (AdditionGuard{})) {
		t.Errorf("queried %v, within %v, guards %v and %v", ds.Queried(), ds.Timeout, ds.RemovalGuard, ds.AdditionGuard)
	}
	if ds.Queried() && (ds.BatchTime == "") == (ds.BatchTimeColumn == "") {
		t.Errorf("batch time %q, column %q", ds.BatchTime, ds.BatchTimeColumn)
	}
	if ds.TimeZone != "" && ds.Location().String() != ds.TimeZone {
		t.Errorf("the time zone %q is %v", ds.TimeZone, ds.Location())
	}
	if rb.QuietHours == nil {
		return
	}
	stored, err := json.Marshal(rb.QuietHours)
	if err != nil {
		t.Fatal(err)
	}
	var back QuietHours
	if err := json.Unmarshal(stored, &back); err != nil || !reflect.DeepEqual(&back, rb.QuietHours) {
		t.Errorf("quiet hours are stored as %s, %v", stored, err)
	}
	checkUntil(t, rb.QuietHours, time.Date(2026, 3, 28, 23, 0, 0, 0, time.UTC), time.Hour)
}

// checkOnComplete resolves the steps with their own variables only.
func checkOnComplete(t *testing.T, ph Phase) {
	t.Helper()
	vars := template.Variables{VariableBatchID: 1, VariableBatchStartTime: "2026-01-01T00:00:00Z"}
	for _, name := range phaseVariables {
		vars[name] = 1
	}
	for _, s := range ph.OnComplete {
		if _, err := template.ResolveString(s.Function, vars); err != nil && !filterRefuses(err) {
			t.Errorf("function of %q: %v", s.Name, err)
		}
		if _, err := template.ResolveParams(s.Params, vars); err != nil && !filterRefuses(err) {
			t.Errorf("parameters of %q: %v", s.Name, err)
		}
		for name := range s.OutputParams {
			vars[name] = "x"
		}
	}
}

// filterRefuses reports whether nothing but filters, which refuse some values, is why templates do
// not resolve.
func filterRefuses(err error) bool {
	var unresolved *template.UnresolvedError
	return errors.As(err, &unresolved) && !slices.ContainsFunc(unresolved.Missing, func(u template.Unresolved) bool {
		return !strings.Contains(u.Reason, "filter") && !strings.Contains(u.Reason, "list")
	})
}

func declared(rb *Runbook, name string) bool {
	lists := [][]Step{rb.OnMemberRemoved}
	for _, ph := range rb.Phases {
		lists = append(lists, ph.Steps)
	}
	for _, steps := range rb.Rollbacks {
		lists = append(lists, steps)
	}
	for _, s := range slices.Concat(lists...) {
		if _, ok := s.OutputParams[name]; ok {
			return true
		}
	}
	return false
}

// Each template of a one-line text is reported at its place in the text.
func FuzzTemplatePositions(f *testing.F) {
	for _, seed := range []string{"{{a}}", "é{{a}} {{b}}", "it's {{a}}''{{b}}", "{{{{ {{a}} }}}} {{{b}}}", `\{{a}}"{{b}}`, "{{a}} {{", "a}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		src := "'" + strings.ReplaceAll(value, "'", "''") + "'"
		p := &parser{}
		n := p.load([]byte(src))
		if n == nil || n.Value != value { // YAML does not have the text, or folds it
			return
		}
		var s draftStep
		p.template(n, "", &s)
		runes := []rune(src)
		for _, u := range s.uses {
			if column := u.pos.column; u.pos.line != 1 || column > len(runes) || !strings.HasPrefix(string(runes[column-1:]), "{{") {
				t.Errorf("%q: {{%s}} is reported at %v", value, u.variable, u.pos)
			}
		}
		for _, d := range p.found {
			if d.Line != 1 || d.Column < 1 || d.Column > len(runes) {
				t.Errorf("%q: %v", value, d)
			}
		}
	})
}
