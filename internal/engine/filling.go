package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// NewDetected makes a batch for a start that was found in a source. It has no members
// yet and is filling: they are added by MembersJoined, a page at a time, and nothing
// begins for any of them until BatchFilled says that all are there. Until then it is
// detected, whether the runbook has init steps or not.
func NewDetected(id int, rb *runbook.Runbook, version int, start, now time.Time) Batch {
	start = start.UTC()
	b := NewBatch(id, rb, version, 0, &start, "", now)
	b.Status, b.Filling, b.Pages = BatchDetected, true, 0
	return b
}

// filled opens a batch whose members are written: its init sequence, or its first
// phase that is due, is announced. One that nobody is in waits for somebody: a phase
// without members fails.
func filled(b *Batch, now time.Time) Decision {
	switch {
	case b.Manual || b.hasEnded():
		return Decision{Stale: true}
	case !b.Filling:
		return Decision{Repeated: true, Messages: NextDue(b, now)}
	case b.Members == b.Removed:
		return Decision{Stale: true}
	}
	b.Filling = false
	if b.pendingInit() == nil {
		b.Status = BatchActive
	}
	hold(b, now)
	return changed(b, NextDue(b, now)...)
}
