package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Each of these is something that the system which this one replaces did better at first.

// oneMoreColumn is a runbook whose first version has no column Mailbox.
func oneMoreColumn(uses string) string {
	yaml := found(twoPhases, "")
	if strings.Contains(uses, "Mailbox") {
		yaml = strings.Replace(yaml, "SELECT Upn, Name, Start FROM people", "SELECT Upn, Name, Start, Upper(Name) AS Mailbox FROM people", 1)
	}
	return strings.Replace(yaml, "function: New, params: {", "function: New, params: {"+uses, 1)
}

func TestSpecificationMembersInFlightHaveAColumnThatANewVersionUsesFirst(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.tableOf(dawn.Add(day), "p000", "p001")
		s.findBatches(oneMoreColumn(""))
		s.wantCalls(1, "New")
		must(s.app.CreateBatch(s.ctx, ada, "found", []byte("Upn,Name\nx@x,X\n")))(t)
		view := must(s.app.PublishRunbook(s.ctx, ada, "", []byte(oneMoreColumn(`Mailbox: "{{Mailbox}}", `)), api.PublishOptions{Overdue: api.OverdueRerun}))(t)
		var lacking []string
		for _, f := range view.Changes.Batches {
			lacking = append(lacking, strings.Join(f.Lacks, " "))
		}
		if strings.Join(lacking, ";") != "Mailbox;Mailbox" {
			t.Errorf("the forecast has %q lacking", lacking)
		}
		s.tick() // the phase that uses the column begins at once
		s.wantCalls(1, "New New")
		if got := s.jobs[len(s.jobs)-1].Parameters; !strings.Contains(string(got), `"Mailbox":"P00`) {
			t.Errorf("called with %s", got)
		}
		s.tickAfter(day)
		s.wantStatus(1, "completed")
	})
}

func TestSpecificationBatchFollowsANewVersionInTheTickThatSyncsItsData(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), "p000", "p001")
		s.findBatches(oneMoreColumn(""))
		s.publishNew(oneMoreColumn(`Mailbox: "{{Mailbox}}", `), api.PublishOptions{})
		people.exec("ALTER TABLE people RENAME TO away")
		s.tick() // the query fails: nobody has the column
		if b := s.batchOf(1); b.RunbookVersion != 1 {
			t.Fatalf("version %d", b.RunbookVersion)
		}
		people.exec("ALTER TABLE away RENAME TO people")
		s.tick()
		if b := s.batchOf(1); b.RunbookVersion != 2 {
			t.Fatalf("version %d", b.RunbookVersion)
		}
		s.tickAfter(day)
		s.wantStatus(1, "completed")
	})
}

// A fix that uses no further column does not wait for a data source that is away.
func TestSpecificationBatchFollowsAVersionWithoutFurtherColumnsAlsoWhileItsQueryFails(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), "p000")
		s.findBatches(oneMoreColumn(""))
		s.publishNew(oneMoreColumn(`Fixed: "yes", `), api.PublishOptions{})
		people.exec("ALTER TABLE people RENAME TO away")
		s.tick()
		if b := s.batchOf(1); b.RunbookVersion != 2 {
			t.Fatalf("version %d", b.RunbookVersion)
		}
	})
}

func TestSpecificationSameTextWithOtherOptionsTakesEffect(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		yaml := strings.Replace(overlapping, "phases:", "init: [{name: prepare, worker_id: worker-01, function: Prepare}]\nphases:", 1)
		s.publish(yaml)
		const id = 100
		s.schedule(id, yaml, 1, dawn.Add(36*time.Hour))
		s.tick()
		s.wantCalls(1, "A")
		s.wantCalls(0, "Prepare")
		for _, tt := range []struct {
			options        api.PublishOptions
			version        int
			phases, before string
		}{
			{api.PublishOptions{Overdue: api.OverdueRerun}, 2, "A A", "Prepare"},
			{api.PublishOptions{Overdue: api.OverdueRerun}, 2, "A A", "Prepare"},
			{api.PublishOptions{RerunInit: true}, 3, "A A", "Prepare Prepare"},
			{api.PublishOptions{}, 4, "A A", "Prepare Prepare"},
			{api.PublishOptions{}, 4, "A A", "Prepare Prepare"},
		} {
			v := must(s.app.PublishRunbook(s.ctx, ada, "", []byte(yaml), tt.options))(t)
			if v.Version != tt.version {
				t.Fatalf("%+v: version %d", tt.options, v.Version)
			}
			s.tick()
			s.wantCalls(1, tt.phases)
			s.wantCalls(0, tt.before)
		}
	})
}
