package render

import (
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
)

// PhaseMoveTable returns the table of phases that move with the start of their batch.
func (c *Printer) PhaseMoveTable(moves []api.PhaseMove) *Sheet {
	t := c.Table("phase", "from", "to", "note")
	for _, m := range moves {
		t.Row(m.Phase, m.From, m.To, moveNote(m))
	}
	return t
}

// moveNote says what a move means for a phase.
func moveNote(m api.PhaseMove) string {
	switch {
	case m.Due && m.Reason != "":
		return "due at once; " + m.Reason
	case m.Due && m.QuietUntil == nil:
		return "due at once"
	case m.QuietUntil != nil:
		return "starts after quiet hours, " + Stamp(*m.QuietUntil)
	}
	return ""
}

// NoticeMoves prints the phases that would move, before the question whether they are to.
func (c *Printer) NoticeMoves(v api.RescheduleResult) {
	c.Notice("%s", Printable(Rescheduled(v)))
	for _, m := range v.Phases {
		note := moveNote(m)
		if note != "" {
			note = " (" + note + ")"
		}
		c.Notice("  %s: %s -> %s%s", c.Cell(m.Phase), Stamp(m.From), Stamp(m.To), Printable(note))
	}
}

// Rescheduled says what a reschedule did, or in a dry run would do.
func Rescheduled(v api.RescheduleResult) string {
	to := Stamp(*v.Batch.BatchStartTime)
	if v.Unchanged {
		return fmt.Sprintf("Batch %d starts on %s already: nothing to change.", v.Batch.ID, to)
	}
	due := 0
	for _, m := range v.Phases {
		if m.Due {
			due++
		}
	}
	verb := "Moved"
	if v.DryRun {
		verb = "This would move"
	}
	text := fmt.Sprintf("%s batch %d from %s to %s: %s.", verb, v.Batch.ID, Stamp(v.From), to, Count(len(v.Phases), "phase"))
	switch due {
	case 0:
	case 1:
		text += " 1 phase is due at once."
	default:
		text += fmt.Sprintf(" %d phases are due at once and start one after another.", due)
	}
	return text
}
