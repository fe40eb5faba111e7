package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func additionsCommand(c *console) *cobra.Command {
	var p command.Paging
	additions := &cobra.Command{
		Use: "additions <runbook>", Short: "Show the additions that are held", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Show the people whom a runbook's query returned for the first time and who enter no
batch until an administrator confirms them: there are more of them than the runbook's
addition_guard allows, so that the query may be wrong. Batches go on with the members
that they have.

It shows what the last tick of the scheduler held: how many people for each start, and
a page of the people; --all shows everybody. When the query no longer returns them, the
hold ends with the next tick. The exit status is 4 when no additions are held.`,
		Example: `  matoolkit runbook additions moves
  matoolkit runbook additions moves --all --output csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			var held api.AdditionHold
			page, err := command.Collect(cmd.Context(), p, api.ListOptions{}, func(ctx context.Context, o api.ListOptions) (api.Page[api.HeldAddition], error) {
				next, err := s.Client.HeldAdditions(ctx, args[0], o)
				held = next
				return api.Page[api.HeldAddition]{Items: next.Items, Continuation: next.Continuation}, err
			})
			if err != nil {
				return err
			}
			held.Items, held.Continuation = page.Items, page.Continuation
			return c.PrintAdditions(held)
		},
	}
	p.Flags(additions)
	return additions
}

func confirmAdditionsCommand(c *console) *cobra.Command {
	var why, revision string
	confirm := &cobra.Command{
		Use: "confirm-additions <runbook>", Short: "Let the next tick add the people whose addition is held", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Let the next tick of the scheduler add the people whose addition is held. The revision
is the one that matoolkit runbook additions shows. It names exactly the people that the
query returned, with their start times: if the query returns others at the next tick,
they are held again, with another revision.

The first batches of a runbook can be confirmed before automation is enabled, with the
revision that matoolkit query preview shows.`,
		Example: `  matoolkit runbook additions moves
  matoolkit runbook confirm-additions moves --revision 0123456789abcdef --reason "wave 1"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if revision == "" {
				return exit.Usagef("--revision is missing; matoolkit runbook additions %s shows it", render.ShellWord(args[0]))
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			view, err := s.Client.ConfirmAdditions(cmd.Context(), args[0], revision, why)
			if err != nil {
				return err
			}
			c.Notice("The next tick of the scheduler adds them, if the query still returns the same people and automation is on.")
			c.Notice("Next: matoolkit automation status %s", render.ShellWord(view.RunbookName))
			t := c.Table("runbook", "revision", "confirmed", "by", "reason")
			if m := view.Confirmed; m != nil {
				t.Row(view.RunbookName, view.Revision, m.At, m.By, m.Why)
			}
			return c.Print(view, t)
		},
	}
	confirm.Flags().StringVar(&revision, "revision", "", "of the additions that you looked at")
	command.ReasonFlag(confirm, &why)
	return confirm
}
