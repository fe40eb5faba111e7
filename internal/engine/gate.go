package engine

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// gateBefore says why a phase may not begin; empty where it may. The share of
// members who succeeded is of all who took part in the phase before, the cancelled
// ones too.
func (b *Batch) gateBefore(p *Phase) string {
	if p.Kind != KindPhase || p.Approved != nil {
		return ""
	}
	if p.RequireSuccess > 0 {
		if reason := b.shortOf(p); reason != "" {
			return reason
		}
	}
	if p.Approval {
		return "it waits for an administrator's approval"
	}
	return ""
}

// shortOf says why the phase before does not let p begin.
func (b *Batch) shortOf(p *Phase) string {
	earlier := b.phaseBefore(p)
	if earlier == nil {
		return ""
	}
	if !earlier.Status.Terminal() {
		return fmt.Sprintf("it requires that %s%% of the members succeed in phase %q, where not all have ended", percent(p.RequireSuccess), earlier.Name)
	}
	all := earlier.Succeeded + earlier.Failed + earlier.Cancelled
	if all == 0 || reaches(earlier.Succeeded, all, p.RequireSuccess) {
		return ""
	}
	return fmt.Sprintf("it requires that %s%% of the members succeed in phase %q, where %d of %d did; retry those who failed, or approve the phase",
		percent(p.RequireSuccess), earlier.Name, earlier.Succeeded, all)
}

// reaches tells whether a share is at least so many percent, which a runbook gives
// with up to four decimals. It is exact: 33 of 750 are 4.4%, and a float's 4.4 is a
// little more than that.
func reaches(part, all int, percent float64) bool {
	return int64(part)*1_000_000 >= int64(math.Round(percent*10_000))*int64(all)
}

func percent(p float64) string { return strconv.FormatFloat(p, 'f', -1, 64) }

// phaseBefore is the phase that members went through, or go through, last before p.
func (b *Batch) phaseBefore(p *Phase) *Phase {
	var last *Phase
	for _, q := range b.inOrder() {
		if q.ID == p.ID {
			break
		}
		if q.Kind == KindPhase && q.Status != PhaseSkipped && q.Status != PhaseSuperseded && q.Status != PhaseCancelled {
			last = q
		}
	}
	return last
}

// hold says at the phase that is due what keeps it waiting, a gate or quiet hours.
func hold(b *Batch, now time.Time) bool {
	p := b.firstDue(now)
	if p == nil {
		return false
	}
	reason := b.waits(p, now)
	if reason == p.Reason {
		return false
	}
	p.Reason = reason
	return true
}

// approved opens a phase's gates. Quiet hours go on.
func approved(b *Batch, e PhaseApproved, now time.Time) (Decision, error) {
	p, ok := b.Phase(e.Phase)
	switch {
	case !ok || p.Kind != KindPhase:
		return Decision{}, refuse("batch %d has no phase execution %d", b.ID, e.Phase)
	case p.Approved != nil:
		return Decision{Repeated: true, Messages: NextDue(b, now)}, nil
	case p.Status != PhasePending:
		return Decision{}, refuse("phase %q of batch %d is %s: there is nothing to approve", p.Name, b.ID, p.Status)
	case !p.Approval && p.RequireSuccess == 0:
		return Decision{}, refuse("phase %q of batch %d has no gate: it needs no approval", p.Name, b.ID)
	}
	by := e.By
	p.Approved, p.Reason = &by, ""
	hold(b, now)
	return changed(b, NextDue(b, now)...), nil
}
