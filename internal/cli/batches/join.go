package batches

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/membercsv"
)

func addMembersCommand(c *runner) *cobra.Command {
	var shared inOtherBatches
	add := &cobra.Command{
		Use: "add-members <id> <file>", Short: "Add the members in a CSV file to a batch", Args: command.Needs("the id", "the file"),
		Long: `Adds members to a batch that has not ended. They catch up: they go through the phases that
have started, in order and at their own pace, and join the others for the later phases.

The file has the format of matoolkit batch create. Rows whose key is already a member are
left unchanged, so you can send the same file again; a person who was removed is added
again. If a row is invalid, the command lists all invalid rows and adds none. The file
name - stands for standard input. People who are in another batch that has not ended are
refused, and named with that batch.`,
		Example: `  matoolkit batch add-members 42 latecomers.csv`,
		RunE: func(cmd *cobra.Command, args []string) error {
			csv, err := c.ReadFile(args[1], membercsv.MaxBytes)
			if err != nil {
				return err
			}
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			ctx, sent := c.Sending(cmd.Context(), len(csv))
			view, err := s.Client.AddMembers(ctx, id, csv, shared.options()...)
			sent()
			if err != nil {
				return c.Located(args[1], err)
			}
			if c.Plain() {
				for _, w := range view.Warnings {
					c.Notice("%s: warning: %s", render.FileName(args[1]), render.Printable(w))
				}
				for i, key := range view.Present {
					if i == 10 {
						c.Notice("%d more are already members.", len(view.Present)-i)
						break
					}
					c.Notice("%s is already a member.", render.Printable(key))
				}
			}
			t := c.Table("batch", "added", "present", "members", "status")
			t.Row(view.Batch.ID, view.Added, len(view.Present), render.MemberCount(view.Batch), render.BatchStatus(view.Batch))
			return c.Done(view, t, fmt.Sprintf("matoolkit batch watch %d", id), "Added %s to batch %d.", render.Count(view.Added, "member"), id)
		},
	}
	shared.flag(add)
	return add
}

// inOtherBatches reports whether members may be in other batches as well.
type inOtherBatches bool

func (o *inOtherBatches) flag(cmd *cobra.Command) {
	cmd.Flags().BoolVar((*bool)(o), "allow-in-other-batches", false, "accept people who are in other batches that have not ended; not for a batch that follows a data source")
}

func (o inOtherBatches) options() []api.UploadOption {
	if !o {
		return nil
	}
	return []api.UploadOption{api.AllowInOtherBatches}
}

func removeMemberCommand(c *runner) *cobra.Command {
	var yes bool
	var why string
	remove := &cobra.Command{
		Use: "remove-member <id> <member-id>", Short: "Remove a member from a batch", Args: command.Needs("the id", "the member-id"),
		Long: `Removes a member. Pending steps of the member are cancelled. A job that a worker has may
still run; its result is recorded and changes nothing. Nothing is rolled back: the steps
under on_member_removed in the runbook run for the member instead.

You cannot remove a failed member, who takes part in nothing more. matoolkit batch members
shows the numbers of members.

The command asks for confirmation. Without a terminal, give --yes.`,
		Example: `  matoolkit batch remove-member 42 7 --reason "has left the company"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			member, err := strconv.Atoi(args[1])
			if err != nil || member < 1 {
				return exit.Usagef("invalid member %q: give a number that matoolkit batch members shows", args[1])
			}
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			if !yes {
				if err := c.Confirm(cmd.Context(), "Remove member %d from batch %d?", member, id); err != nil {
					return err
				}
			}
			view, err := s.Client.RemoveMember(cmd.Context(), id, member, why)
			if err != nil {
				return err
			}
			return c.Done(view, c.MemberTable(view), fmt.Sprintf("matoolkit batch members %d --status removed", id), "Removed member %d (%s) from batch %d.", member, view.Key, id)
		},
	}
	remove.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation")
	command.ReasonFlag(remove, &why)
	return remove
}
