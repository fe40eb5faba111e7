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

// difference is the comparison of two runbooks in structured output.
type difference struct {
	From    string       `json:"from"` // a file, or a runbook with its version
	To      string       `json:"to"`
	Changes diff.Changes `json:"changes"`
}

func diffCommand(c *console) *cobra.Command {
	var asText, exitCode bool
	cmd := &cobra.Command{
		Use: "diff <name|file> [<version|file>] [<version>]", Short: "Compare two versions of a runbook",
		Long: `Compares two versions of a runbook, or files. A file name ends in .yaml or .yml, contains a
slash, or is - for standard input.

  matoolkit runbook diff moves 1 2          version 1 with version 2
  matoolkit runbook diff moves 1            version 1 with the active version
  matoolkit runbook diff moves new.yaml     the active version with the file
  matoolkit runbook diff old.yaml new.yaml  two files; the API is not used

Each difference in behaviour is a line that begins with + (added), - (removed), ~ (changed)
or > (moved in its list). Formatting and comments are no difference; --text compares the
files line by line instead.

The exit status is 0, or with --exit-code 1 when there is a difference.`,
		Example: `  matoolkit runbook diff moves moves.yaml
  matoolkit runbook diff moves 3 4 --text
  matoolkit runbook diff moves moves.yaml --exit-code > /dev/null || echo "not published yet"
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
			if asText && !c.Human() {
				return exit.Usagef("--text and --output %s cannot be given together", c.Format)
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
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with status 1 when there is a difference")
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

// sides parses the arguments into the two runbooks to compare.
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

// checkSides refuses arguments that do not name two runbooks.
func checkSides(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return exit.Usagef("the runbook is missing: %s", command.UsageLine(cmd))
	case len(args) == 1:
		return exit.Usagef("the version or file to compare with is missing: %s", command.UsageLine(cmd))
	case len(args) > 3:
		return exit.Usagef("too many arguments, from %q on: %s", args[3], command.UsageLine(cmd))
	case args[0] == "-" && args[1] == "-":
		return exit.Usagef("only one of the two can be standard input")
	case command.IsFile(args[0]) && !command.IsFile(args[1]):
		return exit.Usagef("%q is a file and can be compared only with another file, whose name ends in .yaml or .yml or contains a slash", args[0])
	case command.IsFile(args[0]) && len(args) == 3:
		return exit.Usagef("too many arguments, from %q on: %s", args[2], command.UsageLine(cmd))
	case command.IsFile(args[1]) && len(args) == 3:
		return exit.Usagef("too many arguments, from %q on: a file is compared with the active version", args[2])
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

// printDifference prints the changes and reports whether there are any.
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
			return false, &exit.Error{Status: exit.Refused, Text: s.title + " has errors", Hint: "Compare the files line by line with --text."}
		}
		parsed[i] = rb
	}
	d := difference{From: from.title, To: to.title, Changes: append(diff.Changes{}, diff.Compare(parsed[0], parsed[1])...)}
	differ := len(d.Changes) > 0
	if !c.Human() {
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
		c.Notice("There are no differences.")
	default:
		c.Notice("Both behave the same; only their text differs. Show it with --text.")
	}
	return differ, nil
}

// completeDiff completes the first argument with names of runbooks and the others with
// versions of it. The shell completes files.
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
		directive = cobra.ShellCompDirectiveDefault // a file is possible as well
	}
	return found, directive
}
