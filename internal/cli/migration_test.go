package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

const moves = `name: moves
description: Moves people.
data_source:
  type: csv
  primary_key: UserId
init:
  - name: open-group
    worker_id: worker-01
    function: New-Group
    params:
      Name: "batch {{_batch_id}}"
phases:
  - name: prepare
    offset: T-1d
    steps:
      - name: check
        worker_id: worker-01
        function: Test-User
        params:
          Mail: "{{Mail}}"
  - name: move
    offset: T-0
    steps:
      - name: move
        worker_id: worker-01
        function: Move-User
        params:
          Id: "{{UserId}}"
`

// transcript records the input and the output of a person.
type transcript struct {
	*person
	strings.Builder
}

func (s *transcript) type_(want int, args ...string) {
	s.t.Helper()
	out, err, status := s.run(args...)
	shown := strings.ReplaceAll(strings.Join(args, " "), s.dir+string(filepath.Separator), "")
	fmt.Fprintf(s, "$ matoolkit %s\n%s", shown, out)
	if err != "" {
		fmt.Fprintf(s, "-- notices --\n%s", err)
	}
	fmt.Fprintf(s, "[%d]\n\n", status)
	if status != want {
		s.t.Errorf("matoolkit %s ended with %d, want %d:\n%s%s", shown, status, want, out, err)
	}
}

// took is how long a phase took, on a machine that may be slow.
var took = regexp.MustCompile(`Z  (<1s|\d+s) +-`)

// unused is a rollback that nothing names, of which a runbook is warned.
const unused = `rollbacks:
  undo:
    - name: back
      worker_id: worker-01
      function: Move-Back
`

// The whole way of a batch: from the sign-in to the last phase, as an administrator
// goes it.
func TestMigration(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.person()}
	runbook := s.file("moves.yaml", moves)
	members := s.file("members.csv", "UserId,Mail,Note\nu1,a@contoso.com,x\nu2,bad@contoso.com,y\nu3,c@contoso.com,z\n")
	wrong := s.file("wrong.csv", "UserId,Mail\nu1,a@contoso.com\n,b@contoso.com\nu1,c@contoso.com\n")
	faulty := s.file("faulty.yaml", strings.Replace(moves, "offset: T-0", "offset: now", 1)+unused)

	s.type_(3, "auth", "status")
	s.type_(3, "runbook", "list")
	s.type_(0, "auth", "login")
	s.type_(0, "auth", "status", "--quiet")

	s.type_(1, "runbook", "lint", faulty)
	s.type_(0, "runbook", "lint", runbook)
	s.type_(0, "runbook", "list")
	s.type_(5, "runbook", "publish", faulty)
	s.type_(5, "runbook", "publish", faulty, "--output", "json")
	s.type_(0, "runbook", "publish", runbook, "--force")
	s.type_(0, "runbook", "publish", runbook, "--force")
	s.type_(0, "runbook", "list")
	s.type_(0, "runbook", "get", "moves", "--quiet")
	s.type_(4, "runbook", "get", "other")

	template := filepath.Join(s.dir, "empty.csv")
	s.type_(0, "template", "download", "moves", "--file", template)
	s.type_(5, "template", "download", "moves", "--file", template)
	s.type_(0, "template", "download", "moves", "--file", template, "--force")

	s.type_(4, "batch", "create", "other", members)
	s.type_(5, "batch", "create", "moves", wrong)
	s.type_(0, "batch", "create", "moves", members)
	s.type_(0, "batch", "list", "--status", "completed")
	s.type_(0, "batch", "list")
	s.type_(4, "batch", "get", "7")

	s.type_(0, "batch", "advance", "1", "--yes", "--wait", "--quiet")
	s.type_(0, "batch", "advance", "1", "--yes", "--wait", "--quiet")
	s.type_(0, "batch", "watch", "1", "--until-idle", "--quiet")
	s.type_(0, "batch", "get", "1")
	s.type_(0, "batch", "members", "1", "--status", "failed")
	s.type_(0, "batch", "advance", "1", "--yes")
	s.type_(0, "batch", "watch", "1", "--quiet")
	s.type_(5, "batch", "advance", "1", "--yes")
	s.type_(0, "batch", "phases", "1")
	s.type_(0, "batch", "steps", "1", "--member", "2")
	s.type_(0, "batch", "members", "1", "--quiet")
	golden(t, "migration", took.ReplaceAllString(s.String(), "Z  <1s   -"))

	got, err := os.ReadFile(template)
	check(t, err)
	if string(got) != "\xef\xbb\xbfUserId,Mail\r\n" {
		t.Errorf("template %q", got)
	}
	for _, kept := range []string{"tokens.json", "signin.json"} {
		info, err := os.Stat(filepath.Join(s.env["MATOOLKIT_HOME"], kept))
		check(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", kept, info.Mode())
		}
	}
}

func TestReaderCannotWrite(t *testing.T) {
	t.Parallel()
	p := newSystem(t, entra.DefaultReaderUPN).signedIn()
	if out, err, status := p.run("batch", "list", "-o", "json"); status != 0 || strings.TrimSpace(out) != "{\n  \"items\": []\n}" {
		t.Errorf("list ended with %d: %s%s", status, out, err)
	}
	_, err, status := p.run("runbook", "publish", p.file("moves.yaml", moves))
	if status != 3 || !strings.Contains(err, "requires the app role Admin") {
		t.Errorf("publish ended with %d: %s", status, err)
	}
}

func TestSignInIsBoundToItsSettings(t *testing.T) {
	t.Parallel()
	p := newSystem(t, entra.DefaultAdminUPN).signedIn()
	out, err, status := p.run("auth", "status", "-o", "json")
	var standing map[string]any
	check(t, json.Unmarshal([]byte(out), &standing))
	if status != 0 || standing["signedIn"] != true || standing["username"] != entra.DefaultAdminUPN || standing["store"] != "file" {
		t.Errorf("status %d: %s%s", status, out, err)
	}
	for _, command := range []string{"runbook list", "auth login"} {
		args := append(strings.Fields(command), "--api-scope", "api://other/.default")
		if out, err, status := p.run(args...); status != exit.NotSignedIn || !strings.Contains(err, "api-scope api://other/.default: AADSTS500011") || !strings.Contains(err, "Check api-scope") {
			t.Errorf("%s with another scope: status %d: %s%s", command, status, out, err)
		}
	}
	out, err, status = p.run("auth", "status", "-o", "json", "--client-id", entra.DefaultWorkerClientID)
	if status != 3 || !strings.Contains(out, `"signedIn": false`) || !strings.Contains(out, "a tenant or app registration other than that") {
		t.Errorf("status %d: %s%s", status, out, err)
	}
	p.file("home/tokens.json", "{}")
	if _, err, status := p.run("batch", "list"); status != 3 || !strings.Contains(err, "auth login") {
		t.Errorf("status %d: %s", status, err)
	}
}

// The API goes away in the middle of a phase, and comes back at the same address.
func TestWatchSurvivesARestartOfTheAPI(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	address := testenv.Address(t)
	handler := system.api.Config.Handler
	serve := func() *httptest.Server {
		api := &httptest.Server{Listener: must(net.Listen("tcp", address)), Config: &http.Server{Handler: handler}}
		api.Start()
		t.Cleanup(api.Close)
		return api
	}
	system.api = serve()
	p := system.person()
	for _, args := range [][]string{
		{"auth", "login"},
		{"runbook", "publish", p.file("moves.yaml", moves), "--force"},
		{"batch", "create", "moves", p.file("members.csv", "UserId,Mail\nu1,a@contoso.com\n")},
	} {
		if _, err, status := p.run(args...); status != 0 {
			t.Fatal(err)
		}
	}
	system.api.Close()

	var out gathered
	root := cli.NewRoot(command.Environment{
		Stdout: &out, Stderr: &out, Getenv: func(name string) string { return p.env[name] },
		Wait: func(ctx context.Context, d time.Duration) error { return pause(ctx, min(d, 20*time.Millisecond)) },
	})
	root.SetArgs([]string{"batch", "watch", "1"})
	ended := make(chan int, 1)
	go func() { ended <- cli.Execute(p.ctx, root) }()
	out.await(t, "the API is not reachable; retrying")

	serve()
	out.await(t, "the API is reachable again")
	for range 3 { // init and two phases
		if _, err, status := p.run("batch", "advance", "1", "--yes", "--wait", "--quiet"); status != 0 {
			t.Fatal(err)
		}
	}
	if status := <-ended; status != 0 {
		t.Errorf("ended with %d: %s", status, out.String())
	}
}

// gathered is output that can be waited for.
type gathered struct{ testenv.Buffer }

func (g *gathered) await(t *testing.T, words string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !strings.Contains(g.String(), words); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no %q in %q", words, g.String())
		}
	}
}
