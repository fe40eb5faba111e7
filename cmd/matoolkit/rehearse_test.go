package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/cmd/matoolkit/rehearse"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/internal/testenv"
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

// TestReportsReplaceAFileAsAWhole writes a report over a file that others could read.
func TestReportsReplaceAFileAsAWhole(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err  error
		want string
		mode os.FileMode
	}{
		"written": {nil, "new", 0o600},
		"failed":  {errors.New("the disk is full"), "old", 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "report.json")
			if err := errors.Join(os.WriteFile(path, []byte("old"), 0o644), os.Chmod(path, 0o644)); err != nil {
				t.Fatal(err)
			}
			err := writeReport(path, func(w io.Writer) error {
				_, err := io.WriteString(w, "new")
				return errors.Join(err, tc.err)
			})
			if !errors.Is(err, tc.err) {
				t.Errorf("got %v", err)
			}
			text, info := testenv.Must(os.ReadFile(path))(t), testenv.Must(os.Stat(path))(t)
			if string(text) != tc.want || info.Mode().Perm() != tc.mode {
				t.Errorf("%q with the mode %v", text, info.Mode())
			}
			if files := testenv.Must(os.ReadDir(filepath.Dir(path)))(t); len(files) != 1 {
				t.Errorf("%d files are left", len(files))
			}
		})
	}
}

func TestRehearseRefuses(t *testing.T) {
	t.Parallel()
	example := func(file string) string { return filepath.Join("../../examples/tenant-to-tenant", file) }
	broken := filepath.Join(t.TempDir(), "broken.json")
	if err := os.WriteFile(broken, []byte(`{"users": [], "people": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := func(id string, redacted bool) string {
		dir := filepath.Join(t.TempDir(), "copy")
		w := testenv.Must(snapshot.Create(dir, snapshot.Options{TenantID: id, Tool: "test", Redacted: redacted}))(t)
		testenv.Must(w.Finish())(t)
		return dir
	}
	contoso, again, redacted := folder("7E4A1C52-0000-4000-8000-00000000000A", false), folder("7e4a1c52-0000-4000-8000-00000000000a", false), folder("redacted", true)
	good := []string{example("runbook.yaml"), "--members", example("members.csv"), "--start", "2026-12-01 18:00"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{nil, "--target is missing"},
		{[]string{"--target", "nothing.json"}, "--target: open nothing.json"},
		{[]string{"--target", broken}, `unknown field "people"`},
		{[]string{"--target", example("target.json")}, ""}, // the only tenant has all workers
		{[]string{"--source", contoso, "--target", contoso}, "--source " + contoso + " and --target " + contoso + " are both of tenant 7E4A1C52-0000-4000-8000-00000000000A"},
		{[]string{"--source", again, "--target", contoso}, "--source " + again + " and --target " + contoso + " are both of tenant 7E4A1C52-0000-4000-8000-00000000000A"},
		{[]string{"--source", redacted, "--target", redacted}, "--source and --target are both " + redacted},
		{[]string{"--target", example("target.json"), "--worker", "worker-source=source"}, "there is no copy of the tenant source"},
		{[]string{"--target", example("target.json"), "--parallelism", "0"}, "--parallelism must be at least 1"},
		{[]string{"--target", example("target.json"), "--copy-time", "-1s"}, "\"--copy-time\" flag: it cannot be negative"},
		{[]string{"--target", example("target.json"), "--functions", "nowhere"}, "--functions: the directory"},
	} {
		status, _, errs := rehearsed(t, append(good[:len(good):len(good)], tc.args...)...)
		if (status == exit.WrongUsage) != (tc.want != "") || !strings.Contains(errs, tc.want) {
			t.Errorf("%q: status %d, %s", tc.args, status, errs)
		}
	}
}
