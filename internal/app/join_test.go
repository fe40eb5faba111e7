package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Each phase stands on what the one before it gave.
const chained = `
name: chained
data_source: {type: csv, primary_key: Upn}
phases:
  - name: create
    offset: T-2d
    steps: [{name: new, worker_id: worker-01, function: New, params: {Name: "{{Name}}"}, output_params: {UserId: id}}]
  - name: fill
    offset: T-1d
    steps: [{name: copy, worker_id: worker-01, function: Copy, params: {User: "{{UserId}}"}, output_params: {Box: box}}]
  - name: verify
    offset: T-0
    steps: [{name: check, worker_id: worker-01, function: Check, params: {Box: "{{Box}}"}}]
`

func chain() script {
	return script{"New": always(`{"id":"u"}`), "Copy": always(`{"box":"b"}`)}
}

func TestLateMemberCatchesUpPhaseByPhaseInOrderWithItsOwnOutputs(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		s.script["New"] = some(map[int]worker{1: always(`{"id":"u1"}`), 2: fails(errLost)})
		s.script["Copy"] = some(map[int]worker{1: always(`{"box":"b1"}`), 2: always(`{"box":"b2"}`)})
		b := s.startBatch(chained, people(1))
		s.advance(b.ID)
		if v := s.add(b.ID, "late@x"); v.Added != 1 || v.Batch.MemberCount != 2 {
			t.Fatalf("%+v", v)
		}
		s.wantCalls(2, "New") // one phase at a time, though two are behind
		s.wantPhases(b.ID, "create dispatched 1/0/0+1, fill dispatched 1/0/0+1, verify pending 0/0/0")
		s.answers(2, "New", `{"id":"u2"}`, nil)
		s.wantCalls(2, "New Copy")
		if v := s.step(b.ID, 2, "copy"); string(v.Params) != `{"User":"u2"}` {
			t.Errorf("%s", v.Params)
		}
		s.wantPhases(b.ID, "create completed 2/0/0, fill completed 2/0/0, verify pending 0/0/0")
		s.advance(b.ID)
		s.wantCalls(2, "New Copy Check")
		if v := s.step(b.ID, 2, "check"); string(v.Params) != `{"Box":"b2"}` {
			t.Errorf("%s", v.Params)
		}
		s.wantStatus(b.ID, "completed")
	})
}

func TestMemberAddedBeforeAnythingBeganTakesPartInAll(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(mover, people(1))
		s.add(b.ID, "late@x")
		s.script = script{"New": always(`{"id":"u"}`)}
		s.advance(b.ID)
		s.advance(b.ID)
		s.wantPhases(b.ID, "init completed 1/0/0, create completed 2/0/0, verify pending 0/0/0")
		s.wantCalls(2, "New Join")
	})
}

func TestFanOutReachesAMemberAddedDuringIt(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		s.park = ofType(message.TypePhaseDue, `"Page":2`)
		b := s.pages(chained, 2)
		s.advance(b.ID)
		s.add(b.ID, "late@x")
		s.wantCalls(3, "") // the fan-out has not come to it yet
		s.unpark()
		s.wantCalls(3, "New")
		s.wantPhases(b.ID, "create completed 3/0/0, fill pending 0/0/0, verify pending 0/0/0")
	})
}

func TestMemberAddedDuringTheFanOutOfALaterPhaseCatchesUpOnTheEarlierFirst(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		b := s.pages(chained, 2)
		s.advance(b.ID)
		s.park = func(kind, body string) bool {
			return kind == message.TypeMemberAdded || kind == message.TypePhaseDue && strings.Contains(body, `"Page":2`)
		}
		s.advance(b.ID)
		s.add(b.ID, "late@x")
		s.wantCalls(3, "")
		// The fan-out comes to the page first, and brings it to create before fill.
		s.park = ofType(message.TypeMemberAdded)
		fanOut, added := s.parked[:0:0], s.parked[:0:0]
		for _, p := range s.parked {
			if p.m.Type == message.TypeMemberAdded {
				added = append(added, p)
			} else {
				fanOut = append(fanOut, p)
			}
		}
		s.parked = added
		for _, p := range fanOut {
			s.takeUp(p)
		}
		s.deliverAll()
		s.wantCalls(3, "New Copy")
		s.unpark()
		s.wantCalls(3, "New Copy")
		s.wantPhases(b.ID, "create completed 3/0/0, fill completed 3/0/0, verify pending 0/0/0")
	})
}

func TestMemberAddedWhileTheBatchIsPausedCatchesUpAtTheResumption(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		b := s.startBatch(chained, people(1))
		s.pause(b.ID)
		s.add(b.ID, "late@x")
		s.tickAfter(time.Hour)
		s.wantCalls(2, "")
		s.resume(b.ID)
		s.wantCalls(2, "New")
		s.wantPhases(b.ID, "create completed 2/0/0, fill pending 0/0/0, verify pending 0/0/0")
	})
}

func TestLateMemberWhoFailsTakesPartInNothingMore(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		s.script["New"] = some(map[int]worker{1: always(`{"id":"u"}`), 2: fails(errNo)})
		b := s.startBatch(chained, people(1))
		s.advance(b.ID)
		s.add(b.ID, "late@x")
		s.wantCalls(2, "New")
		// Where the failure comes before the page is brought to fill, there is nothing
		// of fill to cancel.
		s.wantPhases(b.ID,
			"create completed 1/1/0, fill completed 1/0/1, verify pending 0/0/0",
			"create completed 1/1/0, fill completed 1/0/0, verify pending 0/0/0")
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
	})
}

func TestWhoIsAMemberAlreadyIsNotAddedAgain(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		b := s.startBatch(chained, people(2))
		v := s.add(b.ID, "late@x", "p001@x")
		if v.Added != 1 || strings.Join(v.Present, " ") != "p001@x" {
			t.Fatalf("%+v", v)
		}
		if v = s.add(b.ID, "late@x", "p001@x"); v.Added != 0 || len(v.Present) != 2 || v.Batch.MemberCount != 3 {
			t.Fatalf("the same again: %+v", v)
		}
		s.wantCalls(1, "New")
		s.wantCalls(3, "New")
		s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, b.ID, []byte("Upn,Name\ntwice@x,A\ntwice@x,B\n"))), api.CodeInvalid, "no member was added")
		if got := len(s.members(b.ID)); got != 3 {
			t.Errorf("%d members", got)
		}
	})
}

func TestTheSameAddedByManyAtOnceIsAddedOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		b := s.startBatch(chained, people(1))
		csv := strings.ReplaceAll(people(51), "p0", "late")
		s.atOnce(4, func(_ int, process *app.App) error {
			return errorOf(process.AddMembers(s.ctx, ada, b.ID, []byte(csv)))
		})
		s.deliverAll()
		if v := s.batchOf(b.ID); v.MemberCount != 52 || len(s.members(b.ID)) != 52 {
			t.Errorf("%d members, %d different", v.MemberCount, len(s.members(b.ID)))
		}
		s.wantPhases(b.ID, "create completed 52/0/0, fill pending 0/0/0, verify pending 0/0/0")
	})
}

func TestWhoWasRemovedCanBeAddedAnew(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		b := s.startBatch(chained, people(2))
		s.remove(b.ID, 2)
		if v := s.add(b.ID, "p002@x"); v.Added != 1 {
			t.Fatalf("%+v", v)
		}
		s.wantCalls(3, "New")
		s.advance(b.ID)
		s.wantCalls(2, "New")
		s.wantCalls(3, "New Copy")
	})
}

func TestNobodyIsAddedToABatchThatHasEnded(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(oneStep(""), people(1))
		before := s.store.Counts().Writes
		s.wantRefused(errorOf(s.app.AddMembers(s.ctx, ada, b.ID, []byte("Upn\nlate@x\n"))), api.CodeConflict, "has ended (completed): no member can be added")
		if after := s.store.Counts().Writes; after != before {
			t.Errorf("the refused addition made %d writes", after-before)
		}
	})
}

func TestLateMembersWhoseMessageIsLostAreBroughtInByTheTick(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = chain()
		b := s.startBatch(chained, people(1))
		s.park = ofType(message.TypeMemberAdded)
		s.add(b.ID, "late@x")
		s.park, s.parked = nil, nil
		s.wantCalls(2, "")
		s.tick()
		s.wantCalls(2, "New")
		s.wantPhases(b.ID, "create completed 2/0/0, fill pending 0/0/0, verify pending 0/0/0")
	})
}

func TestLateMembersAreInTheAuditRecords(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(chained, people(2))
		s.pass(time.Second)
		s.add(b.ID, "late@x", "later@x")
		records := s.listAudit(b.ID)
		if r := records[len(records)-1]; r.By != "ada" || r.Action != "add_members" || r.Target != "members 3 to 4" || len(records) != 2 {
			t.Errorf("%+v", records)
		}
	})
}
