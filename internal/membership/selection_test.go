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
	member := store.FailedMember{ID: 3, Key: "ada@x", FailedIn: "cut-over", FailedStep: "move", Error: "Mailbox is LOCKED"}
	rb := &runbook.Runbook{Phases: []runbook.Phase{{Name: "cut-over", Steps: []runbook.Step{{Name: "check"}, {Name: "move"}}}}}
	run := &model.Run{PhaseName: "cut-over", Error: "Mailbox is locked", Steps: []model.Step{{Status: model.StepSucceeded}, {Status: model.StepPollTimeout}}}
	for _, tt := range []struct {
		selection   api.RetrySelection
		member, run bool
		text        string
	}{
		{api.RetrySelection{}, true, true, "all failed members"},
		{api.RetrySelection{Member: 3}, true, false, "member 3"},
		{api.RetrySelection{Member: 4}, false, false, "member 4"},
		{api.RetrySelection{Phase: "CUT-OVER"}, true, true, `phase "CUT-OVER"`},
		{api.RetrySelection{Phase: "verify"}, false, false, `phase "verify"`},
		{api.RetrySelection{Step: "Move", Error: "locked"}, true, true, `step "Move", error "locked"`},
		{api.RetrySelection{Step: "check"}, false, false, `step "check"`},
		{api.RetrySelection{Error: "quota"}, false, false, `error "quota"`},
	} {
		if got := membership.Selects(tt.selection, member); got != tt.member {
			t.Errorf("Selects(%+v) = %v", tt.selection, got)
		}
		if got := membership.SelectsRun(tt.selection, rb, run); got != tt.run {
			t.Errorf("SelectsRun(%+v) = %v", tt.selection, got)
		}
		if got := membership.SelectionText(tt.selection); got != tt.text {
			t.Errorf("SelectionText(%+v) = %q, want %q", tt.selection, got, tt.text)
		}
	}
}
