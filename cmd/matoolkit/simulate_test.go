package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

const simulations = "../../local/simulate/testdata"

// runSimulate runs the command.
func runSimulate(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	root := cli.NewRoot(command.Environment{Stdout: &o, Stderr: &e})
	addSimulate(root)
	root.SetArgs(append([]string{"runbook", "simulate"}, args...))
	status = cli.Execute(t.Context(), root)
	return status, o.String(), e.String()
}

// kept compares a text with a golden file, or writes the file with -update.
func kept(t *testing.T, file, got string) {
	t.Helper()
	file = filepath.Join(simulations, file)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%s (%v): -update writes it; got\n%s", file, err, got)
	}
}

// The timeline of every simulation matches its golden file.
func TestTimelines(t *testing.T) {
	t.Parallel()
	folders, err := filepath.Glob(filepath.Join(simulations, "*", "args"))
	if err != nil || len(folders) < 10 {
		t.Fatalf("%d simulations, %v", len(folders), err)
	}
	for _, file := range folders {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := testenv.Must(os.ReadFile(file))(t)
			dir, list := filepath.Dir(file), "members.csv"
			if _, err := os.Stat(filepath.Join(dir, "runbook.yaml")); err != nil {
				dir = filepath.Join("../../examples", name)
			}
			if name == "scheduled-migration" {
				list = "people.csv"
			}
			args := append([]string{filepath.Join(dir, "runbook.yaml"), "--members", filepath.Join(dir, list)}, strings.Fields(string(options))...)
			if answers := filepath.Join(dir, "answers.yaml"); exists(answers) {
				args = append(args, "--answers", answers)
			}
			status, out, errs := runSimulate(t, args...)
			kept(t, filepath.Join(name, "timeline.golden"), fmt.Sprintf("%s%sexit status %d\n", out, errs, status))
			// The other ways to print are of the same simulation.
			again, _, _ := runSimulate(t, append(args, "--output", "json")...)
			_, lines, _ := runSimulate(t, append(args, "--output", "csv")...)
			_, quiet, _ := runSimulate(t, append(args, "--quiet")...)
			if again != status || !strings.HasPrefix(lines, "time,offset,batch,phase,what\n") || strings.Contains(quiet, " ") || (quiet != "") != strings.Contains(out, " fails: ") {
				t.Errorf("status %d after %d; %q; %q", again, status, lines, quiet)
			}
		})
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

func TestHelpOfSimulate(t *testing.T) {
	t.Parallel()
	status, out, errs := runSimulate(t, "--help")
	own := out
	if status != exit.OK || errs != "" {
		t.Errorf("status %d, %s", status, errs)
	}
	kept(t, "help.golden", own)
	for line := range strings.Lines(own) {
		if len(line) > 101 && !strings.HasPrefix(strings.TrimSpace(line), "-") {
			t.Errorf("a line of %d characters: %s", len(line), line)
		}
	}
}

func TestWrongUsageOfSimulate(t *testing.T) {
	t.Parallel()
	held := filepath.Join(simulations, "held")
	runbook, members := filepath.Join(held, "runbook.yaml"), filepath.Join(held, "members.csv")
	start := "2026-12-01T18:00:00Z"
	written := func(name, content string) string {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	bad := written("bad.yaml", "answers:\n  - {fails: x}\n")
	open := written("open.yaml", "answers:\n  - {fails: x\n")
	misspelt := written("misspelt.yaml", "nam: x\n")
	twice := written("twice.csv", "Mail\neva@x.org\neva@x.org\n")
	for _, tc := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, exit.WrongUsage, "the file is missing"},
		{[]string{runbook}, exit.WrongUsage, "--members is missing"},
		{[]string{runbook, "--members", members}, exit.WrongUsage, "--start is missing"},
		{[]string{runbook, "--members", members, "--start", "soon"}, exit.WrongUsage, `--start: invalid time "soon"`},
		{[]string{runbook, "--members", members, "--start", start, "--until", "late"}, exit.WrongUsage, `--until: invalid time "late"`},
		{[]string{runbook, "--members", members, "--start", start, "--time-zone", "Mars"}, exit.WrongUsage, "--time-zone"},
		{[]string{runbook, "--members", members, "--start", start, "--output", "xml"}, exit.WrongUsage, "--output"},
		{[]string{"nowhere.yaml", "--members", members, "--start", start}, exit.WrongUsage, "nowhere.yaml"},
		{[]string{runbook, "--members", "nowhere.csv", "--start", start}, exit.WrongUsage, "--members: stat nowhere.csv"},
		{[]string{runbook, "--members", members, "--start", start, "--answers", "nowhere.yaml"}, exit.WrongUsage, "--answers: open nowhere.yaml"},
		{[]string{members, "--members", members, "--start", start}, exit.Refused, "members.csv:1:1: error"},
		{[]string{misspelt, "--members", members, "--start", start}, exit.Refused, "[missing-field]\n" + misspelt + ":1:1: error: nam: unknown field; did you mean \"name\"? [unknown-field]\nmatoolkit: the runbook has errors\n"},
		{[]string{runbook, "--members", runbook, "--start", start}, exit.Refused, "runbook.yaml:1: error: "},
		{[]string{runbook, "--members", twice, "--start", start}, exit.Refused, twice + ":3:1: error: column Mail: \"eva@x.org\" is on line 2 and again on line 3 [duplicate-key]\nmatoolkit: the CSV has 1 problem"},
		{[]string{runbook, "--members", members, "--start", start, "--answers", open}, exit.Refused, "open.yaml:1: not valid YAML: did not find"},
		{[]string{runbook, "--members", members, "--start", start, "--answers", bad}, exit.Refused, `bad.yaml:2:6: an answer has no field "fails"`},
	} {
		if status, out, errs := runSimulate(t, tc.args...); status != tc.status || out != "" || !strings.Contains(errs, tc.want) {
			t.Errorf("%v: status %d, %q, %q", tc.args, status, out, errs)
		}
	}
}
