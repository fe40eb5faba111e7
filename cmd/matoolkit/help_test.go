package main

import (
	"flag"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

var update = flag.Bool("update", false, "write the golden files")

// TestHelp checks that the help of every command of this package fits a terminal and has an example.
// docs/reference/cli.md holds the texts.
func TestHelp(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		path := cmd.CommandPath()
		status, out, errs := execute(t.Context(), append(strings.Fields(path)[1:], "--help")...)
		if status != exit.OK || errs != "" {
			t.Errorf("%s --help: status %d, %s", path, status, errs)
		}
		for line := range strings.Lines(out) {
			if len(line) > 101 && !strings.HasPrefix(strings.TrimSpace(line), "-") {
				t.Errorf("%s --help has a line of %d characters: %s", path, len(line), line)
			}
		}
		if !cmd.HasSubCommands() && cmd.Example == "" {
			t.Errorf("%s has no example", path)
		}
		for _, child := range cmd.Commands() {
			walk(child)
		}
	}
	if whole := newRoot(command.Environment{}, func(string) string { return "" }).UsageString(); !strings.Contains(whole, "matoolkit local demo ") || !strings.Contains(whole, "matoolkit local up ") {
		t.Errorf("nothing tells how to try it here: %s", whole)
	}
	root := cli.NewRoot(command.Environment{})
	root.AddCommand(localCommand())
	addVerify(root, func(string) string { return "" })
	for _, path := range [][]string{{"local"}, {"worker", "verify"}} {
		cmd, _, err := root.Find(path)
		if err != nil {
			t.Fatal(err)
		}
		walk(cmd)
	}
}

func TestLocalCommandsAreCompleted(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"local env --for ":      "cli worker handler func",
		"local up --parts ":     "servicebus cosmos identity host",
		"local up ":             "",
		"local clock ":          "",
		"local tick --output y": "yaml",
	} {
		words := strings.Split(args, " ")
		status, out, _ := execute(t.Context(), append([]string{"__complete"}, words...)...)
		var got []string
		for line := range strings.Lines(out) {
			if !strings.HasPrefix(line, ":") {
				got = append(got, strings.TrimSpace(line))
			}
		}
		if status != exit.OK || strings.Join(got, " ") != want {
			t.Errorf("%q: status %d, got %q, want %q", args, status, got, want)
		}
	}
}

// A command that prints no result says so, instead of printing what no program expects.
func TestCommandsWithoutAResultRefuseAnOutput(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"up", "env", "demo"} {
		for _, format := range []string{"json", "yaml", "csv"} {
			status, out, errs := execute(t.Context(), "local", command, "--output", format)
			if status != exit.WrongUsage || out != "" || !strings.Contains(errs, "prints no result") {
				t.Errorf("local %s --output %s: status %d: %s%s", command, format, status, out, errs)
			}
		}
	}
}
