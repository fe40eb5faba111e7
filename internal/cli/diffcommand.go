package cli

import (
	"context"
	"fmt"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/diff"
)

// difference is what there is between two runbooks, for programs.
type difference struct {
	From    string       `json:"from"` // a file, or a runbook with its version
	To      string       `json:"to"`
	Changes diff.Changes `json:"changes"`
}

func diffCommand(c *console) *cobra.Command {
	var asText, exitCode bool
	cmd := &cobra.Command{
		Use: "diff <name|file> [<version|file>] [<version>]", Short: "Tell what is different between two versions of a runbook",
		Long: `Tell what is different between two versions of a runbook, or between files. What a file
is named ends in .yaml or .yml, or has a / in it, or is - for standard input.

  matoolkit runbook diff moves 1 2          from version 1 to version 2
  matoolkit runbook diff moves 1            from version 1 to the active version
  matoolkit runbook diff moves new.yaml     from the active version to the file
  matoolkit runbook diff old.yaml new.yaml  from one file to the other; nobody is asked

It tells what the second does otherwise, each difference on a line that begins with +
for what is added, - for what is removed, ~ for what is changed and > for what has moved
in its list. What is only written otherwise is no difference; --text compares the files
line by line instead, comments and all.

The exit status is 0, and with --exit-code 1 when there is a difference.`,
		Example: `  matoolkit runbook diff moves moves.yaml
  matoolkit runbook diff moves 3 4 --text
  matoolkit runbook diff moves moves.yaml --exit-code > /dev/null || echo not published yet
  matoolkit runbook diff moves 3 4 --output json`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, _, err := sides(cmd, args)
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			from, to, err := sides(cmd, args)
			if err != nil {
				return err
			}
			if asText && c.Format != render.FormatTable {
				return exit.Usagef("--text is one form of the difference, and --output %s another; give one of the two", c.Format)
			}
			for _, s := range []*side{from, to} {
				if err := c.load(cmd.Context(), s); err != nil {
					return err
				}
			}
			differ, err := c.printDifference(from, to, asText)
			if err == nil && differ && exitCode {
				return &exit.Error{Status: exit.Failed}
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asText, "text", false, "compare the YAML line by line")
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "end with status 1 when there is a difference")
	cmd.ValidArgsFunction = c.completeDiff
	return command.Lists(cmd)
}

// side is one of the two runbooks that are compared.
type side struct {
	file    string // empty for a version
	name    string
	version int // 0: the active one
	yaml    []byte
	title   string
}

// sides tells from the arguments what is compared with what.
func sides(cmd *cobra.Command, args []string) (from, to *side, err error) {
	if err := checkSides(cmd, args); err != nil {
		return nil, nil, err
	}
	switch {
	case command.IsFile(args[0]):
		return &side{file: args[0]}, &side{file: args[1]}, nil
	case command.IsFile(args[1]):
		return &side{name: args[0]}, &side{file: args[1]}, nil
	}
	from, to = &side{name: args[0]}, &side{name: args[0]}
	if from.version, err = versionNumber(args[1]); err != nil {
		return nil, nil, err
	}
	if len(args) == 3 {
		to.version, err = versionNumber(args[2])
	}
	return from, to, err
}

// checkSides refuses arguments that do not name two sides.
func checkSides(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return exit.Usagef("the runbook is missing: %s", cmd.UseLine())
	case len(args) == 1:
		return exit.Usagef("what to compare it with is missing: %s", cmd.UseLine())
	case len(args) > 3:
		return exit.Usagef("%q is one argument too many: %s", args[3], cmd.UseLine())
	case args[0] == "-" && args[1] == "-":
		return exit.Usagef("standard input can be only one of the two")
	case command.IsFile(args[0]) && !command.IsFile(args[1]):
		return exit.Usagef("%q is a file, and can be compared only with another; what a file is named ends in .yaml or .yml, or has a / in it", args[0])
	case command.IsFile(args[0]) && len(args) == 3:
		return exit.Usagef("%q is one argument too many: %s", args[2], cmd.UseLine())
	case command.IsFile(args[1]) && len(args) == 3:
		return exit.Usagef("%q is one argument too many: a file is compared with the active version", args[2])
	}
	return nil
}

// load reads one side, from its file or from the API.
func (c *console) load(ctx context.Context, s *side) error {
	if s.file != "" {
		yaml, err := c.ReadFile(s.file, runbook.MaxBytes)
		s.yaml, s.title = yaml, render.FileName(s.file)
		return err
	}
	session, err := c.Session()
	if err != nil {
		return err
	}
	if s.version > 0 {
		view, err := session.Client.Version(ctx, s.name, s.version)
		s.yaml = []byte(view.YAML)
		s.title = fmt.Sprintf("%s version %d", s.name, s.version)
		return err
	}
	view, err := session.Client.Runbook(ctx, s.name)
	s.yaml = []byte(view.YAML)
	s.title = fmt.Sprintf("%s version %d", s.name, view.Version)
	return err
}

// printDifference prints what is different, and tells whether anything is.
func (c *console) printDifference(from, to *side, asText bool) (bool, error) {
	if asText {
		text := udiff.Unified(from.title, to.title, string(from.yaml), string(to.yaml))
		_, err := fmt.Fprint(c.Env.Stdout, text)
		return text != "", err
	}
	var parsed [2]*runbook.Runbook
	for i, s := range []*side{from, to} {
		rb, found := runbook.Parse(s.yaml)
		if rb == nil {
			c.PrintDiagnostics(c.Env.Stderr, s.title, found)
			return false, &exit.Error{Status: exit.Refused, Text: s.title + " has errors", Hint: "Compare it line by line with --text."}
		}
		parsed[i] = rb
	}
	d := difference{From: from.title, To: to.title, Changes: append(diff.Changes{}, diff.Compare(parsed[0], parsed[1])...)}
	differ := len(d.Changes) > 0
	if c.Format != render.FormatTable {
		t := c.Table("kind", "path", "from", "to")
		for _, ch := range d.Changes {
			t.Row(ch.Kind, ch.Path, ch.From, ch.To)
		}
		return differ, c.Print(d, t)
	}
	c.Notice("From %s to %s:", render.Printable(d.From), render.Printable(d.To))
	for _, ch := range d.Changes {
		if _, err := fmt.Fprintln(c.Env.Stdout, render.Printable(ch.String())); err != nil {
			return differ, err
		}
	}
	switch {
	case differ:
	case string(from.yaml) == string(to.yaml):
		c.Notice("There is no difference.")
	default:
		c.Notice("Both do the same, though they are written differently; --text shows how.")
	}
	return differ, nil
}

// completeDiff completes the first argument with the names of runbooks, those after it
// with its versions, and leaves files to the shell.
func (c *console) completeDiff(cmd *cobra.Command, before []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	switch {
	case len(before) > 2, len(before) == 2 && (command.IsFile(before[0]) || command.IsFile(before[1])):
		return nil, cobra.ShellCompDirectiveNoFileComp
	case len(before) > 0 && command.IsFile(before[0]), command.IsFile(typed):
		return nil, cobra.ShellCompDirectiveDefault
	}
	of := command.VersionChoices
	if len(before) == 0 {
		of = command.RunbookChoices
	}
	found, directive := c.Ask(cmd, before, typed, of)
	if len(before) < 2 {
		directive = cobra.ShellCompDirectiveDefault // a file is possible too
	}
	return found, directive
}
