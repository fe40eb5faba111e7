package command

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// noArgs refuses arguments of the root and of groups: they are unknown commands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		cmd.SuggestionsMinimumDistance = 2 // as cobra sets it for the root
		return exit.Usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), Suggestion(cmd.SuggestionsFor(args[0]), cmd.CommandPath()))
	}
	return nil
}

// Suggestion ends the error of an unknown command with similar commands or the help.
func Suggestion(commands []string, of string) string {
	if len(commands) == 0 {
		return "; see " + of + " --help"
	}
	return "; did you mean " + render.OneOf(commands) + "?"
}

// Needs refuses missing and additional arguments. The usage line names the arguments.
func Needs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return exit.Usagef("%s is missing: %s", names[len(args)], UsageLine(cmd))
		case len(args) > len(names):
			return exit.Usagef("too many arguments, from %q on: %s", args[len(names)], UsageLine(cmd))
		}
		return nil
	}
}

// OfRunbook checks the arguments of a command whose first argument is the name of a runbook. It
// refuses a file there, which publish and lint take.
func OfRunbook(all cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := all(cmd, args); err != nil {
			return err
		}
		return CheckRunbookName(args[0])
	}
}

// IsFile reports whether an argument names a file, not a runbook: it is a path, has the
// extension of a runbook, or is - for standard input. The file need not exist.
func IsFile(arg string) bool {
	extension := strings.ToLower(filepath.Ext(arg))
	return arg == "-" || strings.ContainsAny(arg, `/\`) || extension == ".yaml" || extension == ".yml"
}

// CheckRunbookName refuses the name of a file as the name of a runbook.
func CheckRunbookName(name string) error {
	if IsFile(name) {
		return exit.Usagef("%q is a file; give the name of a runbook, as matoolkit runbook list shows it", name)
	}
	return nil
}
