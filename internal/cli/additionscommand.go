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
		Use: "additions <runbook>", Short: "List additions that wait for confirmation", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Lists the people whom the query of a runbook returned for the first time and who join no
batch until you confirm them: they are more than the addition_guard of the runbook allows
at once, so the query may be wrong. Batches continue with the members that they have.

The command shows what the last tick of the scheduler held: the number of people for each
start, and a page of the people; --all shows all of them. When the query no longer returns
them, the hold ends with the next tick. The exit status is 4 when no additions are held.`,
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

// additionsDecision is a command that decides on the held additions of a revision.
type additionsDecision struct {
	verb, use, short, long, example string
	preview                         func(ctx context.Context, s *command.Session, runbook, revision string) (api.Preview, error)
	decide                          func(ctx context.Context, s *command.Session, runbook, revision, why string) error // and prints the result
}

func decideAdditionsCommand(c *console, d additionsDecision) *cobra.Command {
	var why, revision string
	var dry bool
	decide := &cobra.Command{
		Use: d.use, Short: d.short, Long: d.long, Example: d.example, Args: command.OfRunbook(command.Needs("the runbook")),
		RunE: func(cmd *cobra.Command, args []string) error {
			if revision == "" {
				return exit.Usagef("--revision is missing; matoolkit runbook additions %s shows the revision", render.ShellWord(args[0]))
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			if !dry {
				return d.decide(cmd.Context(), s, args[0], revision, why)
			}
			view, err := d.preview(cmd.Context(), s, args[0], revision)
			if err != nil {
				return err
			}
			return c.DryRun(cmd, view, false)
		},
	}
	decide.Flags().StringVar(&revision, "revision", "", "the revision of the additions to "+d.verb)
	decide.Flags().BoolVar(&dry, "dry-run", false, "show the effect, and change nothing")
	command.ReasonFlag(decide, &why)
	return decide
}

func confirmAdditionsCommand(c *console) *cobra.Command {
	return decideAdditionsCommand(c, additionsDecision{
		verb: "confirm", use: "confirm-additions <runbook>", short: "Add the people whose addition is held",
		long: `Lets the next tick of the scheduler add the people whose addition is held. The revision is
the one that matoolkit runbook additions shows. It identifies exactly the people that the
query returned, with their start times. If the query returns others at the next tick, they
are held again, with another revision.

You can confirm the first batches of a runbook before you enable automation, with the
revision that matoolkit query preview shows.`,
		example: `  matoolkit runbook additions moves
  matoolkit runbook confirm-additions moves --revision 0123456789abcdef --reason "wave 1"`,
		preview: func(ctx context.Context, s *command.Session, runbook, revision string) (api.Preview, error) {
			return s.Client.PreviewAdditions(ctx, runbook, revision)
		},
		decide: func(ctx context.Context, s *command.Session, runbook, revision, why string) error {
			view, err := s.Client.ConfirmAdditions(ctx, runbook, revision, why)
			if err != nil {
				return err
			}
			t := c.Table("runbook", "revision", "confirmed", "by", "reason")
			if m := view.Confirmed; m != nil {
				t.Row(view.RunbookName, view.Revision, m.At, m.By, m.Why)
			}
			return c.Done(view, t, "matoolkit automation status "+render.ShellWord(view.RunbookName),
				"Confirmed the additions of runbook %s. The next tick adds the people if automation is on and the query still returns the same people.", view.RunbookName)
		},
	})
}

func discardAdditionsCommand(c *console) *cobra.Command {
	return decideAdditionsCommand(c, additionsDecision{
		verb: "discard", use: "discard-additions <runbook>", short: "Keep people out whose addition is held",
		long: `Keeps the people whose addition is held out of all batches while the query returns them.
The hold ends. Other people join their batches as before. When the query no longer returns
a person and later does again, the person is new.

The revision is the one that matoolkit runbook additions shows. To take a discard back,
confirm the same revision with matoolkit runbook confirm-additions.`,
		example: `  matoolkit runbook additions moves
  matoolkit runbook discard-additions moves --revision 0123456789abcdef --reason "the query lost its filter"`,
		preview: func(ctx context.Context, s *command.Session, runbook, revision string) (api.Preview, error) {
			return s.Client.PreviewDiscard(ctx, runbook, revision)
		},
		decide: func(ctx context.Context, s *command.Session, runbook, revision, why string) error {
			view, err := s.Client.DiscardAdditions(ctx, runbook, revision, why)
			if err != nil {
				return err
			}
			t := c.Table("runbook", "revision", "people", "discarded", "by", "reason")
			t.Row(view.RunbookName, view.Revision, view.People, view.Discarded.At, view.Discarded.By, view.Discarded.Why)
			return c.Done(view, t, "matoolkit automation status "+render.ShellWord(view.RunbookName),
				"Discarded the additions of runbook %s. No batch gets these people while the query returns them.", view.RunbookName)
		},
	})
}
