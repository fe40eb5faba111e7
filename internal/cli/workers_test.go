package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/entra"
)

// announce has a worker tell what it can be asked for.
func (s *system) announce(worker string) {
	s.t.Helper()
	body := must(json.Marshal(message.Catalog{
		WorkerID: worker, Version: "1.2", Timestamp: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Functions: []message.CatalogFunction{{
			Name: "New-Badge", Permissions: []string{"badges"}, Result: []message.CatalogField{{Name: "BadgeId"}},
			Parameters: []message.CatalogParameter{{Name: "UserId", Type: "guid", Required: true}, {Name: "Kind", Type: "blue|red"}},
		}, {Name: "Tell\x1b[31m"}},
	}))
	check(s.t, s.app.HandleResult(s.ctx, message.Delivery{ID: message.CatalogID(worker, body), Type: message.TypeWorkerCatalog, Body: body, DeliveryCount: 1}))
}

// reports has a worker that has stopped say goodbye: what it shows does not depend on when.
func (s *system) reports(worker string) {
	s.t.Helper()
	now := time.Now().UTC()
	expires := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	h := message.Heartbeat{WorkerID: worker, ReplicaID: "r1", Version: "1.2", StartedAt: now, Timestamp: now, MaxParallelism: 8, CredentialExpiresAt: &expires, Stopping: true}
	check(s.t, s.app.HandleResult(s.ctx, message.Delivery{ID: h.ID(), Type: message.TypeWorkerHeartbeat, Body: must(json.Marshal(h)), DeliveryCount: 1}))
}

const badged = `name: badged
data_source: {type: csv, primary_key: UserId}
phases:
  - name: badge
    offset: T-0
    steps:
      - {name: new, worker_id: worker-01, function: New-Badge, params: {UserId: "{{UserId}}", Kind: gold}, output_params: {Badge: Id}}
      - {name: move, worker_id: worker-02, function: Set-EntraUserUPN, params: {UserId: "7", NewUserPrincipalName: a@x}}
`

func TestWorkers(t *testing.T) {
	t.Parallel()
	system := newSystem(t, entra.DefaultReaderUPN)
	s := &transcript{person: system.signedIn()}
	s.type_(0, "worker", "list")
	s.type_(4, "worker", "get", "worker-01")
	system.announce("worker-01")
	system.announce("worker-02")
	s.type_(0, "worker", "list")
	system.reports("worker-01")
	s.type_(0, "worker", "list", "--quiet", "--limit", "1")
	s.type_(0, "worker", "get", "worker-01")
	s.type_(0, "worker", "get", "worker-01", "--output", "csv")
	s.type_(2, "worker", "get")
	s.type_(2, "worker")

	// Announced and declared functions are valid input of lint.
	functions, _, status := s.run("worker", "get", "worker-01", "--output", "json")
	if status != 0 {
		t.Fatal(functions)
	}
	announced := s.file("announced.json", functions)
	runbook := s.file("badged.yaml", badged)
	s.type_(0, "runbook", "lint", runbook)
	s.type_(0, "runbook", "lint", runbook, "--functions", announced)
	manifests := filepath.Join(t.TempDir(), "functions")
	check(t, os.Mkdir(manifests, 0o755))
	manifest := "name: New-Badge\ndescription: d\nparams: [{name: UserId, type: guid, required: true, description: d}]\nresult: [{name: BadgeId, description: d}]\ncommand: [badge.sh]\n"
	check(t, os.WriteFile(filepath.Join(manifests, "badge.yaml"), []byte(manifest), 0o600))
	check(t, os.WriteFile(filepath.Join(manifests, "badge.sh"), []byte("#!/bin/sh\n"), 0o700))
	s.type_(0, "runbook", "lint", runbook, "--functions", manifests)
	check(t, os.WriteFile(filepath.Join(manifests, "badge.yaml"), []byte(strings.Replace(manifest, "guid", "gold", 1)), 0o600))
	s.type_(5, "runbook", "lint", runbook, "--functions", manifests)
	for name, text := range map[string]string{"none.json": "[]", "text.json": "New-Badge", "nameless.json": `[{"params":[]}]`} {
		if _, err, status := s.run("runbook", "lint", runbook, "--functions", s.file(name, text)); status != 5 || !strings.Contains(err, name) {
			t.Errorf("%s: status %d: %s", name, status, err)
		}
	}
	if _, err, status := s.run("runbook", "lint", runbook, "--functions", "away"); status != 2 {
		t.Errorf("status %d: %s", status, err)
	}
	golden(t, "workers", strings.ReplaceAll(s.String(), manifests, "functions"))
}
