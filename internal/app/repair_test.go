package app_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// wrong is a runbook with a mistake in its second step, which right corrects.
const wrong = `
name: repaired
data_source: {type: csv, primary_key: Upn}
phases:
  - name: move
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New, output_params: {UserId: id}}
      - {name: copy, worker_id: worker-01, function: CopyWrong, params: {User: "{{UserId}}"}}
      - {name: tell, worker_id: worker-01, function: Tell}
  - name: verify
    offset: T+1d
    steps: [{name: check, worker_id: worker-01, function: Check}]
`

var right = strings.Replace(wrong, "CopyWrong", "Copy", 1)

// failing starts a batch of people of whom each fails at the wrong step, and completes both phases.
func (s *stage) failing(members int) int {
	s.t.Helper()
	s.script = script{
		"New": always(`{"id":"u"}`),
		"CopyWrong": func(j message.Job) (string, error) {
			return "", fmt.Errorf("no mailbox %d", j.CorrelationData.StepExecutionID)
		},
	}
	b := s.startBatch(wrong, people(members))
	s.pass(time.Second)
	return b.ID
}

// effect is the effect of a repair, in which nothing changes.
func (s *stage) effect(id int, r api.Repair) api.RepairEffect {
	s.t.Helper()
	r.DryRun = true
	before := s.listAudit(id)
	v := must(s.app.Repair(s.ctx, ada, id, r))(s.t)
	s.deliverAll()
	if after := s.listAudit(id); v.Task != "" || len(after) != len(before) {
		s.t.Fatalf("the dry run changed something: %+v", v)
	}
	return v.Effect
}

// repair carries a repair out, and lets all come that follows.
func (s *stage) repair(id int, r api.Repair) api.RepairEffect {
	s.t.Helper()
	s.pass(time.Second)
	v := must(s.app.Repair(s.ctx, ada, id, r))(s.t)
	if v.Task == "" {
		s.t.Fatalf("%+v", v)
	}
	s.deliverAll()
	return v.Effect
}

func groupText(e api.RepairEffect) string {
	var groups []string
	for _, g := range e.Groups {
		groups = append(groups, fmt.Sprintf("%d at %s/%s (%s) %q: version %d, not %d, from %q, %d steps, then %v", g.Members, g.Phase, g.Step, g.Status, g.ErrorGroup, g.Version, g.FailedVersion, g.From, g.Steps, g.Then))
	}
	return strings.Join(groups, "; ")
}

func TestRetryTellsItsEffectBeforeItBegins(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(3)
		s.publish(right)
		e := s.effect(id, api.Repair{})
		want := `3 at move/copy (failed) "no mailbox … (Test)": version 1, not 1, from "copy", 2 steps, then []`
		if got := groupText(e); got != want || e.Members != 3 || e.ActiveVersion != 2 || e.RefusedCount != 0 {
			t.Fatalf("%s, %+v\nwant %s", got, e, want)
		}
		if got := groupText(s.effect(id, api.Repair{Version: "active"})); !strings.Contains(got, "version 2, not 1") {
			t.Errorf("by the active version: %s", got)
		}
		if got := groupText(s.effect(id, api.Repair{From: "new"})); !strings.Contains(got, `from "new", 3 steps`) {
			t.Errorf("from the first step: %s", got)
		}
		if got := groupText(s.effect(id, api.Repair{Action: api.RepairSkip})); !strings.Contains(got, `from "tell", 1 steps`) {
			t.Errorf("without the step: %s", got)
		}
		s.wantCalls(1, "New CopyWrong")
	})
}

func TestRetryRunsTheVersionThatItNames(t *testing.T) {
	t.Parallel()
	for version, calls := range map[string]string{"": "New CopyWrong CopyWrong", "active": "New CopyWrong Copy Tell"} {
		t.Run("version "+version, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				id := s.failing(2)
				s.publish(right)
				s.repair(id, api.Repair{Version: version})
				s.wantCalls(1, calls)
				s.wantCalls(2, calls)
				if version == "" {
					return
				}
				s.wantMember(id, 1, "active")
				s.wantPhases(id, "move completed 2/0/0, verify pending 0/0/0")
				if v := s.step(id, 1, "copy"); v.Function != "Copy" || v.RunbookVersion != 2 || string(v.Params) != `{"User":"u"}` {
					t.Errorf("%+v", v)
				}
				s.advance(id)
				s.wantStatus(id, "completed")
			})
		})
	}
}

func TestRetryByAVersionThatCannotTakeMembersOverSaysWhy(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(2)
		s.publish(strings.Replace(right, "name: move", "name: shift", 1))
		_, err := s.app.Repair(s.ctx, ada, id, api.Repair{Version: "active"})
		s.wantRefused(err, api.CodeConflict, `cannot retry 2 failed members of batch 1: p001@x: version 2 has no phase "move"`)
		s.wantCalls(1, "New CopyWrong")
	})
}

func TestRetryOfAnErrorGroupTakesNobodyElse(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": some(map[int]worker{1: fails(fmt.Errorf("no user 17")), 2: fails(fmt.Errorf("no user 4711")), 3: fails(fmt.Errorf("no group 1"))})}
		b := s.startBatch(oneStep(""), people(4))
		e := s.effect(b.ID, api.Repair{Selection: api.Selection{ErrorGroup: "no user … (Test)", Status: "failed"}})
		if e.Members != 2 || len(e.Groups) != 1 || e.Groups[0].ErrorGroup != "no user … (Test)" {
			t.Fatalf("%+v", e)
		}
		s.repair(b.ID, api.Repair{Selection: api.Selection{ErrorGroup: "no user 5 (Test)"}})
		s.wantCalls(1, "Do Do")
		s.wantCalls(2, "Do Do")
		s.wantCalls(3, "Do")
	})
}

func TestFailedStepsOfManyAreSkipped(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(3)
		e := s.repair(id, api.Repair{Action: api.RepairSkip, Selection: api.Selection{Step: "copy"}, Reason: "there is nothing to copy"})
		if e.Members != 3 {
			t.Fatalf("%+v", e)
		}
		for member := 1; member <= 3; member++ {
			s.wantCalls(member, "New CopyWrong Tell")
			if v := s.step(id, member, "copy"); v.Status != "skipped" || v.Resolved == nil || v.Resolved.By != "ada" || v.Resolved.Why != "there is nothing to copy" {
				t.Errorf("member %d: %+v", member, v)
			}
		}
		s.wantPhases(id, "move completed 3/0/0, verify pending 0/0/0")
		if got := auditText(s.listAudit(id)); !strings.HasSuffix(got, `ada skip_step step "copy": there is nothing to copy`) {
			t.Errorf("the trail: %s", got)
		}
	})
}

func TestFailedStepsOfManyAreMarkedAsDone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errNo), "Copy": always("true")}
		b := s.startBatch(right, people(2))
		_, err := s.app.Repair(s.ctx, ada, b.ID, api.Repair{Action: api.RepairDone, Reason: "made by hand"})
		s.wantRefused(err, api.CodeConflict, `the result lacks id, which output_params reads`)
		s.repair(b.ID, api.Repair{Action: api.RepairDone, Result: json.RawMessage(`{"id":"byhand"}`), Reason: "made by hand"})
		for member := 1; member <= 2; member++ {
			s.wantCalls(member, "New Copy Tell")
			if v := s.step(b.ID, member, "copy"); string(v.Params) != `{"User":"byhand"}` {
				t.Errorf("member %d: %s", member, v.Params)
			}
		}
	})
}

func TestRepairThatIsIncompleteIsRefused(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(1)
		for _, tt := range []struct {
			repair api.Repair
			says   string
		}{
			{api.Repair{Version: "2"}, `invalid version "2": use active`},
			{api.Repair{Action: api.RepairSkip}, "the reason is missing"},
			{api.Repair{Action: api.RepairDone, Result: json.RawMessage("{"), Reason: "x"}, "the result is not JSON"},
			{api.Repair{Action: api.RepairSkip, From: "new", Reason: "x"}, "belong to a retry"},
			{api.Repair{Result: json.RawMessage("1")}, "a result belongs to"},
			{api.Repair{Selection: api.Selection{Status: "polling"}}, `invalid status "polling" of a failed step`},
		} {
			_, err := s.app.Repair(s.ctx, ada, id, tt.repair)
			s.wantRefused(err, api.CodeInvalid, tt.says)
		}
	})
}

// The version that a retry follows is part of the request.
func TestRetryByAnotherVersionIsAnotherRequest(t *testing.T) {
	t.Parallel()
	for version, other := range map[string]string{"": "active", "active": ""} {
		t.Run("version "+version, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				id := s.failing(1)
				s.publish(right)
				first := must(s.app.Repair(s.ctx, adaBy("k"), id, api.Repair{Version: version}))(t)
				_, err := s.app.Repair(s.ctx, adaBy("k"), id, api.Repair{Version: other})
				s.wantRefused(err, api.CodeKeyReused, "other content")
				again := must(s.app.Repair(s.ctx, adaBy("k"), id, api.Repair{Version: version}))(t)
				if !again.Replayed || again.Task != first.Task {
					t.Errorf("asked again: %+v", again)
				}
			})
		})
	}
}

func TestSecretResultIsNotGivenToMany(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		withKey(s)
		s.script = script{"New": fails(&testenv.Failure{JobError: message.JobError{Message: "no", Type: "T"}})}
		b := s.startBatch(strings.Replace(right, "data_source", "secret: [UserId]\ndata_source", 1), people(1))
		_, err := s.app.Repair(s.ctx, ada, b.ID, api.Repair{Action: api.RepairDone, Result: json.RawMessage(`{"id":"secret"}`), Reason: "made by hand"})
		s.wantRefused(err, api.CodeConflict, `gives the secret "UserId": mark it as done for each member by itself`)
	})
}

// A member who followed another version has the statuses of its steps under their names.
func TestReportOfAMemberWhoFollowedTheActiveVersion(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(1)
		s.publish(strings.Replace(right, "- {name: copy,", "- {name: look, worker_id: worker-01, function: Look}\n      - {name: copy,", 1))
		s.repair(id, api.Repair{Version: "active"})
		s.wantCalls(1, "New CopyWrong Look Copy Tell")
		row := s.readReport(id)["p001@x"]
		if row["move / new"] != "succeeded" || row["move / copy"] != "succeeded" || row["move / tell"] != "succeeded" || row["move"] != "succeeded" {
			t.Errorf("the report: %v", row)
		}
	})
}
