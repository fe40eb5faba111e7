package engine_test

import (
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/model"
)

// A lost answer, a double click and a host that repeats requests must not start the
// phase after the one that was asked for.
func TestAdvanceStartsTheNamedPhaseOnce(t *testing.T) {
	t.Parallel()
	fannedOut := func(c *crowd) { c.must(model.PageFannedOut{Phase: 1, Page: 3}) }
	ended := func(succeeded, failed int) func(*crowd) {
		return func(c *crowd) {
			fannedOut(c)
			c.counts(1, succeeded, failed)
		}
	}
	start := func(phase string) func(*crowd) {
		return func(c *crowd) { c.must(model.Advanced{Phase: phase}) }
	}
	all := func(steps ...func(*crowd)) func(*crowd) {
		return func(c *crowd) {
			for _, step := range steps {
				step(c)
			}
		}
	}
	rerun := func(c *crowd) { c.must(model.VersionPublished{Version: 4, Rerun: true}) }
	pause := func(c *crowd) { c.must(model.BatchPaused{By: by}) }
	cancel := func(c *crowd) { c.must(model.BatchCancelRequested{By: by}) }
	for _, tt := range []struct {
		name    string
		before  func(*crowd)
		phase   string
		starts  int // the execution that begins; 0: none
		again   int // the execution that is announced again; 0: none
		refused string
	}{
		{name: "the next phase", before: all(), phase: "create", starts: 1},
		{name: "a phase after the next", before: all(), phase: "move", refused: `phase "move" is not the next one of batch 42: the next phase is "create"`},
		{name: "no phase of the runbook", before: all(), phase: "nonsense", refused: `the next phase is "create"`},
		{name: "no phase at all", before: all(), refused: `the next phase is "create"`},
		{name: "in other letters", before: all(), phase: "Create", refused: `the next phase is "create"`},
		{name: "again before the fan-out is over", before: start("create"), phase: "create", again: 1},
		{name: "again while it runs", before: all(start("create"), fannedOut), phase: "create"},
		{name: "again while it is paused", before: all(start("create"), pause), phase: "create"},
		{name: "again when it has ended", before: all(start("create"), ended(100, 0)), phase: "create"},
		{name: "again when none has succeeded", before: all(start("create"), ended(0, 100)), phase: "create"},
		{name: "the phase after one that runs", before: start("create"), phase: "move", refused: `still in phase "create"`},
		{name: "the phase after one that has ended", before: all(start("create"), ended(0, 100)), phase: "move", starts: 2},
		{name: "again when the next one runs", before: all(start("create"), ended(99, 1), start("move")), phase: "create", refused: `still in phase "move"`},
		{
			name: "again when the next one has ended", before: all(start("create"), ended(99, 1), start("move"), func(c *crowd) {
				c.must(model.PageFannedOut{Phase: 2, Page: 3})
				c.counts(2, 99, 0)
			}), phase: "create", refused: `the next phase is "clean", and the last started phase is "move"`,
		},
		{name: "again when it is cancelled", before: all(start("create"), cancel), phase: "create", refused: "is being cancelled"},
		{name: "again while it runs and a newer version has it again", before: all(start("create"), rerun), phase: "create", again: 1},
		{name: "as a newer version has it again", before: all(start("create"), ended(100, 0), rerun), phase: "create", starts: 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := batchOf(t, three, true)
			tt.before(c)
			d, err := c.on(model.Advanced{Phase: tt.phase})
			switch {
			case tt.refused != "":
				wantRefusal(t, err, tt.refused)
				return
			case err != nil:
				t.Fatal(err)
			case tt.starts > 0:
				if d.Batch == nil || d.Repeated || d.Batch.Phases[tt.starts-1].Status != model.PhaseDispatched {
					t.Fatalf("%+v", d)
				}
				wantOutcome(t, d, model.Announce{Phase: tt.starts})
				return
			case d.Batch != nil || !d.Repeated:
				t.Fatalf("%+v", d)
			}
			if tt.again > 0 {
				wantOutcome(t, d, model.Announce{Phase: tt.again})
			} else {
				wantOutcome(t, d)
			}
		})
	}
}

// The last phase ends the batch. Its answer may be lost all the same.
func TestAdvanceToTheLastPhaseIsRepeatedAfterTheBatchHasEnded(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three, true)
	for phase, name := range []string{"create", "move", "clean"} {
		c.must(model.Advanced{Phase: name})
		c.must(model.PageFannedOut{Phase: phase + 1, Page: 3})
		c.counts(phase+1, 100, 0)
	}
	c.wantBatch(model.BatchCompleted)
	if d := c.must(model.Advanced{Phase: "clean"}); !d.Repeated || len(outcome(d)) > 0 {
		t.Fatalf("%+v", d)
	}
	for _, phase := range []string{"create", ""} {
		if _, err := c.on(model.Advanced{Phase: phase}); err == nil || !strings.Contains(err.Error(), "has ended (completed)") {
			t.Fatalf("%q: %v", phase, err)
		}
	}
}
