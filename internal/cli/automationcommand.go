package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func automationCommand(c *console) *cobra.Command {
	g := command.Group("automation", "Have batches made of what a runbook's query finds",
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
		Use: "status <runbook>", Short: "Tell whether batches are made by themselves, and how that goes", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Tell whether a runbook's batches are made by themselves, since when and by whom; when
its query was run last, how many rows it gave and what went wrong. Rows that could not
be used are listed with what is wrong with them: put it right in the data, and the next
tick takes them up. Removals and additions that are held are listed with what to do
about them.`,
		Example: `  matoolkit automation status moves
  matoolkit automation status moves --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.Automation(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			return c.PrintAutomation(view)
		},
	}
}

func enableCommand(c *console) *cobra.Command {
	var revision string
	enable := &cobra.Command{
		Use: "enable <runbook>", Short: "Have batches made of what the query finds", Args: command.OfRunbook(command.Needs("the runbook")),
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
				return exit.Usagef("--revision is empty; matoolkit query preview %s shows it", render.ShellWord(args[0]))
			}
			return c.setAutomation(cmd.Context(), args[0], true, revision)
		},
	}
	enable.Flags().StringVar(&revision, "revision", "", "of the preview whose people the next tick may add")
	return enable
}

func disableCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "disable <runbook>", Short: "Have no more batches made", Args: command.OfRunbook(command.Needs("the runbook")),
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
	s, err := c.Session()
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
		c.Notice("Batches are made at the next tick of the scheduler, within five minutes. See which with: matoolkit query preview %s", render.ShellWord(runbook))
	} else {
		c.Notice("No more batches are made. Those that there are go on, and people still join and leave them as the data says.")
	}
	return c.Print(view, c.AutomationTable(view))
}

// tellAutomation tells beside a runbook what there is to look at.
func (c *console) tellAutomation(v api.Runbook) {
	if v.Enabled {
		c.Notice("Automation is on.")
	}
	if v.LastError != "" {
		c.Notice("%s: %s", render.LastFailure(api.Automation{LastErrorAt: v.LastErrorAt}), render.Printable(v.LastError))
	}
	if v.Held > 0 {
		c.Notice("At the last tick removals were held in %s; see: matoolkit automation status %s", render.Batches(v.Held), render.ShellWord(v.Name))
	}
	if v.Additions > 0 {
		c.Notice("The addition of %s is held. Show them with: matoolkit runbook additions %s", render.People(v.Additions), render.ShellWord(v.Name))
	}
}
