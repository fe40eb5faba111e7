package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

func publishCommand(c *console) *cobra.Command {
	var o api.PublishOptions
	var yes bool
	publish := &cobra.Command{
		Use: "publish <file>", Short: "Publish a runbook, as the active version of its name", Args: command.Needs("the file"),
		Long: `Publish a runbook, as the active version of its name. Publishing what is active
already changes nothing. A file named - is standard input.

What is wrong with it is told as matoolkit runbook lint tells it, which with --output
json gives it to programs. Nothing is published then, nor with --strict when there are
warnings.

Batches that are under way go over to the new version within minutes, or when they
are advanced. Phases that have not begun are superseded by those of the new version;
what is under way ends under the version that began it. Phases of the new version
whose time is past, or that the batch has been advanced beyond, are
  --overdue ignore   skipped (the default), or
  --overdue rerun    run again, for all active members.
With --rerun-init the init steps are run again before them.

What the new version changes is told, in the runbook and for each of these batches.
With --dry-run that is all: everything is checked, and nothing is published.

On a terminal it asks when there are batches that go over. Without one it goes on, for
a pipeline; but with --overdue rerun or --rerun-init, which repeat what was done to
people's accounts, it then takes --yes.`,
		Example: `  matoolkit runbook publish moves.yaml
  matoolkit runbook publish moves.yaml --dry-run
  matoolkit runbook publish moves.yaml --strict --yes
  matoolkit runbook publish moves.yaml --overdue rerun --rerun-init
  generate-runbook | matoolkit runbook publish -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Overdue != api.OverdueIgnore && o.Overdue != api.OverdueRerun {
				return exit.Usagef("--overdue is %q; it can be %s or %s", o.Overdue, api.OverdueIgnore, api.OverdueRerun)
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
			p := publication{console: c, session: s, path: args[0], src: src, options: o}
			if !yes && !o.DryRun {
				if err := p.ask(cmd.Context()); err != nil {
					return err
				}
			}
			view, err := s.Client.PublishWith(cmd.Context(), src, o)
			if err != nil {
				return c.Located(args[0], err)
			}
			return p.print(view)
		},
	}
	publish.Flags().StringVar(&o.Overdue, "overdue", api.OverdueIgnore, "what becomes of phases past due in batches under way: ignore or rerun")
	publish.Flags().BoolVar(&o.RerunInit, "rerun-init", false, "run the init steps of batches under way again")
	publish.Flags().BoolVar(&o.Strict, "strict", false, "publish nothing when there are warnings")
	publish.Flags().BoolVar(&o.DryRun, "dry-run", false, "check everything, tell what would change, and publish nothing")
	publish.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return publish
}

// publication is one runbook on its way.
type publication struct {
	*console
	session *command.Session
	path    string
	src     []byte
	options api.PublishOptions
	told    bool // what was found and what changes
}

// repeats tells whether what was done already is asked for again.
func (p *publication) repeats() bool {
	return p.options.Overdue == api.OverdueRerun || p.options.RerunInit
}

// ask asks where batches go over to the version, with what becomes of them. Without a
// terminal only what repeats work is asked about, which is then a refusal.
func (p *publication) ask(ctx context.Context) error {
	if !p.Env.Terminal && !p.repeats() {
		return nil
	}
	dry := p.options
	dry.DryRun = true
	view, err := p.session.Client.PublishWith(ctx, p.src, dry)
	if err != nil {
		return p.Located(p.path, err)
	}
	going := goingOver(view)
	if going == 0 {
		return nil
	}
	p.tell(p.Env.Stderr, view)
	if p.path == "-" && p.Env.Terminal {
		return exit.Usagef("the runbook came from standard input, where nobody can be asked then; give --yes")
	}
	return p.Confirm(ctx, "Publish version %d of %s, to which %s?", view.Version, render.Printable(view.Name), render.GoOver(going))
}

// goingOver is how many batches a publish takes over to a newer version.
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

// print prints what was published, or would be.
func (p *publication) print(view api.Runbook) error {
	if p.Structured() {
		return p.Document(view)
	}
	if view.DryRun {
		p.tell(p.Env.Stdout, view)
		switch {
		case view.Unchanged:
			p.Notice("Nothing would be published: this is already the active version.")
		default:
			p.Notice("Nothing was published: this would be version %d of %s.", view.Version, render.Printable(view.Name))
		}
		return nil
	}
	if !p.told {
		p.tell(p.Env.Stderr, view)
	}
	if view.Unchanged {
		p.Notice("This is already the active version.")
		if p.repeats() {
			p.Notice("Batches follow it as was said when it was published; --overdue and --rerun-init change nothing.")
		}
	}
	return p.Console.Print(view, p.RunbookTable(view))
}

// tell tells what there was to be warned of and what a version changes. The warnings are
// never its result.
func (p *publication) tell(w io.Writer, view api.Runbook) {
	p.told = true
	if p.Format == render.FormatTable {
		p.PrintDiagnostics(p.Env.Stderr, p.path, render.DiagnosticsOf(view.Warnings))
	}
	if !p.Quiet && view.Changes != nil && !view.Unchanged {
		fmt.Fprint(w, render.ChangesText(*view.Changes))
	}
}
