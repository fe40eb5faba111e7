package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

const usesLittle = `
name: moves
data_source: {type: csv, primary_key: Upn}
phases:
  - name: create
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New, params: {Upn: "{{Upn}}", Name: "{{Name}}"}}
  - name: last
    offset: T-0
    steps:
      - {name: last, worker_id: worker-01, function: Last, params: {Upn: "{{Upn}}"}}
`

// usesMore is a later version, which uses a column that the one before did not use.
func usesMore(yaml, step string) string {
	return strings.Replace(yaml, step, strings.Replace(step, `Upn: "{{Upn}}"`, `Upn: "{{Upn}}", Office: "{{Office}}"`, 1), 1)
}

// Specification: a member's whole row is kept, and is available to later versions.
func TestSpecificationAMembersWholeRowIsKeptForLaterVersions(t *testing.T) {
	t.Run("of a file", func(t *testing.T) {
		play(t, func(t *testing.T, s *stage) {
			s.publish(usesLittle)
			b := s.batch("moves", "Upn,Name,Office,Note\nann@x,Ann,Rome,\"a \"\"b\"\"\"\n")
			if m := s.member(b.ID, 1); string(m.Data["Office"]) != `"Rome"` || string(m.Data["Note"]) != `"a \"b\""` {
				t.Fatalf("the member has %s", m.Data)
			}
			s.correct(b.ID, 1, "Office=Oslo")
			s.publish(usesMore(usesLittle, `function: Last, params: {Upn: "{{Upn}}"}`))
			s.advance(b.ID)
			s.advance(b.ID)
			if got := s.paramsOf("Last"); got["Office"] != "Oslo" {
				t.Errorf("the later version's step got %v", got)
			}
		})
	})
	t.Run("of a data source", func(t *testing.T) {
		play(t, func(t *testing.T, s *stage) {
			people := s.table()
			people.exec("ALTER TABLE people ADD COLUMN Office TEXT")
			people.exec("INSERT INTO people VALUES ('ann@x', 'ANN', ?, 'Rome')", dawn.Add(3*day).Format(time.RFC3339))
			yaml := strings.Replace(found(twoPhases, ""), "SELECT Upn, Name, Start", "SELECT *", 1)
			s.findBatches(yaml)
			if m := s.member(1, 1); string(m.Data["Office"]) != `"Rome"` || m.Data["Start"] == nil {
				t.Fatalf("the member has %s", m.Data)
			}
			s.correct(1, 1, "Office=Oslo")
			s.tick()
			s.wantOverride(1, 1, "Office", `"Oslo" for "Rome" by ada`)
			s.publish(usesMore(yaml, `function: Switch, params: {Upn: "{{Upn}}"`))
			s.tickAfter(3 * day)
			s.tick()
			if got := s.paramsOf("Switch"); got["Office"] != "Oslo" {
				t.Errorf("the later version's step got %v", got)
			}
		})
	})
}

// The columns that the runbook uses are kept first, the others in their order while they fit.
func TestARowIsKeptUpToItsLimit(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(usesLittle)
		long := strings.Repeat("x", 20<<10)
		b := s.batch("moves", fmt.Sprintf("First,Upn,Big,Small,Name\n%s,ann@x,%s,s,%s\n", long, long, strings.Repeat("n", 2000)))
		m := s.member(b.ID, 1)
		size := 0
		for name, value := range m.Data {
			size += len(name) + len(value)
		}
		if m.Data["First"] == nil || m.Data["Big"] != nil || string(m.Data["Small"]) != `"s"` || len(m.Data["Name"]) != 2002 || size > runbook.MaxKeptRow {
			t.Errorf("%d bytes are kept, of %d columns", size, len(m.Data))
		}
		page := must(s.app.Members(s.ctx, reader, b.ID, api.ListOptions{}))(t)
		if string(page.Items[0].Data["Small"]) != `"s"` {
			t.Error("the list lacks a column")
		}
	})
}
