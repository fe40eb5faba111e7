package batches

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func cancelCommand(c *runner) *cobra.Command {
	var yes, dry bool
	var why string
	cancel := &cobra.Command{
		Use: "cancel <id>", Short: "Cancel a batch permanently", Args: command.Needs("the id"),
		Long: `Cancels a batch. Within a second nothing more is dispatched, and all pending phases and
steps are cancelled.

Within 20 seconds workers stop taking its jobs from their queues. A running job ends, its
result is kept, and its member stops there. Nothing is rolled back. Rollbacks and removal
steps that have started run to their end. The batch is cancelling until no job of it is
running or queued, then cancelled.

You cannot resume or retry a cancelled batch. To stop a batch for a while, use
matoolkit batch pause.

The command asks for confirmation. Without a terminal, give --yes.`,
		Example: `  matoolkit batch cancel 42 --reason "the merger is off"
  matoolkit batch cancel 42 --yes && matoolkit batch watch 42`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if dry {
				return c.dryRun(cmd, s.Client, id, api.ProposedAction{Name: api.ActionCancel})
			}
			if !yes {
				if err := c.confirmCancel(cmd.Context(), s.Client, id); err != nil {
					return err
				}
			}
			view, err := s.Client.Cancel(cmd.Context(), id, why)
			if err != nil {
				return err
			}
			for _, warning := range view.Warnings {
				c.Notice("%s", render.Printable(warning))
			}
			outcome := "Cancelled batch %d."
			if view.Status == api.BatchCancelling {
				outcome = "Cancelling batch %d. Running jobs end first."
			}
			return c.Done(view, c.BatchTable(view), fmt.Sprintf("matoolkit batch watch %d", id), outcome, id)
		},
	}
	cancel.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	dryRunFlag(cancel, &dry)
	command.ReasonFlag(cancel, &why)
	return cancel
}

// confirmCancel asks for confirmation with the runbook and the number of members.
func (c *runner) confirmCancel(ctx context.Context, client *apiclient.Client, id int) error {
	if !c.Env.Terminal { // nothing can be confirmed
		return c.Confirm(ctx, "")
	}
	batch, err := client.Batch(ctx, id)
	if err != nil {
		return err
	}
	return c.confirmAction(ctx, client, id, api.ProposedAction{Name: api.ActionCancel}, "Cancel batch %d of %s (%s, %s) permanently?", id, render.Printable(batch.RunbookName), render.Printable(batch.Status), render.Count(batch.MemberCount, "member"))
}

func pauseCommand(c *runner) *cobra.Command {
	var why string
	var dry bool
	pause := &cobra.Command{
		Use: "pause <id>", Short: "Pause a batch", Args: command.Needs("the id"),
		Long: `Pauses a batch. Within a second nothing more is dispatched: no step, poll or retry. A
phase that becomes due waits.

Within 20 seconds workers stop taking its jobs from their queues; resuming the batch sends
them again. Running jobs end and their results are kept. The time for which a batch is
paused does not count against the timeout of a polling step.`,
		Example: `  matoolkit batch pause 42 --reason "the tenant is throttling"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if dry {
				return c.dryRun(cmd, s.Client, id, api.ProposedAction{Name: api.ActionPause})
			}
			view, err := s.Client.Pause(cmd.Context(), id, why)
			if err != nil {
				return err
			}
			return c.Done(view, c.BatchTable(view), fmt.Sprintf("matoolkit batch resume %d", id), "Paused batch %d. Running jobs end.", id)
		},
	}
	dryRunFlag(pause, &dry)
	command.ReasonFlag(pause, &why)
	return pause
}

func resumeCommand(c *runner) *cobra.Command {
	var why string
	var dry bool
	resume := &cobra.Command{
		Use: "resume <id>", Short: "Resume a paused batch", Args: command.Needs("the id"),
		Long: `Resumes a paused batch: its members continue with their next step, and phases that became
due meanwhile start. Resuming a batch that is not paused changes nothing.`,
		Example: `  matoolkit batch resume 42
  matoolkit batch resume 42 && matoolkit batch watch 42`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if dry {
				return c.dryRun(cmd, s.Client, id, api.ProposedAction{Name: api.ActionResume})
			}
			view, err := s.Client.Resume(cmd.Context(), id, why)
			if err != nil {
				return err
			}
			return c.Done(view, c.BatchTable(view), fmt.Sprintf("matoolkit batch watch %d", id), "Resumed batch %d.", id)
		},
	}
	dryRunFlag(resume, &dry)
	command.ReasonFlag(resume, &why)
	return resume
}

func approveCommand(c *runner) *cobra.Command {
	var why string
	var dry bool
	approve := &cobra.Command{
		Use: "approve <id> <phase>", Short: "Approve a phase that waits at a gate", Args: command.Needs("the id", "the phase"),
		Long: `Approves a phase that waits at a gate of its runbook: for an approval (approval: required or second_person)
or because too few members succeeded in the phase before (require_success).
matoolkit batch phases shows what a phase waits for.

An approval opens both gates, and you can give it in advance. A phase that is due then
starts at once. In a batch that you created by hand the phase starts when you advance to it.`,
		Example: `  matoolkit batch approve 42 cutover --reason "change 4711 is signed"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if args[1] == "" {
				return exit.Usagef("the phase is missing: %s", command.UsageLine(cmd))
			}
			if dry {
				return c.dryRun(cmd, s.Client, id, api.ProposedAction{Name: api.ActionApprove, Phase: args[1]})
			}
			view, err := s.Client.Approve(cmd.Context(), id, args[1], why)
			if err != nil {
				return err
			}
			return c.Done(view, c.PhaseTable([]api.Phase{view}), fmt.Sprintf("matoolkit batch watch %d", id), "Approved phase %s of batch %d.", view.Name, id)
		},
	}
	dryRunFlag(approve, &dry)
	command.ReasonFlag(approve, &why)
	return approve
}
