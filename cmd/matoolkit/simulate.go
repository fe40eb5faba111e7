package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/simulate"
)

// simulateFlags are the options of a simulation.
type simulateFlags struct {
	members, start, until, answers, zone, functions string
	member                                          []string
	all, assumeSuccess                              bool
}

// addSimulate adds the command "runbook simulate".
func addSimulate(root *cobra.Command) {
	group, _, err := root.Find([]string{"runbook"})
	if err != nil {
		panic(err) // the root has it
	}
	group.AddCommand(simulateCommand())
}

func simulateCommand() *cobra.Command {
	f := &simulateFlags{}
	c := &cobra.Command{
		Use: "simulate <file>", Short: "Simulate a migration offline and print its timeline", Args: command.Needs("the file"),
		Long: `Simulates a migration on this machine. Nothing is sent anywhere. The engine that runs
migrations runs this one with a clock that jumps from event to event, so weeks take seconds.

  runbook    the file that you would publish
  --members  the CSV file of members; for a runbook with a queried data source, the result of
             the query
  --start    for a runbook with a queried data source: when automation is enabled; its
             batches start when the rows say. For any other: the cut-over, T-0; the batch is
             created when its first phase is due and advanced when each phase is due
  --answers  the answers of workers, approvals, and who joins or leaves. Without it each job
             succeeds after a second with made-up values, and nothing is approved

A job fails as it would at a worker: if the function is unknown, or if a parameter is unknown,
missing, empty or of the wrong type. Workers have the standard functions of this version;
--functions names others, as for runbook lint. With --assume-success every call is accepted.

The calendar shows when each phase is due, and when quiet hours end that hold it. The timeline
shows when each phase starts and ends, where gates and quiet hours hold it, and
which members fail. Below it are the result of each phase, the calls of each function, and
warnings. A phase that waits for an approval that the answers do not give ends the timeline
of its batch, and the command shows the remaining phases.

With --quiet the command prints only the keys of failed members. The exit status is 0 when
every batch completes without failures and no step of the runbook, called or not, would fail
on every call, else 1. docs/write-a-runbook.md describes the answers.`,
		Example: `  matoolkit runbook simulate moves.yaml --members members.csv --start "2026-12-01 18:00"
  matoolkit runbook simulate moves.yaml --members members.csv --start 2026-12-01T18:00:00+01:00 \
      --answers answers.yaml --member eva@contoso.com
  matoolkit runbook simulate moves.yaml --members members.csv --start "2026-12-01 18:00" \
      --time-zone Europe/Berlin --output csv > timeline.csv
  matoolkit runbook simulate moves.yaml --members members.csv --start "2026-12-01 18:00" \
      --functions ./functions`,
		RunE: func(cmd *cobra.Command, args []string) error {
			config, loc, err := f.read(args[0], true)
			if err != nil {
				return err
			}
			if !f.assumeSuccess {
				if config.Functions, err = cli.Functions(f.functions, command.ReadFile(cmd)); err != nil {
					return err
				}
			}
			debug.SetGCPercent(400) // it allocates much and keeps little
			t, err := simulate.Run(cmd.Context(), config)
			if err != nil {
				return f.refused(args[0], err)
			}
			if err := printTimeline(cmd, t, loc); err != nil {
				return err
			}
			if !t.Complete {
				return command.Failed()
			}
			return nil
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.members, "members", "m", "", "CSV file of members")
	flags.StringVar(&f.start, "start", "", "start of the migration, such as \"2026-12-01 18:00\" or 2026-12-01T18:00:00+01:00")
	flags.StringVar(&f.zone, "time-zone", "UTC", "time zone of times without one and of the table, such as Europe/Berlin")
	flags.StringVar(&f.answers, "answers", "", "YAML file with the answers")
	cli.FunctionsFlag(c, &f.functions)
	flags.BoolVar(&f.assumeSuccess, "assume-success", false, "accept every call: unknown functions and wrong parameters do not fail")
	flags.StringVar(&f.until, "until", "", "end of the simulation, as for --start (default: the last event)")
	flags.StringArrayVar(&f.member, "member", nil, "show each job of the member with this key; repeatable")
	flags.BoolVar(&f.all, "members-detail", false, "show each job of every member")
	flags.SortFlags = false
	return command.Lists(c)
}

// read parses the options and reads the files. Where members come from elsewhere, it needs no file of them.
func (f *simulateFlags) read(runbook string, needsMembers bool) (simulate.Config, *time.Location, error) {
	c := simulate.Config{Members: f.members, Step: f.member, All: f.all}
	switch {
	case f.assumeSuccess && f.functions != "":
		return c, nil, exit.Usage(errors.New("--functions and --assume-success cannot be given together"))
	case f.members == "" && needsMembers:
		return c, nil, exit.Usage(errors.New("--members is missing: give the CSV file of members"))
	case f.start == "":
		return c, nil, exit.Usage(errors.New("--start is missing: give the start, such as --start \"2026-12-01 18:00\""))
	}
	loc, err := time.LoadLocation(f.zone)
	if err != nil || f.zone == "Local" {
		return c, nil, exit.Usage(fmt.Errorf("--time-zone: unknown time zone %q: give an IANA name such as Europe/Berlin or UTC", f.zone))
	}
	if c.Start, err = simulate.ParseTime(f.start, loc); err != nil {
		return c, nil, exit.Usage(fmt.Errorf("--start: %w", err))
	}
	if f.until != "" {
		if c.Until, err = simulate.ParseTime(f.until, loc); err != nil {
			return c, nil, exit.Usage(fmt.Errorf("--until: %w", err))
		}
	}
	if c.Runbook, err = os.ReadFile(runbook); err != nil {
		return c, nil, exit.Usage(err)
	}
	if _, err := os.Stat(f.members); err != nil && needsMembers {
		return c, nil, exit.Usage(fmt.Errorf("--members: %w", err))
	}
	if f.answers != "" {
		src, err := os.ReadFile(f.answers)
		if err != nil {
			return c, nil, exit.Usage(fmt.Errorf("--answers: %w", err))
		}
		if c.Answers, err = simulate.ParseAnswers(src, loc); err != nil {
			return c, nil, command.Refused(errors.New("the answers have errors"), located(f.answers, strings.Split(err.Error(), "\n"))...)
		}
	}
	return c, loc, nil
}

// refused returns the error of invalid input, with all findings.
func (f *simulateFlags) refused(runbook string, err error) error {
	var wrong *simulate.Wrong
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case !errors.As(err, &wrong):
		return command.Refused(err)
	case wrong.Members:
		return command.Refused(errors.New(wrong.Comes), located(f.members, wrong.Found)...)
	}
	return command.Refused(errors.New(wrong.Comes), located(runbook, wrong.Found)...)
}

// located prefixes findings with the name of the file.
func located(file string, lines []string) []string {
	found := make([]string, len(lines))
	for i, line := range lines {
		between := ":"
		if line == "" || line[0] < '0' || line[0] > '9' {
			between = ": "
		}
		found[i] = file + between + line
	}
	return found
}

// printTimeline prints the result of a simulation.
func printTimeline(cmd *cobra.Command, t *simulate.Timeline, loc *time.Location) error {
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return t.In(loc).Format("2006-01-02 15:04:05 MST")
	}
	day := func(t *time.Time) string { return t.In(loc).Format("Mon 2006-01-02 15:04 MST") }
	events := command.Table{Head: []string{"time", "offset", "batch", "phase", "what"}}
	for _, e := range t.Events {
		batch := ""
		if e.Batch > 0 {
			batch = fmt.Sprint(e.Batch)
		}
		when := any(at(&e.At))
		if cmd.Flag("output").Value.String() == "csv" { // programs get it in UTC
			when = e.At
		}
		events.Rows = append(events.Rows, []any{when, e.Offset, batch, e.Phase, e.Text})
	}
	phases := command.Table{Head: []string{"batch", "phase", "status", "started", "took", "succeeded", "failed", "jobs", "retries", "polls"}}
	calendar := command.Table{Head: []string{"batch", "phase", "offset", "without quiet hours", "with quiet hours"}}
	members := command.Table{Head: []string{"batch", "status", "members", "succeeded", "failed", "removed", "open"}}
	failed := command.Table{Head: []string{"member"}}
	for _, b := range t.Batches {
		members.Rows = append(members.Rows, []any{b.ID, simulate.StatusText(b.Status, len(b.Failed)), b.Members, b.Succeeded, len(b.Failed), len(b.Removed), b.Open})
		for _, p := range b.Phases {
			if p.DueAt != nil {
				calendar.Rows = append(calendar.Rows, []any{b.ID, p.Name, p.Offset, day(p.DueAt), day(cmp.Or(p.QuietUntil, p.DueAt))})
			}
			took := ""
			if p.EndedAt != nil && p.StartedAt != nil {
				took = simulate.Span(time.Duration(p.Seconds) * time.Second)
			}
			phases.Rows = append(phases.Rows, []any{b.ID, p.Name, simulate.StatusText(p.Status, p.Failed), at(p.StartedAt), took, p.Succeeded, p.Failed, p.Jobs, p.Retries, p.Polls})
		}
		for _, key := range b.Failed {
			failed.Rows = append(failed.Rows, []any{key})
		}
	}
	functions := command.Table{Head: []string{"function", "jobs", "retries", "polls", "busiest hour", "from"}}
	for _, f := range t.Functions {
		functions.Rows = append(functions.Rows, []any{f.Name, f.Jobs, f.Retries, f.Polls, f.BusiestHour, at(&f.BusiestAt)})
	}
	if command.QuietTable(cmd) {
		return command.Print(cmd, t, failed)
	}
	if err := command.Print(cmd, t, events, calendar, phases, functions, members); err != nil || !command.Plain(cmd) {
		return err
	}
	out := cmd.OutOrStdout()
	for _, list := range []struct {
		title string
		lines []string
	}{{"Warnings:", t.Warnings}, {"Remaining:", t.Remaining}} {
		if len(list.lines) > 0 {
			fmt.Fprintf(out, "\n%s\n", list.title)
		}
		for _, line := range list.lines {
			fmt.Fprintf(out, "  %s\n", line)
		}
	}
	if t.Failing > 0 {
		fmt.Fprintf(out, "\nEvery call of a step would fail (%s above). Fix the runbook, name the functions of\nyour workers with --functions, or accept all calls with --assume-success.\n", humanize.Count(t.Failing, "warning"))
	}
	return nil
}
