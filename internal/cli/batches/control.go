package batches

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func cancelCommand(c *runner) *cobra.Command {
	var yes bool
	var why string
	cancel := &cobra.Command{
		Use: "cancel <id>", Short: "End a batch for good", Args: command.Needs("the id"),
		Long: `End a batch for good. Within a second nothing more is dispatched, and every phase
and step that is pending is cancelled.

Within 20 seconds workers start none of its jobs that wait in their queues. A job that
runs ends, its result is kept, and its member ends with it. What was done is not undone:
no rollback begins. Rollbacks and removal steps that have begun run to their end. The
batch is cancelling until no job of it runs or waits at a worker, then cancelled.

A cancelled batch cannot be resumed or retried. To stop for a while, give
matoolkit batch pause instead.

It asks before it does so. Without a terminal it takes --yes.`,
		Example: `  matoolkit batch cancel 42 --reason "the merger is off"
  matoolkit batch cancel 42 --yes && matoolkit batch watch 42`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
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
			if view.Status == api.BatchCancelling {
				c.Notice("Jobs that run end first. Follow the batch with: matoolkit batch watch %d", id)
			}
			return c.Print(view, c.BatchTable(view))
		},
	}
	cancel.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	command.ReasonFlag(cancel, &why)
	return cancel
}

// confirmCancel asks with what there is to lose.
func (c *runner) confirmCancel(ctx context.Context, client *apiclient.Client, id int) error {
	if !c.Env.Terminal { // there is nobody to show it to
		return c.Confirm(ctx, "")
	}
	batch, err := client.Batch(ctx, id)
	if err != nil {
		return err
	}
	return c.Confirm(ctx, "Cancel batch %d of %s, %s with %s, for good?", id, render.Printable(batch.RunbookName), render.Printable(batch.Status), render.Count(batch.MemberCount, "member"))
}

func pauseCommand(c *runner) *cobra.Command {
	var why string
	pause := &cobra.Command{
		Use: "pause <id>", Short: "Stop a batch for a while", Args: command.Needs("the id"),
		Long: `Stop a batch for a while. Within a second nothing more is dispatched: no step, no
poll, no retry, and a phase that falls due waits.

Within 20 seconds workers start none of its jobs that wait in their queues; resuming the
batch dispatches them again. Jobs that run end, their results are kept, and their members
go on from there when the batch is resumed. The time that a batch is paused does not
count against the timeout of a step that polls.`,
		Example: `  matoolkit batch pause 42 --reason "the tenant is throttling"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			view, err := s.Client.Pause(cmd.Context(), id, why)
			if err != nil {
				return err
			}
			c.Notice("Go on with: matoolkit batch resume %d", id)
			return c.Print(view, c.BatchTable(view))
		},
	}
	command.ReasonFlag(pause, &why)
	return pause
}

func resumeCommand(c *runner) *cobra.Command {
	var why string
	resume := &cobra.Command{
		Use: "resume <id>", Short: "Let a paused batch go on", Args: command.Needs("the id"),
		Long: `Let a paused batch go on where it stood: members who were held take their next
step, and phases that fell due meanwhile begin. Resuming a batch that is not paused
changes nothing.`,
		Example: `  matoolkit batch resume 42
  matoolkit batch resume 42 && matoolkit batch watch 42`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			view, err := s.Client.Resume(cmd.Context(), id, why)
			if err != nil {
				return err
			}
			return c.Print(view, c.BatchTable(view))
		},
	}
	command.ReasonFlag(resume, &why)
	return resume
}

func approveCommand(c *runner) *cobra.Command {
	var why string
	approve := &cobra.Command{
		Use: "approve <id> <phase>", Short: "Let a phase begin that waits at a gate", Args: command.Needs("the id", "the phase"),
		Long: `Let a phase begin that waits at a gate of its runbook: for approval (approval:
required), or because too few members succeeded in the phase before
(require_success). matoolkit batch phases tells what a phase waits for.

An approval opens both gates, and may be given ahead of time. A phase that is due
then begins at once; one that is not begins when it is, and in a batch that was
created by hand when it is advanced to.`,
		Example: `  matoolkit batch approve 42 cutover --reason "change 4711 is signed"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			if args[1] == "" {
				return exit.Usagef("the phase is missing: %s", cmd.UseLine())
			}
			view, err := s.Client.Approve(cmd.Context(), id, args[1], why)
			if err != nil {
				return err
			}
			return c.Print(view, c.PhaseTable([]api.Phase{view}))
		},
	}
	command.ReasonFlag(approve, &why)
	return approve
}
