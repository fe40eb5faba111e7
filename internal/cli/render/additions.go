package render

import (
	"fmt"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
)

// PrintAdditions prints why additions are held, their starts, a page of the people, and the
// command that confirms them.
func (c *Printer) PrintAdditions(held api.AdditionHold) error {
	people := c.Table("key", "display", "start")
	if !slices.ContainsFunc(held.Items, func(p api.HeldAddition) bool { return p.Display != "" }) {
		people.extra = append(people.extra, "display")
	}
	for _, p := range held.Items {
		people.Row(p.Key, p.Display, p.BatchStartTime)
	}
	if !c.Plain() {
		return c.PrintPage(held, len(held.Items), held.Continuation, people)
	}
	out := c.Stdout
	fmt.Fprintf(out, "%s\n\n", c.Cell(additionWords(held.AdditionHoldSummary)))
	starts := c.Table("start", "people")
	for _, s := range held.Starts {
		starts.Row(s.BatchStartTime, s.People)
	}
	if err := starts.Print(); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := c.PrintPage(held, len(held.Items), held.Continuation, people); err != nil {
		return err
	}
	if held.Confirmed == nil {
		c.Notice("Next: matoolkit runbook confirm-additions %s --revision %s", ShellWord(held.RunbookName), ShellWord(held.Revision))
		c.Notice("Or:   matoolkit runbook discard-additions %s --revision %s", ShellWord(held.RunbookName), ShellWord(held.Revision))
	}
	return nil
}

// additionWords describes held additions in a sentence.
func additionWords(h api.AdditionHoldSummary) string {
	if h.Confirmed != nil {
		return fmt.Sprintf("The next tick adds %s, confirmed by %s.", Count(h.People, "person"), marked(*h.Confirmed))
	}
	return fmt.Sprintf("The addition of %s is held since %s: %s.", Count(h.People, "person"), Stamp(h.Since), h.Reason)
}
