package app_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// gated has a gate before its second phase.
func gated(gate string) string {
	return strings.Replace(twoSteps, "name: second\n", "name: second\n    "+gate+"\n", 1)
}

func (s *stage) approve(id int, phase string) {
	s.t.Helper()
	v := must(s.app.Approve(s.ctx, ada, id, phase, "the board agrees"))(s.t)
	if v.Approved == nil || v.Approved.By != "ada" || v.Approved.Why != "the board agrees" {
		s.t.Fatalf("%+v", v)
	}
	s.deliverAll()
}

func TestPhaseThatNeedsApprovalHoldsUntilItIsGiven(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.startBatch(gated("approval: required"), people(2))
		s.wantRefused(errorOf(s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID))), api.CodeConflict, `batch 1 cannot be advanced to phase "second": it waits for an administrator's approval`)
		s.deliverAll()
		s.wantCalls(1, "New Join")
		for range 2 {
			s.approve(b.ID, "Second")
		}
		s.wantCalls(1, "New Join") // a manual batch is still advanced by hand
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
		if got := auditText(s.listAudit(b.ID)); strings.Count(got, "ada approve second: the board agrees") != 1 && strings.Count(got, "ada approve Second: the board agrees") != 1 {
			t.Errorf("the trail: %s", got)
		}
	})
}

func TestPhaseOfAScheduledBatchThatNeedsApprovalBeginsWithIt(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		yaml := strings.Replace(overlapping, "{name: b, offset: T-1d,", "{name: b, offset: T-1d, approval: required,", 1)
		s.publish(yaml)
		const id = 100
		s.schedule(id, yaml, 2, dawn.Add(48*time.Hour))
		s.tickAfter(24 * time.Hour)
		s.wantPhases(id, "a completed 2/0/0, b pending 0/0/0, c pending 0/0/0")
		if p := s.phases(id)[1]; p.Reason != "it waits for an administrator's approval" || !p.Approval {
			t.Errorf("%+v", p)
		}
		s.pass(24 * time.Hour) // c is due, and waits behind b
		s.tick()
		s.wantPhases(id, "a completed 2/0/0, b pending 0/0/0, c pending 0/0/0")
		s.approve(id, "b")
		s.wantPhases(id, "a completed 2/0/0, b completed 2/0/0, c completed 2/0/0")
		s.wantCalls(1, "A B C")
		s.wantStatus(id, "completed")
	})
}

func TestApprovalThatIsGivenAheadDoesNotBringThePhaseForward(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		yaml := strings.Replace(overlapping, "{name: b, offset: T-1d,", "{name: b, offset: T-1d, approval: required,", 1)
		s.publish(yaml)
		const id = 100
		s.schedule(id, yaml, 1, dawn.Add(48*time.Hour))
		s.approve(id, "b")
		s.wantCalls(1, "A")
		s.tickAfter(24*time.Hour - time.Minute)
		s.wantCalls(1, "A")
		s.pass(time.Minute)
		s.wantCalls(1, "A B")
	})
}

func TestPhaseThatRequiresSuccessHoldsAndSaysWhy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		opens func(s *stage, id int)
		want  string
	}{
		"opened by a retry":     {func(s *stage, id int) { s.retry(id, api.Selection{}) }, "first completed 4/0/0, second completed 4/0/0"},
		"opened by an approval": {func(s *stage, id int) { s.approve(id, "second") }, "first completed 2/2/0, second completed 2/0/0"},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				flaky := inTurn(fails(errNo), always("true"))
				s.script = script{"New": some(map[int]worker{1: flaky, 2: flaky})}
				b := s.startBatch(gated("require_success: 75%"), people(4))
				s.wantRefused(errorOf(s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID))), api.CodeConflict, `it requires that 75% of the members succeed in phase "first", where 2 of 4 did; retry the failed members, or approve the phase`)
				tt.opens(s, b.ID)
				s.advance(b.ID)
				s.wantPhases(b.ID, tt.want)
				s.wantStatus(b.ID, "completed")
			})
		})
	}
}

func TestPhaseThatRequiresSuccessBeginsWhereEnoughDid(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 1)}
		b := s.startBatch(gated("require_success: 75%"), people(4))
		s.advance(b.ID)
		s.wantPhases(b.ID, "first completed 3/1/0, second completed 3/0/0")
	})
}

func TestScheduledPhaseThatRequiresSuccessOpensByItselfOnceEnoughDo(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"A": some(map[int]worker{1: inTurn(fails(errLost), always("true"))})}
		yaml := strings.Replace(overlapping, "{name: b, offset: T-1d,", "{name: b, offset: T-1d, require_success: 100%,", 1)
		s.publish(yaml)
		const id = 100
		s.schedule(id, yaml, 2, dawn.Add(24*time.Hour)) // a and b are due
		s.wantPhases(id, "a dispatched 1/0/0+1, b pending 0/0/0, c pending 0/0/0")
		if p := s.phases(id)[1]; p.Reason != `it requires that 100% of the members succeed in phase "a", where not all have ended` {
			t.Errorf("held for: %s", p.Reason)
		}
		s.answers(1, "A", "", errNo)
		if p := s.phases(id)[1]; !strings.Contains(p.Reason, "where 1 of 2 did") {
			t.Errorf("held for: %s", p.Reason)
		}
		s.wantCalls(2, "A")
		s.retry(id, api.Selection{})
		s.wantPhases(id, "a completed 2/0/0, b completed 2/0/0, c pending 0/0/0")
		if p := s.phases(id)[1]; p.Reason != "" {
			t.Errorf("it still tells: %s", p.Reason)
		}
	})
}

func TestBothGatesOfAPhaseAreOpenedByItsApproval(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 1)}
		b := s.startBatch(gated("approval: required\n    require_success: 100%"), people(2))
		s.wantRefused(errorOf(s.app.Advance(s.ctx, ada, b.ID, s.next(b.ID))), api.CodeConflict, "where 1 of 2 did")
		s.approve(b.ID, "second")
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
	})
}

func TestPhasesThatCannotBeApproved(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(gated("approval: required"), people(1))
		s.wantRefused(errorOf(s.app.Approve(s.ctx, ada, b.ID, "first", "")), api.CodeConflict, `phase "first" of batch 1 has no gate: it needs no approval`)
		s.wantRefused(errorOf(s.app.Approve(s.ctx, ada, b.ID, "third", "")), api.CodeNotFound, `batch 1 has no phase "third"`)
		s.wantRefused(errorOf(s.app.Approve(s.ctx, ada, 9, "first", "")), api.CodeNotFound, "there is no batch 9")
		s.advance(b.ID)
		s.wantRefused(errorOf(s.app.Approve(s.ctx, ada, b.ID, "first", "")), api.CodeConflict, "there is nothing to approve")
	})
}
