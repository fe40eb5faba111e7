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
	g := command.Group("automation", "Create batches automatically from the query of a runbook",
		automationStatusCommand(c), automationHistoryCommand(c), enableCommand(c), disableCommand(c))
	g.Long = `Every five minutes the scheduler runs the query of each runbook. People with the same start
time form a batch, whose phases start when they are due. New people join their batch, people
who are no longer in the data are removed, and people with another start time move. If many
people would be removed or added at once, the change is held until an administrator confirms
it.`
	g.Example = `  matoolkit query preview moves      show the effect of the query
  matoolkit automation enable moves
  matoolkit automation status moves`
	return g
}

func automationHistoryCommand(c *console) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "history <runbook>", Short: "List the last syncs of a runbook with its data source", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Lists the last 50 syncs of a runbook with its data source, the newest first: when, how many rows
were read, how many members were added, removed and changed, what was held, and the error.`,
		Example: `  matoolkit automation history moves
  matoolkit automation history moves --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			all, err := s.Client.Syncs(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			t := c.Table("started", "took", "rows", "added", "removed", "changed", "held", "problems", "error")
			for _, v := range all.Items {
				t.Row(v.StartedAt, render.Took(v.EndedAt.Sub(v.StartedAt)), v.Rows, v.Added, v.Removed, v.Changed, v.Held, v.Problems, v.Error)
			}
			return c.PrintPage(all, len(all.Items), "", t)
		},
	})
}

func automationStatusCommand(c *console) *cobra.Command {
	return command.Shows(&cobra.Command{
		Use: "status <runbook>", Short: "Show the automation of a runbook and its problems", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Shows whether automation is on, since when and by whom; when the query ran last, how many
rows it returned, and its errors. Rows that cannot be used are listed with the reason:
correct the data, and the next tick uses them. Held removals and additions are listed with
the commands that show them.`,
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
	})
}

func enableCommand(c *console) *cobra.Command {
	var revision string
	enable := &cobra.Command{
		Use: "enable <runbook>", Short: "Create batches from the query of a runbook", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Enables automation from the next tick of the scheduler, within five minutes. The scheduler
creates a batch for each start time that has none yet. Phases that are due by then start at
once.

Run matoolkit query preview first. If the addition_guard would hold the first people, the
preview shows a revision. Give it with --revision: the next tick then adds exactly the
people that you saw. If the query returns others by then, they are held.`,
		Example: `  matoolkit query preview moves && matoolkit automation enable moves
  matoolkit automation enable moves --revision 0123456789abcdef`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if revision == "" && cmd.Flags().Changed("revision") {
				return exit.Usagef("--revision is empty; matoolkit query preview %s shows the revision", render.ShellWord(args[0]))
			}
			return c.setAutomation(cmd.Context(), args[0], true, revision)
		},
	}
	enable.Flags().StringVar(&revision, "revision", "", "the revision of the preview whose people the next tick may add")
	return enable
}

func disableCommand(c *console) *cobra.Command {
	return &cobra.Command{
		Use: "disable <runbook>", Short: "Stop creating batches from the query of a runbook", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Disables automation: no more batches are created.

Existing batches continue. They keep following the data source, so members still join and
leave them, and their phases start when they are due. To stop a batch, use
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
		return c.Done(view, c.AutomationTable(view), "matoolkit automation status "+render.ShellWord(runbook),
			"Enabled automation of runbook %s. The scheduler creates batches within five minutes.", runbook)
	}
	return c.Done(view, c.AutomationTable(view), "matoolkit batch list --runbook "+render.ShellWord(runbook),
		"Disabled automation of runbook %s. Existing batches continue and follow the data source.", runbook)
}

// noticeAutomation prints what needs attention in the automation of a runbook.
func (c *console) noticeAutomation(v api.Runbook) {
	if v.Enabled {
		c.Notice("Automation is on.")
	}
	if v.LastError != "" {
		c.Notice("%s: %s", render.LastFailure(api.Automation{LastErrorAt: v.LastErrorAt}), render.Printable(v.LastError))
	}
	if v.Held > 0 {
		c.Notice("Removals are held in %s. Show them: matoolkit automation status %s", render.Count(v.Held, "batch"), render.ShellWord(v.Name))
	}
	if v.Additions > 0 {
		c.Notice("The addition of %s is held. Show them: matoolkit runbook additions %s", render.Count(v.Additions, "person"), render.ShellWord(v.Name))
	}
}
