package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/local/entra"
)

// Every command of the specification is there, with its arguments.
func TestCommandsOfTheSpecification(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"runbook publish <file>",
		"runbook list",
		"runbook get <name>",
		"runbook versions <name>",
		"runbook delete <name> <version>",
		"automation status <runbook>",
		"automation enable <runbook>",
		"automation disable <runbook>",
		"query preview <runbook>",
		"template download <runbook>",
		"batch list",
		"batch get <id>",
		"batch create <runbook> <file>",
		"batch advance <id>",
		"batch cancel <id>",
		"batch members <id>",
		"batch add-members <id> <file>",
		"batch remove-member <id> [<member-id>...]",
		"batch phases <id>",
		"batch steps <id>",
		"auth login",
		"auth status",
		"config show",
		"config set <key> <value>",
		"config path",
	} {
		words := strings.Fields(line)
		found, _, err := cli.NewRoot(command.Environment{}).Find(words[:2])
		if err != nil || !found.Runnable() {
			t.Errorf("there is no %s: %v", line, err)
			continue
		}
		if got := strings.TrimSuffix(found.UseLine(), " [flags]"); got != "matoolkit "+line {
			t.Errorf("%q, want %q", got, line)
		}
	}
}

// A runbook is published, changed, taken out of use and brought back.
func TestVersions(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	first := s.file("moves.yaml", moves)
	next := s.file("moves-2.yaml", strings.Replace(moves, "description: Moves people.", "description: Moves them better.", 1))
	s.type_(4, "runbook", "versions", "moves")
	s.type_(0, "runbook", "publish", first, "--quiet", "--force")
	s.type_(0, "runbook", "publish", next, "--overdue", "rerun", "--rerun-init", "--force")
	s.type_(0, "runbook", "versions", "moves", "--limit", "1", "--quiet")
	s.type_(0, "runbook", "get", "moves", "--version", "1")
	s.type_(4, "runbook", "get", "moves", "--version", "3")
	s.type_(2, "runbook", "get", "moves", "--version", "0")
	s.type_(2, "runbook", "delete", "moves", "latest")
	s.type_(2, "runbook", "delete", "moves", "2")
	s.type_(5, "runbook", "delete", "moves", "1", "--yes")
	s.type_(4, "runbook", "delete", "moves", "3", "--yes")
	s.type_(0, "runbook", "delete", "moves", "2", "--yes", "--reason", "the merger is off")
	s.type_(0, "runbook", "delete", "moves", "2", "--yes", "--quiet")
	s.type_(0, "runbook", "list")
	s.type_(4, "runbook", "get", "moves")
	s.type_(0, "runbook", "get", "moves", "--version", "2", "--output", "yaml")
	s.type_(0, "automation", "status", "moves")
	s.type_(5, "automation", "enable", "moves")
	s.type_(0, "runbook", "publish", first, "--force")
	s.type_(0, "runbook", "versions", "moves")
	golden(t, "versions", s.withoutVarying())
}

// The command deactivates the version that it asks about.
func TestDeleteAsks(t *testing.T) {
	t.Parallel()
	const question = "Deactivate runbook moves (version 3, published by ada on 2026-01-02 03:04:05Z)? [y/N] "
	for _, tt := range []struct {
		answer, isActive string
		asks             bool
		status           int
		sent             string
	}{
		{"y\n", "true", true, 0, `"v1"`},
		{"n\n", "true", true, 1, ""},
		{"", "true", true, 1, ""},
		{"", "false", false, 0, `"v1"`},
	} {
		var mu sync.Mutex
		sent := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodDelete {
				sent = r.Header.Get("If-Match")
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"name":"moves","version":3,"isActive":`+tt.isActive+`,"createdAt":"2026-01-02T03:04:05Z","publishedBy":"ada","etag":"v1"}`)
		}))
		var out, notices strings.Builder
		root := cli.NewRoot(command.Environment{
			Stdin: strings.NewReader(tt.answer), Stdout: &out, Stderr: &notices, Terminal: true, Width: 80,
			Token:  func(context.Context) (string, error) { return "token", nil },
			Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": s.URL}[name] },
		})
		root.SetArgs([]string{"runbook", "delete", "moves", "3"})
		status := cli.Execute(t.Context(), root)
		s.Close()
		if status != tt.status || sent != tt.sent || strings.HasPrefix(notices.String(), question) != tt.asks {
			t.Errorf("%+v: status %d, If-Match %s: %s", tt, status, sent, notices.String())
		}
	}
}
