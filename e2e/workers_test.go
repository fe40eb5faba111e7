package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// TestAWorkerTellsWhatItCanBeAskedFor has the real worker announce its functions, custom
// ones included, also while the orchestrator is killed, and a runbook be held to them.
func TestAWorkerTellsWhatItCanBeAskedFor(t *testing.T) {
	t.Parallel()
	badges := filepath.Join(t.TempDir(), "badges.csv")
	if err := os.WriteFile(badges, []byte("7,B7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := newMachineWith(t, []byte("{}"), environment{}, everything)
	a := signIn(m)
	first := a.announced(anyWorker)
	if first.FunctionCount < 18 || first.ID != "worker-01" {
		t.Errorf("%+v", first)
	}
	if out := a.must("messages", "list", "--quiet"); out != "" {
		t.Errorf("messages are kept: %s", out)
	}

	const calls = `name: badges
data_source: {type: csv, primary_key: UserId}
phases:
  - name: badge
    offset: T-0
    steps:
      - {name: issued, worker_id: worker-01, function: Test-BadgeIssued, params: {UserId: "{{UserId}}"}, poll: {interval: 1m, timeout: 5m}}
      - {name: enable, worker_id: worker-01, function: Set-EntraUserEnabled, params: {UserId: "{{UserId}}", Enabled: maybe}}
`
	m.write("badges.yaml", []byte(calls))
	warned := func() string {
		t.Helper()
		var view api.Runbook
		a.ask(&view, "runbook", "publish", m.path("badges.yaml"), "--dry-run")
		var codes []string
		for _, d := range view.Warnings {
			codes = append(codes, d.Code)
		}
		return strings.Join(codes, " ")
	}
	if got := warned(); got != "unknown-function parameter-type" {
		t.Errorf("warnings of a worker without the custom function: %s", got)
	}

	// The next version of the worker has a function more, and the orchestrator is
	// killed while it hears of it.
	source := filepath.Join(root, "examples", "custom-functions")
	m.mu.Lock()
	m.processes[workerProcess].Kill()
	m.mu.Unlock()
	custom := m.path("functions")
	if err := os.Mkdir(custom, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]os.FileMode{"test-badge-issued.yaml": 0o600, "test-badge-issued.sh": 0o700} {
		body, err := os.ReadFile(filepath.Join(source, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(custom, name), body, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	m.worker = map[string]string{"CUSTOM_FUNCTIONS_DIR": custom, "BADGE_LIST": badges}
	m.start(workerProcess)
	if err := m.killHandler(); err != nil {
		t.Fatal(err)
	}
	next := a.announced(func(v api.Worker) bool { return v.StartedAt != nil && v.StartedAt.After(*first.StartedAt) })
	if next.FunctionCount != first.FunctionCount+1 {
		t.Errorf("%d functions, and %d before", next.FunctionCount, first.FunctionCount)
	}
	if got := warned(); got != "parameter-type" {
		t.Errorf("warnings of a worker with the custom function: %s", got)
	}
}

func anyWorker(v api.Worker) bool { return v.StartedAt != nil }

// announced waits until the worker is known as it has to be, and gives it with its
// functions.
func (a *admin) announced(as func(api.Worker) bool) api.Worker {
	a.t.Helper()
	for end := time.Now().Add(a.patience); time.Now().Before(end); time.Sleep(a.every) {
		out, _, err := a.give("worker", "list", "--output", "json") // an outage is waited out
		var page api.Page[api.Worker]
		if err != nil || json.Unmarshal([]byte(out), &page) != nil || len(page.Items) == 0 || !as(page.Items[0]) {
			continue
		}
		var view api.Worker
		a.ask(&view, "worker", "get", page.Items[0].ID)
		if len(view.Functions) != view.FunctionCount {
			a.t.Errorf("%d functions are counted, of %d", view.FunctionCount, len(view.Functions))
		}
		return view
	}
	a.t.Fatal("the worker has not announced itself")
	return api.Worker{}
}
