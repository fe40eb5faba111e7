package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// The annotations of commands: tabular for a command whose result is a table that --columns
// and --output csv apply to, verbatim for a command that prints no result, such as a script.
const (
	tabular  = "tabular"
	verbatim = "verbatim"
	formats  = "formats" // more formats of --output, with commas between them
)

// annotate sets an annotation of a command.
func annotate(cmd *cobra.Command, name, value string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[name] = value
	return cmd
}

// Shows gives a command that prints a table the option --columns and --output csv, and
// returns it.
func Shows(cmd *cobra.Command) *cobra.Command {
	if cmd.Flags().Lookup("columns") == nil {
		cmd.Flags().StringSlice("columns", nil, "columns to print, in this order")
	}
	return annotate(cmd, tabular, "yes")
}

// Lists gives a command that prints a list the options --columns and --sort and --output
// csv, and returns it.
func Lists(cmd *cobra.Command) *cobra.Command {
	if cmd.Flags().Lookup("sort") == nil {
		cmd.Flags().String("sort", "", "column to sort by, with - in front for descending")
	}
	return Shows(cmd)
}

// AlsoPrints gives a command more formats of --output, which it prints by itself, and returns it.
func AlsoPrints(cmd *cobra.Command, more ...string) *cobra.Command {
	return annotate(cmd, formats, strings.Join(more, ","))
}

// Verbatim marks a command as one that prints no result, so that --output is refused, and
// returns it.
func Verbatim(cmd *cobra.Command) *cobra.Command { return annotate(cmd, verbatim, "yes") }

// checkFormat refuses an unknown format, or one that the command cannot print, before the
// command changes anything.
func (c *Console) checkFormat(cmd *cobra.Command) error {
	known := slices.Clone(render.Formats)
	if more := cmd.Annotations[formats]; more != "" {
		known = append(known, strings.Split(more, ",")...)
	}
	if !slices.Contains(known, c.Format) {
		return exit.Usagef("--output is %q; use %s", c.Format, render.OneOf(known))
	}
	if c.Format != render.FormatTable && cmd.Annotations[verbatim] != "" {
		return exit.Usagef("%s prints no result; omit --output", cmd.CommandPath())
	}
	if c.Format == render.FormatCSV && cmd.Annotations[tabular] == "" {
		if cmd.Flags().Lookup("format") != nil { // the format of the file
			return exit.Usagef("--output csv is for tables; choose the format of the file that %s writes with --format csv", cmd.CommandPath())
		}
		return exit.Usagef("%s cannot print CSV; use --output json or yaml", cmd.CommandPath())
	}
	if c.Format == render.FormatName {
		c.Format, c.Quiet = render.FormatTable, true
	}
	return c.checkTable(cmd)
}

// sortFields is the annotation with the fields by which the API sorts the list of a command.
const sortFields = "sort-fields"

// fieldsOf are the fields of the API for the columns of tables with another name.
var fieldsOf = map[string][]string{
	"batch": {"id"}, "member": {"memberId", "id"}, "step": {"id"}, "runbook": {"runbook"}, "start": {"batchStartTime"}, "created": {"detectedAt"},
	"members": {"memberCount"}, "key": {"memberKey"}, "added": {"addedAt"}, "published": {"createdAt"}, "by": {"publishedBy"}, "kept": {"storedAt"}, "type": {"messageType"},
}

// checkTable reads --columns and --sort. The API sorts a list by the columns that it can sort;
// by others the printer sorts the items that are listed.
func (c *Console) checkTable(cmd *cobra.Command) error {
	if cmd.Annotations[tabular] == "" {
		return nil
	}
	c.Columns, _ = cmd.Flags().GetStringSlice("columns")
	if len(c.Columns) > 0 && c.Structured() {
		return exit.Usagef("--columns and --output %s cannot be given together", c.Format)
	}
	flag := cmd.Flags().Lookup("sort")
	if flag == nil || flag.Value.String() == "" {
		return nil
	}
	by, descending := strings.CutPrefix(flag.Value.String(), "-")
	known := strings.Split(cmd.Annotations[sortFields], ",")
	for _, field := range append([]string{by}, fieldsOf[strings.ToLower(by)]...) {
		if slices.ContainsFunc(known, func(k string) bool { return strings.EqualFold(k, field) }) {
			if descending {
				field = "-" + field
			}
			return flag.Value.Set(field)
		}
	}
	c.SortBy = flag.Value.String()
	return flag.Value.Set("")
}
