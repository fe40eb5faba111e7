package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// AutomationTable returns the table of the automation of a runbook.
func (c *Printer) AutomationTable(v api.Automation) *Sheet {
	t := c.Table("runbook", "automation", "since", "by", "last run", "rows", "problems", "held")
	since, by := v.DisabledAt, v.DisabledBy
	if v.Enabled {
		since, by = v.EnabledAt, v.EnabledBy
	}
	var rows, problems any = "", ""
	if v.LastRunAt != nil {
		rows, problems = v.Rows, v.ProblemCount
	}
	held := ""
	if n := len(v.Held); n > 0 {
		held = "in " + Count(n, "batch")
	}
	if v.Additions != nil && v.Additions.Confirmed == nil {
		held = strings.TrimPrefix(held+", additions", ", ")
	}
	t.Row(v.RunbookName, onOff(v.Enabled), since, by, v.LastRunAt, rows, problems, held)
	return t
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// PrintAutomation prints the automation of a runbook, then what needs attention.
func (c *Printer) PrintAutomation(v api.Automation) error {
	if err := c.Print(v, c.AutomationTable(v)); err != nil || !c.Plain() || len(c.Columns) > 0 {
		return err
	}
	out := c.Stdout
	if v.Idle != "" {
		fmt.Fprintf(out, "\nThe scheduler does nothing: %s.\n", c.Cell(v.Idle))
	}
	if v.LastError != "" {
		fmt.Fprintf(out, "\n%s:\n%s\n", LastFailure(v), c.Cell(v.LastError))
	}
	if err := c.printRowProblems(v.Problems, v.ProblemCount); err != nil {
		return err
	}
	for _, held := range v.Held {
		fmt.Fprintf(out, "\nBatch %d: %s\n", held.BatchID, c.Cell(holdNote(held)))
	}
	if v.Additions != nil {
		fmt.Fprintf(out, "\n%s\n", c.Cell(additionWords(*v.Additions)))
		if v.Additions.Confirmed == nil {
			fmt.Fprintf(out, "Show them: matoolkit runbook additions %s\n", ShellWord(v.RunbookName))
		}
	}
	if d := v.Discarded; d != nil {
		fmt.Fprintf(out, "\n%s\n", c.Cell(fmt.Sprintf("The addition of %s was discarded by %s. No batch gets them while the query returns them.", Count(d.People, "person"), marked(d.Discarded))))
		fmt.Fprintf(out, "To take that back: matoolkit runbook confirm-additions %s --revision %s\n", ShellWord(v.RunbookName), ShellWord(d.Revision))
	}
	return nil
}

// LastFailure returns when a tick failed last and succeeded last.
func LastFailure(v api.Automation) string {
	word := "The last tick failed"
	if v.LastErrorAt != nil {
		word = "The tick of " + Stamp(*v.LastErrorAt) + " failed"
	}
	if v.LastGoodAt != nil {
		word += "; the last tick that succeeded was that of " + Stamp(*v.LastGoodAt)
	}
	return word
}

// printRowProblems prints the problems of rows. There can be more problems than are listed.
func (c *Printer) printRowProblems(problems []api.RowProblem, total int) error {
	if len(problems) == 0 {
		return nil
	}
	fmt.Fprintf(c.Stdout, "\n%s in the data:\n", Count(total, "problem"))
	t := c.Table("row", "key", "column", "message")
	for _, p := range problems {
		row := ""
		if p.Row > 0 {
			row = strconv.Itoa(p.Row)
		}
		t.Row(row, p.Key, p.Column, strings.TrimPrefix(p.Message, "column "+p.Column+": "))
	}
	if err := t.Print(); err != nil {
		return err
	}
	if more := total - len(problems); more > 0 {
		fmt.Fprintf(c.Stdout, "and %d more\n", more)
	}
	return nil
}

// AutomationOf returns the state of the automation of a runbook for a list.
func AutomationOf(v api.Runbook) string {
	word := onOff(v.Enabled)
	if v.LastError != "" {
		word += ", failing"
	}
	if v.Held > 0 {
		word += ", removals held"
	}
	if v.Additions > 0 {
		word += ", additions held"
	}
	return word
}
