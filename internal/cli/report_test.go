package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/local/entra"
)

func TestReportOfABatch(t *testing.T) {
	t.Parallel()
	p := newSystem(t, entra.DefaultAdminUPN).person()
	do := func(status int, args ...string) (stdout, stderr string) {
		t.Helper()
		out, err, got := p.run(args...)
		if got != status {
			t.Fatalf("%v ended with %d: %s%s", args, got, out, err)
		}
		return out, err
	}
	do(0, "auth", "login")
	do(0, "runbook", "publish", p.file("guarded.yaml", guarded), "--force")
	do(0, "batch", "create", "guarded", p.file("members.csv", "UserId,Mail,Name\n=u1,a@contoso.com,Ann\nu2,bad@contoso.com,Ben\nu3,c@contoso.com,Cat\n"))
	do(0, "batch", "advance", "1", "--yes", "--wait", "--quiet")
	do(0, "batch", "remove-member", "1", "3", "--yes", "--reason", "has left")
	do(0, "batch", "watch", "1", "--until-idle", "--quiet")

	csv, _ := do(0, "batch", "report", "1")
	for _, want := range []string{"1,,1,'=u1,in progress,", "1,,2,u2,failed at prepare/check,,prepare,check,", "release: release succeeded", "1,,3,u3,removed,"} {
		if !strings.Contains(csv, want) {
			t.Errorf("there is no %s in %s", want, csv)
		}
	}
	path := filepath.Join(p.dir, "out", "one.html")
	check(t, os.Mkdir(filepath.Dir(path), 0o700))
	text, _ := do(0, "batch", "report", "1", "--file", path, "--output", "json")
	page, err := os.ReadFile(path)
	if err != nil || !bytes.HasSuffix(page, []byte("</html>\n")) || !strings.Contains(text, fmt.Sprintf(`"bytes": %d`, len(page))) {
		t.Errorf("%s and %v: %s", text, err, page)
	}
	// A file that is there is left alone, and nothing is left of a report that failed.
	if _, said := do(5, "batch", "report", "1", "--file", path); !strings.Contains(said, "--force") {
		t.Errorf("said %s", said)
	}
	do(4, "batch", "report", "9", "--file", path, "--force")
	do(4, "batch", "report", "9", "--file", path+".csv")
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, page) {
		t.Errorf("it was written over: %v", err)
	}
	do(0, "batch", "report", "1", "--file", path, "--force", "--format", "csv")
	if now, err := os.ReadFile(path); err != nil || !bytes.HasPrefix(now, []byte("\ufeffbatch,")) {
		t.Errorf("it was not written over: %v", err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("left are %v, %v", files, err)
	}
	do(2, "batch", "report", "1", "--format", "pdf")
	if _, said := do(2, "batch", "report", "1", "--file", filepath.Join(p.dir, "out", "one.pdf")); !strings.Contains(said, "give --format") {
		t.Errorf("said %s", said)
	}
	do(0, "batch", "report", "1", "--file", filepath.Join(p.dir, "one.txt"), "--format", "csv")
	do(2, "batch", "report", "0")
	// The error of a failed write has the name of the file in --file.
	if _, said := do(1, "batch", "report", "1", "--file", filepath.Join(p.dir, "nowhere", "one.csv")); !strings.Contains(said, "nowhere/one.csv: ") {
		t.Errorf("said %s", said)
	}
}

func TestReportThatTakesLongTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		terminal, broken bool
		status           int
		says             string
	}{
		{false, false, 0, " MB so far\n"},
		{true, false, 0, " MB so far\r                    \r"},
		{false, true, exit.Unavailable, "incomplete"},
	} {
		var now atomic.Int64
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/csv")
			for range 2 {
				_, _ = w.Write(bytes.Repeat([]byte("x"), 100_000))
				w.(http.Flusher).Flush()
			}
			if tt.broken {
				panic(http.ErrAbortHandler)
			}
		}))
		t.Cleanup(api.Close)
		dir := t.TempDir()
		env := map[string]string{"MATOOLKIT_HOME": dir, "MATOOLKIT_API_URL": api.URL}
		var out, said bytes.Buffer
		root := cli.NewRoot(command.Environment{
			Stdout: &out, Stderr: &said, Terminal: tt.terminal, Width: 80, Getenv: func(name string) string { return env[name] },
			Now:   func() time.Time { return time.Unix(now.Add(31), 0) }, // each look at the clock is half a minute later
			Token: func(context.Context) (string, error) { return "token", nil },
		})
		path := filepath.Join(dir, "one.csv")
		root.SetArgs([]string{"batch", "report", "1", "--file", path})
		if status := cli.Execute(t.Context(), root); status != tt.status || !strings.Contains(said.String(), tt.says) {
			t.Errorf("%+v: %d, %q", tt, status, said.String())
		}
		if written, err := os.ReadFile(path); (err == nil) == tt.broken || err == nil && len(written) != 200_000 {
			t.Errorf("%+v: %d bytes, %v", tt, len(written), err)
		}
	}
}
