package cli_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/local/entra"
)

// A wave is postponed: the times before and after are shown first.
func TestReschedule(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	s.type_(0, "runbook", "publish", s.file("waves.yaml", waves), "--quiet", "--force")
	system.found("u1,a@contoso.com,2086-05-04T18:00:00Z", "u2,b@contoso.com,2086-05-04T18:00:00Z")
	s.type_(0, "automation", "enable", "waves", "--quiet")
	system.tick()
	s.type_(2, "batch", "reschedule", "1")
	s.type_(2, "batch", "reschedule", "1", "--start", "2086-05-06 18:00")
	s.type_(5, "batch", "reschedule", "1", "--start", "soon", "--dry-run")
	s.type_(0, "batch", "reschedule", "1", "--start", "2086-05-06 18:00", "--dry-run")
	s.type_(0, "batch", "reschedule", "1", "--start", "2086-05-06 18:00", "--dry-run", "--output", "json")
	s.type_(0, "batch", "reschedule", "1", "--start", "2086-05-06 18:00", "--yes", "--reason", "the customer asked")
	s.type_(0, "batch", "reschedule", "1", "--start", "2086-05-06 18:00", "--yes")
	s.type_(0, "batch", "get", "1")
	s.type_(0, "member", "clear-override", "1", "u1", "Mail")
	s.type_(0, "batch", "reschedule", "1", "--start", "2020-05-06", "--dry-run")
	golden(t, "reschedule", s.withoutVarying())
}

// On a terminal the command asks, after what would change.
func TestRescheduleAsks(t *testing.T) {
	t.Parallel()
	for answer, tt := range map[string]struct {
		status int
		sent   string
	}{
		"y\n": {0, `{"batchStartTime":"2026-03-09","dryRun":true}{"batchStartTime":"2026-03-09","reason":"late"}`},
		"n\n": {1, `{"batchStartTime":"2026-03-09","dryRun":true}`},
	} {
		sent := ""
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			sent += string(body)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"batch":{"id":7,"batchStartTime":"2026-03-09T00:00:00Z"},"from":"2026-03-12T00:00:00Z","dryRun":true,"phases":[
				{"phaseId":1,"phase":"prepare","from":"2026-03-10T00:00:00Z","to":"2026-03-07T00:00:00Z","due":true,"quietUntil":"2026-03-08T06:00:00Z"},
				{"phaseId":2,"phase":"cut over","from":"2026-03-12T00:00:00Z","to":"2026-03-09T00:00:00Z","due":true,"reason":"it waits for an administrator's approval"}]}`)
		}))
		var out, notices strings.Builder
		root := cli.NewRoot(command.Environment{
			Stdin: strings.NewReader(answer), Stdout: &out, Stderr: &notices, Terminal: true, Width: 80,
			Token:  func(context.Context) (string, error) { return "token", nil },
			Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": s.URL}[name] },
		})
		root.SetArgs([]string{"batch", "reschedule", "7", "--start", "2026-03-09", "--reason", "late"})
		status := cli.Execute(t.Context(), root)
		s.Close()
		asked := strings.HasPrefix(notices.String(), `This would move batch 7 from 2026-03-12 00:00:00Z to 2026-03-09 00:00:00Z: 2 phases. 2 phases are due at once and start one after another.
  prepare: 2026-03-10 00:00:00Z -> 2026-03-07 00:00:00Z (starts after quiet hours, 2026-03-08 06:00:00Z)
  cut over: 2026-03-12 00:00:00Z -> 2026-03-09 00:00:00Z (due at once; it waits for an administrator's approval)
Reschedule batch 7 to 2026-03-09 00:00:00Z? [y/N] `)
		if status != tt.status || sent != tt.sent || !asked {
			t.Errorf("%q: status %d, sent %s: %s", answer, status, sent, notices.String())
		}
	}
}
