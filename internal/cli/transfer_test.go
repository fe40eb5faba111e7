package cli_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
)

// A file that takes long to send tells how far it is, and on a terminal that the API is
// at it, and leaves no trace of that.
func TestAFileThatTakesLongToSendTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	file := newPerson(t).file("members.csv", "UserId\n"+strings.Repeat("somebody@contoso.com\n", 100_000))
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":1,"batch":{"id":1}}`)
	}))
	t.Cleanup(api.Close)
	for _, tt := range []struct {
		command  []string
		terminal bool
		says     []string
	}{
		{[]string{"batch", "create", "moves", file}, false, []string{" of 2.1 MB sent\n"}},
		{[]string{"batch", "create", "moves", file}, true, []string{" of 2.1 MB sent", "\r2.1 MB sent; the API validates and stores the file", "\r" + strings.Repeat(" ", len("2.1 MB sent; the API validates and stores the file")) + "\r"}},
		{[]string{"batch", "add-members", "1", file}, false, []string{" of 2.1 MB sent\n"}},
		{[]string{"batch", "create", "moves", file, "--quiet"}, true, nil},
	} {
		var now atomic.Int64
		var out, said bytes.Buffer
		env := map[string]string{"MATOOLKIT_HOME": t.TempDir(), "MATOOLKIT_API_URL": api.URL}
		root := cli.NewRoot(command.Environment{
			Stdout: &out, Stderr: &said, Terminal: tt.terminal, Width: 120, Getenv: func(name string) string { return env[name] },
			Now:   func() time.Time { return time.Unix(now.Add(31), 0) }, // each look at the clock is half a minute later
			Token: func(context.Context) (string, error) { return "token", nil },
		})
		root.SetArgs(tt.command)
		if status := cli.Execute(t.Context(), root); status != 0 {
			t.Errorf("%v: status %d, %s", tt.command, status, said.String())
		}
		for _, words := range tt.says {
			if !strings.Contains(said.String(), words) {
				t.Errorf("%v, terminal %v: it does not say %q: %q", tt.command, tt.terminal, words, said.String())
			}
		}
		if len(tt.says) == 0 && said.Len() > 0 {
			t.Errorf("%v: it says %q", tt.command, said.String())
		}
	}
}
