package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
)

const day = 24 * time.Hour

// two phases: one well before the start, one at it.
var twoPhases = []string{"create T-2d New", "switch T-0 Switch"}

func TestRowsBecomeBatchesByTheirStartAndRunOnTime(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "ann", "bob")
		people.put(dawn.Add(4*day), "eve")
		s.findBatches(found(twoPhases, ""))
		s.wantBatches("1 04 09:00 active: ann bob", "2 05 09:00 active: eve")
		s.wantCalls(1, "")
		s.pass(day - 3*time.Minute)
		s.tick() // schedules what falls due in three minutes, to the second
		s.wantPhases(1, "create pending 0/0/0, switch pending 0/0/0")
		s.pass(3*time.Minute - time.Second)
		s.wantPhases(1, "create pending 0/0/0, switch pending 0/0/0")
		s.pass(time.Second)
		s.wantPhases(1, "create completed 2/0/0, switch pending 0/0/0")
		s.wantPhases(2, "create pending 0/0/0, switch pending 0/0/0")
		for range 3 {
			s.tickAfter(day)
		}
		s.wantStatus(1, "completed")
		s.wantStatus(2, "completed")
		s.tick() // the rows are still there: their batches have ended
		s.wantBatches("1 04 09:00 completed: ann bob", "2 05 09:00 completed: eve")
	})
}

func TestPhasesThatAreDueWhenABatchIsFoundBeginAtOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.tableOf(dawn.Add(2*time.Minute), crowd(60)...)
		s.findBatches(found(twoPhases, "init:\n  - {name: group, worker_id: worker-01, function: Group}\n"))
		s.wantPhases(1, "init completed 1/0/0, create completed 60/0/0, switch pending 0/0/0")
		s.pass(2 * time.Minute)
		s.wantPhases(1, "init completed 1/0/0, create completed 60/0/0, switch completed 60/0/0")
	})
}

func TestNoBatchIsMadeWithoutAutomation(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "ann")
		s.publish(found(twoPhases, ""))
		s.tick()
		s.wantBatches()
		if v := s.automation("found"); v.Enabled || v.LastRunAt != nil {
			t.Fatalf("%+v", v)
		}
		// The preview tells what enabling it leads to.
		if v, err := s.app.PreviewQuery(s.ctx, ada, "found", 0); err != nil || v.Enabled || len(v.Groups) != 1 || v.Groups[0].Add != 1 {
			t.Fatalf("%+v, %v", v, err)
		}
		s.automate("found")
		s.tick()
		v := must(s.app.SetAutomation(s.ctx, grace, "found", false))(t)
		if v.Enabled || v.DisabledBy != "grace" || v.EnabledBy != "ada" || !v.EnabledAt.Equal(dawn) {
			t.Fatalf("%+v", v)
		}
		// Only new batches are not made: the one that is there follows its rows.
		people.put(dawn.Add(3*day), "bob")
		people.put(dawn.Add(5*day), "eve")
		s.tick()
		s.wantBatches("1 04 09:00 active: ann bob")
	})
}

func TestRowThatComesLaterIsAddedOnceAndCatchesUp(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), crowd(50)...)
		s.findBatches(found(twoPhases, ""))
		s.wantPhases(1, "create completed 50/0/0, switch pending 0/0/0")
		s.wantSent(message.TypeMemberAdded, 0) // those who were there first are not announced
		people.put(dawn.Add(day), "late")
		s.tick()
		s.wantCalls(51, "New")
		s.wantSent(message.TypeMemberAdded, 1)
		s.tick()
		s.wantSent(message.TypeMemberAdded, 1)
		s.wantPhases(1, "create completed 51/0/0, switch pending 0/0/0")
	})
}

func TestRowThatIsGoneRemovesItsMemberOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), crowd(10)...)
		s.findBatches(found(twoPhases, "on_member_removed:\n  - {name: undo, worker_id: worker-01, function: Undo}\n"))
		people.drop("p003", "p007")
		s.tick()
		s.wantCalls(4, "New Undo")
		s.wantCalls(8, "New Undo")
		s.wantSent(message.TypeMemberRemoved, 2)
		s.tick()
		s.wantSent(message.TypeMemberRemoved, 2)
		var told []string
		for _, r := range s.listAudit(1) {
			told = append(told, r.By+" "+r.Action+" "+r.Target)
		}
		slices.Sort(told) // they are of the same moment
		if strings.Join(told, ", ") != "scheduler create , scheduler remove_member 2 members: 4 and 8" {
			t.Fatal(told)
		}
		if m := s.member(1, 4); m.Status != "removed" || m.RemovedBy != "" {
			t.Fatalf("%+v", m)
		}
		// A person who comes back is a new member.
		people.put(dawn.Add(day), "p003")
		s.tick()
		s.wantCalls(11, "New")
	})
}

func TestMoreRemovalsThanTheGuardAllowsAreHeldUntilSomebodyDecides(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), crowd(10)...)
		s.findBatches(found(twoPhases, ""))
		people.drop("p000", "p001", "p002")
		s.tick()
		s.wantSent(message.TypeMemberRemoved, 0)
		held := s.batchOf(1).Held
		if held == nil || held.Members != 3 || held.Of != 10 || !held.Since.Equal(dawn) || !strings.Contains(held.Reason, "3 of 10 members") {
			t.Fatalf("%+v", held)
		}
		if v := s.automation("found"); len(v.Held) != 1 || v.Held[0].BatchID != 1 || v.LastError != "" {
			t.Fatalf("%+v", v)
		}
		who := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{Limit: 2}))(t)
		if len(who.Items) != 2 || who.Items[0].Key != "p000@x" || who.Continuation == "" {
			t.Fatalf("%+v", who)
		}
		s.wantRefused(errorOf(s.app.ConfirmRemovals(s.ctx, ada, 1, "other", "")), api.CodeConflict, "have changed")
		if v := must(s.app.ConfirmRemovals(s.ctx, ada, 1, who.Revision, "they stay behind"))(t); v.Held == nil || v.Held.Confirmed == nil {
			t.Fatalf("%+v", v)
		}
		s.deliverAll()
		s.wantSent(message.TypeMemberRemoved, 3)
		if b := s.batchOf(1); b.Held != nil {
			t.Fatalf("%+v", b)
		}
		s.tick()
		s.wantBatches("1 02 09:00 active: -p000 -p001 -p002 p003 p004 p005 p006 p007 p008 p009")
		s.wantRefused(errorOf(s.app.ConfirmRemovals(s.ctx, ada, 1, "", "")), api.CodeInvalid, "revision is missing")
		if v := must(s.app.ConfirmRemovals(s.ctx, ada, 1, who.Revision, ""))(s.t); v.Held != nil { // repeated after it was carried out
			t.Fatalf("%+v", v)
		}
		s.deliverAll()
		s.wantBatches("1 02 09:00 active: -p000 -p001 -p002 p003 p004 p005 p006 p007 p008 p009")
		s.wantRefused(errorOf(s.app.ConfirmRemovals(s.ctx, ada, 1, "other", "")), api.CodeConflict, "nothing to confirm")
	})
}

func TestDiscardedRemovalsStayUntilTheirRowsWereBack(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), crowd(10)...)
		s.findBatches(found(twoPhases, ""))
		people.drop("p000", "p001", "p002")
		s.tick()
		if v := must(s.app.DiscardRemovals(s.ctx, ada, 1, "", "the query was wrong"))(t); v.Held != nil || v.DiscardedRemovals != 3 {
			t.Fatalf("%+v", v)
		}
		s.tick()
		s.wantSent(message.TypeMemberRemoved, 0)
		if b := s.batchOf(1); b.Held != nil || b.DiscardedRemovals != 3 {
			t.Fatalf("%+v", b)
		}
		people.put(dawn.Add(day), "p000")
		s.tick()
		if b := s.batchOf(1); b.DiscardedRemovals != 2 {
			t.Fatalf("%+v", b)
		}
		people.drop("p000") // who was back and is gone again is gone
		s.tick()
		s.wantSent(message.TypeMemberRemoved, 1)
		// Those who are kept are no part of what the share is of: two of seven are too many.
		people.drop("p008", "p009")
		s.tick()
		if held := s.batchOf(1).Held; held == nil || held.Members != 2 || held.Of != 7 {
			t.Fatalf("%+v", held)
		}
	})
}

func TestHeldMembersWhoMoveSayWhereTo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), crowd(4)...)
		s.findBatches(found(twoPhases, ""))
		people.drop("p000")
		people.put(dawn.Add(2*day), "p001")
		s.tick()
		who := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
		if len(who.Items) != 2 || who.Items[0].MovesTo != nil || who.Items[1].MovesTo == nil || !who.Items[1].MovesTo.Equal(dawn.Add(2*day)) {
			t.Fatalf("%+v", who)
		}
	})
}

func TestHoldEndsByItselfWhenTheRowsAreBack(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), crowd(10)...)
		s.findBatches(found(twoPhases, ""))
		people.exec("DELETE FROM people")
		s.tick()
		if held := s.batchOf(1).Held; held == nil || held.Members != 10 || !strings.Contains(held.Reason, "no rows") {
			t.Fatalf("%+v", held)
		}
		people.put(dawn.Add(day), crowd(10)...)
		s.tick()
		if b := s.batchOf(1); b.Held != nil || b.DiscardedRemovals != 0 {
			t.Fatalf("%+v", b)
		}
		s.wantSent(message.TypeMemberRemoved, 0)
		if v := s.automation("found"); len(v.Held) != 0 {
			t.Fatalf("%+v", v)
		}
	})
}

func TestMemberWhoseStartChangesMovesAndIsNeverInTwoBatches(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), crowd(10)...)
		s.findBatches(found(twoPhases, ""))
		people.put(dawn.Add(5*day), "p004")
		s.tick()
		s.wantBatches(
			"1 04 09:00 active: p000 p001 p002 p003 -p004 p005 p006 p007 p008 p009",
			"2 06 09:00 active: p004")
		people.put(dawn.Add(3*day), "p004")
		s.tick() // all of batch 2 leaves, which is one
		s.wantBatches(
			"1 04 09:00 active: p000 p001 p002 p003 -p004 p005 p006 p007 p008 p009 p004",
			"2 06 09:00 active: -p004")
	})
}

func TestDataIsFreshWhenAStepIsDispatchedAndWhatIsTheSameIsNotWritten(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(2*day), "ann", "bob")
		s.findBatches(found(twoPhases, ""))
		before := s.store.Counts()
		noError(t, s.app.Tick(s.ctx))
		if after := s.store.Counts(); after.Writes-before.Writes != 2 { // the lease, and its end
			t.Fatalf("%d writes for what has not changed", after.Writes-before.Writes)
		}
		people.exec("UPDATE people SET Name = 'Ann Smith' WHERE Upn = 'ann@x'")
		s.tick()
		s.tickAfter(2 * day)
		names := map[string]bool{}
		for _, j := range s.jobs {
			names[j.FunctionName+string(j.Parameters)] = true
		}
		if !names[`Switch{"Name":"Ann Smith","Upn":"ann@x"}`] || !names[`Switch{"Name":"BOB","Upn":"bob@x"}`] {
			t.Fatal(names)
		}
	})
}

func TestImmediateBatchesTakeThoseWhoAreInNone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn, "ann", "bob")
		s.publishAutomated(strings.Replace(found([]string{"only T-0 New", "check T+1h Check"}, ""), "batch_time_column: Start", "batch_time: immediate", 1))
		s.tickAfter(2 * time.Minute)
		s.wantBatches("1 01 09:00 active: ann bob")
		s.pass(time.Minute)
		people.put(dawn, "eve")
		s.tick()
		people.drop("ann") // a query for those who are ready no longer returns those under way
		s.tickAfter(5 * time.Minute)
		s.wantBatches("1 01 09:00 active: ann bob", "2 01 09:05 active: eve")
		s.wantSent(message.TypeMemberRemoved, 0)
		s.tickAfter(time.Hour)
		s.wantStatus(1, "completed")
	})
}

// A tick leaves a source alone that asked for a pause, and says until when.
func TestSourceThatAsksForAPauseIsLeftAlone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.env["ELSEWHERE"] = "postgres://people"
		s.publish(strings.NewReplacer("type: sql", "type: postgres", "PEOPLE", "ELSEWHERE").Replace(found(twoPhases, "")))
		s.automate("found")
		for _, tt := range []struct {
			after time.Duration
			asked int64
			at    time.Time // of the run that failed
		}{
			{0, 1, dawn},
			{5 * time.Minute, 1, dawn},
			{54*time.Minute + 59*time.Second, 1, dawn},
			{time.Second, 2, dawn.Add(time.Hour)},
			{5 * time.Minute, 2, dawn.Add(time.Hour)},
		} {
			s.tickAfter(tt.after)
			v := s.automation("found")
			until := "it asks for no request before " + tt.at.Add(time.Hour).Format(time.RFC3339)
			if s.throttled.Load() != tt.asked || !v.LastErrorAt.Equal(tt.at) || !strings.HasSuffix(v.LastError, "too many requests; "+until) {
				t.Fatalf("after %s: %d queries, want %d; %s at %s", tt.after, s.throttled.Load(), tt.asked, v.LastError, v.LastErrorAt)
			}
		}
	})
}

func TestQueryThatFailsIsReportedAndHarmsNobody(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(2*day), crowd(3)...)
		s.publish(found(twoPhases, ""))
		s.publish(strings.Replace(strings.Replace(found(twoPhases, ""), "name: found", "name: other", 1), "PEOPLE", "ELSEWHERE", 1))
		s.automate("found")
		s.automate("other")
		s.tick()
		if v := s.automation("other"); !strings.Contains(v.LastError, "ELSEWHERE") || !strings.Contains(v.LastError, "other") || !v.LastErrorAt.Equal(dawn) {
			t.Fatalf("%+v", v)
		}
		s.wantBatches("1 03 09:00 active: p000 p001 p002")
		people.exec("ALTER TABLE people RENAME COLUMN Name TO FullName")
		s.tick()
		v := s.automation("found")
		if !strings.Contains(v.LastError, "Name") || strings.Contains(v.LastError, s.env["PEOPLE"]) {
			t.Fatal(v.LastError)
		}
		if list := must(s.app.Runbooks(s.ctx, api.ListOptions{}))(t); list.Items[0].LastError != v.LastError || !list.Items[0].Enabled {
			t.Fatalf("%+v", list.Items)
		}
		people.exec("ALTER TABLE people RENAME COLUMN FullName TO Name")
		s.tick()
		if v := s.automation("found"); v.LastError != "" || v.LastErrorAt != nil || v.LastGoodAt == nil {
			t.Fatalf("%+v", v)
		}
		s.wantBatches("1 03 09:00 active: p000 p001 p002")
	})
}

func TestRowsThatCannotBeUsedAreReportedAndLeaveTheirMembersAlone(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(2*day), crowd(5)...)
		s.findBatches(found(twoPhases, ""))
		people.exec("UPDATE people SET Start = 'soon' WHERE Upn = 'p001@x'")
		people.exec("UPDATE people SET Start = NULL, Name = 'other' WHERE Upn = 'p002@x'")
		people.exec("INSERT INTO people SELECT * FROM people WHERE Upn = 'p003@x'")
		people.put(dawn.Add(2*day), "late")
		s.tick()
		s.wantBatches("1 03 09:00 active: p000 p001 p002 p003 p004 late")
		v := s.automation("found")
		var told []string
		for _, p := range v.Problems {
			told = append(told, p.Key+" "+p.Code)
		}
		if v.ProblemCount != 4 || strings.Join(told, ", ") != "p001@x bad-time, p002@x missing-time, p003@x duplicate-key, p003@x duplicate-key" {
			t.Fatal(told)
		}
	})
}

func TestWhomAnAdministratorRemovedOrAddedIsNotTheSourcesToChange(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.tableOf(dawn.Add(2*day), crowd(3)...)
		s.findBatches(found(twoPhases, ""))
		s.remove(1, 2)
		s.add(1, "guest@x")
		s.tick()
		s.wantBatches("1 03 09:00 active: p000 -p001 p002 guest")
		if m := s.member(1, 2); m.RemovedBy != "ada" {
			t.Fatalf("%+v", m)
		}
	})
}

// A removal by hand is over when an administrator adds the person again: whom the source
// takes out afterwards comes back with the row.
func TestWhomAnAdministratorAddedAgainComesBackAfterAHold(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), "ann", "bob")
		s.findBatches(found(twoPhases, ""))
		must(s.app.RemoveMember(s.ctx, ada, 1, 1, ""))(t)
		s.deliverAll()
		must(s.app.AddMembers(s.ctx, ada, 1, []byte("Upn,Name\nANN@x,Ann\n")))(t)
		s.deliverAll()
		must(s.app.RemoveMember(s.ctx, ada, 1, 3, ""))(t)
		s.deliverAll()
		s.tick()
		s.wantBatches("1 04 09:00 active: -ann bob -ANN") // removed by hand once more: they stay out
		must(s.app.AddMembers(s.ctx, ada, 1, []byte("Upn,Name\nann@x,Ann\n")))(t)
		s.deliverAll()
		s.tick() // the source has them, so it may take them out
		people.drop("ann", "bob")
		s.tick()
		s.confirm(1)
		people.put(dawn.Add(3*day), "ann")
		s.tick()
		s.wantBatches("1 04 09:00 active: -ann -bob -ANN -ann ann")
	})
}

func TestTicksAtTheSameTimeDoNoHarm(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.tableOf(dawn.Add(2*day), crowd(60)...)
		s.publishAutomated(found(twoPhases, ""))
		s.atOnce(6, func(_ int, process *app.App) error { return process.Tick(s.ctx) })
		s.deliverAll()
		if b := s.batchOf(1); b.MemberCount != 60 {
			t.Fatalf("%+v", b)
		}
		s.wantSent(message.TypeMemberAdded, 0)
		s.wantPhases(1, "create completed 60/0/0, switch pending 0/0/0")
	})
}

func TestTickThatDiesAnywhereIsGoneOnWith(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		people := s.tableOf(dawn.Add(3*day), crowd(60)...)
		people.put(dawn.Add(4*day), "eve", "ian")
		s.publishAutomated(found(twoPhases, ""))
		cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
		s.tickAfter(10 * time.Minute)
		s.wantBatches("1 04 09:00 active: "+strings.Join(crowd(60), " "), "2 05 09:00 active: eve ian")
		s.wantSent(message.TypeMemberAdded, 0)
		// And a tick that has all there is to do with members who are there.
		people.drop("p001", "p002")
		people.put(dawn.Add(4*day), "p003", "new")
		people.exec("UPDATE people SET Name = 'Other' WHERE Upn = 'p009@x'")
		cut = s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) }) || cut
		s.tickAfter(10 * time.Minute)
		if n := s.batchOf(2).MemberCount; n != 4 {
			t.Fatalf("%d members", n)
		}
		s.wantSent(message.TypeMemberRemoved, 3)
		s.tickAfter(4 * day)
		s.tickAfter(10 * time.Minute)
		s.wantPhases(1, "create completed 57/0/0, switch completed 57/0/0")
		s.wantPhases(2, "create completed 4/0/0, switch completed 4/0/0")
		return cut
	})
}

func TestQuietHoursHoldPhasesUntilTheyEnd(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.table()
		people.put(dawn.Add(3*time.Hour), "ann") // create is past due, and switch due at noon
		s.publish(found(twoPhases, `quiet_hours:
  time_zone: Europe/Berlin
  windows:
    - {from: "08:00", to: "18:00"}
`))
		s.automate("found")
		s.tick()
		s.wantPhases(1, "create pending 0/0/0, switch pending 0/0/0")
		if p := s.phases(1)[0]; !strings.Contains(p.Reason, "quiet hours until 2026-03-01T17:00:00Z") {
			t.Fatalf("%+v", p)
		}
		for s.clock.Now().Before(dawn.Add(8*time.Hour - 4*time.Minute)) {
			s.tickAfter(4 * time.Minute)
		}
		s.wantCalls(1, "")
		for i, p := range s.phases(1) { // the second fell due in the quiet hours
			if p.Status != "pending" || i == 0 && !strings.Contains(p.Reason, "quiet hours until") {
				t.Fatalf("%+v", p)
			}
		}
		s.pass(4*time.Minute + time.Second) // 17:00 in UTC, without another tick
		s.wantCalls(1, "New Switch")
	})
}

func TestPreviewTellsWhatATickWouldDoAndDoesNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(3*day), crowd(10)...)
		s.findBatches(found(twoPhases, ""))
		people.drop("p000", "p001", "p002")
		people.put(dawn.Add(3*day), "new")
		people.put(dawn.Add(time.Hour), "soon")
		people.exec("INSERT INTO people VALUES ('bad@x', 'Bad', 'never')")
		before := s.store.Counts()
		v := must(s.app.PreviewQuery(s.ctx, ada, "found", 3))(t)
		if after := s.store.Counts(); after.Writes != before.Writes+1 {
			t.Fatal("it wrote something beside that somebody looked")
		}
		if v.RowCount != 10 || len(v.Sample) != 3 || len(v.Columns) != 3 || v.ProblemCount != 1 || len(v.Groups) != 2 {
			t.Fatalf("%+v", v)
		}
		if g := v.Groups[0]; g.BatchID != 0 || g.Add != 1 || !strings.Contains(g.Note, "1 phase is already due") {
			t.Fatalf("%+v", g)
		}
		if g := v.Groups[1]; g.BatchID != 1 || g.Add != 0 || g.Held != 3 || g.Remove != 0 || g.Rows != 8 {
			t.Fatalf("%+v", g)
		}
	})
}

// confirm lets those go whose removal is held.
func (s *stage) confirm(id int) {
	s.t.Helper()
	held := must(s.app.HeldRemovals(s.ctx, reader, id, api.ListOptions{}))(s.t)
	must(s.app.ConfirmRemovals(s.ctx, ada, id, held.Revision, "they are gone"))(s.t)
	s.deliverAll()
}

// wantSent tells how many messages of a kind the processes were given, each counted
// once.
func (s *stage) wantSent(kind string, want int) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	for _, p := range s.past {
		if p.m.Type == kind {
			seen[p.m.ID] = true
		}
	}
	if len(seen) != want {
		s.t.Fatalf("%d messages of type %s, want %d: %v", len(seen), kind, want, seen)
	}
}
