package main

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/e2e/pages"
	"github.com/matoolkit/matoolkit/internal/cli/command"
)

// TestCommandsInDocuments holds every command of this program that a document shows, in a
// block or in its text, against the program: the command is there, and so are its
// options, and it takes so many arguments. The values of arguments are not looked at:
// that is for the blocks that e2e runs.
func TestCommandsInDocuments(t *testing.T) {
	t.Parallel()
	all, err := pages.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	for _, page := range all {
		commands, err := page.Commands("matoolkit")
		if err != nil {
			t.Error(err)
		}
		for _, c := range commands {
			if c.Program() != "matoolkit" {
				continue
			}
			shown++
			if err := understood(c); err != nil {
				t.Errorf("%s: %q: %v", c.Where, c, err)
			}
		}
	}
	if shown < 100 {
		t.Errorf("the documents show %d commands; are they found?", shown)
	}
}

// TestEveryCommandIsInADocument holds the documents against the program: each command is
// told of in one of them, under its full name.
func TestEveryCommandIsInADocument(t *testing.T) {
	t.Parallel()
	all, err := pages.All("../..")
	if err != nil {
		t.Fatal(err)
	}
	told := map[*cobra.Command]bool{}
	root := newRoot(command.Environment{}, func(string) string { return "" })
	for _, page := range all {
		commands, err := page.Commands("matoolkit")
		if err != nil {
			t.Error(err)
		}
		for _, c := range commands {
			if found, _, err := root.Find(c.Words[1:]); err == nil && c.Program() == "matoolkit" {
				told[found] = true
			}
		}
	}
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		if !c.HasSubCommands() && !c.Hidden && !told[c] {
			t.Errorf("no document shows `%s`", c.CommandPath())
		}
		for _, child := range c.Commands() {
			look(child)
		}
	}
	look(root)
}

// understood reads a command line as the program does, and stops before it is carried out.
func understood(given pages.Command) error {
	root := newRoot(command.Environment{}, func(string) string { return "" })
	cmd, args, err := root.Find(given.Words[1:])
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
	if help, _ := cmd.Flags().GetBool("help"); help || cmd == root && len(rest) == 0 {
		return nil
	}
	if cmd.HasSubCommands() && len(rest) == 0 {
		if given.Inline {
			return nil // a group of commands is told of
		}
		return errors.New("the command is not complete")
	}
	if given.Inline && len(rest) == 0 {
		return nil // the command is told of, and not what it is given
	}
	if err := cmd.ValidateArgs(rest); err != nil {
		return err
	}
	return cmd.ValidateFlagGroups()
}

func TestWhatTheProgramDoesNotUnderstandIsFound(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"matoolkit batch advance 42 --phase x --wait":   "",
		"bin/matoolkit local up --parts servicebus":     "",
		"matoolkit runbook publish moves.yaml -o json":  "",
		"matoolkit config set api-url https://x":        "",
		"matoolkit --help":                              "",
		"matoolkit batch --help":                        "",
		"matoolkit batch rewind 42":                     "unknown command",
		"matoolkit local destroy":                       "unknown command",
		"matoolkit demo":                                "unknown command",
		"matoolkit batch":                               "not complete",
		"matoolkit batch advance":                       "the id is missing",
		"matoolkit batch advance 42 43":                 "too many",
		"matoolkit batch advance 42 --backwards":        "unknown flag",
		"matoolkit query preview moves --rows many":     "invalid argument",
		"matoolkit batch create members.yaml moves.csv": "runbook",
	} {
		page, err := pages.Parse("page", "```sh\n"+line+"\n```\n")
		if err != nil {
			t.Fatal(err)
		}
		commands, err := page.Commands("matoolkit")
		if err != nil || len(commands) != 1 {
			t.Fatalf("%s: %v, %v", line, commands, err)
		}
		err = understood(commands[0])
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
}

// TestCommandsAreRead tells what counts as a command.
func TestCommandsAreRead(t *testing.T) {
	t.Parallel()
	document := "Give `matoolkit auth login`, not `other`, or `matoolkit worker verify <worker-id> …`; `bin/matoolkit local env`.\n" +
		"```sh\nmake demo && bin/matoolkit local env   # now\n(eval \"$(bin/matoolkit local env --for worker)\" && bin/worker) &\n" +
		"matoolkit batch cancel 42 \\\n  --reason \"the merger is off\"\n```\n" +
		"```console\n$ matoolkit local tick\nmatoolkit says so\n```\n"
	page, err := pages.Parse("page", document)
	if err != nil {
		t.Fatal(err)
	}
	commands, err := page.Commands("matoolkit")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range commands {
		got = append(got, c.Where+" "+strings.Join(c.Words, "|"))
	}
	if want := []string{
		"page:3 make|demo", "page:3 bin/matoolkit|local|env",
		"page:4 eval|$(bin/matoolkit local env --for worker)", "page:4 bin/matoolkit|local|env|--for|worker", "page:4 bin/worker",
		"page:5 matoolkit|batch|cancel|42|--reason|the merger is off", "page:9 matoolkit|local|tick",
		"page:1 matoolkit|auth|login", "page:1 matoolkit|worker|verify|X|X", "page:1 bin/matoolkit|local|env",
	}; !slices.Equal(got, want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}

// TestCommandsInTheHelp holds what the help itself shows against the program.
func TestCommandsInTheHelp(t *testing.T) {
	t.Parallel()
	shown := 0
	var look func(c *cobra.Command)
	look = func(c *cobra.Command) {
		for line := range strings.Lines(c.Long + "\n" + c.Example) {
			line, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "  ")
			if line, _, _ = strings.Cut(line, "  "); !indented || !strings.HasPrefix(line, "matoolkit ") {
				continue
			}
			page, err := pages.Parse(c.CommandPath()+" --help", "```sh\n"+placeholders.ReplaceAllString(line, "X")+"\n```\n")
			if err != nil {
				t.Fatal(err)
			}
			commands, err := page.Commands()
			if err != nil {
				t.Error(err)
			}
			for _, given := range commands {
				if given.Program() != "matoolkit" {
					continue
				}
				shown++
				given.Inline = true // some tell of a command, and not what it is given
				if err := understood(given); err != nil {
					t.Errorf("%s shows %q: %v", c.CommandPath(), line, err)
				}
			}
		}
		for _, child := range c.Commands() {
			look(child)
		}
	}
	look(newRoot(command.Environment{}, func(string) string { return "" }))
	if shown < 50 {
		t.Errorf("the help shows %d commands; are they found?", shown)
	}
}

var placeholders = regexp.MustCompile(`<[a-zA-Z -]+>`)
