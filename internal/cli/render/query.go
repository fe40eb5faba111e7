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

// PrintPreview prints what a query returns and what the next tick would do with it.
func (c *Printer) PrintPreview(v api.QueryPreview) error {
	if c.Format != FormatTable || c.Quiet {
		return c.Print(v, c.groupTable(v.Groups, c.Format == FormatCSV))
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
		c.Notice("The next tick would hold %s: %s.", People(v.Additions.People), Printable(v.Additions.Reason))
		if v.Enabled {
			c.Notice("Add them: matoolkit runbook confirm-additions %s --revision %s", ShellWord(v.RunbookName), ShellWord(v.Additions.Revision))
		}
	}
	switch {
	case v.Enabled:
	case v.Additions != nil:
		c.Notice("Automation is off. Enable it and add them: matoolkit automation enable %s --revision %s", ShellWord(v.RunbookName), ShellWord(v.Additions.Revision))
	default:
		c.Notice("Automation is off: no batch is made before it is turned on with: matoolkit automation enable %s", ShellWord(v.RunbookName))
	}
	return nil
}

// printGroups prints what would become of each batch. On a terminal the notes are
// below the table: beside it there is seldom room for them, and they say why.
func (c *Printer) printGroups(groups []api.PreviewGroup) error {
	out := c.Stdout
	if len(groups) == 0 {
		_, err := fmt.Fprintln(out, "No batch would be made or changed.")
		return err
	}
	if err := c.groupTable(groups, !c.Terminal).Print(); err != nil || !c.Terminal {
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

func (c *Printer) groupTable(groups []api.PreviewGroup, notes bool) *Sheet {
	head := []string{"start", "batch", "status", "rows", "add", "refresh", "remove", "held", "add held"}
	if notes {
		head = append(head, "note")
	}
	t := c.Table(head...)
	for _, g := range groups {
		row := []any{g.BatchStartTime, groupBatch(g), g.Status, g.Rows, g.Add, g.Refresh, g.Remove, g.Held, g.AddHeld}
		if notes {
			row = append(row, g.Note)
		}
		t.Row(row...)
	}
	return t
}

// groupBatch is the batch that rows of a start belong to, or whether they will have one.
func groupBatch(g api.PreviewGroup) string {
	switch {
	case g.BatchID > 0:
		return strconv.Itoa(g.BatchID)
	case g.Add > 0:
		return "new"
	}
	return "none"
}

// printSample prints the first rows of a result, and what its columns are: not all of
// them may have room.
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
	if _, err := fmt.Fprintf(out, "\n%s, with the columns %s\n", of, strings.Join(columns, ", ")); err != nil {
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

// value words a value of a data source: text as it is, everything else as JSON, NULL as
// a dash. On a terminal a long one is cut, so that one does not hide the others.
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
