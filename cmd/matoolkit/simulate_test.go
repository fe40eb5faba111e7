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

const simulations = "../../internal/simulate/testdata"

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
			functions := []string{"--functions", filepath.Join(simulations, "functions.json")}
			if _, err := os.Stat(filepath.Join(dir, "runbook.yaml")); err != nil {
				dir, functions = filepath.Join("../../examples", name), nil
			}
			if name == "scheduled-migration" {
				list = "people.csv"
			}
			args := append([]string{filepath.Join(dir, "runbook.yaml"), "--members", filepath.Join(dir, list)}, append(functions, strings.Fields(string(options))...)...)
			if answers := filepath.Join(dir, "answers.yaml"); exists(answers) {
				args = append(args, "--answers", answers)
			}
			status, out, errs := runSimulate(t, args...)
			kept(t, filepath.Join(name, "timeline.golden"), fmt.Sprintf("%s%sexit status %d\n", out, errs, status))
			// The other ways to print are of the same simulation.
			again, _, _ := runSimulate(t, append(args, "--output", "json")...)
			_, lines, _ := runSimulate(t, append(args, "--output", "csv")...)
			_, quiet, _ := runSimulate(t, append(args, "--quiet")...)
			if again != status || !strings.HasPrefix(lines, "time,offset,batch,phase,what\n") || strings.Contains(quiet, " ") || (quiet != "") != (strings.Contains(out, " fails: ") || strings.Contains(out, " fail: ")) {
				t.Errorf("status %d after %d; %q; %q", again, status, lines, quiet)
			}
		})
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// A runbook of which every call would fail fails in the simulation: each call by itself, and all
// of it even where no member comes to a call.
func TestASimulatedCallFailsAsAtAWorker(t *testing.T) {
	t.Parallel()
	moves := func(function, params, more string) string {
		file := filepath.Join(t.TempDir(), "moves.yaml")
		text := "name: moves\ndata_source: {type: csv, primary_key: Mail}\nphases:\n  - name: move\n    offset: T-0\n    steps:\n" +
			"      - {name: enable, worker_id: w, function: " + function + ", params: " + params + "}\n" + more
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	members := filepath.Join(t.TempDir(), "members.csv")
	if err := os.WriteFile(members, []byte("Mail,Id,Enabled\neva@x.org,1d2f8ac4-21d5-4e5b-8f0d-1f4d9c4f3c11,yes\nkim@x.org,,true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const good = `{UserId: "{{Id}}", Enabled: "{{Enabled}}"}`
	undo := "rollbacks:\n  undo:\n    - {name: u, worker_id: w, function: Undo-It}\non_member_removed:\n  - {name: r, worker_id: w, function: Undo-It}\n"
	for _, tc := range []struct {
		name, file string
		more       []string
		status     int
		want       string
	}{
		{"an unknown function", moves("Set-EntraUserEnabld", good, ""), nil, exit.Failed, `eva@x.org and kim@x.org fail: step "enable": this worker has no function "Set-EntraUserEnabld" (UnknownFunction)`},
		{"a wrong parameter", moves("Set-EntraUserEnabled", `{UserId: "{{Id}}", Enable: "true"}`, ""), nil, exit.Failed, `eva@x.org fails: step "enable": Set-EntraUserEnabled: unknown parameter "Enable"; required parameter Enabled is missing (InvalidParameters)`},
		{"a value of a member that does not fit", moves("Set-EntraUserEnabled", good, ""), nil, exit.Failed, `eva@x.org fails: step "enable": Set-EntraUserEnabled: parameter Enabled must be true or false`},
		{"a value that a member lacks", moves("Set-EntraUserEnabled", good, ""), nil, exit.Failed, "kim@x.org fails: "},
		{"a call that no member comes to", moves("Set-EntraUserEnabled", `{UserId: 1d2f8ac4-21d5-4e5b-8f0d-1f4d9c4f3c11, Enabled: true}`, undo), nil, exit.Failed, `calls "Undo-It", which is not a standard function`},
		{"assumed success", moves("Set-EntraUserEnabld", `{UserId: x}`, undo), []string{"--assume-success"}, exit.OK, "2 succeeded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			status, out, errs := runSimulate(t, append([]string{tc.file, "--members", members, "--start", "2026-12-01"}, tc.more...)...)
			if status != tc.status || !strings.Contains(out, tc.want) {
				t.Errorf("status %d\n%s%s", status, out, errs)
			}
		})
	}
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
		{[]string{runbook, "--assume-success", "--functions", "x"}, exit.WrongUsage, "--functions and --assume-success cannot be given together"},
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
