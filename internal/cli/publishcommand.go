package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

func publishCommand(c *console) *cobra.Command {
	var o api.PublishOptions
	var yes, force bool
	publish := &cobra.Command{
		Use: "publish <file>", Short: "Publish a runbook as its active version", Args: command.Needs("the file"),
		Long: `Publishes a runbook as the active version of its name. Publishing the active version again
changes nothing, except with another --overdue or --rerun-init, which makes a new version.
The file name - stands for standard input.

The API checks the runbook as matoolkit runbook lint does. It publishes nothing when there
are errors, or with --strict when there are warnings.

Batches that have not ended take up the new version within minutes, or when you advance
them. Those that follow a data source are synced first, so that their members have the
columns that the version uses first; the command names the columns that they lack. Pending phases are superseded by those of the new version; a running phase ends under
the version that started it. Phases of the new version that are past due, or that the batch
has already gone beyond, are
  --overdue ignore  skipped (default)
  --overdue rerun   run again for all active members
With --rerun-init the init steps run again before them.

The command shows the changes in the runbook and in each of these batches. With --dry-run it
does nothing else.

On a terminal the command asks for confirmation when batches take up the version. Without a
terminal it continues, except with --overdue rerun or --rerun-init, which repeat work on
accounts and need --yes.

It also asks when every call of a step would fail, because no worker has announced itself
with the step's worker_id, because the worker does not have the function, or because the
parameters are not those of the function; and when the connection setting has no value.
Without a terminal it then publishes nothing. --force publishes it all the same, for scripts
that publish before the workers run.`,
		Example: `  matoolkit runbook publish moves.yaml
  matoolkit runbook publish moves.yaml --dry-run
  matoolkit runbook publish moves.yaml --strict --yes
  matoolkit runbook publish moves.yaml --overdue rerun --rerun-init
  matoolkit runbook publish moves.yaml --force
  generate-runbook | matoolkit runbook publish -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Overdue != api.OverdueIgnore && o.Overdue != api.OverdueRerun {
				return exit.Usagef("--overdue is %q; use %s or %s", o.Overdue, api.OverdueIgnore, api.OverdueRerun)
			}
			if o.Overdue == api.OverdueIgnore {
				o.Overdue = "" // the API's own default
			}
			src, err := c.ReadFile(args[0], runbook.MaxBytes)
			if err != nil {
				return err
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			p := publication{console: c, session: s, path: args[0], src: src, options: o, yes: yes, force: force}
			if !o.DryRun {
				if err := p.ask(cmd.Context()); err != nil {
					return err
				}
			}
			view, err := s.Client.PublishWith(cmd.Context(), src, o)
			if err != nil {
				return c.Located(args[0], err)
			}
			return p.print(cmd, view)
		},
	}
	publish.Flags().StringVar(&o.Overdue, "overdue", api.OverdueIgnore, "phases past due in batches that have not ended: ignore or rerun")
	publish.Flags().BoolVar(&o.RerunInit, "rerun-init", false, "run the init steps of batches that have not ended again")
	publish.Flags().BoolVar(&o.Strict, "strict", false, "publish nothing if there are warnings")
	publish.Flags().BoolVar(&o.DryRun, "dry-run", false, "show the changes and publish nothing")
	publish.Flags().BoolVarP(&yes, "yes", "y", false, "skip the confirmation of what changes for batches")
	publish.Flags().BoolVar(&force, "force", false, "publish even if every call of a step would fail")
	return publish
}

// publication is a runbook that is being published.
type publication struct {
	*console
	session *command.Session
	path    string
	src     []byte
	options api.PublishOptions
	yes     bool // the batches may take up the version
	force   bool // calls may fail
	shown   bool // the warnings and the changes are printed
}

// repeats reports whether the publication repeats work on accounts.
func (p *publication) repeats() bool {
	return p.options.Overdue == api.OverdueRerun || p.options.RerunInit
}

// ask asks for confirmation if batches take up the version, or if calls always fail. Without a
// terminal it refuses a publication that repeats work, and one of which calls always fail.
func (p *publication) ask(ctx context.Context) error {
	if p.force && (p.yes || !p.Env.Terminal && !p.repeats()) {
		return nil
	}
	dry := p.options
	dry.DryRun = true
	view, err := p.session.Client.PublishWith(ctx, p.src, dry)
	if err != nil {
		return p.Located(p.path, err)
	}
	var reasons []string
	if failing := render.AlwaysFailing(view.Warnings); len(failing) > 0 && !p.force && !view.Unchanged {
		if !p.Env.Terminal {
			return &exit.Error{
				Status: exit.Refused, Text: "nothing was published: every call of a step would fail", Found: render.FindingLines(p.path, render.DiagnosticsOf(failing)),
				Hint: "Correct the runbook, start the workers, or publish it all the same with --force.",
			}
		}
		reasons = append(reasons, render.FailingText(failing))
	}
	if going := goingOver(view); going > 0 && !p.yes && (p.Env.Terminal || p.repeats()) {
		reasons = append(reasons, render.TakeUp(going))
	}
	if len(reasons) == 0 {
		return nil
	}
	p.show(p.Env.Stderr, view)
	if p.path == "-" && p.Env.Terminal {
		return exit.Usagef("cannot ask for confirmation when the runbook comes from standard input; give --yes or --force")
	}
	return p.Confirm(ctx, "Publish version %d of %s? %s.", view.Version, render.Printable(view.Name), strings.Join(reasons, ". "))
}

// goingOver counts the batches that take up the new version.
func goingOver(view api.Runbook) int {
	if view.Unchanged || view.Changes == nil {
		return 0
	}
	n := view.Changes.BatchCount
	for _, b := range view.Changes.Batches {
		if b.Stays != "" || b.Problem != "" {
			n--
		}
	}
	return n
}

// print prints the version that was published, or would be.
func (p *publication) print(cmd *cobra.Command, view api.Runbook) error {
	if p.Structured() {
		return p.Document(view)
	}
	if view.DryRun {
		p.show(p.Env.Stdout, view)
		switch {
		case view.Unchanged:
			p.Notice("This is already the active version; there is nothing to publish.")
		default:
			if failing := render.AlwaysFailing(view.Warnings); len(failing) > 0 && !p.force {
				p.Notice("%s: matoolkit asks before it publishes the runbook, and a script needs --force.", render.FailingText(failing))
			}
			p.Outcome(command.InEarnest(cmd, false), "Dry run: nothing was published. The runbook would become version %d of %s.", view.Version, view.Name)
		}
		return nil
	}
	if !p.shown {
		p.show(p.Env.Stderr, view)
	}
	if view.Unchanged {
		outcome := "Version %d of %s is already active; nothing was published."
		if p.repeats() {
			outcome += " It was published with these options."
		}
		return p.Done(view, p.RunbookTable(view), "", outcome, view.Version, view.Name)
	}
	name := render.ShellWord(view.Name)
	next := "matoolkit template download " + name
	switch rb, _ := runbook.Parse(p.src); {
	case goingOver(view) > 0:
		next = "matoolkit batch list --runbook " + name
	case rb != nil && rb.ListsItems():
		next = "matoolkit pipeline start " + name + " --owner NAME"
	case rb != nil && rb.IsRequested():
		next = "matoolkit pipeline start " + name + " --owner NAME --items FILE"
	case rb != nil && rb.DataSource.Queried():
		next = "matoolkit query preview " + name
	}
	return p.Done(view, p.RunbookTable(view), next, "Published version %d of runbook %s.", view.Version, view.Name)
}

// show prints the warnings, which always go to standard error, and the changes.
func (p *publication) show(w io.Writer, view api.Runbook) {
	p.shown = true
	if p.Human() {
		p.PrintDiagnostics(p.Env.Stderr, p.path, render.DiagnosticsOf(view.Warnings))
	}
	if !p.Quiet && view.Changes != nil && !view.Unchanged {
		fmt.Fprint(w, render.ChangesText(*view.Changes))
	}
}
