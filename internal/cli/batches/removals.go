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
		Use: "removals <id>", Short: "List removals that wait for confirmation", Args: command.Needs("the id"),
		Long: `Lists the members whose removal is held. The data source no longer returns them, or returns
them with another start time, and they are more than the removal_guard allows at once, so
the data may be wrong. The rest of the batch continues. A member with another start time is
shown with the time to which the member would move.

  matoolkit batch confirm-removals  the data is correct: remove the members; those with
                                    another start time start again in the batch of that time
  matoolkit batch discard-removals  the data is wrong: keep the members

When most members have one other start time, the batch was probably postponed. Its phases
wait for your decision, and there are two more answers:

  matoolkit batch reschedule        move the whole batch to that time, unless another batch has it
  matoolkit batch move-members      move these members, with what they have finished

When the data source returns the members again, the hold ends with the next tick. The exit
status is 4 when no removals are held.`,
		Example: `  matoolkit batch removals 42
  matoolkit batch removals 42 --all --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var held api.RemovalHold
			page, err := command.Collect(cmd.Context(), p, api.ListOptions{}, func(ctx context.Context, o api.ListOptions) (api.Page[api.HeldMember], error) {
				next, err := s.Client.HeldRemovals(ctx, id, o)
				if err == nil && held.Revision != "" && next.Revision != held.Revision {
					err = &exit.Error{Status: exit.Failed, Text: "the held members changed during the listing; repeat the command"}
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
	var yes, dry bool
	var why, revision string
	confirm := &cobra.Command{
		Use: "confirm-removals <id>", Short: "Remove the members whose removal is held", Args: command.Needs("the id"),
		Long: `Removes the members that matoolkit batch removals lists. Their pending steps are cancelled,
and the steps under on_member_removed in the runbook run. Members with another start time
are removed in the same way and then join the batch of that time with the next tick.

The confirmation covers exactly the members that are held when the command asks. If the
next tick finds others before you answer, the command fails; list the removals again. With
--revision it covers the members that you listed before.

The command asks for confirmation. Without a terminal, give --yes.`,
		Example: `  matoolkit batch removals 42
  matoolkit batch confirm-removals 42 --reason "the department was sold"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dry {
				return c.dryRunHeld(cmd, args[0], api.ProposedAction{Name: api.ActionConfirmRemovals, Revision: revision})
			}
			client, held, err := c.confirmHeld(cmd.Context(), args[0], revision, yes, func(held api.RemovalHold) string {
				return fmt.Sprintf("Remove %d of the %s of batch %d?", held.Members, render.Count(held.Of, "active member"), held.BatchID)
			})
			if err != nil {
				return err
			}
			view, err := client.ConfirmRemovals(cmd.Context(), held.BatchID, held.Revision, why)
			if err != nil {
				return err
			}
			return c.Done(view, c.BatchTable(view), fmt.Sprintf("matoolkit batch members %d --status removed", held.BatchID),
				"Confirmed the removal of %s of batch %d; the members are removed one after another.", render.Count(held.Members, "member"), held.BatchID)
		},
	}
	confirm.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	command.RevisionFlag(confirm, &revision)
	dryRunFlag(confirm, &dry)
	command.ReasonFlag(confirm, &why)
	return confirm
}

func moveMembersCommand(c *runner) *cobra.Command {
	var yes, dry bool
	var why, revision string
	move := &cobra.Command{
		Use: "move-members <id>", Short: "Move members to their new start with what they have finished", Args: command.Needs("the id"),
		Long: `Moves the members that matoolkit batch removals lists with one other start time to the batch
of that time, which the next ticks of the scheduler create if there is none. They keep their
outputs, and do not repeat the phases that they have finished. A member who is in a phase
ends it first. No steps under on_member_removed run.

The other listed members stay, and the next tick judges them anew. To move the whole batch,
use matoolkit batch reschedule.

The command covers exactly the members that are held when it asks. If the next tick finds
others before you answer, it fails; list the removals again. With --revision it covers the
members that you listed before.

The command asks for confirmation. Without a terminal, give --yes.`,
		Example: `  matoolkit batch removals 42
  matoolkit batch move-members 42 --reason "the second half is postponed"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dry {
				return c.dryRunHeld(cmd, args[0], api.ProposedAction{Name: api.ActionMoveMembers, Revision: revision})
			}
			client, held, err := c.confirmHeld(cmd.Context(), args[0], revision, yes, func(held api.RemovalHold) string {
				return fmt.Sprintf("Move %d of the %s of batch %d?", held.Moving, render.Count(held.Of, "active member"), held.BatchID)
			})
			if err != nil {
				return err
			}
			view, err := client.MoveMembers(cmd.Context(), held.BatchID, held.Revision, why)
			if err != nil {
				return err
			}
			return c.Done(view, c.BatchTable(view), fmt.Sprintf("matoolkit batch get %d", held.BatchID),
				"Moving %s of batch %d; the next ticks add them to the batch of their start.", render.Count(held.Moving, "member"), held.BatchID)
		},
	}
	move.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	command.RevisionFlag(move, &revision)
	dryRunFlag(move, &dry)
	command.ReasonFlag(move, &why)
	return move
}

func discardRemovalsCommand(c *runner) *cobra.Command {
	var why, revision string
	var dry bool
	discard := &cobra.Command{
		Use: "discard-removals <id>", Short: "Keep the members whose removal is held", Args: command.Needs("the id"),
		Long: `Keeps the members whose removal is held. They continue with the other members. They are
held again only if the data source returns them and later stops returning them. Until then
matoolkit batch get shows how many they are. To remove one of them, use
matoolkit batch remove-member.

The decision covers removals only: the next tick still adds people who are new in the data.
If the keys in the data have changed, the same people look new and would be added a second
time. Run matoolkit query preview <runbook> first.

With --revision the decision covers the members that you listed before.`,
		Example: `  matoolkit batch discard-removals 42 --reason "the export was cut off"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if dry {
				return c.dryRunHeld(cmd, args[0], api.ProposedAction{Name: api.ActionDiscardRemovals, Revision: revision})
			}
			client, held, err := c.decisionOn(cmd.Context(), args[0], revision)
			if err != nil {
				return err
			}
			c.NoticeHeld(held)
			view, err := client.DiscardRemovals(cmd.Context(), held.BatchID, held.Revision, why)
			if err != nil {
				return err
			}
			return c.Done(view, c.BatchTable(view), "matoolkit query preview "+render.ShellWord(view.RunbookName),
				"Kept %s in batch %d. The next tick still adds people who are new in the data.", render.Count(held.Members, "member"), held.BatchID)
		},
	}
	command.RevisionFlag(discard, &revision)
	dryRunFlag(discard, &dry)
	command.ReasonFlag(discard, &why)
	return discard
}

// dryRunHeld prints the effect of a decision on held removals.
func (c *runner) dryRunHeld(cmd *cobra.Command, batch string, action api.ProposedAction) error {
	s, id, err := c.OnBatch(cmd.Context(), batch)
	if err != nil {
		return err
	}
	return c.dryRun(cmd, s.Client, id, action)
}

// confirmHeld reads the held removals for a command that removes or moves their members, and asks the
// question about them, unless yes is set or they are confirmed already.
func (c *runner) confirmHeld(ctx context.Context, arg, revision string, yes bool, question func(api.RemovalHold) string) (*apiclient.Client, api.RemovalHold, error) {
	if !yes && !c.Env.Terminal { // nothing can be confirmed
		return nil, api.RemovalHold{}, c.Confirm(ctx, "")
	}
	client, held, err := c.decisionOn(ctx, arg, revision)
	if err != nil {
		return nil, api.RemovalHold{}, err
	}
	c.NoticeHeld(held)
	if !yes && held.Confirmed == nil {
		err = c.Confirm(ctx, "%s", question(held))
	}
	return client, held, err
}

// decisionOn opens a session and reads the held removals for a command that confirms or
// discards them. It fails if revision is set and differs.
func (c *runner) decisionOn(ctx context.Context, arg, revision string) (*apiclient.Client, api.RemovalHold, error) {
	s, id, err := c.OnBatch(ctx, arg)
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
			Text:   fmt.Sprintf("the held removals of batch %d have changed since revision %s", id, render.Printable(revision)),
			Hint:   fmt.Sprintf("List them again: matoolkit batch removals %d", id),
		}
	}
	return s.Client, held, nil
}
