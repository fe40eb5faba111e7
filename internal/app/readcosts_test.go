package app_test

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/report"
	"github.com/matoolkit/matoolkit/internal/simulate"
)

// Each read of the API costs the same number of store operations in a batch of any size: point reads,
// queries, and one write of an audit record where the read is recorded, once in 15 minutes for each
// caller. The queries take what they return from an index, page by page; only the error groups read all
// failed members, which are few.
func TestCostOfEachRead(t *testing.T) {
	t.Parallel()
	const want = `
batch                      reads 2 queries 7 writes 0 RU  18
change mark                reads 0 queries 1 writes 0 RU   3
phases                     reads 1 queries 1 writes 0 RU   3
members                    reads 1 queries 1 writes 1 RU  10
members of two statuses    reads 1 queries 1 writes 1 RU  10
member                     reads 2 queries 0 writes 1 RU   9
steps                      reads 1 queries 1 writes 1 RU  11
steps of two statuses      reads 2 queries 1 writes 1 RU  11
step                       reads 5 queries 1 writes 1 RU  14
errors                     reads 1 queries 1 writes 1 RU  10
find                       reads 1 queries 3 writes 1 RU  15
checks                     reads 1 queries 1 writes 1 RU  11
task                       reads 2 queries 0 writes 0 RU   2
batch audit                reads 1 queries 1 writes 0 RU   4
batches                    reads 0 queries 1 writes 0 RU   2
summary                    reads 0 queries 4 writes 0 RU   9
syncs                      reads 2 queries 0 writes 0 RU   2
runbooks                   reads 0 queries 3 writes 0 RU   7
workers                    reads 0 queries 1 writes 0 RU   2
notifications              reads 0 queries 1 writes 0 RU   2
preview of a pause         reads 2 queries 2 writes 0 RU   7
preview of a cancellation  reads 2 queries 2 writes 0 RU   7
preview of a retry         reads 3 queries 6 writes 0 RU  17
preview of checks          reads 2 queries 2 writes 0 RU   7
preview of a move          reads 4 queries 2 writes 0 RU   9
preview of an upload       reads 3 queries 3 writes 0 RU  10
lint                       reads 0 queries 1 writes 0 RU   2
simulation                 reads 0 queries 1 writes 0 RU   2
`
	var costs []string
	for _, members := range []int{12, 60} {
		s := newStage(t, false, azure)
		s.script = taken("Person 2")
		s.script["Go"] = func(j message.Job) (string, error) {
			switch who(j) {
			case 3:
				return "", errNo
			case 4, 5: // whose jobs are in flight
				return "", errLost
			}
			return "true", nil
		}
		id := s.createBatch(strings.Replace(checked(false), "retry: {max_retries: 2, interval: 1m}\n", "", 1), people(members)).ID
		s.advance(id)
		s.advance(id)
		failed := must(s.app.Steps(s.ctx, reader, id, api.ListOptions{Statuses: []string{"failed"}}))(t).Items
		if len(failed) == 0 {
			t.Fatal("no step failed")
		}
		task := must(s.app.Repair(s.ctx, ada, id, api.Repair{Selection: api.Selection{Members: []int{3}}, Reason: "again"}))(t).Task
		s.deliverAll()
		other := s.createBatch(checked(false), "Upn,Name\nother@x,Other\n").ID
		var lines []string
		for _, one := range []struct {
			name string
			do   func(by audit.Caller) error
		}{
			{"batch", func(by audit.Caller) error { return errorOf(s.app.Batch(s.ctx, by, id)) }},
			{"change mark", func(audit.Caller) error { return errorOf(s.app.ChangeMark(s.ctx, id)) }},
			{"phases", func(by audit.Caller) error { return errorOf(s.app.Phases(s.ctx, by, id)) }},
			{"members", func(by audit.Caller) error { return errorOf(s.app.Members(s.ctx, by, id, api.ListOptions{Limit: 10})) }},
			{"members of two statuses", func(by audit.Caller) error {
				return errorOf(s.app.Members(s.ctx, by, id, api.ListOptions{Limit: 10, Statuses: []string{"active", "failed"}}))
			}},
			{"member", func(by audit.Caller) error { return errorOf(s.app.Member(s.ctx, by, id, 1)) }},
			{"steps", func(by audit.Caller) error { return errorOf(s.app.Steps(s.ctx, by, id, api.ListOptions{Limit: 10})) }},
			{"steps of two statuses", func(by audit.Caller) error {
				return errorOf(s.app.Steps(s.ctx, by, id, api.ListOptions{Limit: 10, Statuses: []string{"failed", "queued"}}))
			}},
			{"step", func(by audit.Caller) error { return errorOf(s.app.Step(s.ctx, by, id, failed[0].ID)) }},
			{"errors", func(by audit.Caller) error { return errorOf(s.app.Errors(s.ctx, by, id)) }},
			{"find", func(by audit.Caller) error {
				return errorOf(s.app.Find(s.ctx, by, "p003@x", api.ListOptions{Limit: 10}))
			}},
			{"checks", func(by audit.Caller) error { return errorOf(s.app.Checks(s.ctx, by, id, api.ListOptions{Limit: 10})) }},
			{"task", func(audit.Caller) error { return errorOf(s.app.Task(s.ctx, id, task)) }},
			{"batch audit", func(audit.Caller) error {
				return errorOf(s.app.BatchAudit(s.ctx, id, api.AuditFilter{}, api.ListOptions{Limit: 10}))
			}},
			{"batches", func(audit.Caller) error {
				return errorOf(s.app.Batches(s.ctx, api.ListOptions{Limit: 10, Statuses: []string{"active", "detected"}}))
			}},
			{"summary", func(audit.Caller) error { return errorOf(s.app.Summary(s.ctx)) }},
			{"syncs", func(audit.Caller) error { return errorOf(s.app.Syncs(s.ctx, "checked")) }},
			{"runbooks", func(audit.Caller) error { return errorOf(s.app.Runbooks(s.ctx, api.ListOptions{})) }},
			{"workers", func(audit.Caller) error { return errorOf(s.app.Workers(s.ctx, api.ListOptions{})) }},
			{"notifications", func(audit.Caller) error { return errorOf(s.app.NotificationRules(s.ctx)) }},
			{"preview of a pause", func(by audit.Caller) error {
				return errorOf(s.app.Preview(s.ctx, by, id, api.ProposedAction{Name: api.ActionPause}))
			}},
			{"preview of a cancellation", func(by audit.Caller) error {
				return errorOf(s.app.Preview(s.ctx, by, id, api.ProposedAction{Name: api.ActionCancel}))
			}},
			{"preview of a retry", func(by audit.Caller) error {
				return errorOf(s.app.Repair(s.ctx, by, id, api.Repair{DryRun: true}))
			}},
			{"preview of checks", func(by audit.Caller) error {
				return errorOf(s.app.Preview(s.ctx, by, id, api.ProposedAction{Name: api.ActionCheck}))
			}},
			{"preview of a move", func(by audit.Caller) error {
				return errorOf(s.app.Repair(s.ctx, by, id, api.Repair{Action: api.RepairMove, To: other, Selection: api.Selection{Members: []int{1, 4}}, DryRun: true}))
			}},
			{"preview of an upload", func(audit.Caller) error {
				return errorOf(s.app.CheckMembers(s.ctx, id, bytes.NewReader([]byte("Upn,Name\nlate@x,Late\n"))))
			}},
			{"lint", func(audit.Caller) error { return errorOf(s.app.Lint(s.ctx, "checked", []byte(checked(false)))) }},
			{"simulation", func(audit.Caller) error { // it reads the functions of the workers, and plays in memory
				request := api.SimulationRequest{YAML: checked(false), Members: people(3), Start: s.clock.Now()}
				return errorOf(simulate.Service{Functions: s.app.Catalogs, TempDir: t.TempDir()}.Simulate(s.ctx, request))
			}},
		} {
			lines = append(lines, s.costOf(one.name, one.do))
		}
		costs = append(costs, strings.Join(lines, "\n"))
	}
	wantCosts(t, "a small batch", costs[0], want)
	wantCosts(t, "a larger batch", costs[1], want)
}

// Held changes are listed page by page: the cost does not depend on how many are held.
func TestCostOfHeldChanges(t *testing.T) {
	t.Parallel()
	const want = `
held removals              reads 2 queries 1 writes 1 RU  12
held additions             reads 4 queries 0 writes 1 RU  11
preview of held removals   reads 3 queries 1 writes 0 RU   5
preview of held additions  reads 5 queries 0 writes 0 RU   5
automation                 reads 3 queries 0 writes 0 RU   3
`
	for _, people := range []int{10, 40} {
		removals, additions := newStage(t, false, azure), newStage(t, false, azure)
		rows := removals.tableOf(dawn.Add(day), crowd(2*people)...)
		removals.findBatches(found(twoPhases, ""))
		rows.drop(crowd(people)...)
		removals.tick()
		additions.lostWhere(100 + people)
		additions.tick()
		revision := additions.additions().Revision
		wantCosts(t, fmt.Sprint(people, " people"), strings.Join([]string{
			removals.costOf("held removals", func(by audit.Caller) error {
				return errorOf(removals.app.HeldRemovals(removals.ctx, by, 1, api.ListOptions{Limit: 10}))
			}),
			additions.costOf("held additions", func(by audit.Caller) error {
				return errorOf(additions.app.HeldAdditions(additions.ctx, by, "found", api.ListOptions{Limit: 10}))
			}),
			removals.costOf("preview of held removals", func(by audit.Caller) error {
				return errorOf(removals.app.Preview(removals.ctx, by, 1, api.ProposedAction{Name: api.ActionConfirmRemovals}))
			}),
			additions.costOf("preview of held additions", func(audit.Caller) error {
				return errorOf(additions.app.PreviewAdditions(additions.ctx, "found", revision, ""))
			}),
			additions.costOf("automation", func(by audit.Caller) error {
				return errorOf(additions.app.Automation(additions.ctx, by, "found"))
			}),
		}, "\n"), want)
	}
}

// A report reads the members in pages, and costs as much more for each.
func TestCostOfAReport(t *testing.T) {
	t.Parallel()
	const want = `
49 members                 reads 1 queries 3 writes 1 RU  26
98 members                 reads 1 queries 5 writes 1 RU  40
147 members                reads 1 queries 7 writes 1 RU  53
`
	var lines []string
	for _, members := range []int{49, 98, 147} {
		s := newStage(t, false, azure)
		s.script = script{"New": always(`{"id":"u"}`), "Copy": always("true")}
		id := s.createBatch(right, people(members)).ID
		s.advance(id)
		lines = append(lines, s.costOf(fmt.Sprint(members, " members"), func(by audit.Caller) error {
			r, err := s.app.Report(s.ctx, by, id, report.CSV)
			if err != nil {
				return err
			}
			return r.Write(s.ctx, io.Discard)
		}))
	}
	wantCosts(t, "a report", strings.Join(lines, "\n"), want)
}

// costOf gives the name of a read with the store operations and the request units of one, by a caller whose
// read is recorded. What the process remembers is not counted.
func (s *stage) costOf(name string, read func(by audit.Caller) error) string {
	s.t.Helper()
	if err := read(audit.Caller{Name: "warm"}); err != nil {
		s.t.Errorf("%s: %v", name, err)
	}
	before, charged := s.store.Counts(), s.cosmos.Stats().RU
	if err := read(audit.Caller{Name: "reader of " + name}); err != nil {
		s.t.Errorf("%s: %v", name, err)
	}
	after := s.store.Counts()
	return fmt.Sprintf("%-26s reads %d queries %d writes %d RU %3.0f", name, after.Reads-before.Reads, after.Queries-before.Queries, after.Writes-before.Writes, s.cosmos.Stats().RU-charged)
}

// wantCosts compares costs, one a line. The request units differ by one where the pages do not begin alike.
func wantCosts(t *testing.T, of, got, want string) {
	t.Helper()
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(strings.TrimSpace(want), "\n")
	same := len(gotLines) == len(wantLines)
	for i := 0; same && i < len(gotLines); i++ {
		operations, charged, _ := strings.Cut(gotLines[i], " RU ")
		wantOperations, wantCharged, _ := strings.Cut(wantLines[i], " RU ")
		a, errA := strconv.Atoi(strings.TrimSpace(charged))
		b, errB := strconv.Atoi(strings.TrimSpace(wantCharged))
		same = operations == wantOperations && errA == nil && errB == nil && max(a, b)-min(a, b) <= 1
	}
	if !same {
		t.Errorf("the costs of %s are\n%s", of, got)
	}
}
