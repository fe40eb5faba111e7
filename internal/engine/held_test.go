package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
)

const many = "the query's result lacks 30 of 100 members"

// withheld is a batch that follows its schedule, with a removal of 30 members held.
func withheld(t *testing.T) *crowd {
	t.Helper()
	c := batchOf(t, three, false)
	wantOutcome(t, c.must(engine.RemovalsHeld{Members: 30, Of: 100, Reason: many}))
	return c
}

func (c *crowd) wantHeld(want *engine.Held) {
	c.t.Helper()
	if got := c.b.Held; text(c.t, got) != text(c.t, want) {
		c.t.Fatalf("held %s, want %s", text(c.t, got), text(c.t, want))
	}
}

func TestHeldRemovalsKeepSinceWhenAndAreBroughtUpToDate(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	c.wantHeld(&engine.Held{Members: 30, Of: 100, Reason: many, Since: now})
	c.at = now.Add(5 * time.Minute)
	c.wantStale(engine.RemovalsHeld{Members: 30, Of: 100, Reason: many})
	for _, next := range []engine.RemovalsHeld{
		{Members: 31, Of: 100, Reason: many},
		{Members: 31, Of: 101, Reason: many},
		{Members: 31, Of: 101, Reason: "the query's result is empty"},
	} {
		c.must(next)
		c.wantHeld(&engine.Held{Members: next.Members, Of: next.Of, Reason: next.Reason, Since: now})
		c.wantStale(next)
	}
}

func TestReasonOfHeldRemovalsIsClipped(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	e := engine.RemovalsHeld{Members: 30, Of: 100, Reason: strings.Repeat("x", 2*engine.MaxReason)}
	c.must(e)
	if n := len(c.b.Held.Reason); n > engine.MaxReason+10 {
		t.Fatalf("the reason has %d bytes", n)
	}
	c.wantStale(e)
}

func TestHeldRemovalsAreWithdrawn(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	c.must(engine.RemovalsHeld{})
	c.wantHeld(nil)
	c.wantStale(engine.RemovalsHeld{})
	c.at = now.Add(time.Hour)
	c.must(engine.RemovalsHeld{Members: 30, Of: 100, Reason: many})
	c.wantHeld(&engine.Held{Members: 30, Of: 100, Reason: many, Since: c.at}) // another hold
}

func TestConfirmedRemovalsStayAsTheyAreUntilTheyAreDone(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	c.wantStale(engine.RemovalsDone{}) // nobody has said that they may go
	c.must(engine.RemovalsConfirmed{By: by})
	confirmed := &engine.Held{Members: 30, Of: 100, Reason: many, Since: now, Confirmed: &by}
	c.wantHeld(confirmed)
	if d := c.must(engine.RemovalsConfirmed{By: engine.Mark{By: "bob"}}); !d.Repeated || d.Batch != nil {
		t.Fatalf("%+v", d)
	}
	c.wantStale(engine.RemovalsHeld{Members: 40, Of: 100, Reason: "more"})
	c.wantStale(engine.RemovalsHeld{})
	_, err := c.on(engine.RemovalsDiscarded{By: by})
	wantRefusal(t, err, "the removals of batch 42 were confirmed by ada: they can no longer be discarded")
	c.wantHeld(confirmed)
	c.must(engine.RemovalsDone{})
	c.wantHeld(nil)
	c.wantStale(engine.RemovalsDone{})
	if c.b.Kept != 0 {
		t.Fatalf("%d are kept", c.b.Kept)
	}
}

func TestDiscardedRemovalsKeepTheMembers(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	c.must(engine.MembersKept{Count: 2})
	c.must(engine.RemovalsDiscarded{By: by})
	c.wantHeld(nil)
	if c.b.Kept != 32 {
		t.Fatalf("%d are kept", c.b.Kept)
	}
	_, err := c.on(engine.RemovalsDiscarded{By: by})
	wantRefusal(t, err, "no removals of batch 42 are held: there is nothing to discard")
	c.must(engine.MembersKept{Count: 7}) // the others are back
	c.wantStale(engine.MembersKept{Count: 7})
	c.must(engine.MembersKept{})
	if c.b.Kept != 0 {
		t.Fatalf("%d are kept", c.b.Kept)
	}
}

func TestNothingIsConfirmedOrDiscardedThatIsNotHeld(t *testing.T) {
	t.Parallel()
	c := batchOf(t, three, false)
	_, err := c.on(engine.RemovalsConfirmed{By: by})
	wantRefusal(t, err, "no removals of batch 42 are held: there is nothing to confirm")
	_, err = c.on(engine.RemovalsDiscarded{By: by})
	wantRefusal(t, err, "no removals of batch 42 are held: there is nothing to discard")
	c.wantStale(engine.RemovalsDone{})
}

func TestBatchThatEndsDropsWhatItHolds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *crowd){
		"it completes": func(c *crowd) {
			for phase := 1; phase <= 3; phase++ {
				c.through(phase, 100, 0)
			}
			c.wantBatch(engine.BatchCompleted)
		},
		"it is cancelled before anything began": func(c *crowd) {
			c.must(engine.BatchStopped{By: by})
			c.wantBatch(engine.BatchCancelled)
		},
		"it is cancelled while something is under way": func(c *crowd) {
			c.must(engine.PhaseDue{Phase: 1})
			c.must(engine.BatchStopped{By: by})
			c.wantBatch(engine.BatchCancelling)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, confirmed := range []bool{false, true} {
				c := withheld(t)
				if confirmed {
					c.must(engine.RemovalsConfirmed{By: by})
				}
				end(c)
				c.wantHeld(nil)
				for _, e := range []engine.Event{
					engine.RemovalsHeld{Members: 30, Of: 100, Reason: many}, engine.RemovalsHeld{}, engine.RemovalsDone{}, engine.MembersKept{Count: 1},
				} {
					c.wantStale(e)
				}
				over := "has ended (" + string(c.b.Status) + ")"
				if c.b.Status == engine.BatchCancelling {
					over = "is being cancelled"
				}
				_, err := c.on(engine.RemovalsConfirmed{By: by})
				wantRefusal(t, err, over+": nobody can be removed")
				_, err = c.on(engine.RemovalsDiscarded{By: by})
				wantRefusal(t, err, over+": nobody is removed any more")
			}
		})
	}
}

func TestRemovalsAreHeldWhileABatchIsBeingFilledOrPaused(t *testing.T) {
	t.Parallel()
	c := filling(t, three, 0)
	c.must(engine.BatchPaused{By: by})
	c.must(engine.RemovalsHeld{Members: 30, Of: 50, Reason: many})
	c.must(engine.RemovalsConfirmed{By: by})
	c.must(engine.BatchFilled{})
	c.wantHeld(&engine.Held{Members: 30, Of: 50, Reason: many, Since: now, Confirmed: &by})
}

func TestCountsThatCannotBeAreNotTaken(t *testing.T) {
	t.Parallel()
	c := withheld(t)
	before := text(t, c.b)
	for _, e := range []engine.Event{
		engine.RemovalsHeld{Members: -1, Of: 100}, engine.RemovalsHeld{Members: 30, Of: 29}, engine.MembersKept{Count: -1}, engine.MembersKept{Count: 101},
	} {
		if _, err := c.on(e); err == nil {
			t.Errorf("%#v was taken", e)
		}
	}
	if text(t, c.b) != before {
		t.Fatalf("%s", text(t, c.b))
	}
}
