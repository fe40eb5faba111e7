package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// parseCommandLine reads a command line as the program does, and stops before it runs the command.
func parseCommandLine(words []string) error {
	root := newRoot(command.Environment{}, func(string) string { return "" })
	cmd, args, err := root.Find(words)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	if cmd == root {
		cmd.InitDefaultVersionFlag()
	}
	if err := cmd.ParseFlags(args); err != nil {
		return err
	}
	rest := cmd.Flags().Args()
	if help, _ := cmd.Flags().GetBool("help"); help || len(rest) == 0 {
		return nil // the help may name a command without its arguments
	}
	return errors.Join(cmd.ValidateArgs(rest), cmd.ValidateFlagGroups())
}

func TestParseCommandLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"batch advance 42 --phase x --wait":   "",
		"local up --parts servicebus":         "",
		"batch --help":                        "",
		"batch rewind 42":                     "unknown command",
		"batch advance 42 43":                 "too many",
		"batch advance 42 --backwards":        "unknown flag",
		"query preview moves --rows many":     "invalid argument",
		"batch create members.yaml moves.csv": "runbook",
	} {
		err := parseCommandLine(strings.Fields(line))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
}

// TestExamplesInHelp parses the command lines that the help shows.
func TestExamplesInHelp(t *testing.T) {
	t.Parallel()
	shown := 0
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "  ")
			if line, _, _ = strings.Cut(line, "  "); !indented || !strings.HasPrefix(line, "matoolkit ") {
				continue
			}
			shown++
			words := shellWord.FindAllString(simpleCommand.FindString(placeholders.ReplaceAllString(line, "X")), -1)
			if err := parseCommandLine(words[1:]); err != nil {
				t.Errorf("%s shows %q: %v", c.CommandPath(), line, err)
			}
		}
		for _, child := range c.Commands() {
			visit(child)
		}
	}
	visit(newRoot(command.Environment{}, func(string) string { return "" }))
	if shown < 50 {
		t.Errorf("the help shows only %d command lines", shown)
	}
}

// TestCommandsInPages parses the command lines of matoolkit that the pages of docs show.
func TestCommandsInPages(t *testing.T) {
	t.Parallel()
	pages := testenv.Must(filepath.Glob("../../docs/*.md"))(t)
	shown := 0
	for _, page := range pages {
		text := string(testenv.Must(os.ReadFile(page))(t))
		for _, block := range shellBlock.FindAllStringSubmatch(text, -1) {
			for line := range strings.Lines(strings.ReplaceAll(block[1], "\\\n", " ")) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
				if !strings.HasPrefix(line, "matoolkit ") {
					continue
				}
				shown++
				line, _, _ = strings.Cut(line, " #")
				words := shellWord.FindAllString(simpleCommand.FindString(placeholders.ReplaceAllString(line, "X")), -1)
				if err := parseCommandLine(words[1:]); err != nil {
					t.Errorf("%s shows %q: %v", page, line, err)
				}
			}
		}
	}
	if shown < 50 {
		t.Errorf("the pages show only %d command lines", shown)
	}
}

var (
	shellBlock    = regexp.MustCompile("(?ms)^ *```(?:sh|console|bash)\n(.*?)^ *```$")
	placeholders  = regexp.MustCompile(`<[a-zA-Z -]+>`)
	simpleCommand = regexp.MustCompile(`^[^|>&\\]+`)
	shellWord     = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'])+`)
)
