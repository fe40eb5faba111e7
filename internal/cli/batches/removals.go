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

func removalsCommand(c *runner) *cobra.Command {
	var p command.Paging
	removals := &cobra.Command{
		Use: "removals <id>", Short: "List the members whose removal is held", Args: command.Needs("the id"),
		Long: `List the members of a batch whom the data source no longer has, or has with another
start time, and who stay until somebody decides: the source would take so many out at
once that its data may be wrong. Nothing else of the batch waits for the decision. Who
only has another start time is shown with the one that they would move to.

  matoolkit batch confirm-removals   the data is right: take them out
  matoolkit batch discard-removals   the data is wrong: keep them

Where the data is put right, the hold ends by itself with the next tick. The exit status
is 4 when no removals are held.`,
		Example: `  matoolkit batch removals 42
  matoolkit batch removals 42 --all --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			var held api.RemovalHold
			page, err := command.Collect(cmd.Context(), p, api.ListOptions{}, func(ctx context.Context, o api.ListOptions) (api.Page[api.HeldMember], error) {
				next, err := s.Client.HeldRemovals(ctx, id, o)
				if err == nil && held.Revision != "" && next.Revision != held.Revision {
					err = &exit.Error{Status: exit.Failed, Text: "other members are held than a moment ago; give the command again"}
				}
				held = next
				return api.Page[api.HeldMember]{Items: next.Items, Continuation: next.Continuation}, err
			})
			if err != nil {
				return err
			}
			held.Items, held.Continuation = page.Items, page.Continuation
			return c.PrintRemovals(held)
		},
	}
	p.Flags(removals)
	return removals
}

func confirmRemovalsCommand(c *runner) *cobra.Command {
	var yes bool
	var why, revision string
	confirm := &cobra.Command{
		Use: "confirm-removals <id>", Short: "Take the members out whose removal is held", Args: command.Needs("the id"),
		Long: `Take the members out of a batch whose removal is held: those whom matoolkit batch
removals lists. What is pending for them is cancelled, and the steps that the runbook
has under on_member_removed are run. Those who only have another start time are taken
out in the same way, with the same steps, and then join the batch of that time with
the next tick.

It is about exactly the members who are held when it asks. If the next tick finds
others before you answer, it is refused: look at them again. With --revision it is
about those that you looked at before.

It asks before it does so. Without a terminal it takes --yes.`,
		Example: `  matoolkit batch removals 42
  matoolkit batch confirm-removals 42 --reason "the department was sold"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes && !c.Env.Terminal { // there is nobody to show it to
				if _, err := command.BatchID(args[0]); err != nil {
					return err
				}
				return c.Confirm(cmd.Context(), "")
			}
			client, held, err := c.decisionOn(cmd.Context(), args[0], revision)
			if err != nil {
				return err
			}
			c.NoticeHeld(held)
			if !yes && held.Confirmed == nil {
				if err := c.Confirm(cmd.Context(), "Remove %d of the %s of batch %d?", held.Members, render.Count(held.Of, "active member"), held.BatchID); err != nil {
					return err
				}
			}
			view, err := client.ConfirmRemovals(cmd.Context(), held.BatchID, held.Revision, why)
			if err != nil {
				return err
			}
			if held.Members == 1 {
				c.Notice("The member is taken out; see: matoolkit batch members %d --status removed", held.BatchID)
			} else {
				c.Notice("They are taken out one after another; see: matoolkit batch members %d --status removed", held.BatchID)
			}
			return c.Print(view, c.BatchTable(view))
		},
	}
	confirm.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	command.RevisionFlag(confirm, &revision)
	command.ReasonFlag(confirm, &why)
	return confirm
}

func discardRemovalsCommand(c *runner) *cobra.Command {
	var why, revision string
	discard := &cobra.Command{
		Use: "discard-removals <id>", Short: "Keep the members whose removal is held", Args: command.Needs("the id"),
		Long: `Keep the members of a batch whose removal is held, for the data is wrong about them.
They go through the phases like the others. They are asked about again only when the
data has had them again and then no longer has; until then matoolkit batch get tells
how many they are. To take one of them out give matoolkit batch remove-member.

It is about those who would be taken out, and no others: the next tick adds whoever is
new in the data. Where the key of everybody has changed, everybody looks new and would
be there twice. So look first, with matoolkit query preview <runbook>.

With --revision it is about those that you looked at before.`,
		Example: `  matoolkit batch discard-removals 42 --reason "the export was cut off"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			client, held, err := c.decisionOn(cmd.Context(), args[0], revision)
			if err != nil {
				return err
			}
			c.NoticeHeld(held)
			view, err := client.DiscardRemovals(cmd.Context(), held.BatchID, held.Revision, why)
			if err != nil {
				return err
			}
			if held.Members == 1 {
				c.Notice("The member stays.")
			} else {
				c.Notice("They stay.")
			}
			c.Notice("The next tick adds whoever is new in the data, and a key that has changed makes everybody look new.")
			c.Notice("Look before it does, with: matoolkit query preview %s", render.ShellWord(view.RunbookName))
			return c.Print(view, c.BatchTable(view))
		},
	}
	command.RevisionFlag(discard, &revision)
	command.ReasonFlag(discard, &why)
	return discard
}

// decisionOn opens a session and gets the removals that are held, for a command that
// decides on them. A revision that is given has to be theirs.
func (c *runner) decisionOn(ctx context.Context, arg, revision string) (*apiclient.Client, api.RemovalHold, error) {
	s, id, err := c.OnBatch(arg)
	if err != nil {
		return nil, api.RemovalHold{}, err
	}
	held, err := s.Client.HeldRemovals(ctx, id, api.ListOptions{Limit: render.NamedHeld})
	if err != nil {
		return nil, api.RemovalHold{}, err
	}
	if revision != "" && revision != held.Revision {
		return nil, api.RemovalHold{}, &exit.Error{
			Status: exit.Refused,
			Text:   fmt.Sprintf("the members whose removal is held in batch %d are no longer those of revision %s", id, render.Printable(revision)),
			Hint:   fmt.Sprintf("Look at them again with: matoolkit batch removals %d", id),
		}
	}
	return s.Client, held, nil
}
