package app_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/simulate"
)

// Each read of the API costs the same number of store operations in a batch of any size: point reads,
// queries, and one write of an audit record where the read is recorded, once in 15 minutes for each
// caller. The queries take what they return from an index, page by page; only the error groups read all
// failed members, which are few.
func TestCostOfEachRead(t *testing.T) {
	t.Parallel()
	const want = `
batch                      reads 2 queries 5 writes 0
change mark                reads 0 queries 1 writes 0
phases                     reads 1 queries 1 writes 0
members                    reads 1 queries 1 writes 1
members of two statuses    reads 1 queries 1 writes 1
member                     reads 2 queries 0 writes 1
steps                      reads 1 queries 1 writes 1
steps of two statuses      reads 2 queries 1 writes 1
step                       reads 5 queries 1 writes 1
errors                     reads 1 queries 1 writes 1
find                       reads 1 queries 3 writes 1
checks                     reads 1 queries 1 writes 1
task                       reads 2 queries 0 writes 0
batch audit                reads 1 queries 1 writes 0
batches                    reads 0 queries 1 writes 0
summary                    reads 0 queries 4 writes 0
syncs                      reads 2 queries 0 writes 0
runbooks                   reads 0 queries 3 writes 0
workers                    reads 0 queries 1 writes 0
notifications              reads 0 queries 1 writes 0
preview of a pause         reads 2 queries 2 writes 0
preview of a cancellation  reads 2 queries 2 writes 0
preview of a retry         reads 3 queries 6 writes 0
preview of checks          reads 2 queries 2 writes 0
preview of a move          reads 4 queries 2 writes 0
preview of an upload       reads 3 queries 3 writes 0
lint                       reads 0 queries 1 writes 0
simulation                 reads 0 queries 1 writes 0
`
	var costs []string
	for _, members := range []int{12, 60} {
		s := newStage(t, false)
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
		for i, one := range []struct {
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
			if err := one.do(audit.Caller{Name: "warm"}); err != nil { // what the process remembers is not counted
				t.Errorf("%s: %v", one.name, err)
			}
			before := s.store.Counts()
			if err := one.do(audit.Caller{Name: fmt.Sprint("reader", i)}); err != nil {
				t.Errorf("%s: %v", one.name, err)
			}
			after := s.store.Counts()
			lines = append(lines, fmt.Sprintf("%-26s reads %d queries %d writes %d", one.name, after.Reads-before.Reads, after.Queries-before.Queries, after.Writes-before.Writes))
		}
		costs = append(costs, strings.Join(lines, "\n"))
	}
	if costs[0] != costs[1] {
		t.Errorf("the costs depend on the size of the batch:\n%s\n\n%s", costs[0], costs[1])
	}
	if got := costs[1]; got != strings.TrimSpace(want) {
		t.Errorf("the costs are\n%s", got)
	}
}
