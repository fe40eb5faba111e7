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
	return command.Group("runbook", "Check, publish and show runbooks", lintCommand(c), diffCommand(c), publishCommand(c), listRunbooksCommand(c), getRunbookCommand(c), versionsCommand(c), additionsCommand(c), confirmAdditionsCommand(c), command.RunbookAuditCommand(c.Console), deleteCommand(c))
}

func listRunbooksCommand(c *console) *cobra.Command {
	var p command.Paging
	var o api.ListOptions
	list := &cobra.Command{
		Use: "list", Short: "List the active runbooks", Args: command.Needs(),
		Long: `List the active runbooks, and whether batches are made of what their queries find. One
that is failing, or has removals or additions that are held, is told of in
matoolkit automation status.`,
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
	command.Searched(list, &o, "runbooks whose name")
	command.Sorted(list, &o, api.RunbookSorts)
	p.Flags(list)
	return list
}

func getRunbookCommand(c *console) *cobra.Command {
	var version int
	show := &cobra.Command{
		Use: "get <name>", Short: "Print the YAML of a runbook", Args: command.OfRunbook(command.Needs("the name")),
		Long: `Print the YAML of the active version of a runbook, or of the version that is asked for.
Beside it stands who published it; what is written to a file is the YAML alone.

That is without --output: with it, as YAML too, the runbook is one value of all that is
known of the version, and not a file to publish.`,
		Example: `  matoolkit runbook get moves > moves.yaml
  matoolkit runbook get moves --version 2 > moves-2.yaml
  matoolkit runbook get moves --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("version") && version < 1 {
				return exit.Usagef("--version is %d; versions count from 1", version)
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
			c.tellAutomation(view)
			_, err = fmt.Fprintln(c.Env.Stdout, strings.TrimSuffix(view.YAML, "\n"))
			return err
		},
	}
	show.Flags().IntVar(&version, "version", 0, "the number of the version, active or not; the active one without it")
	return show
}

func templateCommand(c *console) *cobra.Command {
	var path string
	var force bool
	download := &cobra.Command{
		Use: "download <runbook>", Short: "Download the empty CSV file of a runbook", Args: command.OfRunbook(command.Needs("the runbook")),
		Long: `Download the empty CSV file of a runbook: a header with the columns that its
members need. It goes to <runbook>-template.csv, or to where --file says.`,
		Example: `  matoolkit template download moves
  matoolkit template download moves --file members.csv
  matoolkit template download moves --file -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if path == "-" && c.Format != render.FormatTable {
				return exit.Usagef("the template itself goes to standard output; --output tells of the file that --file names")
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			csv, err := s.Client.Template(cmd.Context(), args[0])
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
			return c.Print(map[string]string{"file": to}, t)
		},
	}
	download.Flags().StringVarP(&path, "file", "f", "", "where to write; - is standard output")
	download.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	return command.Group("template", "Get the CSV file to fill in", download)
}

func save(path string, data []byte, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644) //nolint:gosec // it is to be given to those who fill it in
	if os.IsExist(err) {
		return &exit.Error{Status: exit.Refused, Text: path + " exists", Hint: "Write over it with --force."}
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
