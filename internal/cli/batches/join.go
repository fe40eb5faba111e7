package batches

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/membercsv"
)

func addMembersCommand(c *runner) *cobra.Command {
	var u uploading
	add := &cobra.Command{
		Use: "add-members <id> <file>", Short: "Add the members in a CSV file to a batch", Args: command.Needs("the id", "the file"),
		Long: `Adds members to a batch that has not ended. They catch up: they go through the phases that
have started, in order and at their own pace, and join the others for the later phases.

The file has the format of matoolkit batch create. Rows whose key is already a member are
left unchanged, so you can send the same file again; a person who was removed is added
again. If a row is invalid, the command lists all invalid rows and adds none. --dry-run
only checks. The file name - stands for standard input. People who are in another batch
that has not ended are refused, and named with that batch.`,
		Example: `  matoolkit batch add-members 42 latecomers.csv
  matoolkit batch add-members 42 latecomers.csv --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			options, err := u.options()
			if err != nil {
				return err
			}
			csv, err := c.ReadFile(args[1], membercsv.MaxBytes)
			if err != nil {
				return err
			}
			s, id, err := c.OnBatch(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			ctx, sent := c.Sending(cmd.Context(), len(csv))
			if u.dry {
				check, err := s.Client.CheckMembers(ctx, id, csv, options...)
				sent()
				if err != nil {
					return c.Located(args[1], err)
				}
				return c.checked(cmd, args[1], check)
			}
			view, err := s.Client.AddMembers(ctx, id, csv, options...)
			sent()
			if err != nil {
				return c.Located(args[1], err)
			}
			c.printWarnings(args[1], view.Warnings, view.Present)
			t := c.Table("batch", "added", "present", "members", "status")
			t.Row(view.Batch.ID, view.Added, len(view.Present), render.MemberCount(view.Batch), render.BatchStatus(view.Batch))
			next := fmt.Sprintf("matoolkit batch watch %d", id)
			if view.Batch.Checks != nil && view.Added > 0 {
				next = fmt.Sprintf("matoolkit batch checks %d", id)
			}
			return c.Done(view, t, next, "Added %s to batch %d.", render.Count(view.Added, "member"), id)
		},
	}
	u.flags(add)
	return add
}

// uploading has the flags of the commands that upload a member CSV.
type uploading struct {
	shared, dry bool
	delimiter   string
}

func (u *uploading) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&u.shared, "allow-in-other-batches", false, "accept people who are in other batches that have not ended; not for a batch that follows a data source")
	u.delimiterFlag(cmd)
	cmd.Flags().BoolVar(&u.dry, "dry-run", false, "check the file and write nothing")
}

func (u *uploading) delimiterFlag(cmd *cobra.Command) {
	command.DelimiterFlag(cmd, &u.delimiter, "what separates the fields, if the header does not show it")
}

func (u *uploading) options() (options []api.UploadOption, err error) {
	if u.shared {
		options = append(options, api.AllowInOtherBatches)
	}
	if err := command.CheckDelimiter(u.delimiter); err != nil {
		return nil, err
	}
	if u.delimiter != "" {
		options = append(options, api.DelimitedBy(u.delimiter))
	}
	return options, nil
}

// printWarnings prints the warnings about a file and the keys that are members already.
func (c *runner) printWarnings(path string, warnings, present []string) {
	if !c.Plain() {
		return
	}
	for _, w := range warnings {
		c.Notice("%s: warning: %s", render.FileName(path), render.Printable(w))
	}
	for i, key := range present {
		if i == 10 {
			c.Notice("%d more are already members.", len(present)-i)
			break
		}
		c.Notice("%s is already a member.", render.Printable(key))
	}
}

// checked prints the answer to a dry run of cmd, which uploads the file.
func (c *runner) checked(cmd *cobra.Command, path string, check api.UploadCheck) error {
	c.printWarnings(path, check.Warnings, check.Present)
	t := c.Table("runbook", "version", "delimiter", "members", "present", "jobs")
	if d := check.Duration; d != nil {
		c.Notice("The phases take %s, as measured before.", render.Expected(*d))
	}
	t.Row(check.Runbook, check.Version, check.Delimiter, check.Members, len(check.Present), check.Jobs)
	return c.Done(check, t, command.InEarnest(cmd, false), "%s is valid: %s would be added, with up to %s in %s. Nothing was written.", render.FileName(path), render.Count(check.Members, "member"), render.Count(check.Jobs, "job"), render.Count(len(check.Phases), "phase"))
}
