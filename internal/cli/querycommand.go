package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
)

func queryCommand(c *console) *cobra.Command {
	return group("query", "See what a runbook's query finds", previewCommand(c))
}

func previewCommand(c *console) *cobra.Command {
	var rows int
	preview := &cobra.Command{
		Use: "preview <runbook>", Short: "Run a runbook's query and tell what would be made of it", Args: ofRunbook(needs("the runbook")),
		Long: `Run a runbook's query, once and now, and tell what the next tick of the scheduler would
make of it with automation on, whether it is or not. Nothing is changed.

First come the batches: which would be made, and who would be added to, renewed in,
removed from or held in those that there are. Then what is wrong with rows that cannot
be used, and then the first rows as the data source gives them. On a terminal they are
cut to its width; --output json has everything, --output csv the batches.

The exit status is 5 when the query fails or its data source does not answer, with the
reason. It takes the app role Admin, for the rows can hold anything.`,
		Example: `  matoolkit query preview moves
  matoolkit query preview moves --rows 3
  matoolkit query preview moves --output json > preview.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if rows < 1 || rows > 1000 {
				return usagef("--rows is %d; it can be 1 to 1000", rows)
			}
			s, err := c.session()
			if err != nil {
				return err
			}
			view, err := s.Client.PreviewQuery(cmd.Context(), args[0], rows)
			if err != nil {
				return err
			}
			return c.printPreview(view)
		},
	}
	preview.Flags().IntVar(&rows, "rows", 10, "how many rows to show, 1 to 1000; all of them are looked at")
	return lists(preview)
}

func (c *console) printPreview(v api.QueryPreview) error {
	if c.format != formatTable || c.quiet {
		return c.print(v, c.groupTable(v.Groups, c.format == formatCSV))
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
	c.notice("The query took %s. Nothing was changed.", took)
	if v.Additions != nil {
		c.notice("The next tick would hold %s: %s.", people(v.Additions.People), printable(v.Additions.Reason))
		if v.Enabled {
			c.notice("Add them: matoolkit runbook confirm-additions %s --revision %s", shellWord(v.RunbookName), shellWord(v.Additions.Revision))
		}
	}
	switch {
	case v.Enabled:
	case v.Additions != nil:
		c.notice("Automation is off. Enable it and add them: matoolkit automation enable %s --revision %s", shellWord(v.RunbookName), shellWord(v.Additions.Revision))
	default:
		c.notice("Automation is off: no batch is made before it is turned on with: matoolkit automation enable %s", shellWord(v.RunbookName))
	}
	return nil
}

// printGroups prints what would become of each batch. On a terminal the notes are
// below the table: beside it there is seldom room for them, and they say why.
func (c *console) printGroups(groups []api.PreviewGroup) error {
	out := c.env.Stdout
	if len(groups) == 0 {
		_, err := fmt.Fprintln(out, "No batch would be made or changed.")
		return err
	}
	if err := c.groupTable(groups, !c.env.Terminal).print(); err != nil || !c.env.Terminal {
		return err
	}
	first := "\n"
	for _, g := range groups {
		if g.Note != "" {
			fmt.Fprintf(out, "%s%s: %s\n", first, c.cell(g.BatchStartTime), c.cell(g.Note))
			first = ""
		}
	}
	return nil
}

func (c *console) groupTable(groups []api.PreviewGroup, notes bool) *sheet {
	head := []string{"start", "batch", "status", "rows", "add", "refresh", "remove", "held", "add held"}
	if notes {
		head = append(head, "note")
	}
	t := c.table(head...)
	for _, g := range groups {
		row := []any{g.BatchStartTime, groupBatch(g), g.Status, g.Rows, g.Add, g.Refresh, g.Remove, g.Held, g.AddHeld}
		if notes {
			row = append(row, g.Note)
		}
		t.row(row...)
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
func (c *console) printSample(v api.QueryPreview) error {
	out := c.env.Stdout
	columns := make([]string, len(v.Columns))
	for i, name := range v.Columns {
		columns[i] = c.cell(name)
	}
	of := count(v.RowCount, "row")
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
	t := c.table(columns...)
	for _, row := range v.Sample {
		cells := make([]any, len(v.Columns))
		for i, name := range v.Columns {
			cells[i] = c.value(row[name])
		}
		t.row(cells...)
	}
	t.data = true
	return t.print()
}

// value words a value of a data source: text as it is, everything else as JSON, NULL as
// a dash. On a terminal a long one is cut, so that one does not hide the others.
func (c *console) value(v json.RawMessage) string {
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
	if r := []rune(word); c.env.Terminal && len(r) > longest {
		word = string(r[:longest-1]) + "…"
	}
	return word
}
