package command

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// listing marks a command as one whose result is a list, which can be printed as CSV.
const listing = "listing"

// Lists marks a command as one whose result is a list, which can be printed as CSV, and
// returns it.
func Lists(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[listing] = "yes"
	return cmd
}

// verbatim marks a command that prints what there is no other way to print: a script, or
// what is going on.
const verbatim = "verbatim"

// Verbatim marks a command as one that prints no result, so that --output is refused, and
// returns it.
func Verbatim(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[verbatim] = "yes"
	return cmd
}

// checkFormat refuses a format that there is not, or that the command has no use for,
// before anything is done: what has been changed cannot be taken back for want of a way
// to print it.
func (c *Console) checkFormat(cmd *cobra.Command) error {
	if !slices.Contains(render.Formats, c.Format) {
		return exit.Usagef("--output is %q; it can be table, json, yaml or csv", c.Format)
	}
	if c.Format != render.FormatTable && cmd.Annotations[verbatim] != "" {
		return exit.Usagef("%s prints no result; leave --output out", cmd.CommandPath())
	}
	if c.Format == render.FormatCSV && cmd.Annotations[listing] == "" {
		if cmd.Flags().Lookup("format") != nil { // of what it writes, which is another matter
			return exit.Usagef("--output csv is for lists; what %s writes is chosen with --format csv", cmd.CommandPath())
		}
		return exit.Usagef("--output csv is for lists, and %s prints none; give json or yaml", cmd.CommandPath())
	}
	return nil
}
