package engine

import (
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/model"
)

// WaitingCode says which kind of thing a batch waits for.
type WaitingCode string

// What a batch waits for. The state of its workers is not part of its own.
const (
	WaitsForMembers      WaitingCode = "members"       // they are being written
	WaitsForResume       WaitingCode = "paused"        //
	WaitsForGate         WaitingCode = "gate"          // of a phase: an approval, or more members to succeed
	WaitsForRemovals     WaitingCode = "removals_held" // an administrator decides on them
	WaitsForAdvance      WaitingCode = "advance"       // an administrator starts the next phase of a manual batch
	WaitsForQuietHours   WaitingCode = "quiet_hours"   // they end
	WaitsForTime         WaitingCode = "scheduled"     // the next phase is due then
	WaitsForCancellation WaitingCode = "cancelling"    // rollbacks and removal steps end
)

// Waiting is the event that a batch waits for before it starts anything more.
type Waiting struct {
	Code   WaitingCode
	Phase  string     // that waits
	Since  *time.Time // when it began to wait
	Until  *time.Time // when it starts by the clock; of a gate, when its phase is due
	Reason string
}

// WaitingFor returns what keeps a batch from starting anything now; nil where something is in progress
// and nothing is held back, where the next phase is about to start, and in a batch that has ended.
func WaitingFor(b *model.Batch, now time.Time) *Waiting {
	switch {
	case b.Status == model.BatchCancelling:
		return &Waiting{Code: WaitsForCancellation, Reason: "the batch is being cancelled: its rollbacks and removal steps end first"}
	case b.HasEnded():
		return nil
	case b.Filling && !b.IsListing():
		return &Waiting{Code: WaitsForMembers, Reason: "the members of the batch are being written"}
	case b.Paused != nil:
		return waitingForResume(b)
	}
	held := waitingForRemovals(b)
	if p := firstDue(b, now); p != nil && moveReason(b, p) != "" && held != nil {
		return held
	}
	if p, reason, since := WaitingGate(b, now); p != nil {
		return &Waiting{Code: WaitsForGate, Phase: p.Name, Since: &since, Until: p.DueAt, Reason: fmt.Sprintf("phase %s: %s", p.Name, reason)}
	}
	switch {
	case held != nil:
		return held
	case inProgress(b):
		return nil
	case b.Manual:
		return waitingForAdvance(b)
	}
	return waitingForTime(b, now)
}

func waitingForResume(b *model.Batch) *Waiting {
	reason := "paused by " + b.Paused.By
	if b.Paused.Why != "" {
		reason += ": " + b.Paused.Why
	}
	return &Waiting{Code: WaitsForResume, Since: &b.Paused.At, Reason: reason}
}

// waitingForRemovals returns the removals of a batch that an administrator decides on; nil for none.
func waitingForRemovals(b *model.Batch) *Waiting {
	h := b.RemovalHold
	if h == nil || h.Confirmed != nil || h.Members == 0 {
		return nil
	}
	return &Waiting{Code: WaitsForRemovals, Since: &h.Since, Reason: fmt.Sprintf("the removal of %s waits for confirmation", humanize.Count(h.Members, "member"))}
}

// inProgress reports whether members, or the init steps, are in a phase, or catch up on one.
func inProgress(b *model.Batch) bool {
	for _, p := range b.Phases {
		if p.Status == model.PhaseDispatched && keepsBatchOpen(p) || p.Kind == model.KindInit && p.Status == model.PhasePending && !b.Manual {
			return true
		}
	}
	return len(b.Joining) > 0
}

func waitingForAdvance(b *model.Batch) *Waiting {
	p, since := nextByHand(b)
	if p == nil {
		return nil
	}
	return &Waiting{Code: WaitsForAdvance, Phase: p.Name, Since: &since, Reason: fmt.Sprintf("phase %s: an administrator starts the phases of a manual batch", p.Name)}
}

// waitingForTime returns what the next phase of a batch with a schedule waits for: its gate, or its time.
func waitingForTime(b *model.Batch, now time.Time) *Waiting {
	var next *model.Phase
	for _, p := range inOrder(b) {
		if p.Status == model.PhasePending && p.DueAt != nil {
			next = p
			break
		}
	}
	if next == nil {
		return nil
	}
	starts := StartsAt(b, next, now)
	if !starts.After(now) {
		return nil
	}
	w := &Waiting{Code: WaitsForTime, Phase: next.Name, Until: &starts, Reason: fmt.Sprintf("phase %s starts at %s", next.Name, starts.Format(time.RFC3339))}
	switch reason := gateReason(b, next); {
	case reason != "":
		w.Code, w.Reason = WaitsForGate, fmt.Sprintf("phase %s, due at %s: %s", next.Name, next.DueAt.UTC().Format(time.RFC3339), reason)
	case starts.After(*next.DueAt):
		w.Code, w.Reason = WaitsForQuietHours, fmt.Sprintf("phase %s: quiet hours until %s", next.Name, starts.Format(time.RFC3339))
	}
	return w
}
