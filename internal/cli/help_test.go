package cli_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
)

// TestHelp checks the form of every command's help. docs/reference/cli.md holds the texts of all
// commands; three golden files show how a terminal prints them.
func TestHelp(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		var out bytes.Buffer
		root := cli.NewRoot(command.Environment{Stdout: &out, Stderr: &out})
		root.SetArgs(append(strings.Fields(path)[1:], "--help"))
		if status := cli.Execute(t.Context(), root); status != 0 {
			t.Errorf("%s --help ended with %d", path, status)
		}
		if shown := []string{"matoolkit", "matoolkit batch", "matoolkit batch advance"}; slices.Contains(shown, path) {
			golden(t, "help/"+strings.ReplaceAll(path, " ", "-"), out.String())
		}
		before, rest, _ := strings.Cut(out.String(), "\nExamples:\n")
		_, after, _ := strings.Cut(rest, "\nUsage:\n")
		for line := range strings.Lines(before + after) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 && rest != "" {
				t.Errorf("%s --help has a line of %d characters: %s", path, n, line)
			}
		}
		if global := strings.Contains(out.String(), "--token-store"); global != (cmd == cmd.Root() || path == "matoolkit auth login") {
			t.Errorf("%s --help lists the global options: %t", path, global)
		}
		if cmd.Runnable() && cmd.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(cli.NewRoot(command.Environment{}))
}
