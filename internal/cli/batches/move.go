package batches

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

func moveMemberCommand(c *runner) *cobra.Command {
	var f repairFlags
	var to string
	move := &cobra.Command{
		Use: "move <id> [<member-id>...]", Short: "Move members to another batch", Args: batchAndMembers,
		Long: `Moves members to another batch of the same runbook. They keep their data, corrections,
finished phases and outputs, and do the other phases in the batch of --to; phases that have
started there they catch up on. Nothing is undone. A member that is in a phase ends it first.

Name the members by their keys or numbers, or select them with --status or --search. Members
that you name must match the options, too. You cannot move a failed member: retry it first.

If a data source has the members, it neither moves nor removes them until it has them at the
start of the new batch. If the new batch ends before a member is there, the member stays.

The command asks for confirmation. Without a terminal, give --yes. --wait shows the progress.`,
		Example: `  matoolkit member move 42 ada@contoso.com --to 43 --reason "on leave until May"
  matoolkit member move 42 --search "@fabrikam.com" --to 43 --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			filtered := cmd.Flags().Changed("status") || cmd.Flags().Changed("search")
			for _, name := range []string{"status", "search", "to"} {
				if flag := cmd.Flags().Lookup(name); flag.Changed && strings.TrimSpace(flag.Value.String()) == "" {
					return exit.Usagef("--%s is empty", name)
				}
			}
			switch {
			case len(args) == 1 && !filtered:
				return exit.Usagef("the member-id is missing: %s", command.UsageLine(cmd))
			case to == "":
				return exit.Usagef("--to is missing: the batch to which the members move")
			}
			_, target, err := c.OnBatch(cmd.Context(), to)
			if err != nil {
				return err
			}
			f.members = args[1:]
			return c.repair(cmd, args[0], &f, api.Repair{Action: api.RepairMove, To: target})
		},
	}
	move.Flags().StringVar(&to, "to", "", "the number or name of the batch to which the members move")
	move.Flags().StringVar(&f.which.Status, "status", "", "only members with this status: active or done")
	move.Flags().StringVar(&f.which.Search, "search", "", "only members with this text in the key or a column, case-insensitive")
	command.CompleteOption(move, "status", command.Fixed(api.MemberActive, api.MemberDone))
	f.addRunning(move, "move")
	command.ReasonFlag(move, &f.why)
	return move
}
