package batches

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func errorsCommand(c *runner) *cobra.Command {
	return command.Lists(&cobra.Command{
		Use: "errors <id>", Short: "Group the errors of the failed members", Args: command.Needs("the id"),
		Long: `Shows the errors of a batch's failed members in groups, with the largest first. The errors of
a group come from one step and differ only in ids, numbers, addresses, times and quoted
texts, for which the group has the mark … . batch retry, skip-step and mark-done select the
members of a group with --error-group.`,
		Example: `  matoolkit batch errors 42
  matoolkit batch retry 42 --error-group "the mailbox … is locked" --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			all, err := s.Client.Errors(cmd.Context(), id)
			if err != nil {
				return err
			}
			t := c.Table("members", "phase", "step", "error group", "first", "last", "examples")
			named := 0
			for _, g := range all.Groups {
				var who []string
				for _, e := range g.Examples {
					who = append(who, e.Key)
				}
				named += g.Count
				t.Row(g.Count, g.Phase, g.Step, g.ErrorGroup, g.FirstAt, g.LastAt, strings.Join(who, ", "))
			}
			if err := c.Print(all, t); err != nil {
				return err
			}
			if named < all.Members {
				c.Notice("%d more failed members are in groups that are not shown.", all.Members-named)
			}
			if len(all.Groups) > 0 {
				c.Notice("Next: matoolkit batch retry %d --error-group %s --dry-run", id, render.ShellWord(all.Groups[0].ErrorGroup))
			}
			return nil
		},
	})
}
