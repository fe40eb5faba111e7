package app_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// situations are states of a batch, in which actions are allowed or refused.
var situations = map[string]func(s *stage) (batch int){
	"manual":          func(s *stage) int { return s.createBatch(gated("approval: required"), people(2)).ID },
	"scheduled":       scheduledSoon,
	"second approver": func(s *stage) int { return s.createBatch(gated("approval: second_person"), people(2)).ID },
	"under way": func(s *stage) int {
		s.script = script{"New": fails(errLost)}
		return s.startBatch(twoSteps, people(2)).ID
	},
	"gated": func(s *stage) int { return s.startBatch(gated("approval: required"), people(2)).ID },
	"paused": func(s *stage) int {
		id := s.startBatch(gated("approval: required"), people(2)).ID
		s.pause(id)
		return id
	},
	"scheduled and paused": func(s *stage) int {
		id := scheduledSoon(s)
		s.pause(id)
		return id
	},
	"a member failed": func(s *stage) int {
		s.script = script{"Join": func(j message.Job) (string, error) {
			if who(j) == 1 {
				return "", errNo
			}
			return "true", nil
		}}
		return s.startBatch(twoSteps, people(2)).ID
	},
	"completed with failures": func(s *stage) int {
		s.script = script{"Check": func(j message.Job) (string, error) {
			if who(j) == 1 {
				return "", errNo
			}
			return "true", nil
		}}
		id := s.startBatch(twoSteps, people(2)).ID
		s.advance(id)
		s.deliverAll()
		return id
	},
	"a member removed": func(s *stage) int {
		id := s.startBatch(twoSteps, people(3)).ID
		s.remove(id, 2)
		return id
	},
	"completed": func(s *stage) int {
		id := s.startBatch(oneStep(""), people(2)).ID
		s.deliverAll()
		return id
	},
	"cancelled": func(s *stage) int {
		id := s.startBatch(twoSteps, people(2)).ID
		s.cancel(id)
		s.deliverAll()
		return id
	},
	"init failed": func(s *stage) int {
		s.script = script{"Prepare": fails(errNo)}
		id := s.createBatch(strings.Replace(twoSteps, "phases:", "init: [{name: prepare, worker_id: worker-01, function: Prepare}]\nphases:", 1), people(2)).ID
		s.advance(id)
		s.deliverAll()
		return id
	},
	"a check failed": func(s *stage) int {
		s.script = taken("Person 2")
		id := s.createBatch(checked(true), people(3)).ID
		s.deliverAll()
		return id
	},
	"removals held": func(s *stage) int { threeHeld(s); return 1 },
	"moves held":    func(s *stage) int { s.postponedWave(); return 1 },
	"moved":         func(s *stage) int { s.postponedWave(); s.moveMembers(1); return 1 },
}

func scheduledSoon(s *stage) int {
	const id = 100
	s.publish(overlapping)
	s.schedule(id, overlapping, 2, dawn.Add(10*day))
	s.tick()
	return id
}

// doable is one action that a view shows, and the request for it.
type doable struct {
	what   string
	action api.Action
	do     func(*stage) error
}

// doables are the actions that the views of a batch, its phases, members and steps show.
func (s *stage) doables(id int) (all []doable) {
	s.t.Helper()
	b := s.batchOf(id)
	for _, one := range b.Actions {
		all = append(all, doable{"batch", one, s.batchRequest(b, one)})
	}
	for _, p := range s.phases(id) {
		for _, one := range p.Actions {
			if last := slices.MaxFunc(slices.DeleteFunc(s.phases(id), func(q api.Phase) bool { return q.Name != p.Name }), func(x, y api.Phase) int { return x.ID - y.ID }); last.ID != p.ID {
				continue // a request names the phase, and means its newest execution
			}
			do := func(s *stage) error { return errorOf(s.app.Advance(s.ctx, ada, id, p.Name)) }
			if one.Name == "approve" {
				do = func(s *stage) error { return errorOf(s.app.Approve(s.ctx, ada, id, p.Name, "")) }
			}
			all = append(all, doable{"phase " + p.Name, one, do})
		}
	}
	for _, m := range must(s.app.Members(s.ctx, reader, id, api.ListOptions{}))(s.t).Items {
		for _, one := range must(s.app.Member(s.ctx, reader, id, m.ID))(s.t).Actions {
			all = append(all, doable{m.Key, one, memberRequest(id, m.ID, one)})
		}
	}
	for _, v := range must(s.app.Steps(s.ctx, reader, id, api.ListOptions{}))(s.t).Items {
		for _, one := range must(s.app.Step(s.ctx, reader, id, v.ID))(s.t).Actions {
			do := func(s *stage) error { return errorOf(s.app.SkipStep(s.ctx, ada, id, v.ID, "no need")) }
			if one.Name == "mark_done" {
				do = func(s *stage) error {
					return errorOf(s.app.MarkStepDone(s.ctx, ada, id, v.ID, []byte(`{"id":"u"}`), "by hand"))
				}
			}
			all = append(all, doable{fmt.Sprintf("step %d", v.ID), one, do})
		}
	}
	return all
}

func (s *stage) batchRequest(b api.Batch, one api.Action) func(*stage) error {
	id, name := b.ID, "Wave 7"
	revision := "none"
	if held, err := s.app.HeldRemovals(s.ctx, reader, id, api.ListOptions{}); err == nil {
		revision = held.Revision
	}
	requests := map[string]func(*stage) error{
		"advance": func(s *stage) error { return errorOf(s.app.Advance(s.ctx, ada, id, one.Phase)) },
		"pause":   func(s *stage) error { return errorOf(s.app.Pause(s.ctx, ada, id, "")) },
		"resume":  func(s *stage) error { return errorOf(s.app.Resume(s.ctx, ada, id, "")) },
		"cancel":  func(s *stage) error { return errorOf(s.app.Cancel(s.ctx, ada, id, "")) },
		"reschedule": func(s *stage) error {
			return errorOf(s.app.Reschedule(s.ctx, ada, id, "2026-05-01T09:00:00Z", "", false))
		},
		"update_batch": func(s *stage) error {
			return errorOf(s.app.UpdateBatch(s.ctx, ada, id, api.BatchDetails{Name: &name}, ""))
		},
		"add_members": func(s *stage) error {
			return errorOf(s.app.AddMembers(s.ctx, ada, id, []byte("Upn,Name\nlate@x,Late\n")))
		},
		"check":            func(s *stage) error { return errorOf(s.app.Check(s.ctx, ada, id, 0, "")) },
		"confirm_removals": func(s *stage) error { return errorOf(s.app.ConfirmRemovals(s.ctx, ada, id, revision, "")) },
		"move_members":     func(s *stage) error { return errorOf(s.app.MoveMembers(s.ctx, ada, id, revision, "")) },
		"discard_removals": func(s *stage) error { return errorOf(s.app.DiscardRemovals(s.ctx, ada, id, revision, "")) },
	}
	for _, action := range []string{api.RepairRetry, api.RepairSkip, api.RepairDone} {
		requests[action] = func(s *stage) error {
			return errorOf(s.app.Repair(s.ctx, ada, id, api.Repair{Action: action, Reason: "again"}))
		}
	}
	return requests[one.Name]
}

// storeEmpty stores a manual batch without members, of the runbook of another batch.
func (s *stage) storeEmpty(like int) int {
	s.t.Helper()
	b := must(store.Read[model.Batch](s.ctx, s.store, store.BatchKey(like)))(s.t).Doc
	empty := model.Batch{ID: 99, Runbook: b.Runbook, Version: b.Version, Status: model.BatchActive, Manual: true, DetectedAt: b.DetectedAt}
	must(s.store.Apply(s.ctx, store.Writes{store.Create(store.BatchKey(empty.ID), empty)}))(s.t)
	return empty.ID
}

func memberRequest(id, member int, one api.Action) func(*stage) error {
	switch one.Name {
	case "check":
		return func(s *stage) error { return errorOf(s.app.Check(s.ctx, ada, id, member, "")) }
	case "correct_member":
		return func(s *stage) error {
			return errorOf(s.app.CorrectMember(s.ctx, ada, id, member, request("Name=New"), ""))
		}
	case "remove_member":
		return func(s *stage) error { return errorOf(s.app.RemoveMember(s.ctx, ada, id, member, "")) }
	case "move_member":
		return func(s *stage) error {
			r := api.Repair{Action: one.Name, Selection: api.Selection{Members: []int{member}}, Reason: "again", To: s.storeEmpty(id)}
			return errorOf(s.app.Repair(s.ctx, ada, id, r))
		}
	}
	return func(s *stage) error {
		return errorOf(s.app.Repair(s.ctx, ada, id, api.Repair{Action: one.Name, Selection: api.Selection{Members: []int{member}}, Reason: "again"}))
	}
}

// refusalOf is why a request was refused for the state of what it is about; empty if it was not.
func refusalOf(err error) string {
	if err == nil || errors.Is(err, model.ErrNotYet) {
		return ""
	}
	if e := problem.Explain(err); e.Code == api.CodeConflict || e.Code == api.CodeForbidden {
		return e.Message
	}
	return ""
}

// In each situation each action is requested, in a copy of the situation: an action shown as allowed is
// not refused for the state, and any other is refused with the reason that is shown.
func TestShownActionsAreThoseThatAreNotRefused(t *testing.T) {
	t.Parallel()
	for name, prepare := range situations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			begin := func() (*stage, int) {
				s := newStage(t, false)
				id := prepare(s)
				s.pass(time.Second)
				return s, id
			}
			original, id := begin()
			names := map[string]bool{}
			for _, shown := range original.doables(id) {
				s, _ := begin()
				err := shown.do(s)
				refused := refusalOf(err)
				switch {
				case shown.action.Allowed && refused != "":
					t.Errorf("%s of %s is shown as allowed, and refused: %s", shown.action.Name, shown.what, refused)
				case !shown.action.Allowed && refused != shown.action.Reason:
					t.Errorf("%s of %s is shown as not allowed: %s\nand refused: %s (%v)", shown.action.Name, shown.what, shown.action.Reason, refused, err)
				case shown.action.Unchanged && shown.action.Reason != "", !shown.action.Allowed && shown.action.Reason == "":
					t.Errorf("%s: %+v", shown.what, shown.action)
				}
				names[shown.action.Name] = true
				if !slices.Contains(api.AuditActions, shown.action.Name) {
					t.Errorf("no audit record has the action %s", shown.action.Name)
				}
			}
			if len(names) < 15 {
				t.Errorf("only %d actions were shown", len(names))
			}
		})
	}
}
