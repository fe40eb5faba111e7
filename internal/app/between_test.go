package app_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

// What comes between two steps of a tick, or of a message about removals.

// between is a process that is held up after its first operation of a kind at the store, while
// something else is done.
func (s *stage) between(operation string, do func()) *app.App {
	s.t.Helper()
	db := &heldUp{Store: s.store, operation: operation, do: do}
	return app.New(app.Config{Store: db, Bus: s.bus, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler), Sources: s.sources(), Artifacts: s.artifacts})
}

// heldUp is a store whose user is held up once, after an operation.
type heldUp struct {
	store.Store
	operation string
	do        func()
	seen      atomic.Bool
}

// The operations after which a process can be held up.
const (
	sweepsBatches   = "BatchesToSweep"
	readsTurns      = "SyncTurns"
	loadsMembers    = "MemberProjections"
	readsBatch      = "ReadDocument batch"
	readsAutomation = "ReadDocument automation"
	readsRequest    = "ReadDocument request"
	readsTask       = "ReadDocument task"
	readsSync       = "ReadDocument sync"
)

func (h *heldUp) after(operation string) {
	if operation == h.operation && h.seen.CompareAndSwap(false, true) {
		h.do()
	}
}

func (h *heldUp) BatchesToSweep(ctx context.Context, now time.Time) ([]store.Item[store.BatchSummary], error) {
	defer h.after(sweepsBatches)
	return h.Store.BatchesToSweep(ctx, now)
}

func (h *heldUp) SyncTurns(ctx context.Context) ([]store.SyncTurn, error) {
	defer h.after(readsTurns)
	return h.Store.SyncTurns(ctx)
}

func (h *heldUp) MemberProjections(ctx context.Context, batch int) ([]store.MemberProjection, error) {
	defer h.after(loadsMembers)
	return h.Store.MemberProjections(ctx, batch)
}

func (h *heldUp) ReadDocument(ctx context.Context, k store.Key) (store.Document, error) {
	defer h.after("ReadDocument " + k.Type)
	return h.Store.ReadDocument(ctx, k)
}

// immediate is a runbook whose members are found in the table, and taken at once.
func immediate(phases []string, more string) string {
	return strings.Replace(found(phases, more), "batch_time_column: Start", "batch_time: immediate", 1)
}

const undone = "on_member_removed:\n  - {name: undo, worker_id: worker-01, function: Undo}\n"

func TestTickThatWasSlowAtItsStartKnowsTheBatchesOfTheOneBefore(t *testing.T) {
	t.Parallel()
	t.Run("immediate", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, false)
		s.tableOf(dawn, "ann", "bob")
		s.publishAutomated(immediate([]string{"only T-0 New", "check T+1h Check"}, ""))
		slow := s.between(sweepsBatches, func() {
			noError(t, s.other.Tick(s.ctx))
			s.clock.ns.Add(int64(3 * time.Minute))
		})
		noError(t, slow.Tick(s.ctx))
		s.deliverAll()
		s.wantBatches("1 01 09:00 active: ann bob")
	})
	t.Run("scheduled", func(t *testing.T) {
		t.Parallel()
		s := newStage(t, false)
		people := s.tableOf(dawn.Add(3*day), "ann", "bob")
		s.publishAutomated(found(twoPhases, ""))
		slow := s.between(sweepsBatches, func() {
			noError(t, s.other.Tick(s.ctx))
			people.put(dawn.Add(4*day), "ann", "bob")
		})
		noError(t, slow.Tick(s.ctx))
		s.deliverAll()
		s.wantBatches("1 04 09:00 active: ann bob")
	})
}

func TestAutomationThatIsTurnedOffDuringATickMakesNoBatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().put(dawn.Add(day), crowd(3)...)
	s.publishAutomated(found(twoPhases, ""))
	slow := s.between(readsTurns, func() {
		must(s.other.SetAutomation(s.ctx, ada, "found", false))(t)
	})
	noError(t, slow.Tick(s.ctx))
	s.deliverAll()
	s.wantBatches()
}

// held is a stage with a batch of ten, three of whom are held.
func held(t *testing.T) (*stage, *table) {
	s := newStage(t, false)
	people := s.tableOf(dawn.Add(day), crowd(10)...)
	s.findBatches(found(twoPhases, ""))
	people.drop("p000", "p001", "p002")
	s.tick()
	return s, people
}

func TestConfirmationDuringATickIsForThoseWhoWereShown(t *testing.T) {
	t.Parallel()
	s, people := held(t)
	shown := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
	people.exec("DELETE FROM people WHERE Upn <> 'p009@x'") // the query breaks
	slow := s.between(loadsMembers, func() {
		must(s.other.ConfirmRemovals(s.ctx, ada, 1, shown.Revision, "those three"))(t)
	})
	noError(t, slow.Tick(s.ctx))
	s.deliverAll()
	s.wantBatches("1 02 09:00 active: -p000 -p001 -p002 p003 p004 p005 p006 p007 p008 p009")
	s.verify()
}

func TestDiscardDuringATickKeepsThePeople(t *testing.T) {
	t.Parallel()
	s, people := held(t)
	people.put(dawn.Add(day), "p000") // the two who are left may go by the guard
	slow := s.between(loadsMembers, func() {
		must(s.other.DiscardRemovals(s.ctx, ada, 1, "", "they stay"))(t)
	})
	noError(t, slow.Tick(s.ctx))
	s.deliverAll()
	s.wantBatches("1 02 09:00 active: p000 p001 p002 p003 p004 p005 p006 p007 p008 p009")
	s.verify()
}

// A discard that a tick overtakes is of people whose list the tick has deleted.
func TestDiscardOfAdditionsThatATickReplacesIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	rows := s.lostWhere(500)
	s.tick()
	shown := s.additions()
	slow := s.between(readsSync, func() {
		rows.put(dawn.Add(4*day), "p900")
		s.tick()
	})
	s.wantRefused(errorOf(slow.DiscardAdditions(s.ctx, ada, "found", shown.Revision, "a broken query")), api.CodeConflict, "have changed: review them again")
	if v := s.automation("found"); v.Discarded != nil || v.Additions == nil || v.Additions.People != 496 {
		t.Fatalf("%+v %+v", v.Discarded, v.Additions)
	}
}

func TestMessageOfRemovalsThatAreDoneRemovesNobodyWhoIsHeldSince(t *testing.T) {
	t.Parallel()
	s, people := held(t)
	shown := must(s.app.HeldRemovals(s.ctx, reader, 1, api.ListOptions{}))(t)
	must(s.app.ConfirmRemovals(s.ctx, ada, 1, shown.Revision, ""))(t)
	slow := s.between(readsBatch, func() {
		s.deliverAll() // the other copy of the message does it all
		people.drop("p003", "p004", "p005")
		s.tick()
	})
	m := message.Delivery{ID: "x", Type: message.TypeBatchWork, Body: fmt.Appendf(nil, `{"BatchId":1,"Work":"leave","Task":"at-%d","Page":0}`, dawn.UnixNano()), DeliveryCount: 1}
	noError(t, slow.HandleEvent(s.ctx, m))
	s.deliverAll()
	s.wantBatches("1 02 09:00 active: -p000 -p001 -p002 p003 p004 p005 p006 p007 p008 p009")
	s.verify()
}

// The undo of a member's steps in one batch ends before their steps in another begin.
func TestNobodyIsTakenUpAgainWhileTheirRemovalIsUnderWay(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]time.Duration{"into another batch": day + time.Hour, "into the same batch": day} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			people := s.tableOf(dawn.Add(day), crowd(10)...)
			people.put(dawn.Add(day+time.Hour), "eve")
			s.script = script{"Undo": fails(errLost)}
			s.findBatches(found(twoPhases, undone))
			people.drop("p004")
			s.tick()
			people.put(dawn.Add(again), "p004")
			for range 2 {
				s.tick()
			}
			if got := s.callsFor("p004@x"); got != "New" {
				t.Fatal(got)
			}
			s.answers(5, "Undo", "true", nil)
			s.tick()
			if got := s.callsFor("p004@x"); got != "New New" {
				t.Fatal(got)
			}
			s.verify()
		})
	}
}

func TestMemberWhoMovesIsUndoneFirst(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(day), crowd(10)...)
		s.findBatches(found(twoPhases, undone))
		people.put(dawn.Add(day+time.Hour), "p004")
		s.tick()
		if got := s.callsFor("p004@x"); got != "New" {
			t.Fatal(got)
		}
		s.wantCalls(5, "New Undo") // of member 5, who p004 was
		s.tick()
		if got := s.callsFor("p004@x"); got != "New New" {
			t.Fatal(got)
		}
	})
}

// callsFor returns the functions called with a person's name, in order, each job once.
func (s *stage) callsFor(upn string) string {
	var out []string
	seen := map[string]bool{}
	for _, j := range s.jobs {
		if strings.Contains(string(j.Parameters), upn) && !seen[j.ID()] {
			seen[j.ID()] = true
			out = append(out, j.FunctionName)
		}
	}
	return strings.Join(out, " ")
}

func TestMembersOfABatchThatIsBeingCancelledAreStillInIt(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().put(dawn, "ann", "bob")
	s.script = script{"New": only(fails(errNo), 1), "Undo": fails(errLost)}
	yaml := immediate([]string{"only T-0 New", "check T+1h Check"}, "rollbacks:\n  back:\n    - {name: undo, worker_id: worker-01, function: Undo}\n")
	s.findBatches(strings.Replace(yaml, "function: New,", "function: New, on_failure: back,", 1))
	s.cancel(1)
	s.tickAfter(6 * time.Minute)
	s.wantBatches("1 01 09:00 cancelling: ann bob")
}

func TestCancelOfAnImmediateBatchWarnsThatItComesAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().put(dawn, "ann")
	s.findBatches(immediate([]string{"only T-0 New", "check T+1h Check"}, ""))
	if v := must(s.app.Cancel(s.ctx, ada, 1, ""))(t); len(v.Warnings) != 1 || !strings.Contains(v.Warnings[0], "to a new batch") {
		t.Fatal(v.Warnings)
	}
}

func TestNobodyIsPutIntoTwoBatchesByHand(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	people := s.tableOf(dawn.Add(2*day), "ann")
	people.put(dawn.Add(3*day), "bob")
	s.findBatches(found(twoPhases, ""))
	s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, 1, []byte("Upn,Name\nbob@x,Bob\n"))), api.CodeConflict, "bob@x is in batch 2 of runbook found")
	s.wantRefused(errorOf(s.app.CreateBatch(s.ctx, ada, "found", []byte("Upn,Name\nbob@x,Bob\nann@x,Ann\n"))), api.CodeConflict, "ann@x is in batch 1")
	s.wantBatches("1 03 09:00 active: ann", "2 04 09:00 active: bob")
}

func TestMemberWhoIsInALaterBatchIsNotRetriedInTheOldOne(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().put(dawn, "ann", "bob")
	s.script = script{"New": fails(errNo)}
	s.findBatches(immediate([]string{"only T-0 New"}, ""))
	s.pass(6 * time.Minute)
	s.script = script{"New": fails(errLost)}
	s.tick()
	s.wantRefused(errorOf(s.app.Repair(s.ctx, ada, 1, api.Repair{Selection: api.Selection{}, Reason: "again"})), api.CodeConflict, "2 of 2 people cannot be retried: ann@x is in batch 2 of runbook found; bob@x is in batch 2")
}

func TestErrorsOfATickTellNothingOfTheInside(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().put(dawn.Add(day), "ann")
	s.publishAutomated(found(twoPhases, ""))
	a := app.New(app.Config{Store: noSlots{s.store}, Bus: s.bus, Now: s.clock.Now, Log: slog.New(slog.DiscardHandler), Sources: s.sources(), Artifacts: s.artifacts})
	noError(t, a.Tick(s.ctx))
	if v := s.automation("found"); !strings.Contains(v.LastError, "cannot be reached") || strings.Contains(v.LastError, "10.0.3.4") {
		t.Fatal(v.LastError)
	}
}

// noSlots is a store that is away when start slots are read.
type noSlots struct{ store.Store }

func (noSlots) StartSlots(context.Context, string, []time.Time) ([]store.Item[store.StartSlot], error) {
	return nil, fmt.Errorf("querying batches: %w: dial tcp 10.0.3.4:443: connect: connection refused", store.ErrUnavailable)
}

// A timer does not fire while its last run is under way.
func TestPhaseBeginsOnTimeAlsoWhenTicksAreSlow(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().put(dawn.Add(12*time.Minute), "ann")
	s.findBatches(found([]string{"only T-0 New"}, ""))
	s.pass(12*time.Minute - time.Second)
	s.wantCalls(1, "")
	s.pass(time.Second)
	s.wantCalls(1, "New")
}

// A tick that dies may leave an empty batch.
func TestEmptyBatchesDoNotStay(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		people := s.tableOf(dawn, "ann", "bob")
		s.publishAutomated(immediate([]string{"only T-0 New"}, ""))
		cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
		people.drop("ann", "bob")
		for range 7 {
			s.tickAfter(5 * time.Minute)
		}
		s.tickAfter(day)
		entries := must(storetest.All[map[string]any](s.ctx, s.store, store.PartitionBatches, "entry"))(t)
		for _, e := range entries {
			if status := fmt.Sprint(e.Doc["status"]); !slices.Contains([]string{"completed", "cancelled"}, status) {
				t.Errorf("after write %d: %v is listed as %s", write, e.Doc["id"], status)
			}
		}
		return cut
	})
}

func TestColumnOfTimesThatAreEverybodysOwnMakesNoBatches(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().exec(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 1000)
		INSERT INTO people SELECT printf('b%d@x', i), 'Somebody', strftime('%Y-%m-%dT%H:%M:%SZ', '2026-03-05', '+'||i||' seconds') FROM n`)
	s.findBatches(unguarded(found(twoPhases, "")))
	s.wantBatches()
	if v := s.automation("found"); !strings.Contains(v.LastError, `1001 new batch times`) || !strings.Contains(v.LastError, `"Start"`) {
		t.Fatal(v.LastError)
	}
}

func TestNewPrimaryKeyBringsNobodyInASecondTime(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.table().put(dawn.Add(day), crowd(10)...)
	s.findBatches(found(twoPhases, ""))
	s.publish(strings.Replace(found(twoPhases, ""), "primary_key: Upn", "primary_key: Name", 1))
	s.tick()
	s.tick()
	if b := s.batchOf(1); b.MemberCount != 10 || b.Held == nil || b.Held.Members != 10 {
		t.Fatalf("%+v", b)
	}
}

func TestRowThatMovesToNowhereLeavesItsMember(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		people := s.tableOf(dawn.Add(time.Hour), "old")
		people.put(dawn.Add(day), crowd(10)...)
		s.findBatches(found(twoPhases, undone))
		s.tickAfter(2 * time.Hour)
		s.wantStatus(1, "completed")
		people.put(dawn.Add(time.Hour), "p004") // whose batch has ended
		s.tick()
		s.wantSent(message.TypeMemberRemoved, 0)
		if v := s.automation("found"); v.ProblemCount != 1 || v.Problems[0].Key != "p004@x" {
			t.Fatalf("%+v", v)
		}
	})
}
