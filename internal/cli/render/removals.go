package render

import (
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// PrintRemovals prints why removals are held, of which members, and the commands to decide.
func (c *Printer) PrintRemovals(held api.RemovalHold) error {
	t := c.Table("member", "key", "display", "status", "phase", "added", "moves to")
	if !slices.ContainsFunc(held.Items, func(m api.HeldMember) bool { return m.Display != "" }) {
		t.extra = append(t.extra, "display")
	}
	for _, m := range held.Items {
		t.Row(m.ID, m.Key, m.Display, m.Status, m.Phase, m.AddedAt, m.MovesTo)
	}
	if c.Plain() {
		fmt.Fprintf(c.Stdout, "Batch %d: %s\n\n", held.BatchID, c.Cell(describeHold(held.RemovalHoldSummary)))
	}
	if err := c.PrintPage(held, len(held.Items), held.Continuation, t); err != nil || !c.Human() {
		return err
	}
	switch {
	case held.Confirmed != nil:
	case held.MovesInto != 0:
		c.Notice("Batch %d has the start %s, so batch %d cannot be rescheduled to it.", held.MovesInto, Stamp(*held.MovesTo), held.BatchID)
		c.Notice("Next: move them with what they have finished: matoolkit batch move-members %d --revision %s", held.BatchID, ShellWord(held.Revision))
		c.Notice("   or remove them, to start again there:      matoolkit batch confirm-removals %d --revision %s", held.BatchID, ShellWord(held.Revision))
		c.Notice("   or keep them:                              matoolkit batch discard-removals %d --revision %s", held.BatchID, ShellWord(held.Revision))
	case held.MovesTo != nil:
		c.Notice("Next: reschedule the batch:                   matoolkit batch reschedule %d --start %s", held.BatchID, held.MovesTo.UTC().Format(time.RFC3339))
		c.Notice("   or move them with what they have finished: matoolkit batch move-members %d --revision %s", held.BatchID, ShellWord(held.Revision))
		c.Notice("   or remove them, to start again:             matoolkit batch confirm-removals %d --revision %s", held.BatchID, ShellWord(held.Revision))
		c.Notice("   or keep them:                               matoolkit batch discard-removals %d --revision %s", held.BatchID, ShellWord(held.Revision))
	default:
		c.Notice("Next: remove them: matoolkit batch confirm-removals %d --revision %s", held.BatchID, ShellWord(held.Revision))
		c.Notice("   or keep them:   matoolkit batch discard-removals %d --revision %s", held.BatchID, ShellWord(held.Revision))
	}
	return nil
}

// describeHold describes a removal hold.
func describeHold(h api.RemovalHoldSummary) string {
	who := fmt.Sprintf("%d of %s", h.Members, Count(h.Of, "active member"))
	if h.Confirmed != nil {
		verb := "are"
		if h.Members == 1 {
			verb = "is"
		}
		if h.Move {
			return fmt.Sprintf("%s %s being moved to %s with what they have finished, by %s", who, verb, Stamp(*h.MovesTo), marked(*h.Confirmed))
		}
		return fmt.Sprintf("%s %s being removed, confirmed by %s", who, verb, marked(*h.Confirmed))
	}
	return fmt.Sprintf("the removal of %s is held since %s: %s", who, Stamp(h.Since), h.Reason)
}

// holdNote describes held removals with the next command.
func holdNote(h api.RemovalHoldSummary) string {
	if h.Confirmed != nil {
		return describeHold(h)
	}
	return fmt.Sprintf("%s. List: matoolkit batch removals %d", describeHold(h), h.BatchID)
}

// NamedHeld is the number of members that confirm-removals and discard-removals name.
const NamedHeld = 10

// NoticeHeld prints the held removals before a decision: the reason and the members.
func (c *Printer) NoticeHeld(held api.RemovalHold) {
	c.Notice("Batch %d: %s", held.BatchID, Printable(describeHold(held.RemovalHoldSummary)))
	for _, m := range held.Items {
		to := ""
		if m.MovesTo != nil {
			to = ", moves to " + Stamp(*m.MovesTo)
		}
		c.Notice("  %s%s", Person(m.Key, m.Display), to)
	}
	if more := held.Members - len(held.Items); more > 0 {
		c.Notice("  and %d more", more)
	}
}
