package batches

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func removeMemberCommand(c *runner) *cobra.Command {
	var f repairFlags
	remove := &cobra.Command{
		Use: "remove-member <id> [<member-id>...]", Short: "Remove members from a batch", Args: batchAndMembers,
		Long: `Removes members. Pending steps of a member are cancelled. A job that a worker has may still
run; its result is recorded and changes nothing. Nothing is rolled back: the steps under
on_member_removed in the runbook run for the member instead.

Name the members by their keys or numbers, or select them with --status or --search. Members
that you name must match the options, too. You cannot remove a failed member, who takes part
in nothing more. The removal of several members needs a reason.

The command asks for confirmation. Without a terminal, give --yes. Several members are
removed one after another; --wait shows the progress.`,
		Example: `  matoolkit batch remove-member 42 ada@contoso.com --reason "has left the company"
  matoolkit batch remove-member 42 --search "@fabrikam.com" --dry-run
  matoolkit batch remove-member 42 --search "@fabrikam.com" --reason "not in scope" --wait`,
		RunE: func(cmd *cobra.Command, args []string) error {
			filtered := cmd.Flags().Changed("status") || cmd.Flags().Changed("search")
			for _, name := range []string{"status", "search"} {
				if flag := cmd.Flags().Lookup(name); flag.Changed && strings.TrimSpace(flag.Value.String()) == "" {
					return exit.Usagef("--%s is empty", name)
				}
			}
			switch {
			case len(args) == 1 && !filtered:
				return exit.Usagef("the member-id is missing: %s", command.UsageLine(cmd))
			case len(args) == 2 && !filtered && !f.dryRun && !f.wait:
				return c.removeOne(cmd, args[0], args[1], &f)
			}
			f.members = args[1:]
			return c.repair(cmd, args[0], &f, api.Repair{Action: api.RepairRemove})
		},
	}
	remove.Flags().StringVar(&f.which.Status, "status", "", "only members with this status: active or done")
	remove.Flags().StringVar(&f.which.Search, "search", "", "only members with this text in the key or a column, case-insensitive")
	command.CompleteOption(remove, "status", command.Fixed(api.MemberActive, api.MemberDone))
	f.addRunning(remove, "remove")
	command.ReasonFlag(remove, &f.why)
	return remove
}

// batchAndMembers takes a batch and any number of members.
func batchAndMembers(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return command.Needs("the id")(cmd, args)
	}
	for _, member := range args[1:] {
		if member == "" {
			return exit.Usagef("the member-id is missing: %s", command.UsageLine(cmd))
		}
	}
	return nil
}

// removeOne removes one member at once.
func (c *runner) removeOne(cmd *cobra.Command, batch, member string, f *repairFlags) error {
	s, id, err := c.OnBatch(cmd.Context(), batch)
	if err != nil {
		return err
	}
	if !f.yes {
		if err := c.Confirm(cmd.Context(), "Remove member %s from batch %d?", render.Printable(member), id); err != nil {
			return err
		}
	}
	view, err := s.Client.RemoveMember(cmd.Context(), id, member, f.why)
	if err != nil {
		return err
	}
	return c.Done(view, c.MemberTable(view), fmt.Sprintf("matoolkit batch members %d --status removed", id), "Removed member %d (%s) from batch %d.", view.ID, render.Person(view.Key, view.Display), id)
}
