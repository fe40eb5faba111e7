package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/cli"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/local/entra"
)

// keep sends a result that cannot be processed and waits until it is kept.
func (s *system) keep(id, body string) api.UnprocessableMessage {
	s.t.Helper()
	check(s.t, s.bus.Send(s.ctx, message.TopicWorkerResults, bus.Message{ID: id, Body: []byte(body), Properties: map[string]any{"Origin": "a worker"}}))
	for {
		page, err := s.app.UnprocessableMessages(s.ctx, api.ListOptions{Limit: 1})
		check(s.t, err)
		if len(page.Items) > 0 && page.Items[0].MessageID == id {
			return page.Items[0]
		}
		check(s.t, pause(s.ctx, 10*time.Millisecond))
	}
}

// The way of messages that cannot be processed, and what the audit trail has of it
// all, as an administrator sees it.
func TestMessages(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultAdminUPN)
	s := &transcript{person: system.signedIn()}
	s.type_(0, "messages", "list")

	// Two results that come before their batch does, and one that is none.
	early := func(attempt int) string {
		step := model.StepID(1, 0, 0)
		body, err := json.Marshal(message.Result{
			JobID: fmt.Sprintf("step-%d-attempt-%d", step, attempt), Status: message.StatusSuccess, Result: json.RawMessage("true"),
			CorrelationData: message.Correlation{BatchID: 1, StepExecutionID: step, IsInitStep: true, RunbookName: "moves", RunbookVersion: 1},
		})
		check(t, err)
		return string(body)
	}
	first := system.keep("early-8", early(8))
	system.keep("early-9", early(9))
	broken := system.keep("broken", "\x1b[31m{")
	s.type_(0, "messages", "list")
	s.type_(0, "messages", "list", "--topic", "orchestrator-events")
	s.type_(0, "messages", "get", first.ID)
	s.type_(0, "messages", "get", broken.ID)
	s.type_(0, "messages", "get", broken.ID, "--output", "json")
	s.type_(4, "messages", "get", "nothing")

	s.type_(2, "messages", "discard", broken.ID)
	s.type_(0, "messages", "discard", broken.ID, "--yes", "--reason", "a test of the vendor's")
	s.type_(5, "messages", "discard", broken.ID, "--yes")
	s.type_(0, "messages", "list", "--status", "discarded")

	s.type_(0, "runbook", "publish", s.file("moves.yaml", moves), "--force")
	s.type_(0, "batch", "create", "moves", s.file("members.csv", "UserId,Mail\nu1,a@contoso.com\n"))
	s.type_(0, "batch", "advance", "1", "--yes", "--wait", "--quiet")
	s.type_(1, "messages", "replay", first.ID, "nothing", "--reason", "the batch is there")
	s.type_(0, "messages", "replay", "--all")
	s.type_(0, "messages", "replay", "--all")
	s.type_(5, "messages", "replay", first.ID)
	s.type_(0, "messages", "list", "--status", "replayed", "--quiet")
	s.type_(0, "batch", "audit", "1")
	s.type_(0, "batch", "audit", "1", "--action", "create", "--quiet")
	s.type_(4, "batch", "audit", "2")
	golden(t, "messages", s.String())

	reader := newSystem(t, entra.DefaultReaderUPN).signedIn()
	for args, want := range map[string]int{"messages list": 0, "messages get a": 3, "messages replay a": 3, "messages discard a --yes": 3} {
		if _, err, status := reader.run(strings.Fields(args)...); status != want {
			t.Errorf("a reader's %s: status %d: %s", args, status, err)
		}
	}
}

func TestDiscardAsks(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]struct{ status, asked int }{
		"y\n": {0, 2}, "Yes\n": {0, 2}, "n\n": {1, 0}, "\n": {1, 0}, "": {1, 0}, "yellow\n": {1, 0},
	} {
		var mu sync.Mutex
		asked := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			asked++
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"id":"a","status":"discarded"}`))
		}))
		var out, notices strings.Builder
		root := cli.NewRoot(command.Environment{
			Stdin: strings.NewReader(answer), Stdout: &out, Stderr: &notices, Terminal: true, Width: 80, Token: func(context.Context) (string, error) { return "token", nil },
			Getenv: func(name string) string { return map[string]string{"MATOOLKIT_API_URL": s.URL}[name] },
		})
		root.SetArgs([]string{"messages", "discard", "a", "b"})
		status := cli.Execute(t.Context(), root)
		s.Close()
		if status != want.status || asked != want.asked || !strings.HasPrefix(notices.String(), "Discard 2 messages? [y/N] ") {
			t.Errorf("%q: status %d, %d requests: %s", answer, status, asked, notices.String())
		}
	}
}

// An outage in the middle ends a replay of many, and prints how many messages were replayed.
func TestReplayOfManyEndsWithAnOutage(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var replayed []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"items":[{"id":"c"},{"id":"b"},{"id":"a"}]}`))
			return
		}
		id := strings.Split(r.URL.Path, "/")[4]
		if replayed = append(replayed, id); id == "b" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(`{"detail":"away","error":"unavailable"}`))
			return
		}
		_, _ = fmt.Fprintf(w, `{"id":%q,"status":"replayed"}`, id)
	}))
	t.Cleanup(s.Close)
	p := newPerson(t)
	p.env["MATOOLKIT_API_URL"] = s.URL
	out, notices, status := p.as(0, "messages", "replay", "--all")
	if status != 6 || !strings.Contains(out, "a  ") || strings.Contains(out, "c  ") || !strings.Contains(notices, "Replayed 1 of 3 messages before this error:") {
		t.Errorf("status %d: %s%s", status, out, notices)
	}
	if got := strings.Join(replayed, " "); got != "a b" {
		t.Errorf("replayed %s; the first kept comes first", got)
	}
}
