package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// PrintPreview prints the result of a query and what the next tick would do with it.
func (c *Printer) PrintPreview(v api.QueryPreview) error {
	if !c.Plain() || len(c.Columns) > 0 || c.SortBy != "" {
		return c.Print(v, c.groupTable(v.Groups))
	}
	if err := c.printGroups(v.Groups); err != nil {
		return err
	}
	if err := c.printRowProblems(v.Problems, v.ProblemCount); err != nil {
		return err
	}
	if err := c.printSample(v); err != nil {
		return err
	}
	took := round(time.Duration(v.Milliseconds) * time.Millisecond)
	c.Notice("The query took %s. Nothing was changed.", took)
	if v.Additions != nil {
		c.Notice("The next tick would hold %s: %s.", Count(v.Additions.People, "person"), Printable(v.Additions.Reason))
		if v.Enabled {
			c.Notice("Next: matoolkit runbook confirm-additions %s --revision %s", ShellWord(v.RunbookName), ShellWord(v.Additions.Revision))
		}
	}
	if v.Discarded > 0 {
		c.Notice("No batch gets %s whose addition was discarded.", Count(v.Discarded, "person"))
	}
	switch {
	case v.Enabled:
	case v.Additions != nil:
		c.Notice("Automation is off. To enable it and add them: matoolkit automation enable %s --revision %s", ShellWord(v.RunbookName), ShellWord(v.Additions.Revision))
	default:
		c.Notice("Automation is off. To enable it: matoolkit automation enable %s", ShellWord(v.RunbookName))
	}
	return nil
}

// printGroups prints the effect on each batch. On a terminal the notes are below the table,
// which seldom has room for them.
func (c *Printer) printGroups(groups []api.PreviewGroup) error {
	out := c.Stdout
	if len(groups) == 0 {
		_, err := fmt.Fprintln(out, "No batch would be created or changed.")
		return err
	}
	t := c.groupTable(groups)
	if c.Terminal && c.Format != FormatWide {
		t.extra = []string{"note"}
	}
	if err := t.Print(); err != nil || !c.Terminal || c.Format == FormatWide {
		return err
	}
	first := "\n"
	for _, g := range groups {
		if g.Note != "" {
			fmt.Fprintf(out, "%s%s: %s\n", first, c.Cell(g.BatchStartTime), c.Cell(g.Note))
			first = ""
		}
	}
	return nil
}

func (c *Printer) groupTable(groups []api.PreviewGroup) *Sheet {
	t := c.Table("start", "batch", "status", "rows", "add", "refresh", "remove", "held", "add held", "note")
	for _, g := range groups {
		t.Row(g.BatchStartTime, groupBatch(g), g.Status, g.Rows, g.Add, g.Refresh, g.Remove, g.Held, g.AddHeld, g.Note)
	}
	return t
}

// groupBatch returns the batch of the rows of a start, or whether one will be created.
func groupBatch(g api.PreviewGroup) string {
	switch {
	case g.BatchID > 0:
		return strconv.Itoa(g.BatchID)
	case g.Add > 0:
		return "new"
	}
	return "none"
}

// printSample prints the first rows of a result, and all its columns, which may not fit.
func (c *Printer) printSample(v api.QueryPreview) error {
	out := c.Stdout
	columns := make([]string, len(v.Columns))
	for i, name := range v.Columns {
		columns[i] = c.Cell(name)
	}
	of := Count(v.RowCount, "row")
	switch shown := len(v.Sample); {
	case shown == 1 && v.RowCount > 1:
		of = "The first of " + of
	case shown > 0 && shown < v.RowCount:
		of = fmt.Sprintf("The first %d of %s", shown, of)
	}
	if _, err := fmt.Fprintf(out, "\n%s, columns %s\n", of, strings.Join(columns, ", ")); err != nil {
		return err
	}
	if len(v.Sample) == 0 {
		return nil
	}
	t := c.Table(columns...)
	for _, row := range v.Sample {
		cells := make([]any, len(v.Columns))
		for i, name := range v.Columns {
			cells[i] = c.value(row[name])
		}
		t.Row(cells...)
	}
	t.data = true
	return t.Print()
}

// value formats a value of a data source: text as it is, NULL as a dash, everything else as
// JSON. On a terminal a long value is cut, so that it does not hide the others.
func (c *Printer) value(v json.RawMessage) string {
	const longest = 30 // characters
	word := string(v)
	var text string
	var compact bytes.Buffer
	switch {
	case len(v) == 0 || word == "null":
		return ""
	case json.Unmarshal(v, &text) == nil:
		if word = text; text == "" {
			word = `""`
		}
	case json.Compact(&compact, v) == nil:
		word = compact.String()
	}
	if r := []rune(word); c.Terminal && len(r) > longest {
		word = string(r[:longest-1]) + "…"
	}
	return word
}
