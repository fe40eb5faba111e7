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
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// waved has a phase with an output that the next one uses, and steps for members who leave.
func waved() string {
	yaml := found([]string{"create T-2d New", "fill T-1d Copy", "switch T-0 Switch"}, "on_member_removed:\n  - {name: undo, worker_id: worker-01, function: Undo}\n")
	yaml = strings.Replace(yaml, `function: New, params`, `function: New, output_params: {UserId: id}, params`, 1)
	return strings.Replace(yaml, `function: Copy, params: {`, `function: Copy, params: {User: "{{UserId}}", `, 1)
}

var wavedWorker = script{"New": always(`{"id":"u1"}`)}

// callsOf gives the functions that were called for a person, in any batch.
func (s *stage) callsOf(name string) string {
	s.t.Helper()
	var calls []string
	for _, j := range s.jobs {
		if strings.Contains(string(j.Parameters), `"`+name+`@x"`) && !slices.Contains(calls, fmt.Sprint(j.CorrelationData.BatchID, j.FunctionName)) {
			calls = append(calls, fmt.Sprint(j.CorrelationData.BatchID, j.FunctionName))
		}
	}
	return strings.Join(calls, " ")
}

// postponedWave is batch 1 of ten people, who have finished create, and of whom the source moves eight.
func (s *stage) postponedWave() *table {
	s.t.Helper()
	s.script = wavedWorker
	people := s.tableOf(dawn.Add(2*day), crowd(10)...)
	s.findBatches(waved())
	people.put(dawn.Add(5*day), crowd(10)[:8]...)
	s.tick()
	return people
}

func (s *stage) moveMembers(id int) {
	s.t.Helper()
	held := must(s.app.HeldRemovals(s.ctx, reader, id, api.ListOptions{Limit: 200}))(s.t)
	for range 2 {
		must(s.app.MoveMembers(s.ctx, ada, id, held.Revision, "postponed"))(s.t)
	}
	s.deliverAll()
}

func TestBatchOfWhichTheSourceMovesMostIsHeldAndDoesNotGoOn(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.postponedWave()
		b := s.batchOf(1)
		if h := b.Held; h == nil || h.Members != 8 || h.Moving != 8 || h.Of != 10 || !h.MovesTo.Equal(dawn.Add(5*day)) || h.Reason != "the query now starts 8 of 10 members at 2026-03-06T09:00:00Z" {
			t.Fatalf("%+v", h)
		}
		s.tickAfter(day + time.Minute) // fill is due
		s.wantPhases(1, "create completed 10/0/0, fill pending 0/0/0, switch pending 0/0/0")
		if p := s.phases(1)[1]; p.Reason != "the data source moves 8 of 10 members to 2026-03-06T09:00:00Z: reschedule the batch, or move, remove or keep them" {
			t.Errorf("it waits: %s", p.Reason)
		}
		s.wantBatches("1 03 09:00 active: " + strings.Join(crowd(10), " "))
	})
}

func TestHeldBatchIsRescheduled(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.postponedWave()
		s.reschedule(1, dawn.Add(5*day))
		if b := s.batchOf(1); b.Held != nil {
			t.Fatalf("%+v", b.Held)
		}
		s.tick()
		s.wantBatches("1 06 09:00 active: " + strings.Join(crowd(10), " ")) // those with the earlier time, too
		people.put(dawn.Add(5*day), crowd(10)...)
		for range 5 {
			s.tickAfter(day)
		}
		s.wantStatus(1, "completed")
		if got := s.callsOf("p000"); got != "1New 1Copy 1Switch" {
			t.Errorf("called: %s", got)
		}
	})
}

// The members of the hold that a reschedule answered are no part of the next one.
func TestRescheduledWaveIsHeldAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.postponedWave()
		for _, start := range []time.Time{dawn.Add(5 * day), dawn.Add(8 * day), dawn.Add(11 * day)} {
			people.put(start, crowd(10)[:8]...)
			for range 2 {
				s.tick()
			}
			if h := s.batchOf(1).Held; h == nil || h.Moving != 8 || !h.MovesTo.Equal(start) {
				t.Fatalf("moved to %s: %+v", start, h)
			}
			if held := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t); len(held.Items) != 8 {
				t.Errorf("%d members are held", len(held.Items))
			}
			s.reschedule(1, start)
		}
		people.put(dawn.Add(14*day), crowd(10)[:7]...) // p007 stays at the last start
		s.tick()
		s.moveMembers(1)
		for range 2 {
			s.tick()
		}
		s.wantBatches("1 12 09:00 active: -p000 -p001 -p002 -p003 -p004 -p005 -p006 p007 p008 p009", "2 15 09:00 active: "+strings.Join(crowd(10)[:7], " "))
	})
}

func TestMovedMembersKeepTheirFinishedPhasesAndOutputs(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.postponedWave()
		s.moveMembers(1)
		for range 2 {
			s.tick()
		}
		s.wantBatches("1 03 09:00 active: -p000 -p001 -p002 -p003 -p004 -p005 -p006 -p007 p008 p009", "2 06 09:00 active: "+strings.Join(crowd(10)[:8], " "))
		if m := s.member(2, 1); m.MovedFrom != 1 || !slices.Equal(m.Carried, []string{"create"}) || string(m.WorkerData["UserId"]) != `"u1"` {
			t.Errorf("%+v", m)
		}
		if m := s.member(1, 1); m.MovedTo == nil || !m.MovedTo.Equal(dawn.Add(5*day)) {
			t.Errorf("%+v", m)
		}
		for range 6 {
			s.tickAfter(day)
		}
		s.wantStatus(1, "completed")
		s.wantStatus(2, "completed")
		s.wantPhases(2, "create completed 0/0/0, fill completed 8/0/0, switch completed 8/0/0")
		if p := s.phases(2)[0]; p.Carried != 8 {
			t.Errorf("%+v", p)
		}
		if got := s.callsOf("p000"); got != "1New 2Copy 2Switch" {
			t.Errorf("of one who moved: %s", got)
		}
		if got := s.callsOf("p009"); got != "1New 1Copy 1Switch" {
			t.Errorf("of one who stayed: %s", got)
		}
		if got := auditText(s.listAudit(1)); strings.Count(got, "ada move_members") != 2 { // the decision, and the members
			t.Errorf("the trail: %s", got)
		}
	})
}

func TestMovedMemberKeepsTheCorrectionsOfAnAdministrator(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.postponedWave()
		s.correct(1, 1, "Name=Right")
		s.moveMembers(1)
		for range 2 {
			s.tick()
		}
		if m := s.member(2, 1); m.Key != "p000@x" || m.MovedFrom != 1 {
			t.Fatalf("%+v", m)
		}
		s.wantOverride(2, 1, "Name", `"Right" for "P000" by ada`)
		for range 6 {
			s.tickAfter(day)
		}
		if got := s.paramsOf("Switch"); got == nil {
			t.Errorf("no call of Switch")
		}
		for _, j := range s.jobs {
			if j.CorrelationData.BatchID == 2 && strings.Contains(string(j.Parameters), `"p000@x"`) && !strings.Contains(string(j.Parameters), `"Right"`) {
				t.Errorf("after the move, a worker got %s", j.Parameters)
			}
		}
	})
}

func TestRemovedMembersOfAHeldBatchStartAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.postponedWave()
		held := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
		must(s.app.ConfirmRemovals(s.ctx, ada, 1, held.Revision, ""))(t)
		s.deliverAll()
		for range 6 {
			s.tickAfter(day)
		}
		if got := s.callsOf("p000"); got != "1New 2New 2Copy 2Switch" {
			t.Errorf("called: %s", got)
		}
		if undone := strings.Count(s.calls(1), "Undo"); undone != 1 {
			t.Errorf("undone %d times", undone)
		}
	})
}

// A wave that moves to the start of another batch cannot have it: the answers are told without a reschedule.
func TestWaveThatMovesToTheStartOfAnotherBatchJoinsIt(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = wavedWorker
		people := s.tableOf(dawn.Add(2*day), crowd(10)...)
		people.put(dawn.Add(5*day), "q000", "q001")
		s.findBatches(waved())
		people.put(dawn.Add(5*day), crowd(10)[:8]...)
		s.tick()
		held := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
		if held.Moving != 8 || held.MovesInto != 2 || s.batchOf(1).Held.MovesInto != 2 {
			t.Fatalf("%+v", held.RemovalHoldSummary)
		}
		s.tickAfter(day + time.Minute)
		if p := s.phases(1)[1]; p.Reason != "the data source moves 8 of 10 members to 2026-03-06T09:00:00Z, the start of batch 2: move, remove or keep them" {
			t.Errorf("it waits: %s", p.Reason)
		}
		s.wantRefused(errorOf(s.app.Reschedule(s.ctx, ada, 1, "2026-03-06T09:00:00Z", "", true)), api.CodeConflict, "batch 2 of runbook")
		s.moveMembers(1)
		for range 2 {
			s.tick()
		}
		s.wantBatches("1 03 09:00 active: -p000 -p001 -p002 -p003 -p004 -p005 -p006 -p007 p008 p009", "2 06 09:00 active: q000 q001 "+strings.Join(crowd(10)[:8], " "))
		for range 6 {
			s.tickAfter(day)
		}
		s.wantStatus(2, "completed")
		for name, want := range map[string]string{"p000": "1New 2Copy 2Switch", "p008": "1New 1Copy 1Switch", "q000": "2New 2Copy 2Switch"} {
			if got := s.callsOf(name); got != want {
				t.Errorf("%s: %s, want %s", name, got, want)
			}
		}
	})
}

// A single member starts again, as in the system that this one replaces.
func TestSingleMemberWhoMovesIsNotHeld(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = wavedWorker
		people := s.tableOf(dawn.Add(2*day), "p000")
		s.findBatches(waved())
		people.put(dawn.Add(5*day), "p000")
		for range 2 {
			s.tick()
		}
		s.wantBatches("1 03 09:00 active: -p000", "2 06 09:00 active: p000")
	})
}

// The worker has a job of a member who moves: the phase ends first, in the batch that it began in.
func TestMemberWhoMovesEndsThePhaseThatItIsIn(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = wavedWorker
		people := s.tableOf(dawn.Add(2*day), crowd(4)...)
		s.park = containing(`"JobId"`)
		s.findBatches(waved())
		people.put(dawn.Add(5*day), crowd(4)...)
		s.tick()
		s.moveMembers(1)
		s.tick()
		s.wantBatches("1 03 09:00 active: -p000 -p001 -p002 -p003")
		if h := s.batchOf(1).Held; h == nil || !h.Move {
			t.Fatalf("%+v", h)
		}
		s.unpark()
		s.park = nil
		for range 3 {
			s.tickAfter(5 * time.Minute)
		}
		s.wantBatches("1 03 09:00 active: -p000 -p001 -p002 -p003", "2 06 09:00 active: p000 p001 p002 p003")
		for range 6 {
			s.tickAfter(day)
		}
		for _, name := range crowd(4) {
			if got := s.callsOf(name); got != "1New 2Copy 2Switch" {
				t.Errorf("%s: %s", name, got)
			}
		}
	})
}

// The request, the work on the members and the ticks die after each of their writes.
func TestMoveSurvivesTheDeathOfEachProcess(t *testing.T) {
	t.Parallel()
	for write := 1; write <= 12; write++ {
		t.Run(fmt.Sprint(write), func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.postponedWave()
				held := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
				s.kill(write, func(ctx context.Context, a *app.App) error {
					_, err := a.MoveMembers(ctx, ada, 1, held.Revision, "")
					return err
				})
				must(s.app.MoveMembers(s.ctx, ada, 1, held.Revision, ""))(t)
				s.deliverAll()
				s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
				s.deliverAll()
				for range 3 {
					s.tickAfter(10 * time.Minute) // the lease of the one that died, and its claims
				}
				s.wantBatches("1 03 09:00 active: -p000 -p001 -p002 -p003 -p004 -p005 -p006 -p007 p008 p009", "2 06 09:00 active: "+strings.Join(crowd(10)[:8], " "))
				for range 6 {
					s.tickAfter(day)
				}
				for _, name := range crowd(10)[:8] {
					if got := s.callsOf(name); got != "1New 2Copy 2Switch" {
						t.Errorf("%s: %s", name, got)
					}
				}
			})
		})
	}
}

// A member who was moved and whom the source then drops is in no batch: the audit trail names the person.
func TestMovedMemberWhomTheSourceDropsIsRecorded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.postponedWave()
		s.moveMembers(1)
		people.drop("p001", "p006")
		for range 3 {
			s.tick()
		}
		s.wantBatches("1 03 09:00 active: -p000 -p001 -p002 -p003 -p004 -p005 -p006 -p007 p008 p009", "2 06 09:00 active: p000 p002 p003 p004 p005 p007")
		const want = "scheduler move_members 2 members: no batch has them: the data source dropped them, or the batch of their start ended, before another batch could take them, and no removal steps ran: p001@x, p006@x"
		if got := auditText(s.listAudit(1)); strings.Count(got, want) != 1 {
			t.Errorf("the trail: %s", got)
		}
	})
}

// A wave is brought forward, and its members move. The batch that takes them ends before the next tick.
func TestBatchEndsAlthoughTheOneOfItsMovedMembersHasEndedBefore(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = wavedWorker
		people := s.tableOf(dawn.Add(2*day), crowd(4)...)
		s.findBatches(waved())
		people.put(dawn, crowd(4)...)
		s.tick()
		s.moveMembers(1)
		for range 2 {
			s.tick()
		}
		s.wantStatus(2, "completed")
		for _, name := range crowd(4) {
			if got := s.callsOf(name); got != "1New 2Copy 2Switch" {
				t.Errorf("%s: %s", name, got)
			}
		}
		s.tickAfter(3 * day)
		if b := s.batchOf(1); !b.Terminal() || b.Held != nil {
			t.Fatalf("%s %+v", b.Status, b.Held)
		}
		if got := auditText(s.listAudit(1)); strings.Contains(got, "no batch has them") {
			t.Errorf("the trail: %s", got)
		}
	})
}

// The batch of their new start ends before it takes the members who move: no batch has them.
func TestMovedMembersWhoseNewBatchEndsBeforeItTakesThemAreRecorded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = wavedWorker
		people := s.tableOf(dawn.Add(2*day), crowd(3)...)
		people.put(dawn.Add(5*day), "q000")
		s.findBatches(waved())
		people.put(dawn.Add(5*day), crowd(3)...)
		s.tick()
		s.moveMembers(1)
		must(s.app.Cancel(s.ctx, ada, 2, "not these"))(t)
		s.deliverAll()
		s.wantStatus(2, "cancelled")
		for range 3 {
			s.tick()
		}
		s.tickAfter(3 * day)
		if b := s.batchOf(1); !b.Terminal() || b.Held != nil {
			t.Fatalf("%s %+v", b.Status, b.Held)
		}
		if got := auditText(s.listAudit(1)); strings.Count(got, "no batch has them") != 1 || !strings.Contains(got, "p000@x, p001@x, p002@x") {
			t.Errorf("the trail: %s", got)
		}
	})
}

// A batch of which all were moved ends only when another has them.
func TestBatchStaysOpenUntilItsMovedMembersAreInAnother(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = wavedWorker
		people := s.tableOf(dawn.Add(day), crowd(3)...)
		s.findBatches(waved())
		people.put(dawn.Add(5*day), crowd(3)...)
		s.tick()
		s.moveMembers(1)
		must(s.app.SetAutomation(s.ctx, ada, "found", false))(t) // no batch can be made for them
		s.tickAfter(3 * day)
		if b := s.batchOf(1); b.Terminal() || b.Held == nil {
			t.Fatalf("%s %+v", b.Status, b.Held)
		}
		must(s.app.SetAutomation(s.ctx, ada, "found", true))(t)
		for range 3 {
			s.tick()
		}
		b := must(store.Read[model.Batch](s.ctx, s.store, store.BatchKey(1)))(t)
		if !b.Doc.Status.Terminal() || len(s.batchOf(2).Error) > 0 {
			t.Fatalf("%s %+v", b.Doc.Status, b.Doc.RemovalHold)
		}
	})
}
