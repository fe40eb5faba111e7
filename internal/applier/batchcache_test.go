package applier

import (
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// TestOneHandlerReadsARunningBatchAgain: of the handlers that look at a batch while its mode grows
// old, one reads the batch before modeAge, and all do from then on.
func TestOneHandlerReadsARunningBatchAgain(t *testing.T) {
	t.Parallel()
	c, seen := newBatchCache(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	b := &model.Batch{ID: 7}
	reads := func(age time.Duration) (n int) {
		for range 16 {
			if !c.isRunning(b.ID, seen.Add(age)) {
				n++
			}
		}
		return n
	}
	if n := reads(0); n != 16 {
		t.Errorf("%d of 16 handlers read a batch that was not seen", n)
	}
	c.noteMode(b, seen)
	for _, at := range []struct {
		age  time.Duration
		want int
	}{{-1, 16}, {0, 0}, {refreshAge - 1, 0}, {refreshAge, 1}, {modeAge - 1, 0}, {modeAge, 16}} {
		if n := reads(at.age); n != at.want {
			t.Errorf("at the age %s %d of 16 handlers read the batch, want %d", at.age, n, at.want)
		}
	}
	c.noteMode(b, seen)
	if n := reads(refreshAge); n != 1 {
		t.Errorf("after the next sighting %d of 16 handlers read the batch, want 1", n)
	}
	b.Paused = &model.Attribution{}
	c.noteMode(b, seen)
	if n := reads(0); n != 16 {
		t.Errorf("%d of 16 handlers read a paused batch", n)
	}
}
