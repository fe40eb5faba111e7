package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

func publishCommand(c *console) *cobra.Command {
	var o api.PublishOptions
	var yes bool
	publish := &cobra.Command{
		Use: "publish <file>", Short: "Publish a runbook, as the active version of its name", Args: needs("the file"),
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
				return usagef("--overdue is %q; it can be %s or %s", o.Overdue, api.OverdueIgnore, api.OverdueRerun)
			}
			if o.Overdue == api.OverdueIgnore {
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
			p := publication{console: c, session: s, path: args[0], src: src, options: o}
			if !yes && !o.DryRun {
				if err := p.ask(cmd.Context()); err != nil {
					return err
				}
			}
			view, err := s.Client.PublishWith(cmd.Context(), src, o)
			if err != nil {
				return c.located(args[0], err)
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
	session *Session
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
	if !p.env.Terminal && !p.repeats() {
		return nil
	}
	dry := p.options
	dry.DryRun = true
	view, err := p.session.Client.PublishWith(ctx, p.src, dry)
	if err != nil {
		return p.located(p.path, err)
	}
	going := goingOver(view)
	if going == 0 {
		return nil
	}
	p.tell(p.env.Stderr, view)
	if p.path == "-" && p.env.Terminal {
		return usagef("the runbook came from standard input, where nobody can be asked then; give --yes")
	}
	return p.confirm(ctx, "Publish version %d of %s, to which %s?", view.Version, printable(view.Name), goOver(going))
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

func goOver(batches int) string {
	if batches == 1 {
		return "1 batch goes over"
	}
	return fmt.Sprintf("%d batches go over", batches)
}

// print prints what was published, or would be.
func (p *publication) print(view api.Runbook) error {
	if p.structured() {
		return p.document(view)
	}
	if view.DryRun {
		p.tell(p.env.Stdout, view)
		switch {
		case view.Unchanged:
			p.notice("Nothing would be published: this is already the active version.")
		default:
			p.notice("Nothing was published: this would be version %d of %s.", view.Version, printable(view.Name))
		}
		return nil
	}
	if !p.told {
		p.tell(p.env.Stderr, view)
	}
	if view.Unchanged {
		p.notice("This is already the active version.")
		if p.repeats() {
			p.notice("Batches follow it as was said when it was published; --overdue and --rerun-init change nothing.")
		}
	}
	return p.console.print(view, p.runbookTable(view))
}

// tell tells what there was to be warned of and what a version changes. The warnings are
// never its result.
func (p *publication) tell(w io.Writer, view api.Runbook) {
	p.told = true
	if p.format == formatTable {
		p.printDiagnostics(p.env.Stderr, p.path, diagnosticsOf(view.Warnings))
	}
	if !p.quiet && view.Changes != nil && !view.Unchanged {
		fmt.Fprint(w, changesText(*view.Changes))
	}
}

// shownBatches is of how many batches people are told what becomes of them.
const shownBatches = 20

// changesText tells what a version changes.
func changesText(v api.VersionChanges) string {
	var b strings.Builder
	switch {
	case v.Against == 0: // all of it is new
	case v.Problem != "":
		fmt.Fprintf(&b, "It cannot be compared with version %d: %s\n", v.Against, printable(v.Problem))
	case len(v.Runbook) == 0:
		fmt.Fprintf(&b, "It does the same as version %d, though it is written differently.\n", v.Against)
	default:
		fmt.Fprintf(&b, "Changes from version %d:\n", v.Against)
		for _, c := range v.Runbook {
			b.WriteString("  " + printable(changeOf(c).String()) + "\n")
		}
	}
	if v.BatchCount == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "Batches that have not ended: %d\n", v.BatchCount)
	shown := v.Batches[:min(len(v.Batches), shownBatches)]
	for _, f := range shown {
		b.WriteString("  " + printable(foreseenText(f)) + "\n")
	}
	if more := v.BatchCount - len(shown); more > 0 {
		fmt.Fprintf(&b, "  and %d more\n", more)
	}
	return b.String()
}

func changeOf(c api.Change) runbook.Change {
	return runbook.Change{Kind: runbook.ChangeKind(c.Kind), Path: c.Path, From: c.From, To: c.To}
}

func diagnosticsOf(all []api.Diagnostic) []runbook.Diagnostic {
	var out []runbook.Diagnostic
	for _, d := range all {
		out = append(out, runbook.Diagnostic{Severity: runbook.Severity(d.Severity), Code: d.Code, Message: d.Message, Path: d.Path, Line: d.Line, Column: d.Column})
	}
	return out
}

// foreseenText tells what becomes of a batch.
func foreseenText(f api.BatchForecast) string {
	if f.Problem != "" {
		return fmt.Sprintf("batch %d: it could not be looked at: %s", f.BatchID, f.Problem)
	}
	var parts []string
	add := func(what string, phases []string) {
		if len(phases) > 0 {
			parts = append(parts, what+": "+strings.Join(phases, ", "))
		}
	}
	switch {
	case f.Stays != "":
		parts = append(parts, "stays as it is: "+f.Stays)
	case f.InitAgain:
		parts = append(parts, "its init steps run again")
	case f.Init:
		parts = append(parts, "its init steps run")
	}
	add("run again", f.Again)
	add("to come", f.Pending)
	add("skipped", f.Skipped)
	add("superseded", f.Superseded)
	add("goes on under way", f.UnderWay)
	if f.Ends {
		parts = append(parts, "nothing is left to do: it ends")
	}
	return fmt.Sprintf("batch %d (%s, version %d): %s", f.BatchID, f.Status, f.From, strings.Join(parts, "; "))
}
