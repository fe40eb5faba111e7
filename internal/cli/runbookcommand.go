package cli

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

func runbookCommand(c *console) *cobra.Command {
	return group("runbook", "Check, publish and show runbooks", lintCommand(c), publishCommand(c), listRunbooksCommand(c), getRunbookCommand(c), versionsCommand(c), deleteCommand(c))
}

func publishCommand(c *console) *cobra.Command {
	var o app.PublishOptions
	publish := &cobra.Command{
		Use: "publish <file>", Short: "Publish a runbook, as the active version of its name", Args: needs("the file"),
		Long: `Publish a runbook, as the active version of its name. Publishing what is active
already changes nothing. A file named - is standard input.

What is wrong with it is told as matoolkit runbook lint tells it, which with --output
json gives it to programs.

Batches that are under way go over to the new version within minutes, or when they
are advanced. Phases that have not begun are superseded by those of the new version;
what is under way ends under the version that began it. Phases of the new version
whose time is past, or that the batch has been advanced beyond, are
  --overdue ignore   skipped (the default), or
  --overdue rerun    run again, for all active members.
With --rerun-init the init steps are run again before them.`,
		Example: `  matoolkit runbook publish moves.yaml
  matoolkit runbook publish moves.yaml --overdue rerun --rerun-init
  generate-runbook | matoolkit runbook publish -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Overdue != app.OverdueIgnore && o.Overdue != app.OverdueRerun {
				return usagef("--overdue is %q; it can be %s or %s", o.Overdue, app.OverdueIgnore, app.OverdueRerun)
			}
			if o.Overdue == app.OverdueIgnore {
				o.Overdue = "" // the API's own default
			}
			src, err := c.readFile(args[0], runbook.MaxBytes)
			if err != nil {
				return err
			}
			s, err := c.session()
			if err != nil {
				return err
			}
			view, err := s.Client.PublishWith(cmd.Context(), src, o)
			if err != nil {
				return c.located(args[0], err)
			}
			if c.format == formatTable {
				c.printDiagnostics(c.env.Stderr, args[0], view.Warnings)
			}
			if view.Unchanged {
				c.notice("This is already the active version.")
				if o != (app.PublishOptions{}) {
					c.notice("Batches follow it as was said when it was published; --overdue and --rerun-init change nothing.")
				}
			}
			return c.print(view, c.runbookTable(view))
		},
	}
	publish.Flags().StringVar(&o.Overdue, "overdue", app.OverdueIgnore, "what becomes of phases past due in batches under way: ignore or rerun")
	publish.Flags().BoolVar(&o.RerunInit, "rerun-init", false, "run the init steps of batches under way again")
	return publish
}

func listRunbooksCommand(c *console) *cobra.Command {
	var p paging
	list := &cobra.Command{
		Use: "list", Short: "List the active runbooks", Args: needs(),
		Long: `List the active runbooks, and whether batches are made of what their queries find. One
that is failing, or has removals that are held, is told of in matoolkit automation status.`,
		Example: `  matoolkit runbook list
  matoolkit runbook list --quiet`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.session()
			if err != nil {
				return err
			}
			page, err := collect(cmd.Context(), p, app.ListOptions{}, s.Client.Runbooks)
			if err != nil {
				return err
			}
			t := c.table("name", "version", "automation", "published", "by", "description")
			for _, v := range page.Items {
				t.row(v.Name, v.Version, automationOf(v), v.CreatedAt, v.PublishedBy, v.Description)
			}
			return c.printPage(page, len(page.Items), page.Continuation, t)
		},
	}
	p.flags(list)
	return list
}

func getRunbookCommand(c *console) *cobra.Command {
	var version int
	show := &cobra.Command{
		Use: "get <name>", Short: "Print the YAML of a runbook", Args: ofRunbook(needs("the name")),
		Long: `Print the YAML of the active version of a runbook, or of the version that is asked for.
Beside it stands who published it; what is written to a file is the YAML alone.

That is without --output: with it, as YAML too, the runbook is one value of all that is
known of the version, and not a file to publish.`,
		Example: `  matoolkit runbook get moves > moves.yaml
  matoolkit runbook get moves --version 2 > moves-2.yaml
  matoolkit runbook get moves --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("version") && version < 1 {
				return usagef("--version is %d; versions count from 1", version)
			}
			s, err := c.session()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("version") {
				view, err := s.Client.Version(cmd.Context(), args[0], version)
				if err != nil {
					return err
				}
				return c.printVersion(view)
			}
			view, err := s.Client.Runbook(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if c.structured() {
				return c.document(view)
			}
			c.notice("%s version %d, published by %s on %s", view.Name, view.Version, view.PublishedBy, stamp(view.CreatedAt))
			c.tellAutomation(view)
			_, err = fmt.Fprintln(c.env.Stdout, strings.TrimSuffix(view.YAML, "\n"))
			return err
		},
	}
	show.Flags().IntVar(&version, "version", 0, "the number of the version, active or not; the active one without it")
	return show
}

func (c *console) runbookTable(views ...app.RunbookView) *sheet {
	t := c.table("name", "version", "published", "by", "description")
	for _, v := range views {
		t.row(v.Name, v.Version, v.CreatedAt, v.PublishedBy, v.Description)
	}
	return t
}

func templateCommand(c *console) *cobra.Command {
	var path string
	var force bool
	download := &cobra.Command{
		Use: "download <runbook>", Short: "Download the empty CSV file of a runbook", Args: ofRunbook(needs("the runbook")),
		Long: `Download the empty CSV file of a runbook: a header with the columns that its
members need. It goes to <runbook>-template.csv, or to where --file says.`,
		Example: `  matoolkit template download moves
  matoolkit template download moves --file members.csv
  matoolkit template download moves --file -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.session()
			if err != nil {
				return err
			}
			csv, err := s.Client.Template(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if path == "-" {
				_, err := c.env.Stdout.Write(csv)
				return err
			}
			to := path
			if to == "" {
				to = args[0] + "-template.csv"
			}
			if err := save(to, csv, force); err != nil {
				return err
			}
			t := c.table("file")
			t.row(to)
			return c.print(map[string]string{"file": to}, t)
		},
	}
	download.Flags().StringVarP(&path, "file", "f", "", "where to write; - is standard output")
	download.Flags().BoolVar(&force, "force", false, "write over a file that exists")
	return group("template", "Get the CSV file to fill in", download)
}

func save(path string, data []byte, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if os.IsExist(err) {
		return &exit{status: ExitRefused, text: path + " exists", hint: "Write over it with --force."}
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
