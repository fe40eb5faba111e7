package render

import (
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// PreviewTable is the effect of an action, one row for each phase.
func (c *Printer) PreviewTable(v api.Preview) *Sheet {
	t := c.Table("phase", "effect", "members", "jobs", "due")
	for _, p := range v.Phases {
		t.Row(p.Phase, p.Effect, p.Members, p.Jobs, p.DueAt)
	}
	return t
}

// NoticePreview prints the effect of an action before its confirmation.
func (c *Printer) NoticePreview(v api.Preview) {
	c.Notice("Batch %d: %s, up to %s.", v.BatchID, Count(v.Members, "member"), Count(v.Jobs, "job"))
	for _, p := range v.Phases {
		c.Notice("  %s %s for %s (%s).", Printable(p.Phase), p.Effect, Count(p.Members, "member"), Count(p.Jobs, "job"))
	}
	c.noticeOutlook(v)
}

// NoticeDryRun prints what the table of an effect does not have.
func (c *Printer) NoticeDryRun(v api.Preview) {
	c.Notice("Dry run: %s, up to %s. Nothing was changed.", Count(v.Members, "member"), Count(v.Jobs, "job"))
	c.noticeOutlook(v)
}

// noticeOutlook prints the duration of an action, the jobs in flight, the way back and the warnings.
func (c *Printer) noticeOutlook(v api.Preview) {
	if v.InFlight > 0 {
		c.Notice("In flight: %s, at workers or in their queues.", Count(v.InFlight, "job"))
	}
	switch {
	case v.Duration != nil:
		c.Notice("Duration: %s, as measured before.", Expected(*v.Duration))
	case strings.Contains(effects(v), api.EffectStarts) && v.Action != api.ActionCheck: // of which none is measured
		c.Notice("Duration: unknown; no batch of the runbook has completed the phase yet.")
	}
	for _, warning := range v.Warnings {
		c.Notice("%s", Printable(warning))
	}
	c.Notice("Way back: %s", v.WayBack)
}

// Expected tells how long phases take, of which whole seconds are known.
func Expected(d api.PhaseDuration) string {
	if d.Seconds == 0 {
		return "less than a second"
	}
	return "about " + (time.Duration(d.Seconds) * time.Second).String()
}

// effects lists the effects of an action on phases.
func effects(v api.Preview) string {
	var all []string
	for _, p := range v.Phases {
		all = append(all, p.Effect)
	}
	return strings.Join(all, " ")
}
