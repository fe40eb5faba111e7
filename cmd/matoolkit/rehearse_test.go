package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// rehearsed runs the command on the example tenant-to-tenant.
func rehearsed(t *testing.T, args ...string) (status int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	root := cli.NewRoot(command.Environment{Stdout: &o, Stderr: &e})
	root.AddCommand(rehearseCommand())
	root.SetArgs(append([]string{"rehearse"}, args...))
	status = cli.Execute(t.Context(), root)
	return status, o.String(), e.String()
}

func TestRehearseWritesItsReport(t *testing.T) {
	t.Parallel()
	example := func(file string) string { return filepath.Join("../../examples/tenant-to-tenant", file) }
	folder := t.TempDir()
	page, report := filepath.Join(folder, "r.html"), filepath.Join(folder, "r.json")
	status, out, errs := rehearsed(t, example("runbook.yaml"), "--members", example("members.csv"), "--start", "2026-12-01 18:00",
		"--source", example("source.json"), "--target", example("target.json"), "--report", page, "--json", report)
	if status != exit.Failed || !strings.Contains(out, "9 of 15 members succeed.") || !strings.Contains(out, "Not modelled: ") || !strings.Contains(errs, "run the migration") {
		t.Errorf("status %d\n%s\n%s", status, out, errs)
	}
	for _, file := range []string{page, report} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	var r rehearse.Report
	if text, err := os.ReadFile(report); err != nil || json.Unmarshal(text, &r) != nil || r.Format != rehearse.Format || r.Failed != 6 {
		t.Errorf("%v, %+v", err, r)
	}
	status, out, _ = rehearsed(t, example("runbook.yaml"), "--members", example("members.csv"), "--start", "2026-12-01 18:00", "--removals", "0",
		"--source", example("source.json"), "--target", example("target.json"), "--quiet")
	if status != exit.Failed || len(strings.Fields(out)) != 6 || !strings.Contains(out, "kofi.mensah@contoso.com") {
		t.Errorf("status %d, quiet: %s", status, out)
	}
}

func TestRehearseRefuses(t *testing.T) {
	t.Parallel()
	example := func(file string) string { return filepath.Join("../../examples/tenant-to-tenant", file) }
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"users": [], "people": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	good := []string{example("runbook.yaml"), "--members", example("members.csv"), "--start", "2026-12-01 18:00"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "--target is missing"},
		{[]string{"--target", "nothing.json"}, "--target: open nothing.json"},
		{[]string{"--target", broken}, `unknown field "people"`},
		{[]string{"--target", example("target.json")}, ""}, // the only tenant has all workers
		{[]string{"--target", example("target.json"), "--worker", "worker-source=source"}, "there is no copy of the tenant source"},
		{[]string{"--target", example("target.json"), "--parallelism", "0"}, "--parallelism must be at least 1"},
		{[]string{"--target", example("target.json"), "--copy-time", "-1s"}, "--copy-time cannot be negative"},
		{[]string{"--target", example("target.json"), "--functions", "nowhere"}, "--functions: the directory"},
	} {
		status, _, errs := rehearsed(t, append(good[:len(good):len(good)], tc.args...)...)
		if (status == exit.WrongUsage) != (tc.want != "") || !strings.Contains(errs, tc.want) {
			t.Errorf("%q: status %d, %s", tc.args, status, errs)
		}
	}
}
