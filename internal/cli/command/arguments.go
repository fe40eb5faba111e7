package command

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

// noArgs is for the root and for groups, whose arguments are commands.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		cmd.SuggestionsMinimumDistance = 2 // as cobra sets it for the root
		return exit.Usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(), Suggestion(cmd.SuggestionsFor(args[0]), cmd.CommandPath()))
	}
	return nil
}

// Suggestion tells what may be meant by a command that there is not, or where to look.
func Suggestion(commands []string, of string) string {
	if len(commands) == 0 {
		return "; see " + of + " --help"
	}
	return "; did you mean " + render.OneOf(commands) + "?"
}

// Needs holds a command to its arguments, which are named in its usage line.
func Needs(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return exit.Usagef("%s is missing: %s", names[len(args)], cmd.UseLine())
		case len(args) > len(names):
			return exit.Usagef("%q is one argument too many: %s", args[len(names)], cmd.UseLine())
		}
		return nil
	}
}

// OfRunbook holds a command to its arguments, the first of which is the name of a
// runbook. A file is easily given there, as publish and lint take one.
func OfRunbook(all cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := all(cmd, args); err != nil {
			return err
		}
		return CheckRunbookName(args[0])
	}
}

// IsFile tells what names a file from what names a runbook: a path or an extension, or -
// for standard input. That there is such a file does not matter.
func IsFile(arg string) bool {
	extension := strings.ToLower(filepath.Ext(arg))
	return arg == "-" || strings.ContainsAny(arg, `/\`) || extension == ".yaml" || extension == ".yml"
}

// CheckRunbookName refuses the name of a file as the name of a runbook.
func CheckRunbookName(name string) error {
	if IsFile(name) {
		return exit.Usagef("%q is a file: give the runbook's name, not a file; matoolkit runbook list shows the names", name)
	}
	return nil
}
