// Command run runs the client programs of local/clients, each against servers of its own:
// Service Bus, Cosmos DB, Blob Storage and Entra ID with state in a temporary directory.
//
//	go run ./local/clients/run [-clients js,python] [-record] [case prefix...]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/matoolkit/matoolkit/local/clients"
)

// limit is the time that installing and running all programs may take.
const limit = 20 * time.Minute

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "clients:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	dir := flag.String("dir", "local/clients", "directory of the programs")
	names := flag.String("clients", "", "comma-separated programs (default: all whose toolchain is installed)")
	record := flag.Bool("record", false, "write the outcomes to results.json")
	flag.Parse()
	selected, err := selectPrograms(*names)
	if err != nil {
		return err
	}
	cases, err := clients.ReadCases(*dir)
	if err != nil {
		return err
	}
	cache, err := cacheDir(*dir)
	if err != nil {
		return err
	}

	runs := make([]outcomes, len(selected))
	errs := make([]error, len(selected))
	var group sync.WaitGroup
	for i, p := range selected {
		group.Go(func() {
			if runs[i], errs[i] = p.run(ctx, *dir, cache, flag.Args()); errs[i] != nil {
				errs[i] = fmt.Errorf("%s: %w", p.name, errs[i])
			}
		})
	}
	group.Wait()
	printTable(os.Stdout, cases, selected, runs)
	err = errors.Join(errs...)
	if *record {
		err = errors.Join(err, recordResults(*dir, cases, selected, runs))
	}
	return err
}

// selectPrograms returns the named programs, or those whose toolchain is installed.
func selectPrograms(names string) (selected []program, err error) {
	wanted := strings.FieldsFunc(names, func(r rune) bool { return r == ',' })
	for _, p := range programs {
		i := slices.Index(wanted, p.name)
		if i < 0 && len(wanted) > 0 {
			continue
		}
		if tool, missing := p.missing(); missing {
			if i >= 0 {
				return nil, fmt.Errorf("%s: %s is not installed", p.name, tool)
			}
			fmt.Printf("%s: left out, %s is not installed\n", p.name, tool)
			continue
		}
		selected = append(selected, p)
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(programs, func(p program) bool { return p.name == name }) {
			return nil, fmt.Errorf("unknown client %q", name)
		}
	}
	return selected, nil
}

// missing returns the first tool of a program that is not installed.
func (p program) missing() (string, bool) {
	for _, tool := range p.tools {
		if _, err := exec.LookPath(tool); err != nil {
			return tool, true
		}
	}
	return "", false
}

// outcomes are the outcomes of a program by case.
type outcomes map[string]clients.Outcome

// printTable prints a row per case and a column per program.
func printTable(out io.Writer, cases []clients.Case, selected []program, runs []outcomes) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nCASE")
	for _, p := range selected {
		fmt.Fprint(table, "\t", strings.ToUpper(p.name))
	}
	fmt.Fprintln(table)
	total := map[clients.Outcome]int{}
	for _, c := range cases {
		row, ran := c.ID(), false
		for i := range selected {
			outcome := runs[i][c.ID()]
			if outcome != "" {
				ran = true
				total[outcome]++
			} else {
				outcome = "-"
			}
			row += "\t" + string(outcome)
		}
		if ran {
			fmt.Fprintln(table, row)
		}
	}
	_ = table.Flush()
	fmt.Fprintf(out, "%d passed, %d failed, %d refused\n", total[clients.Passed], total[clients.Failed], total[clients.Refused])
}

// recordResults replaces the outcomes of the cases that ran.
func recordResults(dir string, cases []clients.Case, selected []program, runs []outcomes) error {
	results, err := clients.ReadResults(dir)
	if err != nil {
		return err
	}
	for i, p := range selected {
		if len(runs[i]) == 0 {
			continue
		}
		if results.Packages[p.name], err = p.packages(dir); err != nil {
			return err
		}
		for id, outcome := range runs[i] {
			if results.Cases[id] == nil {
				results.Cases[id] = map[string]clients.Outcome{}
			}
			results.Cases[id][p.name] = outcome
		}
	}
	return results.Write(dir, cases)
}
