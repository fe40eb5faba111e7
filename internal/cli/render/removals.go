package render

import (
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
)

// PrintRemovals prints why removals are held, whose, and what can be done.
func (c *Printer) PrintRemovals(held api.RemovalHold) error {
	t := c.Table("member", "key", "status", "phase", "added", "moves to")
	for _, m := range held.Items {
		t.Row(m.ID, m.Key, m.Status, m.Phase, m.AddedAt, m.MovesTo)
	}
	if c.Format == FormatTable && !c.Quiet {
		fmt.Fprintf(c.Stdout, "Batch %d: %s\n\n", held.BatchID, c.Cell(heldWords(held.RemovalHoldSummary)))
	}
	if err := c.PrintPage(held, len(held.Items), held.Continuation, t); err != nil || c.Structured() || c.Format == FormatCSV {
		return err
	}
	if held.Confirmed == nil {
		id, revision, whom := held.BatchID, ShellWord(held.Revision), "them"
		if held.Members == 1 {
			whom = "the member"
		}
		c.Notice("")
		c.Notice("The data is right, take %s out:  matoolkit batch confirm-removals %d --revision %s", whom, id, revision)
		c.Notice("The data is wrong, keep %s:      matoolkit batch discard-removals %d --revision %s", whom, id, revision)
	}
	return nil
}

// heldWords tells of removals that are held what they are and why.
func heldWords(h api.RemovalHoldSummary) string {
	who := fmt.Sprintf("%d of %s", h.Members, Count(h.Of, "active member"))
	if h.Confirmed != nil {
		verb := "are"
		if h.Members == 1 {
			verb = "is"
		}
		return fmt.Sprintf("%s %s being removed, confirmed by %s", who, verb, marked(*h.Confirmed))
	}
	return fmt.Sprintf("the removal of %s is held since %s: %s", who, Stamp(h.Since), h.Reason)
}

// heldNote tells of them also what to do next.
func heldNote(h api.RemovalHoldSummary) string {
	if h.Confirmed != nil {
		return heldWords(h)
	}
	what := "them"
	if h.Members == 1 {
		what = "it"
	}
	return fmt.Sprintf("%s. Look at %s with: matoolkit batch removals %d", heldWords(h), what, h.BatchID)
}

// NamedHeld is how many of those whose removal is held are named where they are decided on.
const NamedHeld = 10

// NoticeHeld tells what is decided on: why it is held, and about whom.
func (c *Printer) NoticeHeld(held api.RemovalHold) {
	c.Notice("Batch %d: %s", held.BatchID, Printable(heldWords(held.RemovalHoldSummary)))
	for _, m := range held.Items {
		to := ""
		if m.MovesTo != nil {
			to = ", who moves to " + Stamp(*m.MovesTo)
		}
		c.Notice("  %s%s", c.Cell(m.Key), to)
	}
	if more := held.Members - len(held.Items); more > 0 {
		c.Notice("  and %d more", more)
	}
}
