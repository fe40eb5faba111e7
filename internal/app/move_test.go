package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
)

// twoWaves are batch 1 of four people, who have finished create, and batch 2 of one, in which nothing has
// begun.
func (s *stage) twoWaves() *table {
	s.t.Helper()
	s.script = wavedWorker
	rows := s.tableOf(dawn.Add(2*day), crowd(4)...)
	rows.put(dawn.Add(5*day), "other")
	s.findBatches(waved())
	s.wantBatches("1 03 09:00 active: p000 p001 p002 p003", "2 06 09:00 active: other")
	return rows
}

// moveTo is the request to move members of batch 1 to another one.
func moveTo(to int, members ...int) api.Repair {
	return api.Repair{Action: api.RepairMove, To: to, Selection: api.Selection{Members: members}, Reason: "on leave"}
}

func (s *stage) days(n int) {
	for range n {
		s.tickAfter(day)
	}
}

func TestMembersMoveToAnotherBatchWithWhatTheyHaveFinished(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.twoWaves()
		s.correct(1, 1, "Name=Right")
		dry := moveTo(2, 1, 2)
		dry.DryRun = true
		result := must(s.app.Repair(s.ctx, ada, 1, dry))(t)
		if e, p := result.Effect, result.Preview; e.Members != 2 || result.To != 2 || len(p.Phases) != 2 || p.Phases[0].Phase != "fill" || p.Phases[0].Effect != "joins" || p.Phases[1].Phase != "switch" || p.Jobs != 4 ||
			p.WayBack != "Move the members back: they keep what they have finished." || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "neither moves nor removes these members") {
			t.Fatalf("%+v %+v", e, p)
		}
		s.wantBatches("1 03 09:00 active: p000 p001 p002 p003", "2 06 09:00 active: other")
		task := s.act(1, moveTo(2, 1, 2))
		s.wantTask(1, task, "move_member running 0/2")
		s.deliverAll()
		s.wantTask(1, task, "move_member completed 2/2")
		if v := must(s.app.Task(s.ctx, 1, task))(t); v.To != 2 {
			t.Errorf("%+v", v)
		}
		moved := []string{"1 03 09:00 active: -p000 -p001 p002 p003", "2 06 09:00 active: other p000 p001"}
		s.wantBatches(moved...)
		if m := s.member(2, 2); m.MovedFrom != 1 || !slices.Equal(m.Carried, []string{"create"}) || string(m.WorkerData["UserId"]) != `"u1"` {
			t.Errorf("%+v", m)
		}
		if m := s.member(1, 1); m.MovedToID != 2 || m.RemovedBy != "ada" {
			t.Errorf("%+v", m)
		}
		s.wantOverride(2, 2, "Name", `"Right" for "P000" by ada`)
		for range 3 { // the data source has them at the start of batch 1, and does not move them back
			s.tick()
			s.wantBatches(moved...)
		}
		s.days(6)
		s.wantStatus(1, "completed")
		s.wantStatus(2, "completed")
		for name, want := range map[string]string{"p000": "1New 2Copy 2Switch", "p001": "1New 2Copy 2Switch", "p002": "1New 1Copy 1Switch"} {
			if got := s.callsOf(name); got != want {
				t.Errorf("%s: %s", name, got)
			}
		}
		for _, j := range s.jobs {
			if j.CorrelationData.BatchID == 2 && strings.Contains(string(j.Parameters), `"p000@x"`) && !strings.Contains(string(j.Parameters), `"Right"`) {
				t.Errorf("after the move, a worker got %s", j.Parameters)
			}
		}
		if got := auditText(s.listAudit(1)); strings.Count(got, "ada move_member") != 2 { // the request, and the members
			t.Errorf("the trail: %s", got)
		}
		if got := auditText(s.listAudit(2)); strings.Count(got, "ada add_members") != 1 {
			t.Errorf("the trail: %s", got)
		}
	})
}

// A source that agrees with the move has its say again: it refreshes the members, and removes them.
func TestDataSourceThatAgreesWithAMoveIsFollowedAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		rows := s.twoWaves()
		s.act(1, moveTo(2, 1, 2))
		s.deliverAll()
		rows.drop("p000") // it is not asked
		s.tick()
		s.wantBatches("1 03 09:00 active: -p000 -p001 p002 p003", "2 06 09:00 active: other p000 p001")
		rows.put(dawn.Add(5*day), "p000", "p001")
		s.tick()
		rows.drop("p001")
		for range 2 {
			s.tick()
		}
		s.wantBatches("1 03 09:00 active: -p000 -p001 p002 p003", "2 06 09:00 active: other p000 -p001")
	})
}

func TestMembersMoveBetweenManualBatches(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": always("true"), "Join": always("true"), "Check": always("true")}
		one := s.createBatch(twoSteps, people(60)).ID
		must(s.app.CreateBatch(s.ctx, ada, "two", []byte("Upn,Name\nother@x,Other\n")))(t)
		task := s.act(one, api.Repair{Action: api.RepairMove, To: 2, Selection: api.Selection{Search: "p00"}, Reason: "later"})
		s.deliverAll()
		s.wantTask(one, task, "move_member completed 9/9")
		if b := s.batchOf(2); b.MemberCount != 10 {
			t.Fatalf("%+v", b)
		}
		s.advance(one)
		s.advance(2)
		if p := s.phases(one)[0]; p.Members != 51 {
			t.Errorf("%+v", p)
		}
		if p := s.phases(2)[0]; p.Members != 10 {
			t.Errorf("%+v", p)
		}
	})
}

// The worker has a job of a member who moves: the phase ends first, in the batch that it began in.
func TestMemberToMoveEndsThePhaseThatItIsIn(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = wavedWorker
		rows := s.tableOf(dawn.Add(2*day), "p000")
		rows.put(dawn.Add(5*day), "other")
		s.park = containing(`"JobId"`)
		s.findBatches(waved())
		dry := moveTo(2, 1)
		dry.DryRun = true
		if p := must(s.app.Repair(s.ctx, ada, 1, dry))(t).Preview; len(p.Warnings) == 0 || p.Warnings[0] != "1 member first ends the phase that they are in" {
			t.Fatalf("%+v", p)
		}
		task := s.act(1, moveTo(2, 1))
		s.deliverAll()
		s.tick()
		s.wantTask(1, task, "move_member running 0/1")
		s.wantBatches("1 03 09:00 active: -p000", "2 06 09:00 active: other")
		s.unpark()
		s.park = nil
		s.deliverAll()
		if b := s.batchOf(1); b.Terminal() {
			t.Fatalf("%+v", b)
		}
		for range 2 {
			s.tickAfter(5 * time.Minute)
		}
		s.wantTask(1, task, "move_member completed 1/1")
		s.days(6)
		s.wantStatus(2, "completed")
		if got := s.callsOf("p000"); got != "1New 2Copy 2Switch" {
			t.Errorf("called: %s", got)
		}
		if b := s.batchOf(1); !b.Terminal() {
			t.Errorf("%+v", b)
		}
	})
}

// The data source gives a member another start while an administrator moves them: it takes them into no
// batch before they are in the one to which they move.
func TestMemberWhoMovesIsNotTakenByTheDataSource(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]time.Time{"start of the other batch": dawn.Add(5 * day), "start of a third batch": dawn.Add(8 * day)} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = wavedWorker
				rows := s.tableOf(dawn.Add(2*day), "p000")
				rows.put(dawn.Add(5*day), "other")
				rows.put(dawn.Add(8*day), "third")
				s.park = containing(`"JobId"`)
				s.findBatches(waved())
				s.correct(1, 1, "Name=Right")
				task := s.act(1, moveTo(2, 1))
				s.deliverAll()
				s.wantTask(1, task, "move_member running 0/1")
				s.unpark()
				s.park = nil
				s.deliverAll() // the phase has ended
				rows.put(start, "p000")
				for range 3 {
					s.tickAfter(5 * time.Minute)
				}
				s.wantTask(1, task, "move_member completed 1/1")
				s.wantBatches("1 03 09:00 active: -p000", "2 06 09:00 active: other p000", "3 09 09:00 active: third")
				s.wantOverride(2, 2, "Name", `"Right" for "P000" by ada`)
			})
		})
	}
}

// A phase is fanned out to the members while they are moved: each does it once, in one of the batches.
func TestMemberIsMovedWhileAPhaseBegins(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.twoWaves()
		s.pass(day) // fill is due
		task := s.act(1, api.Repair{Action: api.RepairMove, To: 2, Selection: api.Selection{Status: api.MemberActive}, Reason: "later"})
		s.tick()
		s.deliverAll()
		for range 2 {
			s.tickAfter(5 * time.Minute)
		}
		s.wantTask(1, task, "move_member completed 4/4")
		s.days(6)
		s.wantStatus(2, "completed")
		for _, name := range crowd(4) {
			if got := s.callsOf(name); got != "1New 2Copy 2Switch" && got != "1New 1Copy 2Switch" {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

// The request and the ticks die after each of their writes, and so does the process that moves the members.
func TestMoveToAnotherBatchSurvivesTheDeathOfEachProcess(t *testing.T) {
	t.Parallel()
	for write := 1; write <= 10; write++ {
		t.Run(fmt.Sprint(write), func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.twoWaves()
				by := audit.Caller{Name: "ada", Kind: api.ActorUser, Key: "k1"}
				ask := func(ctx context.Context, a *app.App) error { return errorOf(a.Repair(ctx, by, 1, moveTo(2, 1, 2, 3))) }
				s.kill(write, ask)
				for range 2 { // said again, also when it is done
					noError(t, ask(s.ctx, s.app))
					s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
					s.deliverAll()
				}
				for range 3 {
					s.tickAfter(10 * time.Minute)
				}
				s.wantBatches("1 03 09:00 active: -p000 -p001 -p002 p003", "2 06 09:00 active: other p000 p001 p002")
				s.days(6)
				for _, name := range crowd(3) {
					if got := s.callsOf(name); got != "1New 2Copy 2Switch" {
						t.Errorf("%s: %s", name, got)
					}
				}
			})
		})
	}
}

// The process that moves the members dies after each of its writes, and the message comes again.
func TestMoveOfMembersSurvivesTheDeathOfItsProcess(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.twoWaves()
		task := s.act(1, moveTo(2, 1, 2))
		m := applier.BatchWorkMessage(1, message.WorkMove, task, 0)
		work := message.Delivery{ID: m.ID, Type: message.TypeBatchWork, Body: m.Body, DeliveryCount: 1}
		cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.HandleEvent(ctx, work) })
		noError(t, s.app.HandleEvent(s.ctx, work))
		s.deliverAll()
		s.tickAfter(10 * time.Minute)
		s.wantTask(1, task, "move_member completed 2/2")
		s.wantBatches("1 03 09:00 active: -p000 -p001 p002 p003", "2 06 09:00 active: other p000 p001")
		return cut
	})
}

func TestMembersOfAMoveToABatchThatEndsStay(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.twoWaves()
		task := s.act(1, moveTo(2, 1, 2))
		must(s.app.Cancel(s.ctx, ada, 2, ""))(t)
		s.deliverAll()
		s.tick()
		s.wantTask(1, task, "move_member completed 0/2, p000@x: stays in batch 1: batch 2 has ended (cancelled), p001@x: stays in batch 1: batch 2 has ended (cancelled)")
		s.days(6)
		s.wantStatus(1, "completed")
		for _, name := range crowd(4) {
			if got := s.callsOf(name); got != "1New 1Copy 1Switch" {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

// The batch of a member who is to move is cancelled: the member's phase is, and the member moves.
func TestMemberOfACancelledBatchMovesThatWasToMove(t *testing.T) {
	for _, both := range []bool{false, true} {
		t.Run(fmt.Sprint(both), func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = wavedWorker
				rows := s.tableOf(dawn.Add(2*day), "p000")
				rows.put(dawn.Add(5*day), "other")
				s.park = containing(`"JobId"`)
				s.findBatches(waved())
				task := s.act(1, moveTo(2, 1))
				s.deliverAll()
				must(s.app.Cancel(s.ctx, ada, 1, ""))(t)
				if both {
					must(s.app.Cancel(s.ctx, ada, 2, ""))(t)
				}
				s.deliverAll()
				s.unpark()
				s.park = nil
				s.deliverAll()
				for range 3 {
					s.tickAfter(5 * time.Minute)
				}
				s.wantStatus(1, "cancelled")
				if both {
					s.wantTask(1, task, "move_member completed 0/1, p000@x: is in neither batch: batch 2 has ended (cancelled), and batch 1 has ended (cancelling)")
					if got := auditText(s.listAudit(1)); strings.Count(got, "no batch has them: batch 2 has ended (cancelled), and this batch has ended: p000@x") != 1 {
						t.Errorf("the trail: %s", got)
					}
					return
				}
				s.wantTask(1, task, "move_member completed 1/1")
				s.days(6)
				s.wantStatus(2, "completed")
				if got := s.callsOf("p000"); got != "1New 2New 2Copy 2Switch" && got != "1New 2Copy 2Switch" {
					t.Errorf("called: %s", got)
				}
			})
		})
	}
}

func TestMoveIsRefusedWhereItCannotBe(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		id := s.failing(2)
		s.publish(oneStep(""))
		must(s.app.CreateBatch(s.ctx, ada, "one", []byte(people(1))))(t)
		must(s.app.CreateBatch(s.ctx, ada, s.batchOf(id).RunbookName, []byte("Upn,Name\nother@x,Other\n")))(t)
		move := func(r api.Repair) error { return errorOf(s.app.Repair(s.ctx, ada, id, r)) }
		s.wantRefused(move(moveTo(0, 1)), api.CodeInvalid, "the batch is missing to which the members move")
		s.wantRefused(move(moveTo(9, 1)), api.CodeNotFound, "")
		s.wantRefused(move(moveTo(1, 1)), api.CodeConflict, "batch 1 is the batch of the members: name another one")
		s.wantRefused(move(moveTo(2, 1)), api.CodeConflict, "members move between batches of one runbook")
		s.wantRefused(move(moveTo(3)), api.CodeInvalid, "the members to move are missing")
		s.wantRefused(move(moveTo(3, 1)), api.CodeConflict, "member 1 (p001@x) has failed: to move it, retry it first")
		s.wantRefused(move(moveTo(3, 1, 2)), api.CodeConflict, "none of the selected members of batch 1 can be moved: p001@x has failed: to move it, retry it first")
		s.wantRefused(move(api.Repair{Action: api.RepairRetry, To: 3}), api.CodeInvalid, "a batch to move to belongs to a move")
		s.cancel(3)
		s.deliverAll()
		s.wantRefused(move(moveTo(3, 1)), api.CodeConflict, "batch 3 has ended (cancelled): no member can be added")
	})
}

// toMove are batch 1 of one person and batch 2 of another.
func (s *stage) toMove() {
	s.t.Helper()
	s.script = script{"New": always("true"), "Join": always("true"), "Check": always("true")}
	s.createBatch(twoSteps, people(1))
	must(s.app.CreateBatch(s.ctx, ada, "two", []byte("Upn,Name\nother@x,Other\n")))(s.t)
}

func (s *stage) takeToo() error {
	return errorOf(s.app.CreateBatch(s.ctx, ada, "two", []byte(people(1)), api.AllowInOtherBatches))
}

func (s *stage) wantMembers(batch int, want string) {
	s.t.Helper()
	var who []string
	for _, m := range must(s.app.Members(s.ctx, reader, batch, api.ListOptions{Limit: 100}))(s.t).Items {
		who = append(who, m.Key+" "+m.Status)
	}
	if got := strings.Join(who, ", "); got != want {
		s.t.Errorf("members of batch %d: %s, want %s", batch, got, want)
	}
}

func TestMemberWhomAThirdBatchHasTooStays(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.toMove()
		noError(t, s.takeToo())
		task := s.act(1, moveTo(2, 1))
		s.deliverAll()
		s.tick()
		s.wantTask(1, task, "move_member completed 0/1, p001@x: stays in batch 1: is in batch 3 of runbook two")
		s.wantMembers(1, "p001@x active")
	})
}

// A process that is held up before it takes members out finds the move done, or past their page, by the
// other copy of its message.
func TestMemberIsNotTakenOutWhenTheMoveHasPassed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		waiting bool // another member of the page, who ends a phase first
		want    string
	}{
		{"the move is done", false, "move_member completed 0/1, p001@x: stays in batch 1: is in batch 3 of runbook two"},
		{"the move has passed the page", true, "move_member running 0/2, p001@x: stays in batch 1: is in batch 3 of runbook two"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.script = script{"New": always("true"), "Join": always("true"), "Check": always("true")}
			s.createBatch(twoSteps, people(2))
			must(s.app.CreateBatch(s.ctx, ada, "two", []byte("Upn,Name\nother@x,Other\n")))(t)
			members := []int{1}
			if c.waiting {
				s.park = containing(`"JobId"`)
				s.advance(1)
				members = []int{1, 2}
			}
			noError(t, s.takeToo())
			task := s.act(1, moveTo(2, members...))
			m := applier.BatchWorkMessage(1, message.WorkMove, task, 0)
			slow := s.between(readsTask, func() {
				s.deliverAll()
				must(s.app.Cancel(s.ctx, ada, 3, ""))(t)
				s.deliverAll()
			})
			noError(t, slow.HandleEvent(s.ctx, message.Delivery{ID: m.ID, Type: message.TypeBatchWork, Body: m.Body, DeliveryCount: 1}))
			s.wantTask(1, task, c.want)
			if got := s.member(1, 1); got.Status != "active" {
				t.Errorf("member 1 of batch 1 is %s", got.Status)
			}
			s.verify()
		})
	}
}

// A third batch takes a member who moves, while the phase that they are in ends: they return.
func TestMemberWhomAThirdBatchTakesDuringAMoveReturns(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.toMove()
		s.park = containing(`"JobId"`)
		s.advance(1)
		task := s.act(1, moveTo(2, 1))
		s.deliverAll()
		s.wantTask(1, task, "move_member running 0/1")
		noError(t, s.takeToo())
		s.unpark()
		s.park = nil
		s.deliverAll()
		for range 2 {
			s.tickAfter(5 * time.Minute)
		}
		s.wantTask(1, task, "move_member completed 0/1, p001@x: stays in batch 1: is in batch 3 of runbook two")
		s.wantMembers(1, "p001@x removed, p001@x active")
	})
}

// toReturn moves a member whom a third batch takes meanwhile, and who has ended the phase by now. The
// message has them return.
func (s *stage) toReturn() (task string, work message.Delivery) {
	s.t.Helper()
	s.toMove()
	s.park = containing(`"JobId"`)
	s.advance(1)
	task = s.act(1, moveTo(2, 1))
	s.deliverAll()
	noError(s.t, s.takeToo())
	s.unpark()
	s.park = nil
	s.deliverAll()
	s.wantTask(1, task, "move_member running 0/1")
	s.pass(11 * time.Minute)
	m := applier.BatchWorkMessage(1, message.WorkMove, task, 0)
	return task, message.Delivery{ID: m.ID, Type: message.TypeBatchWork, Body: m.Body, DeliveryCount: 1}
}

// The process that has a member return dies after each of its writes, also between the return and its count.
func TestReturnOfAMemberSurvivesTheDeathOfItsProcess(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		task, work := s.toReturn()
		cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.HandleEvent(ctx, work) })
		noError(t, s.app.HandleEvent(s.ctx, work))
		s.deliverAll()
		s.tickAfter(10 * time.Minute)
		reason := "is in batch 3 of runbook two"
		if got := must(s.app.Task(s.ctx, 1, task))(t); len(got.Refused) == 1 && strings.HasSuffix(got.Refused[0].Reason, "another batch had them") {
			reason = "another batch had them" // they had returned by then
		}
		s.wantTask(1, task, "move_member completed 0/1, p001@x: stays in batch 1: "+reason)
		s.wantMembers(1, "p001@x removed, p001@x active")
		return cut
	})
}

// The batch to which a member returns ends at that moment: they are in neither batch, as a record says.
func TestMemberWhoseBatchEndsWhileTheyReturnIsRecorded(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	task, work := s.toReturn()
	slow := s.between(readsBatch, func() {
		must(s.other.Cancel(s.ctx, ada, 1, ""))(t)
		s.deliverAll()
	})
	noError(t, slow.HandleEvent(s.ctx, work))
	s.deliverAll()
	for range 2 {
		s.tickAfter(10 * time.Minute)
	}
	s.wantTask(1, task, "move_member completed 0/1, p001@x: is in neither batch: is in batch 3 of runbook two, and batch 1 has ended (cancelling)")
	s.wantMembers(1, "p001@x removed")
	if got := auditText(s.listAudit(1)); strings.Count(got, "no batch has them: ") != 1 {
		t.Errorf("the audit records: %s", got)
	}
}

// A member who has ended the phase, and is in neither batch yet, is free for no other one.
func TestMemberWhoMovesIsFreeForNoOtherBatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.toMove()
	s.park = containing(`"JobId"`)
	s.advance(1)
	task := s.act(1, moveTo(2, 1))
	s.deliverAll()
	s.unpark()
	s.park = nil
	s.deliverAll()
	s.wantTask(1, task, "move_member running 0/1")
	s.pass(11 * time.Minute)
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "two", []byte(people(1)))), api.CodeConflict, "p001@x is in batch 1 of runbook two, from which they are being moved to batch 2")
	s.tick()
	s.wantTask(1, task, "move_member completed 1/1")
	s.verify()
}

// What the members take along does not fit into one write.
func TestMembersMoveWithLargeOutputs(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.twoWavesOf(45, strings.Repeat("x", 60_000))
	task := s.act(1, api.Repair{Action: api.RepairMove, To: 2, Selection: api.Selection{Search: "p0"}, Reason: "later"})
	s.deliverAll()
	s.tick()
	s.wantTask(1, task, "move_member completed 45/45")
	if b := s.batchOf(2); b.MemberCount != 46 {
		t.Errorf("%+v", b)
	}
	if m := s.member(2, 46); len(m.WorkerData["UserId"]) != 60_002 {
		t.Errorf("%d bytes", len(m.WorkerData["UserId"]))
	}
	s.verify()
}

func (s *stage) twoWavesOf(n int, output string) {
	s.t.Helper()
	s.script = script{"New": always(`{"id":"` + output + `"}`)}
	rows := s.tableOf(dawn.Add(2*day), crowd(n)...)
	rows.put(dawn.Add(5*day), "other")
	s.findBatches(waved())
}

// The batch is cancelled while the 49 members of its first page move: the move goes on until they are there.
func TestMoveOfACancelledBatchRunsUntilItsMembersAreThere(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": always("true"), "Join": always("true"), "Check": always("true")}
	s.createBatch(twoSteps, people(60))
	must(s.app.CreateBatch(s.ctx, ada, "two", []byte("Upn,Name\nother@x,Other\n")))(t)
	results := containing(`"JobId"`)
	s.park = results
	s.advance(1)
	second := ofType(message.TypeBatchWork, `"Work":"move"`, `"Page":2`)
	s.park = func(kind, body string) bool { return results(kind, body) || second(kind, body) }
	task := s.act(1, api.Repair{Action: api.RepairMove, To: 2, Selection: api.Selection{Search: "p0"}, Reason: "later"})
	s.deliverAll()
	must(s.app.Cancel(s.ctx, ada, 1, ""))(t)
	s.park = results
	s.unpark()
	s.deliverAll()
	s.wantTask(1, task, "move_member running 0/60")
	s.park = nil
	s.unpark()
	s.deliverAll()
	for range 3 {
		s.tickAfter(5 * time.Minute)
	}
	s.wantTask(1, task, "move_member cancelled 49/60")
}
