package app_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/report"
)

// membersWith lists the members with one of the statuses, or all.
func (s *stage) membersWith(id int, statuses ...string) string {
	s.t.Helper()
	var keys []string
	for _, m := range must(s.app.Members(s.ctx, ada, id, api.ListOptions{Statuses: statuses}))(s.t).Items {
		keys = append(keys, m.Key+" "+m.Status)
	}
	return strings.Join(keys, ", ")
}

// A member who has finished the last phase is done, while others are in it, and a batch that completed
// without some of its members tells how many.
func TestMemberIsDoneAndBatchIsCompletedWithFailures(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 2), "Join": only(fails(errLost), 3)}
		id := s.startBatch(onePhaseEach, "Upn\nann\nben\ncy\n").ID
		if got := s.membersWith(id, "done"); got != "" {
			t.Errorf("after the first phase, done: %s", got)
		}
		s.advance(id)
		for status, want := range map[string]string{"done": "ann done", "active": "cy active", "failed": "ben failed", "done,failed": "ann done, ben failed", "done,active,failed": "ann done, ben failed, cy active"} {
			if got := s.membersWith(id, strings.Split(status, ",")...); got != want {
				t.Errorf("in the last phase, %q: %s, want %s", status, got, want)
			}
		}
		if b := s.batchOf(id); b.Status != "active" || b.FailedCount != 1 {
			t.Errorf("%s with %d failed", b.Status, b.FailedCount)
		}
		s.answers(3, "Join", "true", nil)
		s.deliverAll()
		if got := s.membersWith(id, "done"); got != "ann done, cy done" {
			t.Errorf("at the end, done: %s", got)
		}
		if b := s.batchOf(id); b.Status != "completed" || b.FailedCount != 1 {
			t.Errorf("%s with %d failed", b.Status, b.FailedCount)
		}
		var out strings.Builder
		r := must(s.app.Report(s.ctx, ada, id, report.HTML))(t)
		if err := r.Write(s.ctx, &out); err != nil || !strings.Contains(out.String(), "completed with failures</span>") || strings.Count(out.String(), `<td class="done">done</td>`) != 2 {
			t.Errorf("report: %v, %s", err, out.String())
		}
		s.script = nil
		s.retry(id, api.Selection{})
		s.deliverAll()
		if b := s.batchOf(id); b.Status != "completed" || b.FailedCount != 0 || s.membersWith(id, "done") != "ann done, ben done, cy done" {
			t.Errorf("after the retry: %s with %d failed, done: %s", b.Status, b.FailedCount, s.membersWith(id, "done"))
		}
	})
}

// Members of a batch that did not complete are not done.
func TestMembersOfACancelledBatchAreNotDone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.startBatch(onePhaseEach, "Upn\nann\n").ID
		s.cancel(id)
		s.deliverAll()
		if got := s.membersWith(id); got != "ann active" {
			t.Errorf("members: %s", got)
		}
	})
}

// onePhaseEach has two phases of one step each.
const onePhaseEach = `name: two-steps
data_source: {type: csv, primary_key: Upn}
phases:
  - {name: first, offset: T-0, steps: [{name: new, worker_id: worker-01, function: New, params: {Upn: "{{Upn}}"}}]}
  - {name: second, offset: T-0, steps: [{name: join, worker_id: worker-01, function: Join, params: {Upn: "{{Upn}}"}}]}
`
