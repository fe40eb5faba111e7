package schedule_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/schedule"
)

// now is a Sunday noon; the days after it are named in days.
var now = time.Date(2026, 3, 1, 12, 2, 31, 0, time.UTC)

var days = map[string]string{
	"mon": "2026-03-02", "tue": "2026-03-03", "wed": "2026-03-04", "thu": "2026-03-05",
	"long-ago": "2026-01-01", "yesterday": "2026-02-28",
}

func day(t testing.TB, name string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, days[name])
	if err != nil {
		t.Fatalf("%q is no day", name)
	}
	return at
}

const scheduled = "batch_time_column: Start"

const immediate = "batch_time: immediate"

// parse makes a runbook that uses the columns UserId, Mail and Groups. Its last phase
// is due at the start.
func parse(t testing.TB, timing string) *runbook.Runbook {
	t.Helper()
	rb, diagnostics := runbook.Parse([]byte(`
name: move
data_source:
  type: sql
  connection: SOURCE
  query: select
  primary_key: UserId
  ` + strings.ReplaceAll(timing, "\n", "\n  ") + `
  multi_valued_columns: [{name: Groups, format: semicolon_delimited}]
phases:
  - name: prepare
    offset: T-2d
    steps: [{name: s, worker_id: w, function: f, params: {Id: "{{UserId}}", Mail: "{{Mail}}"}}]
  - name: cut
    offset: T-0
    steps: [{name: s, worker_id: w, function: f, params: {Id: "{{UserId}}", Groups: "{{Groups}}"}}]
`))
	if err := diagnostics.Err(); err != nil {
		t.Fatal(err)
	}
	return rb
}

var columns = []string{"UserId", "Mail", "Groups", "Start"}

// answer makes a result with the usual columns.
func answer(t testing.TB, rb *runbook.Runbook, rows ...[]any) *schedule.Result {
	t.Helper()
	r, err := schedule.NewResult(rb, columns)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		r.Add(encode(t, row...))
	}
	return r
}

func encode(t testing.TB, values ...any) []json.RawMessage {
	t.Helper()
	row := make([]json.RawMessage, len(values))
	for i, v := range values {
		if raw, ok := v.(json.RawMessage); ok {
			row[i] = raw
			continue
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		row[i] = b
	}
	return row
}

// person is a row as most have it: the key, and the day. The row is bad without a key,
// when it is "broken", and, unless batches are immediate, with a day that is none.
func person(text string) []any {
	key, on, _ := strings.Cut(text, " ")
	var start any = days[on]
	if start == "" {
		start = on
	}
	if on == "broken" {
		return []any{key, key + "@contoso.com", 5, days["mon"]}
	}
	if key == "NULL" {
		return []any{nil, "", "", start}
	}
	return []any{key, key + "@contoso.com", "a;b", start}
}

func people(t testing.TB, rb *runbook.Runbook, rows ...string) *schedule.Result {
	t.Helper()
	var all [][]any
	for _, text := range rows {
		all = append(all, person(text))
	}
	return answer(t, rb, all...)
}

// hash is the hash of a row that person makes.
func hash(t testing.TB, rb *runbook.Runbook, key string) string {
	t.Helper()
	for row := range people(t, rb, key+" mon").Rows() {
		return row.Hash
	}
	return ""
}

// members makes the members of batch n, with ids from n*100+1: "anna" is active and up
// to date, "anna~" has old data, "anna!" has failed, "anna+" was kept, "anna-" was
// removed by an administrator, "anna%" is still leaving.
func members(t testing.TB, rb *runbook.Runbook, batch int, list string) []schedule.Member {
	t.Helper()
	var out []schedule.Member
	for i, text := range strings.Fields(list) {
		key := strings.TrimRight(text, "~!+-%")
		marks := text[len(key):]
		m := schedule.Member{
			ID: batch*100 + i + 1, Key: key, Hash: hash(t, rb, key),
			Failed: strings.Contains(marks, "!"), Kept: strings.Contains(marks, "+"), RemovedByHand: strings.Contains(marks, "-"),
			Leaving: strings.Contains(marks, "%"),
		}
		if strings.Contains(marks, "~") {
			m.Hash = "old"
		}
		out = append(out, m)
	}
	return out
}

// situation reads batches: "1 mon: anna bert", "2 manual: carl", "3 tue filling: dora",
// "4 wed ended", "5 mon held 10: e", "automation off".
func situation(t testing.TB, rb *runbook.Runbook, lines ...string) schedule.Situation {
	t.Helper()
	s := schedule.Situation{Now: now, Automation: true, Ended: map[time.Time]int{}}
	for _, line := range lines {
		if line == "automation off" {
			s.Automation = false
			continue
		}
		if keys, ok := strings.CutPrefix(line, "former: "); ok {
			s.Former = map[string]bool{}
			for _, key := range strings.Fields(keys) {
				s.Former[key] = true
			}
			continue
		}
		if keys, ok := strings.CutPrefix(line, "discarded: "); ok {
			s.Discarded = map[string]bool{}
			for _, key := range strings.Fields(keys) {
				s.Discarded[key] = true
			}
			continue
		}
		head, list, _ := strings.Cut(line, ":")
		var b schedule.Batch
		words := strings.Fields(head)
		if _, err := fmt.Sscan(words[0], &b.ID); err != nil {
			t.Fatal(err)
		}
		switch words[1] {
		case "manual":
			b.Manual = true
		case "now":
			b.Start = schedule.ImmediateStart(now)
		default:
			b.Start = day(t, words[1])
		}
		if len(words) == 4 && words[2] == "held" {
			if _, err := fmt.Sscan(words[3], &b.HeldOf); err != nil {
				t.Fatal(err)
			}
		}
		if len(words) == 3 && words[2] == "ended" {
			s.Ended[b.Start] = b.ID
			continue
		}
		b.Filling = len(words) == 3 && words[2] == "filling"
		b.Members = members(t, rb, b.ID, list)
		s.Batches = append(s.Batches, b)
	}
	return s
}

// describePlan prints a plan in lines: the changes, then the problems by row, key and code.
func describePlan(p schedule.Plan) []string {
	var out []string
	for _, g := range p.New {
		out = append(out, fmt.Sprintf("new %s: %s", named(g.Start), keys(g.Rows)))
	}
	for _, c := range p.Changes {
		to := fmt.Sprintf("batch %d:", c.Batch)
		if len(c.Add) > 0 {
			out = append(out, fmt.Sprintf("%s add %s", to, keys(c.Add)))
		}
		for _, r := range c.Refresh {
			out = append(out, fmt.Sprintf("%s refresh %d with %s", to, r.Member, r.Row.Key))
		}
		if len(c.Remove) > 0 {
			out = append(out, fmt.Sprintf("%s remove %s", to, removals(c.Remove)))
		}
		if c.Held != nil {
			out = append(out, fmt.Sprintf("%s hold %s (of %d): %s", to, removals(c.Held.Removals), c.Held.Active, c.Held.Reason))
		}
		for _, id := range c.Returned {
			out = append(out, fmt.Sprintf("%s %d returned", to, id))
		}
	}
	if p.Additions != nil {
		out = append(out, fmt.Sprintf("hold additions %s: %s", additions(p.Additions.People), p.Additions.Reason))
	}
	for _, pr := range p.Problems {
		out = append(out, strings.TrimSpace(fmt.Sprintf("row %d %s: %s", pr.Row, pr.Code, pr.Key)))
	}
	return out
}

func keys(rows []schedule.Row) string {
	var out []string
	for _, row := range rows {
		out = append(out, row.Key)
	}
	return strings.Join(out, " ")
}

func additions(list []schedule.Addition) string {
	var out []string
	for _, a := range list {
		out = append(out, a.Key+" to "+named(a.Start))
	}
	return strings.Join(out, ", ")
}

func removals(list []schedule.Removal) string {
	var out []string
	for _, r := range list {
		text := fmt.Sprintf("%d %s", r.Member, r.Key)
		if r.MovesTo != nil {
			text += " to " + named(*r.MovesTo)
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

func named(at time.Time) string {
	for name, date := range days {
		if at.Format(time.RFC3339) == date+"T00:00:00Z" {
			return name
		}
	}
	return at.Format(time.RFC3339)
}
