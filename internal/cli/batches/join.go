package batches

import (
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
		Long: `Add the members in a CSV file to a batch that is under way. They catch up: they go
through the phases that have begun, in order and at their own pace, and take part in
the later ones with the others.

The file is like that of matoolkit batch create. Those whose key is a member's
already are left as they are, so that the same file can be given twice, and a file
that has grown as it is; somebody who was removed is added anew. Either every row is
good, or every bad row is named and nobody is added. A file named - is standard
input. People who are in another batch that has not ended are refused, and named with
that batch.`,
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
			if c.Format == render.FormatTable {
				for _, w := range view.Warnings {
					c.Notice("%s: warning: %s", render.FileName(args[1]), render.Printable(w))
				}
				for i, key := range view.Present {
					if i == 10 {
						c.Notice("and %d more are members already.", len(view.Present)-i)
						break
					}
					c.Notice("%s is a member already.", render.Printable(key))
				}
			}
			t := c.Table("batch", "added", "present", "members", "status")
			t.Row(view.Batch.ID, view.Added, len(view.Present), render.MemberCount(view.Batch), render.BatchStatus(view.Batch))
			return c.Print(view, t)
		},
	}
	shared.flag(add)
	return add
}

// inOtherBatches is whether people are taken who are in other batches.
type inOtherBatches bool

func (o *inOtherBatches) flag(cmd *cobra.Command) {
	cmd.Flags().BoolVar((*bool)(o), "allow-in-other-batches", false, "take people who are in other batches that have not ended; not for a batch that follows a data source")
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
		Use: "remove-member <id> <member-id>", Short: "Take a member out of a batch", Args: command.Needs("the id", "the member-id"),
		Long: `Take a member out of a batch. What is pending for the member is cancelled, and a job
that a worker has is no longer waited for: it may still do its work, and its result
is kept and changes nothing. What was done is not rolled back; instead the steps
that the runbook has under on_member_removed are run for the member.

A member who has failed takes part in nothing more and is not removed. The numbers
of members are those of matoolkit batch members.

It asks before it does so. Without a terminal it takes --yes.`,
		Example: `  matoolkit batch remove-member 42 7 --reason "has left the company"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			member, err := strconv.Atoi(args[1])
			if err != nil || member < 1 {
				return exit.Usagef("%q is not the number of a member; matoolkit batch members shows them", args[1])
			}
			s, id, err := c.OnBatch(args[0])
			if err != nil {
				return err
			}
			if !yes {
				if err := c.Confirm(cmd.Context(), "Take member %d out of batch %d?", member, id); err != nil {
					return err
				}
			}
			view, err := s.Client.RemoveMember(cmd.Context(), id, member, why)
			if err != nil {
				return err
			}
			return c.Print(view, c.MemberTable(view))
		},
	}
	remove.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	command.ReasonFlag(remove, &why)
	return remove
}
