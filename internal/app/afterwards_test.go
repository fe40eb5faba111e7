package app_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
)

// What comes of a tick that died, of a result that is not to be believed, and of people
// who are put somewhere by hand.

func TestStartOfABatchThatWasNotFilledIsNotLost(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{"no rows": "DELETE FROM people", "a row twice": "INSERT INTO people SELECT * FROM people"} {
		t.Run(name, func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				people := s.tableOf(dawn.Add(-time.Hour), "ann", "bob")
				s.publishAutomated(found([]string{"one T-0 New", "two T+5d Check"}, ""))
				cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
				people.exec(spoil)
				for range 4 {
					s.tickAfter(5 * time.Minute)
				}
				people.put(dawn.Add(-time.Hour), "ann", "bob")
				s.tick()
				s.wantBatches("1 01 08:00 active: ann bob")
				return cut
			})
		})
	}
}

func TestReasonOfAHoldIsThatOfTheLastTick(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	people := s.tableOf(dawn.Add(day), crowd(10)...)
	s.findBatches(found(twoPhases, ""))
	people.drop(crowd(10)...)
	s.tick()
	people.put(dawn.Add(3*day), "zoe")
	s.tick()
	if h := s.batchOf(1).Held; h == nil || !strings.Contains(h.Reason, "10 of 10 members") {
		t.Fatalf("%+v", h)
	}
}

func TestHeldRemovalsAreShownAlsoWhenATickGoesWrong(t *testing.T) {
	t.Parallel()
	s, people := held(t)
	s.publish(unguarded(found(twoPhases, "")))
	people.exec(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 1000)
		INSERT INTO people SELECT printf('b%d@x', i), 'Somebody', strftime('%Y-%m-%dT%H:%M:%SZ', '2026-03-05', '+'||i||' seconds') FROM n`)
	s.tick()
	if v := s.automation("found"); v.LastError == "" || len(v.Held) != 1 || v.Held[0].Members != 3 {
		t.Fatalf("%+v", v)
	}
}

func TestLatePageOfOneConfirmationLeavesTheNextAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	people := s.tableOf(dawn.Add(day), crowd(100)...)
	s.findBatches(found(twoPhases, ""))
	people.drop(crowd(50)...)
	s.tick()
	s.confirm(1) // carried out over two pages
	s.pass(time.Minute)
	people.drop(crowd(70)[50:]...)
	s.tick()
	second := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
	must(s.app.ConfirmRemovals(s.ctx, ada, 1, second.Revision, ""))(t)
	for _, p := range s.past {
		if p.m.Type == message.TypeBatchWork && strings.Contains(string(p.m.Body), `"Page":1`) {
			s.give(p)
		}
	}
	s.deliverAll()
	if b := s.batchOf(1); b.RemovedCount != 70 || b.Held != nil {
		t.Fatalf("%+v", b)
	}
}

func TestWhomAnAdministratorRemovedFromTheBatchOfTheirTimeStaysInTheOther(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	people := s.tableOf(dawn.Add(day), crowd(10)...)
	people.put(dawn.Add(2*day), "x", "y", "z")
	s.findBatches(found(twoPhases, undone))
	s.remove(2, 1)
	people.put(dawn.Add(day), "x")
	s.tick()
	people.put(dawn.Add(2*day), "x")
	s.tick()
	if m := s.member(1, 11); m.Key != "x@x" || m.Status != "active" {
		t.Fatalf("%+v", m)
	}
	if v := s.automation("found"); v.ProblemCount != 1 || !strings.Contains(v.Problems[0].Message, "an administrator removed them") {
		t.Fatalf("%+v", v.Problems)
	}
}

func TestWhoeverMovesArrivesAlsoWhenAutomationIsTurnedOffMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	people := s.tableOf(dawn.Add(day), crowd(10)...)
	s.findBatches(found(twoPhases, undone))
	people.put(dawn.Add(5*day), "p000")
	noError(t, s.app.Tick(s.ctx)) // the undoing is still to begin
	must(s.app.SetAutomation(s.ctx, ada, "found", false))(t)
	s.deliverAll()
	s.tick()
	s.wantBatches("1 02 09:00 active: -p000 "+strings.Join(crowd(10)[1:], " "), "2 06 09:00 active: p000")
}

func TestNobodyIsTakenUpByHandWhileBeingUndone(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	people := s.tableOf(dawn.Add(day), crowd(10)...)
	s.script = script{"Undo": fails(errLost)}
	s.findBatches(found(twoPhases, undone))
	people.drop("p004")
	s.tick()
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "found", []byte("Upn,Name\np004@x,P\n"))), api.CodeConflict, "p004@x is in batch 1")
	s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, 1, []byte("Upn,Name\np004@x,P\n"))), api.CodeConflict, "still being removed")
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "found", []byte("Upn,Name\nP005@X,P\n"))), api.CodeConflict, "P005@X is in batch 1 of runbook found, as p005@x")
}
