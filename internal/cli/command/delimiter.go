package command

import (
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/csvtext"
)

// DelimiterFlag adds the option --delimiter of a CSV file. The help says what it does, and lists the names.
func DelimiterFlag(cmd *cobra.Command, delimiter *string, help string) {
	cmd.Flags().StringVar(delimiter, "delimiter", "", help+": "+render.OneOf(csvtext.DelimiterNames()))
	CompleteOption(cmd, "delimiter", Fixed(csvtext.DelimiterNames()...))
}

// CheckDelimiter refuses an unknown value of --delimiter.
func CheckDelimiter(delimiter string) error {
	if _, ok := csvtext.DelimiterOf(delimiter); delimiter != "" && !ok {
		return exit.Usagef("invalid --delimiter %q: use %s", delimiter, render.OneOf(csvtext.DelimiterNames()))
	}
	return nil
}
