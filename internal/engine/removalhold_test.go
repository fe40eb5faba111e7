package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

const many = "the query's result lacks 30 of 100 members"

// withheld is a batch that follows its schedule, with a removal of 30 members held.
func withheld(t *testing.T) *crowd {
	t.Helper()
	c := batchOf(t, three, false)
	wantOutcome(t, c.must(model.RemovalsHeld{Members: 30, Of: 100, Reason: many}))
	return c
}

func (c *crowd) wantHeld(want *model.RemovalHold) {
	c.t.Helper()
	if got := c.b.RemovalHold; text(c.t, got) != text(c.t, want) {
		c.t.Fatalf("held %s, want %s", text(c.t, got), text(c.t, want))
	}
}

func TestHeldRemovalsKeepSinceWhenAndAreBroughtUpToDate(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	c.wantHeld(&model.RemovalHold{Members: 30, Of: 100, Reason: many, Since: now})
	c.at = now.Add(5 * time.Minute)
	c.wantStale(model.RemovalsHeld{Members: 30, Of: 100, Reason: many})
	for _, next := range []model.RemovalsHeld{
		{Members: 31, Of: 100, Reason: many},
		{Members: 31, Of: 101, Reason: many},
		{Members: 31, Of: 101, Reason: "the query's result is empty"},
	} {
		c.must(next)
		c.wantHeld(&model.RemovalHold{Members: next.Members, Of: next.Of, Reason: next.Reason, Since: now})
		c.wantStale(next)
	}
}

func TestReasonOfHeldRemovalsIsClipped(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	e := model.RemovalsHeld{Members: 30, Of: 100, Reason: strings.Repeat("x", 2*model.MaxReason)}
	c.must(e)
	if n := len(c.b.RemovalHold.Reason); n > model.MaxReason+10 {
		t.Fatalf("the reason has %d bytes", n)
	}
	c.wantStale(e)
}

func TestHeldRemovalsAreWithdrawn(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	c.must(model.RemovalsHeld{})
	c.wantHeld(nil)
	c.wantStale(model.RemovalsHeld{})
	c.at = now.Add(time.Hour)
	c.must(model.RemovalsHeld{Members: 30, Of: 100, Reason: many})
	c.wantHeld(&model.RemovalHold{Members: 30, Of: 100, Reason: many, Since: c.at}) // another hold
}

func TestConfirmedRemovalsStayAsTheyAreUntilTheyAreDone(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	c.wantStale(model.RemovalsDone{}) // nobody has said that they may go
	c.must(model.RemovalsConfirmed{By: by})
	confirmed := &model.RemovalHold{Members: 30, Of: 100, Reason: many, Since: now, Confirmed: &by}
	c.wantHeld(confirmed)
	if d := c.must(model.RemovalsConfirmed{By: model.Attribution{By: "bob"}}); !d.Repeated || d.Batch != nil {
		t.Fatalf("%+v", d)
	}
	c.wantStale(model.RemovalsHeld{Members: 40, Of: 100, Reason: "more"})
	c.wantStale(model.RemovalsHeld{})
	_, err := c.on(model.RemovalsDiscarded{By: by})
	wantRefusal(t, err, "the removals of batch 42 were confirmed by ada: they can no longer be discarded")
	c.wantHeld(confirmed)
	c.must(model.RemovalsDone{})
	c.wantHeld(nil)
	c.wantStale(model.RemovalsDone{})
	if c.b.DiscardedRemovals != 0 {
		t.Fatalf("%d are kept", c.b.DiscardedRemovals)
	}
}

func TestDiscardedRemovalsKeepTheMembers(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	c.must(model.DiscardedRemovalsChanged{Count: 2})
	c.must(model.RemovalsDiscarded{By: by})
	c.wantHeld(nil)
	if c.b.DiscardedRemovals != 32 {
		t.Fatalf("%d are kept", c.b.DiscardedRemovals)
	}
	_, err := c.on(model.RemovalsDiscarded{By: by})
	wantRefusal(t, err, "no removals of batch 42 are held: there is nothing to discard")
	c.must(model.DiscardedRemovalsChanged{Count: 7}) // the others are back
	c.wantStale(model.DiscardedRemovalsChanged{Count: 7})
	c.must(model.DiscardedRemovalsChanged{})
	if c.b.DiscardedRemovals != 0 {
		t.Fatalf("%d are kept", c.b.DiscardedRemovals)
	}
}

func TestNothingIsConfirmedOrDiscardedThatIsNotHeld(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three, false)
	_, err := c.on(model.RemovalsConfirmed{By: by})
	wantRefusal(t, err, "no removals of batch 42 are held: there is nothing to confirm")
	_, err = c.on(model.RemovalsDiscarded{By: by})
	wantRefusal(t, err, "no removals of batch 42 are held: there is nothing to discard")
	c.wantStale(model.RemovalsDone{})
}

func TestBatchThatEndsDropsWhatItHolds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *crowd){
		"it completes": func(c *crowd) {
			for phase := 1; phase <= 3; phase++ {
				c.through(phase, 100, 0)
			}
			c.wantBatch(model.BatchCompleted)
		},
		"it is cancelled before anything began": func(c *crowd) {
			c.must(model.BatchCancelRequested{By: by})
			c.wantBatch(model.BatchCancelled)
		},
		"it is cancelled while something is under way": func(c *crowd) {
			c.must(model.PhaseDue{Phase: 1})
			c.must(model.BatchCancelRequested{By: by})
			c.wantBatch(model.BatchCancelling)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, confirmed := range []bool{false, true} {
				c := withheld(t)
				if confirmed {
					c.must(model.RemovalsConfirmed{By: by})
				}
				end(c)
				c.wantHeld(nil)
				for _, e := range []model.Event{
					model.RemovalsHeld{Members: 30, Of: 100, Reason: many}, model.RemovalsHeld{}, model.RemovalsDone{}, model.DiscardedRemovalsChanged{Count: 1},
				} {
					c.wantStale(e)
				}
				over := "has ended (" + string(c.b.Status) + ")"
				if c.b.Status == model.BatchCancelling {
					over = "is being cancelled"
				}
				_, err := c.on(model.RemovalsConfirmed{By: by})
				wantRefusal(t, err, over+": no member can be removed")
				_, err = c.on(model.RemovalsDiscarded{By: by})
				wantRefusal(t, err, over+": no removals are held")
			}
		})
	}
}

func TestRemovalsAreHeldWhileABatchIsBeingFilledOrPaused(t *testing.T) {
	t.Parallel()
	c := filling(t, three, 0)
	c.must(model.BatchPaused{By: by})
	c.must(model.RemovalsHeld{Members: 30, Of: 50, Reason: many})
	c.must(model.RemovalsConfirmed{By: by})
	c.must(model.BatchFilled{})
	c.wantHeld(&model.RemovalHold{Members: 30, Of: 50, Reason: many, Since: now, Confirmed: &by})
}

func TestCountsThatCannotBeAreNotTaken(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	before := text(t, c.b)
	for _, e := range []model.Event{
		model.RemovalsHeld{Members: -1, Of: 100}, model.RemovalsHeld{Members: 30, Of: 29}, model.DiscardedRemovalsChanged{Count: -1}, model.DiscardedRemovalsChanged{Count: 101},
	} {
		if _, err := c.on(e); err == nil {
			t.Errorf("%#v was taken", e)
		}
	}
	if text(t, c.b) != before {
		t.Fatalf("%s", text(t, c.b))
	}
}
