package app_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite"

	"github.com/matoolkit/matoolkit/internal/api"
)

// table is a database with the people of a runbook, which a test changes as it goes.
type table struct {
	s  *stage
	db *sql.DB
}

// people makes the database that the environment variable PEOPLE names, with one
// table: upn, name, start.
func (s *stage) table() *table {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "people.db")
	db := must(sql.Open("sqlite", "file:"+file))(s.t)
	s.t.Cleanup(func() { _ = db.Close() })
	s.env["PEOPLE"] = "sqlite:" + file
	p := &table{s: s, db: db}
	p.exec("CREATE TABLE people (Upn TEXT, Name TEXT, Start TEXT)")
	return p
}

// tableOf is a table with a row for each of some people, who all start at one moment.
func (s *stage) tableOf(start time.Time, names ...string) *table {
	s.t.Helper()
	p := s.table()
	p.put(start, names...)
	return p
}

func (p *table) exec(query string, args ...any) {
	p.s.t.Helper()
	must(p.db.ExecContext(p.s.ctx, query, args...))(p.s.t)
}

// put writes people with a start each; those who are there are changed.
func (p *table) put(start time.Time, names ...string) {
	p.s.t.Helper()
	for _, name := range names {
		p.exec("DELETE FROM people WHERE Upn = ?", name+"@x")
		p.exec("INSERT INTO people VALUES (?, ?, ?)", name+"@x", strings.ToUpper(name), start.UTC().Format(time.RFC3339))
	}
}

func (p *table) drop(names ...string) {
	p.s.t.Helper()
	for _, name := range names {
		p.exec("DELETE FROM people WHERE Upn = ?", name+"@x")
	}
}

// crowd are the names of so many people.
func crowd(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("p%03d", i))
	}
	return names
}

// manyAtOnce is the addition guard of tests that are about something else.
const manyAtOnce = "  addition_guard: {share: 100%, number: 100}\n"

// found is a runbook whose members are found in the table. Its phases are given, as
// name offset function, and more is added to its end.
func found(phases []string, more string) string {
	yaml := `name: found
data_source:
  type: sql
  connection: PEOPLE
  query: SELECT Upn, Name, Start FROM people
  primary_key: Upn
  batch_time_column: Start
` + manyAtOnce + `phases:
`
	for _, p := range phases {
		f := strings.Fields(p)
		yaml += fmt.Sprintf("  - name: %s\n    offset: %s\n    steps:\n      - {name: only, worker_id: worker-01, function: %s, params: {Upn: \"{{Upn}}\", Name: \"{{Name}}\"}}\n", f[0], f[1], f[2])
	}
	return yaml + more
}

// unguarded is a runbook whose additions are never held.
func unguarded(yaml string) string { return guardedBy("{share: 100%, number: 1000000}", yaml) }

// guardedBy is a runbook with an addition guard, "" for that of a runbook without one.
func guardedBy(guard, yaml string) string {
	if guard != "" {
		guard = "  addition_guard: " + guard + "\n"
	}
	return strings.Replace(yaml, manyAtOnce, guard, 1)
}

// automate turns automation on.
func (s *stage) automate(runbook string) {
	s.t.Helper()
	if v := must(s.app.SetAutomation(s.ctx, ada, runbook, true))(s.t); !v.Enabled || v.EnabledBy != ada.Name {
		s.t.Fatalf("%+v", v)
	}
}

// publishAutomated publishes a runbook and enables its automation.
func (s *stage) publishAutomated(yaml string) {
	s.t.Helper()
	s.automate(s.publish(yaml).Name)
}

// findBatches publishes a runbook, enables its automation, and ticks: it makes its first batches.
func (s *stage) findBatches(yaml string) {
	s.t.Helper()
	s.publishAutomated(yaml)
	s.tick()
}

func (s *stage) automation(runbook string) api.Automation {
	s.t.Helper()
	return must(s.app.Automation(s.ctx, ada, runbook))(s.t)
}

// wantBatches compares all batches: start, status and members.
func (s *stage) wantBatches(want ...string) {
	s.t.Helper()
	var got []string
	page := must(s.app.Batches(s.ctx, api.ListOptions{Limit: 1000}))(s.t)
	for i := len(page.Items) - 1; i >= 0; i-- {
		b := page.Items[i]
		members := must(s.app.Members(s.ctx, reader, b.ID, api.ListOptions{Limit: 1000}))(s.t)
		var who []string
		for _, m := range members.Items {
			mark := map[string]string{"removed": "-", "failed": "!"}[m.Status]
			who = append(who, mark+strings.TrimSuffix(m.Key, "@x"))
		}
		got = append(got, fmt.Sprintf("%d %s %s: %s", b.ID, b.BatchStartTime.Format("02 15:04"), b.Status, strings.Join(who, " ")))
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		s.t.Fatalf("batches:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}
