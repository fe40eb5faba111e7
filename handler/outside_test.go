//go:build rabbitmq && postgres

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq/rabbitmqtest"
	contract "github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/pgconnect/pgtest"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// bundle is a pipeline: a job for each item, then one merge.
const bundle = `
name: bundle
trigger: request
items: {primary_key: Repository}
phases:
  - name: sync
    steps:
      - {name: sync, worker_id: worker-01, function: Sync, timeout: 4m, params: {Name: "{{Repository}}"}}
    on_complete:
      - {name: merge, worker_id: worker-01, function: Merge, timeout: 4m, output_params: {Digest: Digest}}
`

// outside are the settings of a handler that needs nothing of Azure but sign-in with Entra ID.
func outside(t *testing.T, s *system, broker, database string) map[string]string {
	t.Helper()
	config := entra.DefaultConfig()
	config.Addr = "127.0.0.1:0"
	s.entra = testenv.Started(entra.Start(t.Context(), config))(t)
	s.caFile = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(s.caFile, s.entra.CAPEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	return map[string]string{
		"RABBITMQ_URL": broker, "POSTGRES_URL": database,
		"AzureAd__Instance": s.entra.URL() + "/", "AzureAd__TenantId": entra.DefaultTenantID,
		"AzureAd__ClientId": entra.DefaultAdminAPIClientID, "AzureAd__Audience": entra.DefaultAdminAPIAudience,
		"EXTRA_CA_FILE": s.caFile, "LOG_LEVEL": "debug",
	}
}

// TestPipelineOverRabbitMQAndPostgreSQL requests a batch of two handlers that start together on an empty database, and of which
// one is killed. Each item has one job that counts, and the merge comes once, after the last item.
func TestPipelineOverRabbitMQAndPostgreSQL(t *testing.T) {
	t.Parallel()
	const items = 60 // two pages
	node := testenv.Must(rabbitmqtest.Start())(t)
	t.Cleanup(node.Stop)
	server := pgtest.Start(t, "host all matoolkit 127.0.0.1/32 scram-sha-256\n")
	server.Exec(t, "postgres", "CREATE ROLE matoolkit LOGIN PASSWORD 'hunter2'")
	server.Exec(t, "postgres", "CREATE DATABASE matoolkit OWNER matoolkit ENCODING 'UTF8' TEMPLATE template0")
	worker := testenv.Connected(rabbitmq.Dial(rabbitmq.Config{URL: node.URL, Declare: true, Workers: []string{"worker-01"}}))(t)
	if err := worker.Ping(t.Context()); err != nil { // which declares its subscription
		t.Fatal(err)
	}
	s := &system{}
	settings := outside(t, s, node.URL, "postgres://matoolkit:hunter2@"+server.Address+"/matoolkit")
	p, other := start(t, settings), start(t, maps.Clone(settings))
	p.ready()
	other.ready()
	c := s.callerAt(t, p.url)
	var answer map[string]any
	c.ask(http.MethodPost, "/api/runbooks", "application/yaml", bundle, &answer)

	var request api.PipelineRequest
	request.Owner = "ada"
	for i := range items {
		request.Items = append(request.Items, map[string]json.RawMessage{"Repository": json.RawMessage(fmt.Sprintf(`"repository-%02d"`, i))})
	}
	body := string(testenv.Must(json.Marshal(request))(t))
	var batch api.PipelineBatch
	if status := s.post(t, p.url, "/api/pipelines/bundle/batches", body, &batch); status != http.StatusAccepted || batch.StatusURL == "" {
		t.Fatalf("the request: %d, %+v", status, batch)
	}
	progress := func() api.PipelineBatch {
		t.Helper()
		var now api.PipelineBatch
		c.ask(http.MethodGet, batch.StatusURL, "", "", &now)
		if n := now.Items; n.Total != items || n.Queued+n.Running+n.Succeeded != items || n.Succeeded < batch.Items.Succeeded {
			t.Fatalf("progress %+v after %+v", now, batch.Items)
		}
		batch.Items = now.Items
		return now
	}

	jobs := testenv.Must(worker.Receiver(contract.TopicWorkerJobs, contract.WorkerSubscription("worker-01")))(t)
	seen, merges := map[string]bool{}, 0
	for merges == 0 {
		got := testenv.Must(jobs.Receive(t.Context(), 5, 30*time.Second))(t)
		if len(got) == 0 {
			t.Fatalf("%d of %d items and no merge came; %+v", len(seen), items, progress())
		}
		for _, m := range got {
			var job contract.Job
			if err := json.Unmarshal(m.Body, &job); err != nil {
				t.Fatal(err)
			}
			result := json.RawMessage("true")
			if seen[job.JobID] = true; job.FunctionName == "Merge" {
				result = json.RawMessage(`{"Digest": "sha256:1"}`)
				if merges++; len(seen) != items+1 || progress().Items.Succeeded != items {
					t.Errorf("the merge came after %d items: %+v", len(seen)-1, batch.Items)
				}
			}
			r := contract.Result{JobID: job.JobID, Status: contract.StatusSuccess, Result: result, Timestamp: time.Now(), CorrelationData: job.CorrelationData}
			sent := bus.Message{ID: r.ID(), Body: testenv.Must(json.Marshal(r))(t)}
			// A broker without duplicate detection may have it twice.
			if err := worker.Send(t.Context(), contract.TopicWorkerResults, sent, sent); err != nil {
				t.Fatal(err)
			}
			if err := jobs.Complete(t.Context(), m); err != nil {
				t.Fatal(err)
			}
			if len(seen) == items/3 {
				_ = other.cmd.Process.Kill() // with messages in hand, perhaps
			}
		}
	}
	testenv.Eventually(t, "the end of the batch", func() bool { return progress().Status == api.PipelineCompleted })
	got := testenv.Must(jobs.Receive(t.Context(), 5, time.Second))(t)
	for _, m := range got {
		var job contract.Job
		if err := json.Unmarshal(m.Body, &job); err != nil || !seen[job.JobID] {
			t.Errorf("a job after the end of the batch: %s, %v", m.Body, err)
		}
	}
	var result api.PipelineResult
	c.ask(http.MethodGet, batch.ResultURL, "", "", &result)
	if result.Items.Succeeded != items || string(result.Outputs["Digest"]) != `"sha256:1"` {
		t.Errorf("the result: %+v", result)
	}
	var again api.PipelineBatch
	if status := s.post(t, p.url, "/api/pipelines/bundle/batches", body, &again); status != http.StatusOK || again.Status != api.PipelineCached || again.ID != batch.ID {
		t.Errorf("the same request: %d, %+v", status, again)
	}
	if log := p.stdout.String() + p.stderr.String(); strings.Contains(log, `"level":"ERROR"`) || strings.Contains(log, "hunter2") {
		t.Errorf("the handler's log has errors, or the password")
	}
}

// post sends a request of the administrator, and returns the status of its answer.
func (s *system) post(t *testing.T, url, path, body string, into any) int {
	t.Helper()
	request := testenv.Must(http.NewRequestWithContext(t.Context(), http.MethodPost, url+path, strings.NewReader(body)))(t)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+s.callerAt(t, url).token)
	response := testenv.Must(http.DefaultClient.Do(request))(t)
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}
