package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
)

func runbookCommand(c *console) *cobra.Command {
	return command.WithExample(command.Group("runbook", "Write, check, publish and show runbooks", initCommand(c), schemaCommand(c), lintCommand(c), diffCommand(c), publishCommand(c), listRunbooksCommand(c), getRunbookCommand(c), versionsCommand(c), additionsCommand(c), confirmAdditionsCommand(c), discardAdditionsCommand(c), command.RunbookAuditCommand(c.Console), deleteCommand(c)),
		"  matoolkit runbook init moves.yaml\n  matoolkit runbook lint moves.yaml\n  matoolkit runbook publish moves.yaml\n  matoolkit runbook list")
}

func listRunbooksCommand(c *console) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	list := &cobra.Command{
		Use: "list", Short: "List the active runbooks", Args: command.Needs(),
		Long: `Lists the active runbooks and their automation. For failures and held removals or additions
see matoolkit automation status.`,
		Example: `  matoolkit runbook list
  matoolkit runbook list --quiet`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, o, s.Client.Runbooks)
			if err != nil {
				return err
			}
			t := c.Table("name", "version", "automation", "published", "by", "description")
			for _, v := range page.Items {
				t.Row(v.Name, v.Version, render.AutomationOf(v), v.CreatedAt, v.PublishedBy, v.Description)
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, t)
		},
	}
	command.Searched(list, &o, "runbooks whose name starts with this, case-sensitive")
	command.Sorted(list, &o, api.RunbookSorts)
	p.Flags(list)
	return list
}

func getRunbookCommand(c *console) *cobra.Command {
	var version int
	show := &cobra.Command{
		Use: "get <name>", Short: "Print the YAML of a runbook", Args: command.OfRunbook(command.Needs("the name")),
		Long: `Prints the YAML of the active version, or of the version in --version. Who published it is
printed to standard error, so you can redirect the YAML to a file.

With --output the command prints all fields of the version instead, which you cannot
publish, also as YAML.`,
		Example: `  matoolkit runbook get moves > moves.yaml
  matoolkit runbook get moves --version 2 > moves-2.yaml
  matoolkit runbook get moves --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("version") && version < 1 {
				return exit.Usagef("--version is %d; versions start at 1", version)
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("version") {
				view, err := s.Client.Version(cmd.Context(), args[0], version)
				if err != nil {
					return err
				}
				return c.PrintVersion(view)
			}
			view, err := s.Client.Runbook(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if c.Structured() {
				return c.Document(view)
			}
			c.Notice("%s version %d, published by %s on %s", view.Name, view.Version, view.PublishedBy, render.Stamp(view.CreatedAt))
			c.noticeAutomation(view)
			_, err = fmt.Fprintln(c.Env.Stdout, strings.TrimSuffix(view.YAML, "\n"))
			return err
		},
	}
	show.Flags().IntVar(&version, "version", 0, "the version (default: the active version)")
	return show
}

func templateCommand(c *console) *cobra.Command {
	var path, delimiter string
	var force bool
	download := &cobra.Command{
		Use: "download <runbook>", Short: "Download the empty member CSV of a runbook", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Downloads a CSV file with the columns that the members of the runbook need, to
<runbook>-template.csv or to the file in --file. Where Excel expects semicolons between the
columns, as in much of Europe, give --delimiter semicolon. Uploads recognize both.`,
		Example: `  matoolkit template download moves
  matoolkit template download moves --file members.csv
  matoolkit template download moves --delimiter semicolon
  matoolkit template download moves --file -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command.CheckDelimiter(delimiter); err != nil {
				return err
			}
			if path == "-" && !c.Human() {
				return exit.Usagef("the template goes to standard output; --output describes the file in --file")
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			csv, err := s.Client.Template(cmd.Context(), args[0], delimiter)
			if err != nil {
				return err
			}
			if path == "-" {
				_, err := c.Env.Stdout.Write(csv)
				return err
			}
			to := path
			if to == "" {
				to = args[0] + "-template.csv"
			}
			if err := save(to, csv, force); err != nil {
				return err
			}
			t := c.Table("file")
			t.Row(to)
			return c.Done(map[string]string{"file": to}, t, "matoolkit batch create "+render.ShellWord(args[0])+" "+render.ShellWord(to), "Wrote %s. Add one row per member.", to)
		},
	}
	download.Flags().StringVarP(&path, "file", "f", "", "the file to write; - is standard output")
	command.DelimiterFlag(download, &delimiter, "what separates the columns (default comma)")
	download.Flags().BoolVar(&force, "force", false, "overwrite an existing file")
	return command.WithExample(command.Group("template", "Download the member CSV of a runbook", download), "  matoolkit template download moves")
}

func save(path string, data []byte, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644) //nolint:gosec // other people fill it in
	if os.IsExist(err) {
		return &exit.Error{Status: exit.Refused, Text: path + " exists", Hint: "Overwrite it with --force."}
	}
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
