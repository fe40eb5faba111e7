package cli_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/entra"
)

// What the Tab key offers, of the real API.
func TestCompletion(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	stranger := system.person() // never signs in
	s.type_(0, "runbook", "publish", s.file("moves.yaml", moves), "--force")
	s.type_(0, "batch", "create", "moves", s.file("members.csv", "UserId,Mail\nu1,u1@contoso.com\nu2,bad@contoso.com\n"))
	s.type_(0, "batch", "advance", "1", "--yes", "--wait")
	s.type_(0, "batch", "advance", "1", "--yes", "--wait")
	system.announce("worker-01")

	var all strings.Builder
	for _, typed := range [][]string{
		{"runbook", "get", ""},
		{"runbook", "get", "x"},
		{"runbook", "get", "moves", "--version", ""},
		{"runbook", "delete", "moves", ""},
		{"runbook", "delete", "moves", "2"},
		{"template", "download", "mo"},
		{"batch", "create", ""},
		{"batch", "create", "moves", ""}, // a file
		{"batch", "get", ""},
		{"batch", "get", "1", ""},
		{"batch", "approve", "1", ""},
		{"batch", "approve", "one", ""},
		{"batch", "steps", "1", "--phase", "p"},
		{"batch", "steps", "--phase", ""},
		{"batch", "steps", "1", "--status", "f"},
		{"batch", "steps", "1", "--status", "failed,po"},
		{"batch", "members", "1", "--status="},
		{"batch", "list", "--status", "ca"},
		{"batch", "members", "1", "--sort", ""},
		{"batch", "list", "--runbook", ""},
		{"batch", "remove-member", "1", ""},
		{"batch", "retry", "1", "--member", ""},
		{"batch", "skip-step", "1", ""},
		{"messages", "replay", ""},
		{"worker", "get", ""},
		{"runbook", "lint", "--functions", ""}, // a file
		{"messages", "list", "--topic", ""},
		{"runbook", "publish", ""}, // a file
		{"runbook", "diff", ""},
		{"runbook", "diff", "./"}, // a file
		{"runbook", "diff", "moves", ""},
		{"runbook", "diff", "moves", "1", ""},
		{"runbook", "diff", "moves", "a.yaml", ""}, // nothing
		{"runbook", "diff", "a.yaml", ""},          // a file
		{"runbook", "publish", "moves.yaml", "--overdue", ""},
		{"config", "set", "api"},
		{"completion", ""},
		{"audit", "list", "--action", "read"},
		{"batch", "list", "--output", ""},
	} {
		out, _, status := s.run(append([]string{"__complete"}, typed...)...)
		fmt.Fprintf(&all, "$ matoolkit %s<Tab>\n%s", strings.Join(typed, " "), out)
		if status != 0 {
			t.Errorf("%v: status %d", typed, status)
		}
		// Without a sign-in the completion offers nothing and prints nothing.
		if typed[1] == "get" && len(typed) == 3 || typed[1] == "approve" {
			if out, _, status := stranger.run(append([]string{"__complete"}, typed...)...); status != 0 || out != ":4\n" {
				t.Errorf("%v, not signed in: status %d: %s", typed, status, out)
			}
		}
	}
	golden(t, "completion", all.String())
}

// An API that does not answer does not delay the completion.
func TestCompletionIsQuick(t *testing.T) {
	t.Parallel()
	listener := must(net.Listen("tcp", "127.0.0.1:0"))
	away := "http://" + listener.Addr().String()
	check(t, listener.Close())
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-release }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	broken := fake(t, 503, "text/html", "<html>")
	nasty := fake(t, 200, "application/json", `{"items":[{"name":"a\nb"},{"name":"c","description":"d\n\u001b[31me"}]}`)
	for name, tt := range map[string]struct {
		url, want string
	}{
		"away":      {away, ":4\n"},
		"silent":    {silent.URL, ":4\n"},
		"broken":    {broken.env["MATOOLKIT_API_URL"], ":4\n"},
		"not set":   {"", ":4\n"},
		"no url":    {"::", ":4\n"},
		"not words": {nasty.env["MATOOLKIT_API_URL"], "c\td  [31me\n:36\n"},
	} {
		p := newPerson(t)
		p.env["MATOOLKIT_API_URL"] = tt.url
		begun := time.Now()
		out, err, status := p.as(0, "__complete", "runbook", "get", "")
		if status != 0 || out != tt.want || strings.Count(err, "\n") != 1 || !strings.HasPrefix(err, "Completion ended with directive") {
			t.Errorf("%s: status %d: %q %q", name, status, out, err)
		}
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %s", name, took)
		}
	}
}

// The shells that are installed can parse their scripts.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for shell, says := range map[string]string{
		"bash": "__start_matoolkit", "zsh": "#compdef matoolkit", "fish": "complete -c matoolkit", "powershell": "Register-ArgumentCompleter -CommandName 'matoolkit'",
	} {
		p := newPerson(t)
		out, err, status := p.run("completion", shell)
		if status != 0 || err != "" || !strings.Contains(out, says) {
			t.Errorf("%s: status %d: %s%s", shell, status, err, out)
		}
		if path, missing := exec.LookPath(shell); missing == nil && shell != "powershell" {
			if said, err := exec.Command(path, "-n", p.file("script", out)).CombinedOutput(); err != nil {
				t.Errorf("%s cannot read its script: %v: %s", shell, err, said)
			}
		}
	}
	if out, err, status := newPerson(t).run("completion", "tcsh"); status != 2 || out != "" || !strings.Contains(err, `unknown shell "tcsh"`) {
		t.Errorf("status %d: %s%s", status, out, err)
	}
}
