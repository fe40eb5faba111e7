package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
)

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
		golden(t, "help/"+strings.ReplaceAll(path, " ", "-"), out.String())
		for _, line := range strings.Split(out.String(), "\n") {
			if len(line) > 100 && !strings.HasPrefix(strings.TrimSpace(line), "--") {
				t.Errorf("%s --help has a line of %d characters: %s", path, len(line), line)
			}
		}
		if !cmd.HasSubCommands() && cmd.Runnable() && cmd.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	walk(cli.NewRoot(command.Environment{}))
}
