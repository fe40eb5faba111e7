package engine

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// gateReason says why a phase may not begin; empty where it may. The share of
// members who succeeded is of all who took part in the phase before, the cancelled
// ones too. In a batch without members there is nothing to decide.
func gateReason(b *model.Batch, p *model.Phase) string {
	if p.Kind != model.KindPhase || p.Approved != nil || b.Empty() {
		return ""
	}
	if p.RequireSuccess > 0 {
		if reason := shortfall(b, p); reason != "" {
			return reason
		}
	}
	if p.Approval {
		return "it waits for an administrator's approval"
	}
	return ""
}

// shortfall says why the phase before does not let p begin.
func shortfall(b *model.Batch, p *model.Phase) string {
	earlier := phaseBefore(b, p)
	if earlier == nil {
		return ""
	}
	if !earlier.Status.Terminal() {
		return fmt.Sprintf("it requires that %s%% of the members succeed in phase %q, where not all have ended", percent(p.RequireSuccess), earlier.Name)
	}
	succeeded := earlier.Succeeded + earlier.Carried
	all := succeeded + earlier.Failed + earlier.Cancelled
	if all == 0 || reaches(succeeded, all, p.RequireSuccess) {
		return ""
	}
	return fmt.Sprintf("it requires that %s%% of the members succeed in phase %q, where %d of %d did; retry the failed members, or approve the phase",
		percent(p.RequireSuccess), earlier.Name, succeeded, all)
}

// reaches tells whether a share is at least so many percent, which a runbook gives
// with up to four decimals. It is exact: 33 of 750 are 4.4%, and a float's 4.4 is a
// little more than that.
func reaches(part, all int, percent float64) bool {
	return int64(part)*1_000_000 >= int64(math.Round(percent*10_000))*int64(all)
}

func percent(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// phaseBefore is the phase that members went through, or go through, last before p.
func phaseBefore(b *model.Batch, p *model.Phase) *model.Phase {
	var last *model.Phase
	for _, q := range inOrder(b) {
		if q.ID == p.ID {
			break
		}
		if q.Kind == model.KindPhase && q.Status != model.PhaseSkipped && q.Status != model.PhaseSuperseded && q.Status != model.PhaseCancelled {
			last = q
		}
	}
	return last
}

// updateWaitingReason notes at the phase that is due why it waits, for a gate or for the end of
// quiet hours, and reports whether that changed.
func updateWaitingReason(b *model.Batch, now time.Time) bool {
	p := firstDue(b, now)
	if p == nil {
		return false
	}
	reason := waitingReason(b, p, now)
	if reason == p.Reason {
		return false
	}
	p.Reason = reason
	return true
}

// needsSecondApprover reports whether another person has to approve a phase than the one with this name,
// who requested it: who created the batch, or moved its start last.
func needsSecondApprover(b *model.Batch, p *model.Phase, name string) bool {
	return p.SecondApprover && name != "" && (name == b.CreatedBy || b.Rescheduled != nil && name == b.Rescheduled.By)
}

// onPhaseApproved opens a phase's gates. Quiet hours go on.
func onPhaseApproved(b *model.Batch, e model.PhaseApproved, now time.Time) (model.Decision, error) {
	p, ok := b.Phase(e.Phase)
	switch {
	case !ok || p.Kind != model.KindPhase:
		return model.Decision{}, model.Refusef("batch %d has no phase execution %d", b.ID, e.Phase)
	case p.Approved != nil:
		return model.Decision{Repeated: true, Messages: NextDue(b, now)}, nil
	case p.Status != model.PhasePending:
		return model.Decision{}, model.Refusef("phase %q of batch %d is %s: there is nothing to approve", p.Name, b.ID, p.Status)
	case !p.Approval && p.RequireSuccess == 0:
		return model.Decision{}, model.Refusef("phase %q of batch %d has no gate: it needs no approval", p.Name, b.ID)
	case needsSecondApprover(b, p, e.By.By):
		return model.Decision{}, model.RefuseCallerf("Needs a second approver: you requested this phase")
	}
	by := e.By
	p.Approved, p.Reason = &by, ""
	updateWaitingReason(b, now)
	return batchChanged(b, NextDue(b, now)...), nil
}

// Quiet hours keep the phases of a batch that follows its schedule from beginning. What
// has begun goes on through them, and so do the init sequence and late members.

// StartsAt is when a phase that is pending may begin as far as the clock has a say, in
// UTC: when it is due, or by now where that is past, or when the quiet hours end that
// this moment lies in. In a manual batch, and for an init sequence, it is now.
func StartsAt(b *model.Batch, p *model.Phase, now time.Time) time.Time {
	end, _ := quietUntil(b, p, now)
	return end.UTC()
}

// quietUntil is when the quiet hours end that the phase's time lies in, or that time.
func quietUntil(b *model.Batch, p *model.Phase, now time.Time) (end time.Time, quiet bool) {
	if p.DueAt != nil && p.DueAt.After(now) {
		now = *p.DueAt
	}
	if p.Kind != model.KindPhase {
		return now, false
	}
	return b.Quiet.Until(now)
}

// moveReason says why a phase waits for an administrator who decides on members whom the
// data source moves to another start; empty if it does not. They might enter the phase at a time that
// is theirs no more.
func moveReason(b *model.Batch, p *model.Phase) string {
	h := b.RemovalHold
	if h == nil || h.Moving == 0 || h.Out || p.Kind != model.KindPhase {
		return ""
	}
	to := h.MovesTo.UTC().Format(time.RFC3339)
	if h.Confirmed != nil {
		return fmt.Sprintf("the members whom the data source moves to %s are leaving", to)
	}
	if h.MovesInto != 0 {
		return fmt.Sprintf("the data source moves %d of %d members to %s, the start of batch %d: move, remove or keep them", h.Moving, h.Of, to, h.MovesInto)
	}
	return fmt.Sprintf("the data source moves %d of %d members to %s: reschedule the batch, or move, remove or keep them", h.Moving, h.Of, to)
}

// waitingReason returns why a due phase may not begin; empty if it may. Gates come first,
// because an administrator must open them and can do so during quiet hours.
func waitingReason(b *model.Batch, p *model.Phase, now time.Time) string {
	if reason := moveReason(b, p); reason != "" {
		return reason
	}
	if reason := gateReason(b, p); reason != "" {
		return reason
	}
	if end, quiet := quietUntil(b, p, now); quiet {
		return "quiet hours until " + end.UTC().Format(time.RFC3339)
	}
	return ""
}
