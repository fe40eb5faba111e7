package batches

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func rescheduleCommand(c *runner) *cobra.Command {
	var yes, dryRun bool
	var start, why string
	reschedule := &cobra.Command{
		Use: "reschedule <id> --start <time>", Short: "Move the phases of a batch that have not started", Args: command.Needs("the id"),
		Long: `Gives a batch that follows a data source another start, and moves the phases that have not
started. Phases that have started, and the members who are in them, continue. Approvals stay.

The command shows the old and the new time of each phase and what is due at once; with
--dry-run it does nothing else.

The time is written as in the data source: 2026-03-01T18:00:00+01:00, "2026-03-01 18:00" or
2026-03-01. Without a zone it is in the time zone of the runbook.

While the data source still has the start before, its rows stay in this batch. When it has
the new start, or another one, for all members, the earlier start is free for another batch.

The command asks for confirmation. Without a terminal, give --yes.`,
		Example: `  matoolkit batch reschedule 42 --start "2026-03-03 18:00" --dry-run
  matoolkit batch reschedule 42 --start "2026-03-03 18:00" --reason "the customer asked"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if start == "" {
				return exit.Usagef("the start is missing; give --start <time>")
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if dryRun || !yes {
				if !dryRun && !c.Env.Terminal { // nothing can be confirmed
					return c.Confirm(cmd.Context(), "")
				}
				view, err := s.Client.Reschedule(cmd.Context(), id, start, "", true)
				if err != nil {
					return err
				}
				if dryRun {
					next := ""
					if !view.Unchanged {
						next = command.InEarnest(cmd, false)
					}
					return c.Done(view, c.PhaseMoveTable(view.Phases), next, "%s", render.Rescheduled(view))
				}
				if !view.Unchanged {
					c.NoticeMoves(view)
					if err := c.Confirm(cmd.Context(), "Reschedule batch %d to %s?", id, render.Stamp(*view.Batch.BatchStartTime)); err != nil {
						return err
					}
				}
			}
			view, err := s.Client.Reschedule(cmd.Context(), id, start, why, false)
			if err != nil {
				return err
			}
			return c.Done(view, c.PhaseMoveTable(view.Phases), fmt.Sprintf("matoolkit batch get %d", id), "%s", render.Rescheduled(view))
		},
	}
	reschedule.Flags().StringVar(&start, "start", "", "the new start of the batch")
	reschedule.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	reschedule.Flags().BoolVar(&dryRun, "dry-run", false, "show what would change, and change nothing")
	command.ReasonFlag(reschedule, &why)
	return reschedule
}
