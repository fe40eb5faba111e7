package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/simulate"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
)

// rehearseFlags are the options of a rehearsal.
type rehearseFlags struct {
	simulateFlags
	source, target string
	identity       string
	workers        map[string]string
	report, json   string
	assumed        rehearse.Assumptions
	sample         int
	notModelled    []string
	fromSource     bool
	allowQuery     bool
	compare        compareFlags
}

// seconds is the flag of a duration that is kept in seconds.
type seconds struct{ of *float64 }

func (s seconds) String() string {
	if s.of == nil { // pflag asks a zero value
		return ""
	}
	return time.Duration(*s.of * float64(time.Second)).String()
}

// Set implements pflag.Value.
func (s seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err == nil && d < 0 {
		err = errors.New("it cannot be negative")
	}
	*s.of = d.Seconds()
	return err
}

// Type implements pflag.Value.
func (s seconds) Type() string { return "duration" }

func rehearseCommand() *cobra.Command {
	f := &rehearseFlags{assumed: rehearse.DefaultAssumptions()}
	c := &cobra.Command{
		Use: "rehearse <file>", Short: "Rehearse a migration on copies of the tenants", Args: command.Needs("the file"),
		Long: `Runs a whole migration on this machine, on copies of the real tenants, with the engine and
the functions that run it later. The clock jumps from event to event, so weeks take minutes.
No real tenant is read or changed, and nothing leaves the machine, with two exceptions, which the
report names: --allow-query sends the query of a data source, and with --functions the programs of
custom functions that say "rehearse: run" are started, which can do all that you can do here.

  runbook            the file that you would publish
  --members          the CSV file of members; for a runbook with a queried data source, the result
                     of the query
  --from-source      takes the members from the data source of the runbook: a graph source reads the
                     copy of its tenant. Any other would send its query from this machine, which
                     --allow-query permits, with the connection in the variable that it names
  --source, --target a copy of each tenant: the folder that tenant export wrote, or a JSON file
                     as for local up --seed. A runbook for one tenant needs --target only
  --start            T-0, as for runbook simulate
  --answers          approvals, and who joins or leaves, as for runbook simulate. Without it each
                     phase is approved at once

The report says who fails at which step and why, when each phase starts and how long it takes,
which licences are used, how many calls reach the tenants, what each person and group looks like
before and after, and what is left of a member who leaves the batch before the cut-over. It also
lists what the copies do not model: a rehearsal without errors is no guarantee.

The worker worker-source has the source, and worker-target the target; --worker names the tenant
of another worker. Durations are predictions: they count the limits of the tenants, and the times
that you give for calls.

With --quiet the command prints only the keys of failed members. The exit status is 0 when every
batch completes without failures, else 1.

After the real run, --compare <batch> compares it with the report that --json wrote, which takes
the place of the runbook: when each phase started and how long it took, and who failed at which
step. It compares the members who are in both and were neither removed nor moved with finished
phases, and phases that have ended. --json writes the comparison. --entries writes the differences
as entries of the table of what the copies do not model; the file keeps its entries, and a later
rehearsal lists them with --not-modelled. The exit status is 0 when all rehearsed phases have ended,
the same members failed at the same steps, and each phase took as long as predicted, give or take
15 percent or a minute; else 1.`,
		Example: `  matoolkit rehearse runbook.yaml --members members.csv --start "2026-12-01 18:00" \
      --source source.json --target target.json --report rehearsal.html
  matoolkit rehearse runbook.yaml --members members.csv --start "2026-12-01 18:00" \
      --target target.json --worker worker-01=target --json rehearsal.json --parallelism 8
  matoolkit rehearse rehearsal.json --compare 42 --entries observed.json
  matoolkit rehearse runbook.yaml --members wave-2.csv --start "2026-12-08 18:00" \
      --source source.json --target target.json --not-modelled observed.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("compare") {
				return f.compare.run(cmd, args[0], f.json)
			}
			return f.run(cmd, args[0])
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.members, "members", "m", "", "CSV file of members")
	flags.BoolVar(&f.fromSource, "from-source", false, "take the members from the data source of the runbook")
	flags.BoolVar(&f.allowQuery, "allow-query", false, "with --from-source: send the query of the data source from this machine")
	flags.StringVar(&f.start, "start", "", "T-0, such as \"2026-12-01 18:00\" or 2026-12-01T18:00:00+01:00")
	flags.StringVar(&f.zone, "time-zone", "UTC", "time zone of times without one, such as Europe/Berlin")
	flags.StringVar(&f.source, "source", "", "copy of the source tenant")
	flags.StringVar(&f.target, "target", "", "copy of the target tenant")
	flags.StringVar(&f.identity, "identity", "", "file with the private keys of encrypted snapshots, as age-keygen writes it")
	flags.StringToStringVar(&f.workers, "worker", nil, "tenant of a worker, ID=source or ID=target; repeatable")
	flags.StringVar(&f.answers, "answers", "", "YAML file with approvals, and who joins or leaves")
	flags.StringVar(&f.functions, "functions", "", "directory of custom functions; the programs of those with \"rehearse: run\" are started")
	flags.StringVar(&f.report, "report", "", "write the report to this file as a web page")
	flags.StringVar(&f.json, "json", "", "write the report to this file as JSON")
	flags.IntVar(&f.sample, "removals", 3, "members whose removal from the batch is rehearsed")
	flags.IntVar(&f.assumed.Parallelism, "parallelism", f.assumed.Parallelism, "jobs of a worker at once: replicas times MAX_PARALLELISM")
	flags.Var(seconds{&f.assumed.GraphSeconds}, "graph-latency", "time of a request of Graph")
	flags.Var(seconds{&f.assumed.ExchangeSeconds}, "exchange-latency", "time of a command of Exchange Online")
	flags.Var(seconds{&f.assumed.DispatchSeconds}, "dispatch-latency", "time from the result of a step to the next step's job at its worker")
	flags.Var(seconds{&f.assumed.CopySeconds}, "copy-time", "time in which Microsoft copies a mailbox, and again completes its move")
	flags.Var(seconds{&f.assumed.ProvisionSeconds}, "provision-time", "time from a licence to the mailbox")
	flags.Var(seconds{&f.assumed.PollSeconds}, "least-poll", "least interval of polls; 0 keeps those of the runbook")
	flags.StringArrayVar(&f.notModelled, "not-modelled", nil, "list the entries of this file, too, as --entries writes them; repeatable")
	flags.StringVar(&f.compare.batch, "compare", "", "compare a rehearsal with this batch, number or name; <file> is its report as JSON")
	flags.StringVar(&f.compare.entries, "entries", "", "with --compare: add the differences to this file of entries for --not-modelled")
	flags.SortFlags = false
	return command.Lists(c)
}

func (f *rehearseFlags) run(cmd *cobra.Command, file string) error {
	config, err := f.config(file)
	if err != nil {
		return err
	}
	debug.SetGCPercent(40) // it keeps the tenants, which can be large
	config.Progress = func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text+" …") }
	r, err := rehearse.Run(cmd.Context(), config)
	if err != nil {
		return f.refused(file, err)
	}
	if err := writeReport(f.report, r.HTML); err != nil {
		return err
	}
	if err := writeReport(f.json, r.JSON); err != nil {
		return err
	}
	if err := printRehearsal(cmd, r); err != nil {
		return err
	}
	if !r.Complete {
		return command.Failed()
	}
	return nil
}

// config reads the files, and refuses options that do not fit.
func (f *rehearseFlags) config(file string) (rehearse.Config, error) {
	if f.compare.entries != "" {
		return rehearse.Config{}, exit.Usage(errors.New("--entries is for --compare; a rehearsal lists the entries of --not-modelled"))
	}
	if f.fromSource && f.members != "" {
		return rehearse.Config{}, exit.Usage(errors.New("--members and --from-source cannot be given together"))
	}
	read, _, err := f.read(file, !f.fromSource)
	if err != nil {
		return rehearse.Config{}, err
	}
	sources, err := f.sources(read.Runbook)
	if err != nil {
		return rehearse.Config{}, err
	}
	c := rehearse.Config{FromSource: f.fromSource, Sources: sources, Runbook: read.Runbook, Members: read.Members, Start: read.Start, Answers: read.Answers, Sample: f.sample, Workers: map[string]string{}}
	for _, t := range []struct{ name, path string }{{"source", f.source}, {"target", f.target}} {
		if t.path == "" {
			continue
		}
		one, err := rehearse.ReadTenant(t.name, t.path, f.identity)
		if err != nil {
			return c, exit.Usage(fmt.Errorf("--%s: %w", t.name, err))
		}
		c.Tenants = append(c.Tenants, one)
	}
	if err := f.ensureTwoTenants(c.Tenants); err != nil {
		return c, exit.Usage(err)
	}
	if len(c.Tenants) == 0 {
		return c, exit.Usage(errors.New("--target is missing: give a copy of the tenant"))
	}
	for id, name := range f.workers {
		if !slices.ContainsFunc(c.Tenants, func(t rehearse.Tenant) bool { return t.Name == name }) {
			return c, exit.Usage(fmt.Errorf("--worker %s=%s: there is no copy of the tenant %s", id, name, name))
		}
		c.Workers[strings.ToLower(id)] = name
	}
	if f.functions != "" {
		if c.Custom, err = customFunctions(f.functions); err != nil {
			return c, exit.Usage(fmt.Errorf("--functions: %w", err))
		}
	}
	for _, path := range f.notModelled {
		entries, err := readEntries(path)
		if err != nil {
			return c, exit.Usage(fmt.Errorf("--not-modelled: %w", err))
		}
		c.NotModelled = rehearse.MergeNotModelled(c.NotModelled, entries)
	}
	if f.assumed.Parallelism < 1 || f.sample < 0 {
		return c, exit.Usage(errors.New("--parallelism must be at least 1, and --removals at least 0"))
	}
	c.Assumed = f.assumed
	return c, nil
}

// ensureTwoTenants refuses two copies of one tenant: both workers would act on it, and the report would look complete.
func (f *rehearseFlags) ensureTwoTenants(tenants []rehearse.Tenant) error {
	switch {
	case len(tenants) < 2:
		return nil
	case strings.EqualFold(tenants[0].ID, tenants[1].ID):
		return fmt.Errorf("--source %s and --target %s are both of tenant %s: give a copy of each tenant", f.source, f.target, tenants[1].ID)
	case filepath.Clean(f.source) == filepath.Clean(f.target): // files and redacted snapshots do not say of which tenant they are
		return fmt.Errorf("--source and --target are both %s: give a copy of each tenant", f.target)
	}
	return nil
}

// customFunctions are those of a directory. Their programs can be started if one of them runs in a rehearsal.
func customFunctions(dir string) ([]catalog.Function, error) {
	set, err := custom.Load(custom.Config{Dir: dir})
	if err != nil {
		return nil, err
	}
	runs := func(f catalog.Function) bool { return f.Rehearse == catalog.RehearseRun }
	if !slices.ContainsFunc(set.Functions(), runs) {
		return set.Functions(), nil
	}
	set, err = custom.Load(custom.Config{Dir: dir, Getenv: os.Getenv, Tokens: func(context.Context, string) (custom.Token, error) {
		return custom.Token{}, errors.New("a rehearsal has no tokens")
	}})
	if err != nil {
		return nil, err
	}
	return set.Functions(), nil
}

// writeReport writes or replaces a file, which only the user can read: it has names and addresses. An empty path writes nothing.
func writeReport(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	return command.SaveWhole(path, true, write)
}

func areObjects(n int) string {
	if n == 1 {
		return "1 object is"
	}
	return fmt.Sprintf("%d objects are", n)
}

// printRehearsal prints the result of a rehearsal.
func printRehearsal(cmd *cobra.Command, r *rehearse.Report) error {
	errorsTable := command.Table{Head: []string{"members", "phase", "step", "error", "first"}}
	failed := command.Table{Head: []string{"member"}}
	for _, list := range []struct {
		groups  []rehearse.ErrorGroup
		warning bool
	}{{r.Errors, false}, {r.Warnings, true}} {
		for _, g := range list.groups {
			step := g.Step
			if list.warning {
				step += " (warning)"
			}
			first := g.Members[0].Key
			errorsTable.Rows = append(errorsTable.Rows, []any{len(g.Members), g.Phase, step, g.Error, first})
			for _, m := range g.Members {
				if !list.warning && m.Key != "" {
					failed.Rows = append(failed.Rows, []any{m.Key})
				}
			}
		}
	}
	phases := command.Table{Head: []string{"phase", "offset", "starts", "takes", "succeeded", "failed", "jobs", "status"}}
	for _, p := range r.Phases {
		starts := ""
		if p.StartedAt != nil {
			starts = p.StartedAt.UTC().Format("Mon 2006-01-02 15:04")
		}
		phases.Rows = append(phases.Rows, []any{p.Name, p.Offset, starts, simulate.Span(time.Duration(p.Seconds * float64(time.Second))), p.Succeeded, p.Failed, p.Jobs, p.Status})
	}
	licenses := command.Table{Head: []string{"tenant", "product", "bought", "used before", "used after", "free after"}}
	for _, l := range r.Licenses {
		licenses.Rows = append(licenses.Rows, []any{l.Tenant, l.SKU, l.Bought, l.UsedBefore, l.UsedAfter, l.Free()})
	}
	calls := command.Table{Head: []string{"tenant", "calls", "total", "busiest minute", "limit"}}
	for _, k := range r.Calls {
		calls.Rows = append(calls.Rows, []any{k.Tenant, k.Kind, k.Total, k.Busiest, k.Limit})
	}
	if command.QuietTable(cmd) {
		return command.Print(cmd, r, failed)
	}
	if err := command.Print(cmd, r, errorsTable, phases, licenses, calls); err != nil || !command.Plain(cmd) {
		return err
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "\n%d of %d members succeed. %d objects differ afterwards.\n", r.Succeeded, r.Members, len(r.Changes))
	if v := r.Removal; v != nil {
		fmt.Fprintf(out, "After %s leave at %s, %s not as before the migration.\n", humanize.Count(len(v.Members), "member"), v.Offset, areObjects(len(v.Left)))
	}
	for _, n := range r.NotRehearsed {
		fmt.Fprintf(out, "Not rehearsed: %s (%s): %s.\n", n.Function, humanize.Count(n.Calls, "call"), n.Why)
	}
	for _, n := range r.NotModelled {
		fmt.Fprintf(out, "Not modelled: %s\n", n.Text())
	}
	for _, n := range r.Notes {
		fmt.Fprintf(out, "Note: %s\n", n)
	}
	return nil
}
