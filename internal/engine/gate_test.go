package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

const gated = header + `
phases:
  - name: create
    offset: T-1d
    steps: [{name: new, worker_id: w1, function: New}]
  - name: move
    offset: T-0
    approval: required
    require_success: 95%
    steps: [{name: copy, worker_id: w1, function: Copy}]
`

// scheduled is a batch all of whose phases are due, or a manual one.
func batchOf(t *testing.T, source string, manual bool) *crowd {
	t.Helper()
	c := &crowd{t: t, rb: read(t, source), at: now}
	start := &now
	if manual {
		start = nil
	}
	c.b = engine.NewBatch(42, c.rb, 3, 100, start, "ada", now)
	return c
}

func (c *crowd) phase(id int) model.Phase { return c.b.Phases[id-1] }

// through dispatches a phase, fans it out and counts its members as ended.
func (c *crowd) through(phase, succeeded, failed int) model.Decision {
	c.t.Helper()
	c.must(model.PhaseDue{Phase: phase})
	c.must(model.PageFannedOut{Phase: phase, Page: c.b.PageCount()})
	return c.counts(phase, succeeded, failed)
}

// counts reports all shards of a phase.
func (c *crowd) counts(phase, succeeded, failed int) model.Decision {
	c.t.Helper()
	p := &c.b.Phases[phase-1]
	p.ShardsClosed, p.Succeeded, p.Failed = p.Shards, succeeded, failed
	return c.must(model.PhaseCounted{Phase: phase})
}

func (c *crowd) wantStale(e model.Event) {
	c.t.Helper()
	if d := c.must(e); !d.Stale || d.Batch != nil || len(outcome(d)) > 0 {
		c.t.Fatalf("%#v was not out of date: %+v", e, d)
	}
}

func (c *crowd) wantPhase(id int, status model.PhaseStatus, reason string) {
	c.t.Helper()
	p := c.phase(id)
	if p.Status != status || !strings.Contains(p.Reason, reason) || reason == "" && p.Reason != "" {
		c.t.Fatalf("phase %s is %s (%s), want %s (%s)", p.Name, p.Status, p.Reason, status, reason)
	}
}

func (c *crowd) wantBatch(status model.BatchStatus) {
	c.t.Helper()
	if c.b.Status != status || status.Terminal() != (c.b.CompletedAt != nil) {
		c.t.Fatalf("the batch is %s (%s), ended %v; want %s", c.b.Status, c.b.Error, c.b.CompletedAt, status)
	}
}

var by = model.Attribution{By: "ada", At: now, Why: "so it is"}

func TestGateHoldsAPhaseThatIsDueAndSaysWhy(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.must(model.PhaseDue{Phase: 1})
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhasePending, `95% of the members succeed in phase "create", where not all have ended`)
	wantOutcome(t, c.counts(1, 94, 6))
	c.wantPhase(2, model.PhasePending, "where 94 of 100 did")
	c.wantStale(model.PhaseDue{Phase: 2})
}

func TestShareOfSuccessOpensItsGateAndApprovalTheOther(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	wantOutcome(t, c.through(1, 95, 5))
	c.wantPhase(2, model.PhasePending, "approval")
	d := c.must(model.PhaseApproved{Phase: 2, By: by})
	if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 2 || outcome(d)[0].(model.Announce).FanOut == "" {
		t.Fatalf("effects %v", d.Messages)
	}
	if p := c.phase(2); p.Approved == nil || *p.Approved != by {
		t.Fatalf("approved by %+v", p.Approved)
	}
	again := c.must(model.PhaseApproved{Phase: 2, By: model.Attribution{By: "bob"}})
	if !again.Repeated || len(outcome(again)) != 1 || c.phase(2).Approved.By != "ada" {
		t.Fatalf("approved again: %+v", again)
	}
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhaseDispatched, "")
}

// In floating point some of these shares are a little more than they are.
func TestShareThatIsReachedExactlyOpensTheGate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		share        string
		members, few int // the fewest who are enough
	}{
		{"95%", 100, 95},
		{"97.5%", 40, 39},
		{"4.4%", 750, 33},
		{"97.4%", 86_000, 83_764},
		{"71.808%", 12_500, 8976},
		{"33.3333%", 3, 1},
		{"66.6667%", 3, 3},
		{"100%", 99_999, 99_999},
		{"0.0001%", 100_000, 1},
	} {
		for missing := range 2 {
			c := batchOf(t, strings.NewReplacer("95%", tt.share, "    approval: required\n", "").Replace(gated), false)
			c.through(1, tt.few-missing, tt.members-tt.few+missing)
			c.must(model.PhaseDue{Phase: 2})
			if open := c.phase(2).Status == model.PhaseDispatched; open != (missing == 0) {
				t.Errorf("%s of %d: with %d the gate is open: %t", tt.share, tt.members, tt.few-missing, open)
			}
		}
	}
}

// A phase without members reaches no share: the gate would stay closed forever.
func TestShareOfAPhaseInWhichNobodyTookPartOpensTheGate(t *testing.T) {
	t.Parallel()
	c := batchOf(t, strings.Replace(gated, "    approval: required\n", "", 1), false)
	c.through(1, 0, 0)
	c.wantPhase(1, model.PhaseFailed, "no active member")
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhaseDispatched, "")
	c = batchOf(t, gated, false)
	c.through(1, 0, 0)
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhasePending, "it waits for an administrator's approval") // the other gate
}

func TestApprovalLetsAPhaseBeginWithFewerSuccesses(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.through(1, 1, 99)
	c.must(model.PhaseApproved{Phase: 2, By: by})
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhaseDispatched, "")
}

func TestApprovalInAdvanceOpensTheGateWhenThePhaseIsDue(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.at = now.Add(-25 * time.Hour)
	wantOutcome(t, c.must(model.PhaseApproved{Phase: 2, By: by}))
	c.at = now
	d := c.through(1, 100, 0)
	if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 2 {
		t.Fatalf("effects %v", d.Messages)
	}
}

func TestGateRefusesTheAdvanceOfAManualBatchAndSaysWhy(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, true)
	c.must(next(c.b))
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.counts(1, 94, 6)
	_, err := c.on(next(c.b))
	wantRefusal(t, err, "94 of 100")
	wantOutcome(t, c.must(model.PhaseApproved{Phase: 2, By: by}))
	wantOutcome(t, c.must(next(c.b)), model.Announce{Phase: 2})
}

func TestOnlyAPhaseThatWaitsAtAGateIsApproved(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	_, err := c.on(model.PhaseApproved{Phase: 1, By: by})
	wantRefusal(t, err, "no gate")
	_, err = c.on(model.PhaseApproved{Phase: 3, By: by})
	wantRefusal(t, err, "no phase execution 3")
	c.must(model.BatchCancelRequested{By: by})
	_, err = c.on(model.PhaseApproved{Phase: 2, By: by})
	wantRefusal(t, err, "cancelled")
}

// Members of a later phase would overtake those of the one that is held.
func TestPhaseBehindOneThatIsHeldIsHeldToo(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated+`
  - name: tell
    offset: T-0
    steps: [{name: mail, worker_id: w1, function: Mail}]
`, false)
	c.through(1, 100, 0)
	c.wantStale(model.PhaseDue{Phase: 3})
	c.must(model.PhaseApproved{Phase: 2, By: by})
	c.must(model.PhaseDue{Phase: 2})
	c.wantStale(model.PhaseDue{Phase: 3})
	d := c.must(model.PageFannedOut{Phase: 2, Page: 3})
	if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 3 {
		t.Fatalf("effects %v", d.Messages)
	}
}
