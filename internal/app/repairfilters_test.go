package app_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
)

// failures is a runbook in which members fail in each phase, at each step, and by a poll.
const failures = `
name: failures
data_source: {type: csv, primary_key: Upn}
phases:
  - name: first
    offset: T-1d
    steps:
      - {name: new, worker_id: worker-01, function: New}
      - {name: join, worker_id: worker-01, function: Join}
  - name: second
    offset: T-0
    steps:
      - {name: check, worker_id: worker-01, function: Check, poll: {interval: 1m, timeout: 3m}}
      - {name: tell, worker_id: worker-01, function: Tell}
`

// failedInEachWay completes a batch of five: members 1 to 3 fail at new, join and check, the poll of
// member 4 ends at its timeout, and member 5 is done.
func (s *stage) failedInEachWay() int {
	s.t.Helper()
	quota := func(id string) worker { return fails(errors.New("over quota " + id)) }
	s.script = script{
		"New":   some(map[int]worker{1: inTurn(fails(errors.New("no mailbox 1")), always("true"))}),
		"Join":  some(map[int]worker{2: inTurn(quota("2"), always("true"))}),
		"Check": some(map[int]worker{3: inTurn(quota("3"), always("true")), 4: always(unfinished)}),
	}
	b := s.startBatch(failures, people(5))
	s.advance(b.ID)
	for range 5 {
		s.tickAfter(time.Minute)
	}
	s.wantStatus(b.ID, "completed")
	s.script["Check"] = always("true")
	return b.ID
}

// Each bulk repair takes the members whom each filter selects, and leaves the others as they are.
func TestEachRepairTakesThoseWhomItsFilterSelects(t *testing.T) {
	t.Parallel()
	filters := []struct {
		name string
		api.Selection
		want []int
	}{
		{"none", api.Selection{}, []int{1, 2, 3, 4}},
		{"members", api.Selection{Members: []int{2, 4}}, []int{2, 4}},
		{"steps", api.Selection{Steps: []int64{model.StepID(1, 1, 0), model.StepID(2, 3, 0)}}, []int{1, 3}},
		{"failed", api.Selection{Status: "failed"}, []int{1, 2, 3}},
		{"poll_timeout", api.Selection{Status: "poll_timeout"}, []int{4}},
		{"phase", api.Selection{Phase: "second"}, []int{3, 4}},
		{"step", api.Selection{Step: "join"}, []int{2}},
		{"error", api.Selection{Error: "Over Quota"}, []int{2, 3}},
		{"error group", api.Selection{ErrorGroup: "over quota … (Test)"}, []int{2, 3}},
		{"error of a group", api.Selection{ErrorGroup: "over quota 77 (Test)"}, []int{2, 3}},
		{"two filters", api.Selection{ErrorGroup: "over quota … (Test)", Phase: "second"}, []int{3}},
	}
	failed := []struct{ step, call, rest string }{ // members 1 to 4
		{"new", " New", " Join Check Tell"}, {"join", " Join", " Check Tell"}, {"check", " Check", " Tell"}, {"check", " Check", " Tell"},
	}
	for action, becomes := range map[string]string{api.RepairRetry: "succeeded", api.RepairSkip: "skipped", api.RepairDone: "succeeded"} {
		for _, f := range filters {
			t.Run(action+" by "+f.name, func(t *testing.T) {
				play(t, func(t *testing.T, s *stage) {
					id := s.failedInEachWay()
					r := api.Repair{Action: action, Selection: f.Selection, Reason: "decided"}
					before := map[int]string{1: s.calls(1), 2: s.calls(2), 3: s.calls(3), 4: s.calls(4)}
					if e := s.effect(id, r); e.Members != len(f.want) || e.RefusedCount != 0 {
						t.Fatalf("the dry run has %d members, and refuses %d", e.Members, e.RefusedCount)
					}
					if e := s.repair(id, r); e.Members != len(f.want) {
						t.Fatalf("the repair has %d members", e.Members)
					}
					for i, at := range failed {
						member := i + 1
						v := s.step(id, member, at.step)
						if !slices.Contains(f.want, member) {
							s.wantMember(id, member, "failed")
							s.wantCalls(member, before[member])
							continue
						}
						s.wantMember(id, member, "done")
						if v.Status != becomes || (v.Resolved != nil) != (action != api.RepairRetry) {
							t.Errorf("the step of member %d is %s, resolved: %+v", member, v.Status, v.Resolved)
						}
						follows := at.rest
						if action == api.RepairRetry {
							follows = at.call + at.rest
						}
						s.wantCalls(member, before[member]+follows)
					}
					s.wantStatus(id, "completed")
				})
			})
		}
	}
}
