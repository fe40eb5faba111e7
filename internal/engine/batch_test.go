package engine_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/engine/runstate"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// crowd is a batch's state through a test.
type crowd struct {
	t  *testing.T
	b  model.Batch
	rb *runbook.Runbook // needed by few events; nil: one without secrets
	at time.Time
}

func (c *crowd) on(e model.Event) (model.Decision, error) {
	c.t.Helper()
	if c.at.IsZero() {
		c.at = now
	}
	if c.rb == nil {
		c.rb = &runbook.Runbook{}
	}
	state := model.MemoryState{Batch: &c.b, Runbook: c.rb}
	before := text(c.t, state)
	d, err := engine.Decide(state, e, c.at)
	if after := text(c.t, state); after != before {
		c.t.Fatalf("%T changed what it was decided on: before %s, after %s", e, before, after)
	}
	if d.Batch != nil {
		c.b = *d.Batch
	}
	return d, err
}

func (c *crowd) must(e model.Event) model.Decision {
	c.t.Helper()
	d, err := c.on(e)
	if err != nil {
		c.t.Fatalf("%T: %v", e, err)
	}
	return d
}

// next is an advance to the next phase of a batch.
func next(b model.Batch) model.Advanced { return model.Advanced{Phase: b.Next()} }

// count reports all shards of a phase.
func (c *crowd) count(phase, shards, succeeded, failed int) {
	c.t.Helper()
	p := &c.b.Phases[phase-1]
	p.ShardsClosed, p.Succeeded, p.Failed = shards, succeeded, failed
	c.must(model.PhaseCounted{Phase: phase})
}

func (c *crowd) initEnds(ok bool) model.Decision {
	c.t.Helper()
	rb := parse(c.t)
	run, err := runstate.New(&c.b, c.b.Phases[0], nil, rb, now)
	if err != nil {
		c.t.Fatal(err)
	}
	state := model.MemoryState{Runs: []*model.Run{&run}, Batch: &c.b, Runbook: rb}
	d, err := engine.Decide(state, on(&run, model.RunStarted{}), now)
	if err != nil {
		c.t.Fatal(err)
	}
	for !d.Runs[0].Status.Terminal() {
		state.Runs = d.Runs
		step := d.Runs[0].Steps[0]
		var e model.RunEvent = model.StepResult{JobID: d.Runs[0].JobID(0), OK: ok, Result: json.RawMessage(`true`), Error: "no"}
		if step.Status == model.StepPending {
			e = model.RetryDue{Count: step.RetryCount}
		}
		if d, err = engine.Decide(state, on(&run, e), now); err != nil {
			c.t.Fatal(err)
		}
	}
	c.b = *d.Batch
	return d
}

func manual(t *testing.T) *crowd {
	t.Helper()
	return &crowd{t: t, b: engine.NewBatch(42, parse(t), 3, 100, nil, "ada", now)}
}

func TestManualBatchAdvancesThroughInitAndEachPhase(t *testing.T) {
	t.Parallel()
	c := manual(t)
	if c.b.Status != model.BatchDetected || !slices.Equal(c.b.Remaining(), []string{"init", "create", "verify"}) {
		t.Fatalf("new batch: %s, %v", c.b.Status, c.b.Remaining())
	}
	if d := c.must(next(c.b)); c.b.Status != model.BatchInitDispatched || outcome(d)[0] != any(model.Announce{Phase: 1}) {
		t.Fatalf("advanced to %s with %v", c.b.Status, d.Messages)
	}
	if c.b.StartTime == nil || !c.b.StartTime.Equal(now) {
		t.Fatalf("start time %v", c.b.StartTime)
	}
	if d := c.must(model.Advanced{Phase: "init"}); !d.Repeated || outcome(d)[0] != any(model.Announce{Phase: 1}) {
		t.Fatalf("advanced again: %+v", d)
	}
	c.initEnds(true)
	if c.b.Status != model.BatchActive || c.b.Phases[0].Status != model.PhaseCompleted {
		t.Fatalf("after init: %s", c.b.Status)
	}
	for phase := 2; phase <= 3; phase++ {
		if d := c.must(next(c.b)); outcome(d)[0] != any(model.Announce{Phase: phase}) {
			t.Fatalf("advance: %v", d.Messages)
		}
		c.must(model.PageFannedOut{Phase: phase, Page: 3})
		_, err := c.on(next(c.b))
		var refusal *model.Refusal
		if !errors.As(err, &refusal) {
			t.Fatalf("advanced while a phase is in progress: %v", err)
		}
		c.count(phase, 3, 90, 10)
	}
	if c.b.Status != model.BatchCompleted || c.b.CompletedAt == nil {
		t.Fatalf("at the end: %s", c.b.Status)
	}
	if _, err := c.on(next(c.b)); err == nil {
		t.Fatal("a batch that has ended was advanced")
	}
}

func TestInitFailureFailsTheBatch(t *testing.T) {
	t.Parallel()
	c := manual(t)
	c.must(next(c.b))
	c.initEnds(false)
	if c.b.Status != model.BatchFailed || c.b.Error != `init failed: step "prepare": no` {
		t.Fatalf("%s: %s", c.b.Status, c.b.Error)
	}
	if d := c.must(model.PhaseDue{Phase: 2}); !d.Stale {
		t.Fatal("a phase of a failed batch was dispatched")
	}
}

func TestPhaseAndBatchEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                   string
		createOK, createFailed int
		verifyOK, verifyFailed int
		create, verify         model.PhaseStatus
		batch                  model.BatchStatus
	}{
		{"all succeed", 100, 0, 100, 0, model.PhaseCompleted, model.PhaseCompleted, model.BatchCompleted},
		{"one success completes a phase", 1, 99, 1, 0, model.PhaseCompleted, model.PhaseCompleted, model.BatchCompleted},
		{"one completed phase completes the batch", 5, 95, 0, 5, model.PhaseCompleted, model.PhaseFailed, model.BatchCompleted},
		{"no member is left for the second phase", 0, 100, 0, 0, model.PhaseFailed, model.PhaseFailed, model.BatchFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := manual(t)
			c.must(next(c.b))
			c.initEnds(true)
			c.must(next(c.b))
			c.must(model.PageFannedOut{Phase: 2, Page: 3})
			c.count(2, 3, tt.createOK, tt.createFailed)
			c.must(next(c.b))
			c.count(3, 3, tt.verifyOK, tt.verifyFailed) // all shards may report before the fan-out is known to be over
			c.must(model.PageFannedOut{Phase: 3, Page: 3})
			if c.b.Phases[1].Status != tt.create || c.b.Phases[2].Status != tt.verify || c.b.Status != tt.batch {
				t.Fatalf("create %s, verify %s, batch %s", c.b.Phases[1].Status, c.b.Phases[2].Status, c.b.Status)
			}
		})
	}
}

func TestScheduledPhaseThatFallsDueDuringInitIsAnnouncedAfterIt(t *testing.T) {
	t.Parallel()
	start := now.Add(time.Hour) // "create" was due a day before
	c := &crowd{t: t, b: engine.NewBatch(42, parse(t), 3, 100, &start, "", now)}
	if got := c.b.Phases[1].DueAt; !got.Equal(start.Add(-24 * time.Hour)) {
		t.Fatalf("create is due at %s", got)
	}
	c.must(model.PhaseDue{Phase: 1})
	if d := c.must(model.PhaseDue{Phase: 2}); !d.Stale {
		t.Fatal("a phase began during init")
	}
	if d := c.initEnds(true); len(outcome(d)) != 1 || outcome(d)[0] != any(model.Announce{Phase: 2, FanOut: "rev-2"}) {
		t.Fatalf("effects of the end of init: %v", d.Messages)
	}
	if _, err := c.on(next(c.b)); err == nil {
		t.Fatal("a scheduled batch was advanced by hand")
	}
}

// Members would enter the phases in the wrong order if a later one were fanned out
// beside an earlier one.
func TestPhaseWaitsUntilTheEarlierOnesAreFannedOut(t *testing.T) {
	t.Parallel()
	start := now
	c := &crowd{t: t, b: engine.NewBatch(42, parse(t), 3, 100, &start, "", now)}
	c.must(model.PhaseDue{Phase: 1})
	c.initEnds(true)
	if d := c.must(model.PhaseDue{Phase: 3}); !d.Stale {
		t.Fatal("a phase overtook one that is due and has not begun")
	}
	c.must(model.PhaseDue{Phase: 2})
	if d := c.must(model.PhaseDue{Phase: 3}); !d.Stale {
		t.Fatal("a phase overtook one that is being fanned out")
	}
	d := c.must(model.PageFannedOut{Phase: 2, Page: 3})
	if len(outcome(d)) != 1 || outcome(d)[0] != any(model.Announce{Phase: 3, FanOut: "rev-4"}) {
		t.Fatalf("effects of the end of the fan-out: %v", d.Messages)
	}
	if d := c.must(model.PhaseDue{Phase: 3}); d.Stale || c.b.Phases[2].Status != model.PhaseDispatched {
		t.Fatal("the phase was not dispatched after the fan-out of the earlier one")
	}
}

// The announcement of the later one came first, to a process whose clock is a little
// behind the broker's: the earlier one is not due yet by it.
func TestPhasesOfOneMomentBeginInTheirOrderWhateverTheClock(t *testing.T) {
	t.Parallel()
	start := now.Add(time.Hour)
	c := &crowd{t: t, b: engine.NewBatch(42, read(t, strings.ReplaceAll(three, "T-2d", "T-1d")), 3, 100, &start, "", now)}
	c.at = start.Add(-24*time.Hour - time.Millisecond)
	c.wantStale(model.PhaseDue{Phase: 2})
	c.must(model.PhaseDue{Phase: 1})
	c.wantStale(model.PhaseDue{Phase: 2})
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhaseDispatched, "")
	c.wantPhase(3, model.PhasePending, "")
}
