package membership_test

import (
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TestSelection checks which failed members and runs a retry selects, and its description.
func TestSelection(t *testing.T) {
	t.Parallel()
	member := store.FailedMember{ID: 3, Key: "ada@x", FailedIn: "cut-over", FailedStep: "move", FailedAs: model.StepPollTimeout, Error: `phase cut-over: step "move": Mailbox of "Ada" is LOCKED`}
	rb := &runbook.Runbook{Phases: []runbook.Phase{{Name: "cut-over", Steps: []runbook.Step{{Name: "check"}, {Name: "move"}}}}}
	run := &model.Run{PhaseName: "cut-over", Error: `step "move": Mailbox of "Ada" is locked`, Steps: []model.Step{{Status: model.StepSucceeded}, {Status: model.StepPollTimeout}}}
	for _, tt := range []struct {
		selection   api.Selection
		member, run bool
		text        string
	}{
		{api.Selection{}, true, true, "all failed members"},
		{api.Selection{Members: []int{3}}, true, false, "member 3"},
		{api.Selection{Members: []int{4}}, false, false, "member 4"},
		{api.Selection{Phase: "CUT-OVER"}, true, true, `phase "CUT-OVER"`},
		{api.Selection{Phase: "verify"}, false, false, `phase "verify"`},
		{api.Selection{Step: "Move", Error: "locked"}, true, true, `step "Move", error "locked"`},
		{api.Selection{Step: "check"}, false, false, `step "check"`},
		{api.Selection{Error: "quota"}, false, false, `error "quota"`},
		{api.Selection{Status: "poll_timeout"}, true, true, `status "poll_timeout"`},
		{api.Selection{Status: "failed"}, false, false, `status "failed"`},
		{api.Selection{ErrorGroup: "mailbox of … is locked"}, true, true, `error group "mailbox of … is locked"`},
		{api.Selection{ErrorGroup: `Mailbox of "Bob" is locked`}, true, true, `error group "Mailbox of \"Bob\" is locked"`},
		{api.Selection{ErrorGroup: "Mailbox of … is full"}, false, false, `error group "Mailbox of … is full"`},
	} {
		if got := membership.Selects(tt.selection, member); got != tt.member {
			t.Errorf("Selects(%+v) = %v", tt.selection, got)
		}
		if got := membership.Selects(tt.selection, membership.FailedSequence(rb, run)); got != tt.run {
			t.Errorf("of the run: Selects(%+v) = %v", tt.selection, got)
		}
		if got := membership.SelectionText(tt.selection); got != tt.text {
			t.Errorf("SelectionText(%+v) = %q, want %q", tt.selection, got, tt.text)
		}
	}
}
