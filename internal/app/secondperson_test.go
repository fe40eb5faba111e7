package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
)

func TestASecondPersonApproves(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.createBatch(strings.Replace(twoSteps, "offset: T-1d", "offset: T-1d\n    approval: second_person", 1), people(2))
		bea := audit.Caller{Name: "bea"}
		_, err := s.app.Approve(s.ctx, ada, b.ID, "first", "")
		s.wantRefused(err, api.CodeForbidden, "Needs a second approver: you requested this phase")
		_, err = s.app.Preview(s.ctx, ada, b.ID, api.ProposedAction{Name: api.ActionApprove, Phase: "first"})
		s.wantRefused(err, api.CodeForbidden, "Needs a second approver")
		s.wantPhases(b.ID, "first pending 0/0/0, second pending 0/0/0")
		s.wantAction(ada, b.ID, api.ActionApprove, "Needs a second approver: you requested this phase")
		s.wantAction(bea, b.ID, api.ActionApprove, "")
		if p := must(s.app.Approve(s.ctx, bea, b.ID, "first", ""))(t); p.Approved.By != "bea" || !p.SecondApprover {
			t.Fatalf("%+v", p)
		}
		_, err = s.app.Advance(s.ctx, bea, b.ID, "first")
		s.wantRefused(err, api.CodeForbidden, "needs a second approver, and you approved it")
		s.wantAction(bea, b.ID, api.ActionAdvance, `batch 1 cannot be advanced to phase "first": it needs a second approver, and you approved it`)
		s.wantAction(ada, b.ID, api.ActionAdvance, "")
		s.advance(b.ID)
		s.wantPhases(b.ID, "first completed 2/0/0, second pending 0/0/0")
	})
}

// wantAction wants the first phase of a batch to show the caller why not to take an action; empty for an
// action that is allowed.
func (s *stage) wantAction(by audit.Caller, batch int, action, reason string) {
	s.t.Helper()
	phases := must(s.app.Phases(s.ctx, by, batch))(s.t).Items
	all := phases[slices.IndexFunc(phases, func(p api.Phase) bool { return p.Name == "first" })].Actions
	if i := slices.IndexFunc(all, func(a api.Action) bool { return a.Name == action }); i < 0 || all[i].Reason != reason || all[i].Allowed != (reason == "") {
		s.t.Errorf("%s sees %+v; want %s with the reason %q", by.Name, all, action, reason)
	}
}
