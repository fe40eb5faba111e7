package batches

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/membercsv"
)

func setMemberCommand(c *runner) *cobra.Command {
	var why string
	var dry bool
	set := &cobra.Command{
		Use: "set <id> <member> <column=value>...", Short: "Correct the data of a member", Args: atLeast("the id", "the member", "column=value"),
		Long: `Gives columns of a member other values. Name the member by the key or the number. The key
itself cannot be changed.

Steps use the new values from their next attempt on. A step whose job was sent has the old
values until it is retried; the output names it.

In a batch from a data source the correction is an override: each sync keeps it, until the
data source has the same value or matoolkit member clear-override withdraws it.`,
		Example: `  matoolkit member set 42 ada@contoso.com TargetId=7d5d6e9c-3f0a-4a54-9a39-5a1c7f0e1b0f
  matoolkit member set 42 7 "Department=Research" Groups="a;b" --reason "ticket 1207"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			request, err := columnsOf(args[2:])
			if err != nil {
				return err
			}
			request.DryRun = dry
			return c.correct(cmd, args, request, why)
		},
	}
	dryRunFlag(set, &dry)
	command.ReasonFlag(set, &why)
	return set
}

func clearOverrideCommand(c *runner) *cobra.Command {
	var why string
	var dry bool
	clearing := &cobra.Command{
		Use: "clear-override <id> <member> <column>...", Short: "Withdraw corrections of a member", Args: atLeast("the id", "the member", "the column"),
		Long: `Gives corrected columns of a member the values back that the data source has. Name the
member by the key or the number. matoolkit member get shows which columns are corrected.`,
		Example: `  matoolkit member clear-override 42 ada@contoso.com Department`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.correct(cmd, args, api.CorrectionRequest{ClearOverrides: args[2:], ActionRequest: api.ActionRequest{DryRun: dry}}, why)
		},
	}
	dryRunFlag(clearing, &dry)
	command.ReasonFlag(clearing, &why)
	return clearing
}

// atLeast refuses missing arguments. The last name stands for one or more.
func atLeast(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return command.Needs(names...)(cmd, args)
		}
		return nil
	}
}

// columnsOf reads arguments of the form column=value.
func columnsOf(args []string) (api.CorrectionRequest, error) {
	request := api.CorrectionRequest{Data: map[string]json.RawMessage{}}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		switch _, twice := request.Data[name]; {
		case !ok || name == "":
			return request, exit.Usagef("invalid correction %q: write column=value, for example Department=Research", arg)
		case twice:
			return request, exit.Usagef("column %q is given twice", name)
		}
		text, err := json.Marshal(value)
		if err != nil {
			return request, err
		}
		request.Data[name] = text
	}
	return request, nil
}

// correct corrects a member and prints what changed.
func (c *runner) correct(cmd *cobra.Command, args []string, request api.CorrectionRequest, why string) error {
	s, id, err := c.OnBatch(cmd.Context(), args[0])
	if err != nil {
		return err
	}
	if why != "" {
		request.Reason = &why
	}
	view, err := s.Client.CorrectMember(cmd.Context(), id, args[1], request, "")
	if err != nil {
		return err
	}
	if c.Plain() {
		c.NoticeInFlight(view.InFlight)
	}
	m := view.Member
	next := fmt.Sprintf("matoolkit member get %d %d", id, m.ID)
	if m.Status == api.MemberFailed {
		next = fmt.Sprintf("matoolkit batch retry %d --member %d", id, m.ID)
	}
	switch {
	case len(view.Changes) == 0 && len(request.ClearOverrides) > 0:
		return c.Done(view, c.ChangeTable(), next, "Member %d (%s) of batch %d has no correction of %s.", m.ID, render.Person(m.Key, m.Display), id, strings.Join(request.ClearOverrides, ", "))
	case len(view.Changes) == 0:
		return c.Done(view, c.ChangeTable(), next, "Member %d (%s) of batch %d has these values already.", m.ID, render.Person(m.Key, m.Display), id)
	case view.DryRun:
		return c.Done(view, c.ChangeTable(view.Changes...), command.InEarnest(cmd, false), "Dry run: %s of member %d (%s) in batch %d would change. Nothing was changed.", render.Count(len(view.Changes), "column"), m.ID, render.Person(m.Key, m.Display), id)
	}
	return c.Done(view, c.ChangeTable(view.Changes...), next, "Corrected %s of member %d (%s) in batch %d.", render.Count(len(view.Changes), "column"), m.ID, render.Person(m.Key, m.Display), id)
}

func updateMembersCommand(c *runner) *cobra.Command {
	var yes bool
	var u uploading
	var why string
	update := &cobra.Command{
		Use: "update-members <id> <file>", Short: "Correct the data of members from a CSV file", Args: command.Needs("the id", "the file"),
		Long: `Gives members the values in a CSV file. The file has the column of the keys and the columns
to change; other columns of the members stay as they are. An empty field makes a column
empty. The file name - stands for standard input.

The command first shows what would change, and asks. Without a terminal, give --yes. If a row
is invalid or names no member, it lists all such rows and changes no one. You can send the
same file again.

Corrections have the same effect as those of matoolkit member set.`,
		Example: `  matoolkit batch update-members 42 corrections.csv --dry-run
  matoolkit batch update-members 42 corrections.csv --yes --reason "ticket 1207"`,
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
			if u.dry || !yes {
				preview, err := s.Client.UpdateMembers(cmd.Context(), id, csv, true, why, options...)
				if err != nil {
					return c.Located(args[1], err)
				}
				c.noticeUpdate(args[1], preview)
				if u.dry {
					next := ""
					if preview.Changed > 0 {
						next = command.InEarnest(cmd, false)
					}
					return c.Done(preview, c.ChangeTable(preview.Changes...), next, "%s.", foreseen(preview))
				}
				if err := c.confirmUpdate(cmd, id, preview); err != nil {
					return err
				}
			}
			ctx, sent := c.Sending(cmd.Context(), len(csv))
			view, err := s.Client.UpdateMembers(ctx, id, csv, false, why, options...)
			sent()
			if err != nil {
				return c.Located(args[1], err)
			}
			if yes {
				c.noticeUpdate(args[1], view)
			}
			if c.Plain() {
				c.NoticeInFlight(view.InFlight)
			}
			return c.Done(view, c.ChangeTable(view.Changes...), fmt.Sprintf("matoolkit batch members %d --status failed", id),
				"Corrected %s of batch %d; %d had these values already.", render.Count(view.Changed, "member"), id, view.Unchanged)
		},
	}
	update.Flags().BoolVarP(&yes, "yes", "y", false, "skip the preview and the confirmation")
	u.delimiterFlag(update)
	update.Flags().BoolVar(&u.dry, "dry-run", false, "show what would change, and change nothing")
	update.MarkFlagsMutuallyExclusive("yes", "dry-run")
	command.ReasonFlag(update, &why)
	return update
}

// noticeUpdate prints the warnings of a file, and how many changes the answer does not name.
func (c *runner) noticeUpdate(path string, v api.MembersUpdate) {
	if !c.Plain() {
		return
	}
	for _, w := range v.Warnings {
		c.Notice("%s: warning: %s", render.FileName(path), render.Printable(w))
	}
	if more := v.ChangeCount - len(v.Changes); more > 0 {
		c.Notice("%s more are not shown.", render.Count(more, "change"))
	}
}

// foreseen says what an update would change.
func foreseen(v api.MembersUpdate) string {
	have := "have"
	if v.Unchanged == 1 {
		have = "has"
	}
	return fmt.Sprintf("The file changes %s of %s; %d %s these values already", render.Count(v.ChangeCount, "column"), render.Count(v.Changed, "member"), v.Unchanged, have)
}

// confirmUpdate shows the preview of an update on the terminal and asks.
func (c *runner) confirmUpdate(cmd *cobra.Command, id int, v api.MembersUpdate) error {
	if c.Terminal && c.Plain() {
		if err := c.ChangeTable(v.Changes...).Print(); err != nil {
			return err
		}
	}
	return c.Confirm(cmd.Context(), "%s. Correct %s of batch %d?", foreseen(v), render.Count(v.Changed, "member"), id)
}
