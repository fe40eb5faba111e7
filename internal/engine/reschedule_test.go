package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/model"
)

func TestRescheduledBatchMovesOnlyThePhasesThatHaveNotStarted(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false) // both phases are due
	c.must(model.PhaseDue{Phase: 1})
	c.must(model.PageFannedOut{Phase: 1, Page: 3})
	c.must(model.PhaseDue{Phase: 2})
	c.wantPhase(2, model.PhasePending, "95% of the members")
	was, later := *c.phase(1).DueAt, now.Add(48*time.Hour)
	c.must(model.BatchRescheduled{Start: later, By: by})
	c.wantPhase(1, model.PhaseDispatched, "")
	c.wantPhase(2, model.PhasePending, "")
	if first, second := c.phase(1), c.phase(2); !first.DueAt.Equal(was) || !second.DueAt.Equal(later) {
		t.Fatalf("due at %s and %s", first.DueAt, second.DueAt)
	}
	if b := c.b; !b.StartTime.Equal(later) || *b.Rescheduled != by || !slices.EqualFunc(b.EarlierStarts, []time.Time{now}, time.Time.Equal) {
		t.Fatalf("%s %+v %v", b.StartTime, b.Rescheduled, b.EarlierStarts)
	}
	if d := c.must(model.BatchRescheduled{Start: later, By: model.Attribution{By: "bob"}}); !d.Repeated || c.b.Rescheduled.By != "ada" {
		t.Fatalf("again: %+v", d)
	}
}

func TestAnnouncementForTheTimeBeforeABatchWasRescheduledHasNoEffect(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.must(model.BatchRescheduled{Start: now.Add(48 * time.Hour), By: by})
	c.wantStale(model.PhaseDue{Phase: 1})
	c.wantPhase(1, model.PhasePending, "")
	c.at = now.Add(24 * time.Hour)
	c.must(model.PhaseDue{Phase: 1})
	c.wantPhase(1, model.PhaseDispatched, "")
}

func TestRescheduledPhaseThatIsDueIsAnnouncedAtOnce(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three, false)
	start := now.Add(72 * time.Hour)
	c.b = engine.NewBatch(42, c.rb, 3, 100, &start, "", now)
	d := c.must(model.BatchRescheduled{Start: now, By: by})
	if got := outcome(d); len(got) != 1 || got[0].(model.Announce).Phase != 1 || got[0].(model.Announce).FanOut == "" {
		t.Fatalf("announced: %v", got)
	}
}

// The broker remembers the ids of the announcements for the times before.
func TestRescheduledPhaseIsAnnouncedByAnotherID(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three, false)
	start := now.Add(72 * time.Hour)
	c.b = engine.NewBatch(42, c.rb, 3, 100, &start, "", now)
	due := c.phase(1).DueAt.Add(-time.Minute)
	before := engine.UpcomingPhases(&c.b, due, "tick")[0].(model.Announce)
	ids := []string{before.FanOut}
	for _, later := range []time.Duration{time.Hour, 2 * time.Hour} {
		c.must(model.BatchRescheduled{Start: start.Add(later), By: by})
		if got := engine.UpcomingPhases(&c.b, due, "tick"); len(got) != 0 {
			t.Fatalf("announced for the time before: %v", got)
		}
		after := engine.UpcomingPhases(&c.b, due.Add(later), "tick")[0].(model.Announce)
		if slices.Contains(ids, after.FanOut) || !after.At.Equal(*c.phase(1).DueAt) {
			t.Fatalf("announced as %q for %s, after %q", after.FanOut, after.At, ids)
		}
		ids = append(ids, after.FanOut)
	}
}

// Phases that have begun are due by the start before, the others by the new one.
func TestRescheduledBatchKeepsTheOrderOfItsPhases(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three, false)
	c.through(1, 100, 0)
	c.must(model.BatchRescheduled{Start: now.Add(-100 * 24 * time.Hour), By: by}) // the others are due before the first one
	c.must(model.PhaseDue{Phase: 2})
	c.must(model.PageFannedOut{Phase: 2, Page: 3})
	d := c.must(model.MembersJoined{Members: 1, Key: "late"})
	if j := d.Messages[0].(model.CatchUp).Join; !slices.Equal(j.Phases, []int{1, 2}) {
		t.Fatalf("late members catch up on %v", j.Phases)
	}
}

func TestNewVersionDoesNotRepeatThePhasesOfARescheduledBatch(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three, false)
	c.through(1, 100, 0)
	c.must(model.BatchRescheduled{Start: now.Add(100 * 24 * time.Hour), By: by})
	c.must(model.VersionPublished{Version: 4})
	c.wantPhase(4, model.PhaseSkipped, "past due when version 4 was published")
	c.wantPhase(5, model.PhasePending, "")
	if p := c.phase(5); !p.DueAt.After(now.Add(90 * 24 * time.Hour)) {
		t.Fatalf("due at %s", p.DueAt)
	}
}

func TestRefusedReschedules(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		manual bool
		change func(*crowd)
		want   string
	}{
		"a manual batch": {true, func(*crowd) {}, "batch 42 has no schedule: you start each phase of a manual batch with an advance"},
		"all started": {false, func(c *crowd) {
			c.through(1, 100, 0)
			c.must(model.PhaseApproved{Phase: 2, By: by})
			c.must(model.PhaseDue{Phase: 2})
		}, "all phases of batch 42 have started: no phase is left to reschedule"},
		"cancelled": {false, func(c *crowd) { c.must(model.BatchCancelRequested{By: by}) }, "batch 42 has ended (cancelled): it cannot be rescheduled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := batchOf(t, gated, tt.manual)
			tt.change(c)
			_, err := engine.Decide(model.MemoryState{Batch: &c.b, Runbook: c.rb}, model.BatchRescheduled{Start: now.Add(time.Hour)}, now)
			if err == nil || err.Error() != tt.want {
				t.Fatalf("%v, want %s", err, tt.want)
			}
		})
	}
}

func TestForeseenRescheduleChangesNothing(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	before := *c.b.StartTime
	next, moves, err := engine.ForeseeReschedule(&c.b, model.BatchRescheduled{Start: now.Add(24 * time.Hour), By: by}, now)
	if err != nil || len(moves) != 2 || !c.b.StartTime.Equal(before) || !next.StartTime.Equal(now.Add(24*time.Hour)) {
		t.Fatalf("%v %+v %s", err, moves, c.b.StartTime)
	}
	if m := moves[0]; m.Phase.Name != "create" || !m.From.Equal(now.Add(-24*time.Hour)) || !m.Phase.DueAt.Equal(now) || m.QuietUntil != nil {
		t.Fatalf("%+v", m)
	}
}

func TestEarlierStartsAreReleasedWhenTheSourceHasThemNoMore(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	first, second := now.Add(24*time.Hour), now.Add(48*time.Hour)
	c.must(model.BatchRescheduled{Start: first, By: by})
	c.must(model.BatchRescheduled{Start: second, By: by})
	for range 2 {
		c.must(model.EarlierStartsReleased{Starts: []time.Time{now, second.Add(time.Hour)}})
		if got := c.b.EarlierStarts; len(got) != 1 || !got[0].Equal(first) {
			t.Fatalf("%v", got)
		}
	}
	c.must(model.BatchRescheduled{Start: first, By: by})
	if got := c.b.EarlierStarts; len(got) != 1 || !got[0].Equal(second) {
		t.Fatalf("moved back: %v", got)
	}
}

// A wave whose members have all left does not wait for a decision.
func TestBatchWithoutMembersDoesNotWaitAtAGate(t *testing.T) {
	t.Parallel()
	c := batchOf(t, gated, false)
	c.b.Removed = c.b.Members - 1
	c.through(1, 1, 0)
	c.wantPhase(2, model.PhasePending, "approval")
	m := model.Member{ID: 100, Page: 3, Status: model.MemberActive}
	for range 2 {
		d, err := engine.Decide(model.MemoryState{Batch: &c.b, Members: []*model.Member{&m}, Runbook: c.rb}, model.MemberLeft{Member: 100}, now)
		if err != nil {
			t.Fatal(err)
		}
		announced := slices.ContainsFunc(d.Messages, func(m model.Message) bool { a, ok := m.(model.Announce); return ok && a.Phase == 2 })
		if !announced {
			t.Fatalf("messages: %v", d.Messages)
		}
		if d.Batch != nil {
			c.b, m = *d.Batch, *d.Members[0]
		}
	}
	c.wantPhase(2, model.PhasePending, "")
	c.must(model.PhaseDue{Phase: 2})
	c.must(model.PageFannedOut{Phase: 2, Page: 3})
	c.counts(2, 0, 0)
	c.wantPhase(2, model.PhaseFailed, "no active member was left to take part")
	c.wantBatch(model.BatchCompleted) // the first phase completed
}
