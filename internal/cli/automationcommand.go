package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

func automationCommand(c *console) *cobra.Command {
	g := group("automation", "Have batches made of what a runbook's query finds",
		automationStatusCommand(c), enableCommand(c), disableCommand(c))
	g.Long = `Have batches made of what a runbook's query finds.

Every five minutes the scheduler runs the query of each runbook. People with the same
start time make a batch, which then goes through its phases by itself, each when it is
due. Those who are new to the data join their batch, those who are no longer in it are
removed, and those whose start time has changed move. Where many would be removed or
added at once nobody is, until an administrator has looked at it.

The first time:
  matoolkit query preview moves       see what would be made of the data now
  matoolkit automation enable moves   let it be made
  matoolkit automation status moves   see how it goes`
	return g
}

func automationStatusCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "status <runbook>", Short: "Tell whether batches are made by themselves, and how that goes", Args: ofRunbook(needs("the runbook")),
		Long: `Tell whether a runbook's batches are made by themselves, since when and by whom; when
its query was run last, how many rows it gave and what went wrong. Rows that could not
be used are listed with what is wrong with them: put it right in the data, and the next
tick takes them up. Removals and additions that are held are listed with what to do
about them.`,
		Example: `  matoolkit automation status moves
  matoolkit automation status moves --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.session()
			if err != nil {
				return err
			}
			view, err := s.Client.Automation(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.printAutomation(view)
		},
	}
}

func enableCommand(c *console) *cobra.Command {
	var revision string
	enable := &cobra.Command{
		Use: "enable <runbook>", Short: "Have batches made of what the query finds", Args: ofRunbook(needs("the runbook")),
		Long: `Have batches made of what a runbook's query finds, from the next tick of the scheduler
on, which is within five minutes. A batch is made for each start time that has none
yet; phases that are due by then begin at once.

See what would be made with matoolkit query preview, before you enable it. If the
addition_guard would hold the first people, it shows a revision. Give it with --revision:
the next tick then adds exactly the people that you saw. If the query returns others by
then, they are held.`,
		Example: `  matoolkit query preview moves && matoolkit automation enable moves
  matoolkit automation enable moves --revision 0123456789abcdef`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if revision == "" && cmd.Flags().Changed("revision") {
				return usagef("--revision is empty; matoolkit query preview %s shows it", shellWord(args[0]))
			}
			return c.setAutomation(cmd.Context(), args[0], true, revision)
		},
	}
	enable.Flags().StringVar(&revision, "revision", "", "of the preview whose people the next tick may add")
	return enable
}

func disableCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "disable <runbook>", Short: "Have no more batches made", Args: ofRunbook(needs("the runbook")),
		Long: `Have no more batches made of what a runbook's query finds.

Batches that there are go on: they keep following the data, so that people still join
and leave them, and their phases begin when they are due. To stop one of them give
matoolkit batch pause or matoolkit batch cancel.`,
		Example: `  matoolkit automation disable moves`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.setAutomation(cmd.Context(), args[0], false, "")
		},
	}
}

func (c *console) setAutomation(ctx context.Context, runbook string, enabled bool, revision string) error {
	s, err := c.session()
	if err != nil {
		return err
	}
	var view api.Automation
	if revision != "" {
		view, err = s.Client.EnableAutomation(ctx, runbook, revision)
	} else {
		view, err = s.Client.SetAutomation(ctx, runbook, enabled)
	}
	if err != nil {
		return err
	}
	if enabled {
		c.notice("Batches are made at the next tick of the scheduler, within five minutes. See which with: matoolkit query preview %s", shellWord(runbook))
	} else {
		c.notice("No more batches are made. Those that there are go on, and people still join and leave them as the data says.")
	}
	return c.print(view, c.automationTable(view))
}

func (c *console) automationTable(v api.Automation) *sheet {
	t := c.table("runbook", "automation", "since", "by", "last run", "rows", "problems", "held")
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
		held = "in " + batches(n)
	}
	if v.Additions != nil && v.Additions.Confirmed == nil {
		held = strings.TrimPrefix(held+", additions", ", ")
	}
	t.row(v.RunbookName, onOff(v.Enabled), since, by, v.LastRunAt, rows, problems, held)
	return t
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

func batches(n int) string {
	if n == 1 {
		return "1 batch"
	}
	return strconv.Itoa(n) + " batches"
}

// printAutomation prints how a runbook's automation stands: the whole of it first, then
// what somebody has to look at.
func (c *console) printAutomation(v api.Automation) error {
	if err := c.print(v, c.automationTable(v)); err != nil || c.structured() || c.quiet {
		return err
	}
	out := c.env.Stdout
	if v.Idle != "" {
		fmt.Fprintf(out, "\nNothing is done: %s.\n", c.cell(v.Idle))
	}
	if v.LastError != "" {
		fmt.Fprintf(out, "\n%s:\n%s\n", lastFailure(v), c.cell(v.LastError))
	}
	if err := c.printRowProblems(v.Problems, v.ProblemCount); err != nil {
		return err
	}
	for _, held := range v.Held {
		fmt.Fprintf(out, "\nBatch %d: %s\n", held.BatchID, c.cell(heldNote(held)))
	}
	if v.Additions != nil {
		fmt.Fprintf(out, "\n%s\n", c.cell(additionWords(*v.Additions)))
		if v.Additions.Confirmed == nil {
			fmt.Fprintf(out, "Show them with: matoolkit runbook additions %s\n", shellWord(v.RunbookName))
		}
	}
	return nil
}

// lastFailure tells when it went wrong last, and when it had gone well.
func lastFailure(v api.Automation) string {
	word := "The last tick failed"
	if v.LastErrorAt != nil {
		word = "The tick of " + stamp(*v.LastErrorAt) + " failed"
	}
	if v.LastGoodAt != nil {
		word += "; the last that went well was that of " + stamp(*v.LastGoodAt)
	}
	return word
}

// printRowProblems prints what is wrong with rows of a result, of which there may be
// more than those that are known.
func (c *console) printRowProblems(problems []api.RowProblem, total int) error {
	if len(problems) == 0 {
		return nil
	}
	fmt.Fprintf(c.env.Stdout, "\n%s in the data:\n", count(total, "problem"))
	t := c.table("row", "key", "column", "message")
	for _, p := range problems {
		row := ""
		if p.Row > 0 {
			row = strconv.Itoa(p.Row)
		}
		t.row(row, p.Key, p.Column, strings.TrimPrefix(p.Message, "column "+p.Column+": "))
	}
	if err := t.print(); err != nil {
		return err
	}
	if more := total - len(problems); more > 0 {
		fmt.Fprintf(c.env.Stdout, "and %d more\n", more)
	}
	return nil
}

// automationOf is how the automation of a runbook stands, in the words of a list.
func automationOf(v api.Runbook) string {
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

// tellAutomation tells beside a runbook what there is to look at.
func (c *console) tellAutomation(v api.Runbook) {
	if v.Enabled {
		c.notice("Automation is on.")
	}
	if v.LastError != "" {
		c.notice("%s: %s", lastFailure(api.Automation{LastErrorAt: v.LastErrorAt}), printable(v.LastError))
	}
	if v.Held > 0 {
		c.notice("At the last tick removals were held in %s; see: matoolkit automation status %s", batches(v.Held), shellWord(v.Name))
	}
	if v.Additions > 0 {
		c.notice("The addition of %s is held. Show them with: matoolkit runbook additions %s", people(v.Additions), shellWord(v.Name))
	}
}

// decisionOn opens a session and gets the removals that are held, for a command that
// decides on them. A revision that is given has to be theirs.
func (c *console) decisionOn(ctx context.Context, arg, revision string) (*apiclient.Client, api.RemovalHold, error) {
	s, id, err := c.onBatch(arg)
	if err != nil {
		return nil, api.RemovalHold{}, err
	}
	held, err := s.Client.HeldRemovals(ctx, id, api.ListOptions{Limit: namedHeld})
	if err != nil {
		return nil, api.RemovalHold{}, err
	}
	if revision != "" && revision != held.Revision {
		return nil, api.RemovalHold{}, &exit{
			status: ExitRefused,
			text:   fmt.Sprintf("the members whose removal is held in batch %d are no longer those of revision %s", id, printable(revision)),
			hint:   fmt.Sprintf("Look at them again with: matoolkit batch removals %d", id),
		}
	}
	return s.Client, held, nil
}
