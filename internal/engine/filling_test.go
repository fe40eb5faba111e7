package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

const leaving = `on_member_removed: [{name: stop, worker_id: w1, function: Stop}]
`

// filling is a batch of a source's rows whose cut-over is in so long; 50 members are
// written.
func filling(t *testing.T, source string, in time.Duration) *crowd {
	t.Helper()
	c := &crowd{t: t, rb: read(t, source), at: now}
	c.b = engine.NewDetected(42, c.rb, 1, now.Add(in), now)
	if c.b.Status != model.BatchDetected || !c.b.Filling || c.b.Manual || c.b.Members != 0 || c.b.PageCount() != 0 || c.b.CreatedBy != "" {
		t.Fatalf("%+v", c.b)
	}
	c.must(model.MembersJoined{Members: 49, Key: "ann"})
	c.must(model.MembersJoined{Members: 1, Key: "bob"})
	return c
}

func TestTimesOfABatchOfASourceAreUTC(t *testing.T) {
	t.Parallel()
	start := now.In(time.FixedZone("", 7200))
	b := engine.NewDetected(42, read(t, three), 1, start, start)
	if b.StartTime.Location() != time.UTC || b.DetectedAt.Location() != time.UTC || b.Phases[0].DueAt.Location() != time.UTC || !b.StartTime.Equal(start) {
		t.Fatalf("%+v", b)
	}
}

func TestNothingBeginsInABatchThatIsBeingFilled(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{"with init": prepared, "without": three} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := filling(t, source, 0)
			if c.b.Members != 50 || c.b.PageCount() != 2 || len(c.b.Joining) > 0 {
				t.Fatalf("%d members on %d pages, joining %v", c.b.Members, c.b.PageCount(), c.b.Joining)
			}
			for id := range c.b.Phases {
				c.wantStale(model.PhaseDue{Phase: 1 + id})
				c.wantStale(model.PageFannedOut{Phase: 1 + id, Page: 2})
				if d := c.must(model.PhaseCounted{Phase: 1 + id}); d.Batch != nil || len(outcome(d)) > 0 {
					t.Fatalf("%+v", d)
				}
			}
			wantOutcome(t, model.Decision{Messages: engine.NextDue(&c.b, c.at)})
			_, err := c.on(next(c.b))
			wantRefusal(t, err, "only a manual batch")
			c.wantStale(model.BatchDrained{})
			c.wantBatch(model.BatchDetected)
		})
	}
}

func TestMembersAreAddedToABatchThatIsBeingFilledWithoutEffect(t *testing.T) {
	t.Parallel()
	c := filling(t, prepared, 0)
	wantOutcome(t, c.must(model.MembersJoined{Members: 3, Key: "cyd"}))
	if c.b.Members != 53 || c.b.PageCount() != 3 || len(c.b.Joining) > 0 {
		t.Fatalf("%d members on %d pages, joining %v", c.b.Members, c.b.PageCount(), c.b.Joining)
	}
}

func TestFilledBatchBeginsWithItsInit(t *testing.T) {
	t.Parallel()
	c := filling(t, prepared, 0)
	d := c.must(model.BatchFilled{})
	c.wantBatch(model.BatchDetected)
	if c.b.Filling || len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 1 {
		t.Fatalf("filling: %t, effects %v", c.b.Filling, d.Messages)
	}
	again := c.must(model.BatchFilled{})
	if !again.Repeated || again.Batch != nil || len(outcome(again)) != 1 || again.Messages[0].(model.Announce).Phase != 1 {
		t.Fatalf("again: %+v", again)
	}
	c.must(model.PhaseDue{Phase: 1})
	c.wantBatch(model.BatchInitDispatched)
	wantOutcome(t, c.must(model.BatchFilled{})) // it is under way
	if d := c.endInit(1, true); len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 2 {
		t.Fatalf("effects of the end of init: %v", d.Messages)
	}
}

func TestFilledBatchBeginsWithItsFirstPhaseHoweverLongItIsPastDue(t *testing.T) {
	t.Parallel()
	c := filling(t, three, -30*24*time.Hour)
	for phase := 1; phase <= 3; phase++ {
		d := c.must(model.BatchFilled{})
		if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != phase || d.Repeated != (phase > 1) {
			t.Fatalf("phase %d: %+v", phase, d)
		}
		c.wantBatch(model.BatchActive)
		c.through(phase, 50, 0)
	}
	c.wantBatch(model.BatchCompleted)
	c.wantStale(model.BatchFilled{})
}

func TestFilledBatchWhosePhasesAreYetToComeWaitsForThem(t *testing.T) {
	t.Parallel()
	c := filling(t, three, 72*time.Hour)
	wantOutcome(t, c.must(model.BatchFilled{}))
	c.wantBatch(model.BatchActive)
}

func TestFilledBatchSaysWhichGateItWaitsAt(t *testing.T) {
	t.Parallel()
	c := filling(t, strings.Replace(three, "offset: T-2d", "offset: T-2d\n    approval: required", 1), 0)
	wantOutcome(t, c.must(model.BatchFilled{}))
	c.wantPhase(1, model.PhasePending, "waits for an administrator's approval")
}

func TestBatchThatNobodyIsInIsNotOpened(t *testing.T) {
	t.Parallel()
	c := &crowd{t: t, rb: read(t, three), at: now, b: engine.NewDetected(42, read(t, three), 1, now, now)}
	c.wantStale(model.BatchFilled{})
	c.must(model.MembersJoined{Members: 1, Key: "ann"})
	m := model.Member{ID: 1, Page: 1, Status: model.MemberActive}
	d, err := engine.Decide(model.MemoryState{Batch: &c.b, Members: []*model.Member{&m}, Runbook: c.rb}, model.MemberLeft{Member: 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	c.b = *d.Batch
	c.wantStale(model.BatchFilled{})
	c.wantBatch(model.BatchDetected)
	c.must(model.MembersJoined{Members: 1, Key: "ann"})
	c.must(model.BatchFilled{})
	c.wantBatch(model.BatchActive)
}

// Nothing was started for anybody.
func TestNoRemovalStepsAreRunForWhoLeavesABatchThatIsBeingFilled(t *testing.T) {
	t.Parallel()
	c := filling(t, three+leaving, 0)
	phases := len(c.b.Phases)
	m := model.Member{ID: 1, Page: 1, Status: model.MemberActive}
	leave := func() model.Decision {
		t.Helper()
		d, err := engine.Decide(model.MemoryState{Batch: &c.b, Members: []*model.Member{&m}, Runbook: c.rb}, model.MemberLeft{Member: m.ID, By: "ada"}, now)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := leave()
	wantOutcome(t, d, model.Remove{})
	if d.Members[0].Status != model.MemberRemoved || d.Members[0].Removal != 0 || !d.Members[0].Leaving || d.Members[0].RemovedBy != "ada" || d.Batch.Removed != 1 || len(d.Batch.Phases) != phases {
		t.Fatalf("%+v of %+v", d.Members[0], d.Batch)
	}
	c.b, m = *d.Batch, *d.Members[0]
	again := leave()
	wantOutcome(t, again, model.Remove{})
	if !again.Repeated {
		t.Fatalf("%+v", again)
	}
	c.must(model.BatchFilled{})
	m = model.Member{ID: 2, Page: 1, Status: model.MemberActive}
	if d := leave(); d.Members[0].Removal != phases+1 {
		t.Fatalf("%+v", d.Members[0])
	}
}

func TestBatchThatIsBeingFilledIsCancelledAtOnce(t *testing.T) {
	t.Parallel()
	c := filling(t, prepared, 0)
	wantOutcome(t, c.must(model.BatchCancelRequested{By: by}))
	c.wantBatch(model.BatchCancelled)
	if c.b.Filling {
		t.Fatal("it is still being filled")
	}
	for id := range c.b.Phases {
		c.wantPhase(1+id, model.PhaseCancelled, "the batch is cancelled")
	}
	c.wantStale(model.BatchFilled{})
	_, err := c.on(model.MembersJoined{Members: 1, Key: "cyd"})
	wantRefusal(t, err, "no member can be added")
}

func TestPausedBatchIsFilledAndBeginsWhenItIsResumed(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{"with init": prepared, "without": three} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := filling(t, source, 0)
			c.must(model.BatchPaused{By: by})
			wantOutcome(t, c.must(model.MembersJoined{Members: 1, Key: "cyd"}))
			wantOutcome(t, c.must(model.BatchFilled{}))
			if c.b.Filling {
				t.Fatal("it is still being filled")
			}
			c.wantStale(model.PhaseDue{Phase: 1})
			d := c.must(model.BatchResumed{})
			if len(outcome(d)) != 2 || outcome(d)[1].(model.Announce).Phase != 1 {
				t.Fatalf("effects %v", d.Messages)
			}
		})
	}
}

func TestBatchThatIsResumedWhileItIsBeingFilledWaitsForTheRest(t *testing.T) {
	t.Parallel()
	c := filling(t, prepared, 0)
	c.must(model.BatchPaused{By: by})
	wantOutcome(t, c.must(model.BatchResumed{}), model.Release{})
	if !c.b.Filling {
		t.Fatal("it is no longer being filled")
	}
}

// As if it had been made with the newer version.
func TestNewVersionTakesTheWholePlaceInABatchThatIsBeingFilled(t *testing.T) {
	t.Parallel()
	renamed := strings.ReplaceAll(prepared, "name: create", "name: build")
	for _, tt := range []struct {
		name, before, after string
		first, phases       int // of the new version's executions; the batch's executions in all
	}{
		{"its init steps are new", three, renamed, 4, 6},
		{"it has init steps as the one before", prepared, renamed, 4, 6},
		{"it has no init steps any more", prepared, three, 4, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := filling(t, tt.before, 0)
			c.rb = read(t, tt.after)
			wantOutcome(t, c.must(model.VersionPublished{Version: 2}))
			if c.wantBatch(model.BatchDetected); !c.b.Filling || c.b.Version != 2 || len(c.b.Phases) != tt.phases {
				t.Fatalf("%+v", c.b)
			}
			for id := 1; id <= tt.phases; id++ {
				if id < tt.first {
					c.wantPhase(id, model.PhaseSuperseded, "superseded by version 2")
					continue
				}
				c.wantPhase(id, model.PhasePending, "")
			}
			d := c.must(model.BatchFilled{})
			if len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != tt.first {
				t.Fatalf("effects %v", d.Messages)
			}
			c.wantStale(model.PhaseDue{Phase: 1})
			c.must(model.PhaseDue{Phase: tt.first})
			c.wantPhase(tt.first, model.PhaseDispatched, "")
		})
	}
}

func TestApprovalThatIsGivenWhileABatchIsBeingFilledHoldsGood(t *testing.T) {
	t.Parallel()
	c := filling(t, strings.Replace(three, "offset: T-2d", "offset: T-2d\n    approval: required", 1), 0)
	wantOutcome(t, c.must(model.PhaseApproved{Phase: 1, By: by}))
	if d := c.must(model.BatchFilled{}); len(outcome(d)) != 1 || outcome(d)[0].(model.Announce).Phase != 1 {
		t.Fatalf("effects %v", d.Messages)
	}
}

func TestOnlyABatchOfASourceIsFilled(t *testing.T) {
	t.Parallel()
	c := manual(t)
	c.wantStale(model.BatchFilled{})
	c.wantBatch(model.BatchDetected)
}
