package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// The items of a batch whose runbook has a function that lists them. The call is a run without a member
// in an execution of its own, the first of the batch, which is filling until the members are written.

// nextItems asks for what a batch that is listing its items waits for: the call, or the members.
func nextItems(b *model.Batch) []model.Message {
	switch p := b.ListingPhase(); {
	case p.Status == model.PhasePending && b.DispatchMode() == model.Running:
		return []model.Message{model.Announce{Phase: p.ID, Page: 1, FanOut: fmt.Sprintf("rev-%d", b.Revision)}}
	case p.Status == model.PhaseCompleted:
		return []model.Message{model.WriteItems{}}
	}
	return nil
}

// endItems carries the end of the call over to the batch.
func endItems(b *model.Batch, p *model.Phase, run *model.Run, now time.Time) followUp {
	endExecution(p, run, now)
	switch {
	case b.Status == model.BatchCancelling: // it ends when no run is open
		return followUp{}
	case p.Status == model.PhaseFailed:
		b.Filling = false
		return failBeforePhases(b, itemsError(p.Reason), now)
	}
	return followUp{Messages: NextDue(b, now)}
}

// itemsError is the error of a batch whose items could not be listed.
func itemsError(reason string) string { return "listing the items failed: " + reason }

// onItemsTaken lets a batch have the items that were listed. They are written after it, and an earlier result
// that becomes current meanwhile changes nothing.
func onItemsTaken(b *model.Batch, e model.ItemsTaken) model.Decision {
	switch {
	case b.HasTakenItems():
		return model.Decision{Repeated: true}
	case !canTakeItems(b):
		return model.Decision{Stale: true}
	}
	r := *b.Requested
	r.Fingerprint = e.Fingerprint
	b.Requested = &r
	return batchChanged(b)
}

// canTakeItems reports whether a batch has a list of items, of which nothing is decided yet.
func canTakeItems(b *model.Batch) bool {
	return b.IsListing() && b.ListingPhase().Status == model.PhaseCompleted && b.Requested.Fingerprint == "" && !b.HasEnded()
}

// onItemsWritten gives a batch the items that it took as members, and begins it. A batch that was cancelled
// meanwhile gets them, too: they are stored.
func onItemsWritten(b *model.Batch, e model.ItemsWritten, now time.Time) model.Decision {
	switch {
	case !b.HasTakenItems():
		return model.Decision{Stale: true}
	case b.Members > 0:
		return model.Decision{Repeated: true, Messages: openingMessages(b, now)}
	}
	b.Members, b.Pages = e.Members, model.PageOf(e.Members)
	if b.HasEnded() {
		return batchChanged(b)
	}
	return openFilled(b, now)
}

// onItemsUnchanged ends a batch whose items are those of an earlier one: it has the result of that one, and
// expires with it.
func onItemsUnchanged(b *model.Batch, e model.ItemsUnchanged, now time.Time) model.Decision {
	switch {
	case b.Requested != nil && b.Requested.CachedBatch != 0:
		return model.Decision{Repeated: true}
	case !canTakeItems(b):
		return model.Decision{Stale: true}
	}
	r := *b.Requested
	r.Fingerprint, r.CachedBatch = e.Fingerprint, e.Batch
	if e.Until != nil {
		r.KeepSeconds = min(r.KeepSeconds, max(0, int(e.Until.Sub(now)/time.Second)))
	}
	b.Requested, b.Filling, b.Paused = &r, false, nil
	b.Ended, b.CompletedAt, b.Status = true, &now, model.BatchCompleted
	for i := range b.Phases {
		if p := &b.Phases[i]; p.Status == model.PhasePending {
			p.Status, p.CompletedAt, p.Reason = model.PhaseSkipped, &now, fmt.Sprintf("the items are those of batch %d", e.Batch)
		}
	}
	return batchChanged(b)
}
