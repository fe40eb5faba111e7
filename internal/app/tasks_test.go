package app_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// act starts a repair or a removal, and returns its task before anything follows.
func (s *stage) act(id int, r api.Repair) string {
	s.t.Helper()
	s.pass(time.Second)
	return must(s.app.Repair(s.ctx, ada, id, r))(s.t).Task
}

func taskText(v api.Task) string {
	text := fmt.Sprintf("%s %s %d/%d", v.Action, v.Status, v.Finished, v.Total)
	for _, r := range v.Refused {
		text += fmt.Sprintf(", %s: %s", r.Key, r.Reason)
	}
	return text
}

func (s *stage) wantTask(id int, task, want string) {
	s.t.Helper()
	if got := taskText(must(s.app.Task(s.ctx, id, task))(s.t)); got != want {
		s.t.Errorf("task %s: %s\nwant %s", task, got, want)
	}
}

func TestATaskTellsHowFarARetryIs(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(60) // more than one page
		task := s.act(id, api.Repair{})
		s.wantTask(id, task, "retry running 0/60")
		s.deliverAll()
		s.wantTask(id, task, "retry completed 60/60")
		if v := must(s.app.Task(s.ctx, id, task))(t); v.EndedAt == nil || v.Requested.By != "ada" {
			t.Errorf("%+v", v)
		}
		_, err := s.app.Task(s.ctx, id, "other")
		s.wantRefused(err, api.CodeNotFound, `batch 1 has no task "other"`)
	})
}

func TestATaskNamesTheMembersThatItCannotRetry(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(3)
		e := s.effect(id, api.Repair{Selection: api.Selection{Members: []int{1, 3}}})
		if e.Members != 2 || e.RefusedCount != 0 {
			t.Fatalf("%+v", e)
		}
		s.repair(id, api.Repair{Action: api.RepairSkip, Selection: api.Selection{Members: []int{1}}, Reason: "by hand"})
		e = s.effect(id, api.Repair{Selection: api.Selection{Members: []int{1, 3}}})
		if e.Members != 1 || len(e.Refused) != 1 || e.Refused[0].ID != 1 || e.Refused[0].Reason != "has not failed: it is active" {
			t.Fatalf("%+v", e)
		}
		task := s.act(id, api.Repair{Selection: api.Selection{Members: []int{1, 3}}})
		s.deliverAll()
		s.wantTask(id, task, "retry completed 1/1")
		s.wantCalls(2, "New CopyWrong")
		s.wantCalls(3, "New CopyWrong CopyWrong")
	})
}

func TestARetryBySteps(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(3)
		failed := s.step(id, 2, "copy").ID
		other := s.step(id, 3, "new").ID
		e := s.effect(id, api.Repair{Selection: api.Selection{Steps: []int64{failed, other}}})
		if e.Members != 1 || len(e.Refused) != 1 || e.Refused[0].ID != 3 || !strings.HasPrefix(e.Refused[0].Reason, `failed at step "copy" of phase "move"`) {
			t.Fatalf("%+v", e)
		}
		task := s.act(id, api.Repair{Selection: api.Selection{Steps: []int64{failed, other}}})
		s.deliverAll()
		s.wantTask(id, task, "retry completed 1/1")
		s.wantCalls(1, "New CopyWrong")
		s.wantCalls(2, "New CopyWrong CopyWrong")
		s.wantCalls(3, "New CopyWrong")
		_, err := s.app.Repair(s.ctx, ada, id, api.Repair{Selection: api.Selection{Steps: []int64{7}}})
		s.wantRefused(err, api.CodeNotFound, "batch 1 has no step 7")
	})
}

func TestMembersAreRemovedInBulk(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		which   api.Selection
		removed []int
		task    string
	}{
		"by numbers": {api.Selection{Members: []int{2, 55}}, []int{2, 55}, "remove_member completed 2/2"},
		"by text":    {api.Selection{Search: "P00"}, []int{1, 2, 3, 9}, "remove_member completed 9/9"},
		"by status":  {api.Selection{Status: api.MemberActive}, []int{1, 30, 60}, "remove_member completed 60/60"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"Do": always("true")}
				b := s.createBatch(oneStep(""), people(60))
				r := api.Repair{Action: api.RepairRemove, Selection: tt.which, Reason: "not in scope"}
				s.effect(b.ID, r)
				task := s.act(b.ID, r)
				s.deliverAll()
				s.wantTask(b.ID, task, tt.task)
				for _, member := range tt.removed {
					s.wantMember(b.ID, member, "removed")
					if m := s.member(b.ID, member); m.RemovedBy != "ada" {
						t.Errorf("%+v", m)
					}
				}
			})
		})
	}
}

func TestABulkRemovalIsRefusedWhereItRemovesNobody(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(2)
		remove := func(which api.Selection) error {
			return errorOf(s.app.Repair(s.ctx, ada, id, api.Repair{Action: api.RepairRemove, Selection: which, Reason: "x"}))
		}
		s.wantRefused(remove(api.Selection{}), api.CodeInvalid, "the members to remove are missing")
		s.wantRefused(remove(api.Selection{Step: "copy"}), api.CodeInvalid, "members to remove are selected by memberIds, status and search")
		s.wantRefused(remove(api.Selection{Status: "failed"}), api.CodeInvalid, `invalid status "failed" of a member to remove`)
		s.wantRefused(remove(api.Selection{Search: "nobody"}), api.CodeConflict, "no member of batch 1 matches")
		s.wantRefused(remove(api.Selection{Members: []int{1}}), api.CodeConflict, "p001@x has failed: to remove it, retry it first")
		s.wantRefused(remove(api.Selection{Members: []int{1, 9}}), api.CodeNotFound, "batch 1 has no member 9")
	})
}
