package engine

import "time"

// Quiet hours keep the phases of a batch that follows its schedule from beginning. What
// has begun goes on through them, and so do the init sequence and late members.

// StartsAt is when a phase that is pending may begin as far as the clock has a say, in
// UTC: when it is due, or by now where that is past, or when the quiet hours end that
// this moment lies in. In a manual batch, and for an init sequence, it is now.
func (b *Batch) StartsAt(p *Phase, now time.Time) time.Time {
	end, _ := b.quietUntil(p, now)
	return end.UTC()
}

func (b *Batch) quietUntil(p *Phase, now time.Time) (end time.Time, quiet bool) {
	if p.DueAt != nil && p.DueAt.After(now) {
		now = *p.DueAt
	}
	if p.Kind != KindPhase {
		return now, false
	}
	return b.Quiet.Until(now)
}

// waits says why a phase whose time has come may not begin; empty where it may. A gate
// comes first, for somebody is to open it, and can do so while it is quiet.
func (b *Batch) waits(p *Phase, now time.Time) string {
	if reason := b.gateBefore(p); reason != "" {
		return reason
	}
	if end, quiet := b.quietUntil(p, now); quiet {
		return "quiet hours until " + end.UTC().Format(time.RFC3339)
	}
	return ""
}
