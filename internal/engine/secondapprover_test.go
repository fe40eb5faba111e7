package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

var twoPeople = strings.NewReplacer("approval: required", "approval: second_person", "    require_success: 95%\n", "").Replace(gated)

func mark(name string) model.Attribution { return model.Attribution{By: name, At: now} }

// wantCallerRefused wants an event to be refused to its caller only.
func (c *crowd) wantCallerRefused(e model.Event, part string) {
	c.t.Helper()
	_, err := c.on(e)
	wantRefusal(c.t, err, part)
	if refusal := new(model.Refusal); !errors.As(err, &refusal) || !refusal.ThisCaller {
		c.t.Fatalf("%v is refused to every caller", err)
	}
}

func TestCreatorDoesNotApproveAPhaseThatNeedsASecondApprover(t *testing.T) {
	t.Parallel()
	c := batchOf(t, twoPeople, false)
	c.through(1, 100, 0)
	c.wantCallerRefused(model.PhaseApproved{Phase: 2, By: mark("ada")}, "Needs a second approver: you requested this phase")
	c.wantPhase(2, model.PhasePending, "approval")
	c.must(model.PhaseApproved{Phase: 2, By: mark("bea")})
	if d := c.must(model.PhaseApproved{Phase: 2, By: mark("ada")}); !d.Repeated || c.phase(2).Approved.By != "bea" {
		t.Fatalf("approved by %+v", c.phase(2).Approved)
	}
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhaseDispatched, "")
}

func TestCreatorApprovesAPhaseThatNeedsOneApprover(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.must(model.PhaseApproved{Phase: 2, By: mark("ada")})
}

func TestWhoMovedTheStartDoesNotApprove(t *testing.T) {
	t.Parallel()
	c := batchOf(t, twoPeople, false)
	c.must(model.BatchRescheduled{Start: now.Add(time.Hour), By: mark("bea")})
	c.wantCallerRefused(model.PhaseApproved{Phase: 2, By: mark("bea")}, "you requested this phase")
	c.wantCallerRefused(model.PhaseApproved{Phase: 2, By: mark("ada")}, "you requested this phase")
	c.must(model.PhaseApproved{Phase: 2, By: mark("cem")})
}

func TestApproverWhoMovesTheStartWithdrawsTheApproval(t *testing.T) {
	t.Parallel()
	c := batchOf(t, twoPeople, false)
	c.must(model.PhaseApproved{Phase: 2, By: mark("bea")})
	c.must(model.BatchRescheduled{Start: now.Add(time.Hour), By: mark("cem")})
	if c.phase(2).Approved == nil {
		t.Fatal("another person's new start withdrew the approval")
	}
	c.must(model.BatchRescheduled{Start: now.Add(2 * time.Hour), By: mark("bea")})
	if p := c.phase(2); p.Approved != nil {
		t.Fatalf("approved by %+v, who moved its start", p.Approved)
	}
	c.must(model.PhaseApproved{Phase: 2, By: mark("cem")})
}

func TestApproverDoesNotStartThePhaseOfAManualBatch(t *testing.T) {
	t.Parallel()
	c := batchOf(t, twoPeople, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 100, 0)
	c.must(model.PhaseApproved{Phase: 2, By: mark("bea")})
	c.wantCallerRefused(model.Advanced{Phase: "move", By: "bea"}, "needs a second approver, and you approved it")
	wantOutcome(t, c.must(model.Advanced{Phase: "move", By: "cem"}), model.Announce{Phase: 2})
}
