package e2e_test

import (
	"context"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/collector"
)

// TestOneAdvanceIsOneTrace advances a batch and finds all that was done for it in one
// trace: the request, the orchestrator's decisions, each job with its calls to the
// tenant, each result, each poll. The exported telemetry contains no name, password or
// key, and the logs no password or key.
func TestOneAdvanceIsOneTrace(t *testing.T) {
	t.Parallel()
	c, err := collector.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	told := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL(), "OTEL_EXPORTER_OTLP_HEADERS": "api-key=marked-k3y",
		"OTEL_BSP_SCHEDULE_DELAY": "50", "OTEL_BLRP_SCHEDULE_DELAY": "50", "OTEL_METRIC_EXPORT_INTERVAL": "300", "LOG_LEVEL": "debug",
	}
	seed, err := os.ReadFile(filepath.Join(example, "tenant.json"))
	if err != nil {
		t.Fatal(err)
	}
	worker := map[string]string{"LAG_TIMEOUT_SECONDS": "0", "MAX_PARALLELISM": "8", "RESULT_LINGER_MILLISECONDS": "20"}
	for name, value := range told {
		worker[name] = value
	}
	m := newMachineWith(t, seed, environment{handler: told, worker: worker}, everything)
	people := filepath.Join(example, "members.csv")
	a := newAdminOf(m, "traced", filepath.Join("testdata", "traced.yaml"), people)
	if err := a.advance(); err != nil {
		t.Fatal(err)
	}
	if err := a.await("move", ended); err != nil {
		t.Fatal(err)
	}
	var batch api.Batch
	a.ask(&batch, "batch", "get", a.batch)
	members := persons(t, people)

	const advance = "POST /api/batches/:id/advance"
	named := func(spans []collector.Span, name string) (found []collector.Span) {
		for _, s := range spans {
			if s.Name == name {
				found = append(found, s)
			}
		}
		return found
	}
	// results counts the results that were processed, alone or in a group.
	results := func(spans []collector.Span) (n int) {
		for _, s := range spans {
			if s.Attributes()["matoolkit.message_type"] == message.TypeWorkerResult {
				n++
			}
		}
		return n
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	// For each member: the user, the group, the address, which one of them cannot get,
	// the name, and at least two looks at the attribute; each with its result.
	all, got := len(members), len(members)-1
	want := map[string]int{
		advance: 1, "orchestrator-events": all,
		"job New-ExchangeMailUser": all, "job Add-EntraGroupMember": all, "job Set-ExchangePrimaryEmail": all,
		"job Set-EntraUserUPN": got, "job Test-EntraAttributeMatch": 2 * got,
		"New-MailUser": all, "POST /v1.0/groups/{id}/members/$ref": all, "PATCH /v1.0/users/{id}": got,
		"Set-MailUser": got,
	}
	var missing string
	if err := c.Await(ctx, func(spans []collector.Span) bool {
		missing = ""
		for name, n := range want {
			if got := len(named(spans, name)); got < n {
				missing += fmt.Sprintf("%s: %d of %d\n", name, got, n)
			}
		}
		if got, n := results(spans), 3*all+3*got; got < n {
			missing += fmt.Sprintf("results: %d of %d\n", got, n)
		}
		return missing == "" && len(c.Metrics()) > 0
	}); err != nil {
		t.Fatalf("%v\n%s", err, missing)
	}

	spans := c.Spans()
	if len(named(spans, "worker-result")) == 0 {
		t.Error("no results came in a group")
	}
	roots := named(spans, advance)
	if len(roots) != 1 {
		t.Fatalf("%d requests to advance", len(roots))
	}
	trace := hex.EncodeToString(roots[0].TraceId)
	ids := map[string]collector.Span{}
	for _, s := range spans {
		ids[hex.EncodeToString(s.SpanId)] = s
	}
	for _, s := range spans {
		attributes := s.Attributes()
		if kind := attributes["matoolkit.message_type"]; kind == message.TypeWorkerCatalog || kind == message.TypeWorkerHeartbeat || kind == message.TypeWorkerResults { // of no batch, or of several jobs
			continue
		}
		if attributes["matoolkit.batch_id"] != fmt.Sprint(batch.ID) && !strings.HasPrefix(s.Name, "worker-result") {
			continue
		}
		if got := hex.EncodeToString(s.TraceId); got != trace {
			t.Errorf("%s %v is in trace %s, want %s", s.Name, attributes, got, trace)
			continue
		}
		parent, known := ids[hex.EncodeToString(s.ParentSpanId)]
		switch {
		case s.Name == "worker-results" || s.Name == "orchestrator-events":
			// The host has a span between the message and the invocation, and exports none here.
			if known || s.Resource["service.name"] != "matoolkit-handler" {
				t.Errorf("%s of %v is a child of %q", s.Name, s.Resource, parent.Name)
			}
		case s.Name == "worker-result" && !strings.HasPrefix(parent.Name, "job "):
			t.Errorf("%s of a group is a child of %q", s.Name, parent.Name)
		case !known:
			t.Errorf("%s %v has a parent that was not told of", s.Name, attributes)
		case strings.HasPrefix(s.Name, "job ") && (parent.Name != "orchestrator-events" && !strings.HasPrefix(parent.Name, "worker-result") && parent.Name != "scheduler-timer" ||
			s.Resource["service.name"] != "matoolkit-worker" || s.Resource["matoolkit.worker_id"] != "worker-01"):
			t.Errorf("%s of %v is a child of %s", s.Name, s.Resource, parent.Name)
		}
	}
	for _, name := range []string{"PATCH /v1.0/users/{id}", "New-MailUser"} {
		for _, s := range named(spans, name) {
			attributes := s.Attributes()
			if parent := ids[hex.EncodeToString(s.ParentSpanId)]; !strings.HasPrefix(parent.Name, "job ") || hex.EncodeToString(s.TraceId) != trace ||
				attributes["matoolkit.attempt"] == "" || !strings.HasPrefix(attributes["http.response.status_code"], "2") {
				t.Errorf("%s %v is a child of %q", name, attributes, parent.Name)
			}
		}
	}

	// Each job has an audit record in the trace, which says how it ended.
	audited := map[string]int{}
	for _, r := range c.Records() {
		attributes := r.Attributes()
		if attributes["matoolkit.batch_id"] != fmt.Sprint(batch.ID) {
			continue
		}
		audited["job "+attributes["matoolkit.function"]]++
		if r.GetBody().GetStringValue() != "job ended" || hex.EncodeToString(r.TraceId) != trace || attributes["matoolkit.outcome"] == "" ||
			r.Resource["service.name"] != "matoolkit-worker" || r.Resource["matoolkit.worker_id"] != "worker-01" || r.Resource["matoolkit.tenant_id"] == "" {
			t.Errorf("audit record %v of %v", attributes, r.Resource)
		}
	}
	for name, n := range audited {
		if spans := len(named(c.Spans(), name)); n > spans || n < want[name] {
			t.Errorf("%d audit records of %s, %d spans", n, name, spans)
		}
	}
	if len(audited) < 5 {
		t.Errorf("audit records of %v only", audited)
	}

	metrics := map[string]bool{}
	for _, resource := range c.Metrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, metric := range scope.GetMetrics() {
				metrics[metric.GetName()] = true
			}
		}
	}
	for _, name := range []string{
		"matoolkit.invocation.duration", "matoolkit.worker.job.duration", "matoolkit.worker.job.wait",
		"matoolkit.worker.jobs.running", "matoolkit.worker.call.duration",
	} {
		if !metrics[name] {
			t.Errorf("no metric %s: %v", name, metrics)
		}
	}

	sent := c.Text()
	logs := readLogs(t, m)
	secrets := []string{"Marked-Pa55word", "marked-k3y", m.endpoints.Worker["APP_SECRET"], m.endpoints.Handler["COSMOS_KEY"]}
	for part := range strings.SplitSeq(m.endpoints.Handler["ServiceBusConnection"], ";") {
		if key, found := strings.CutPrefix(part, "SharedAccessKey="); found {
			secrets = append(secrets, key)
		}
	}
	if slices.Contains(secrets, "") || len(secrets) != 5 {
		t.Fatal("a secret is not known, so it cannot be looked for")
	}
	for _, secret := range secrets {
		if strings.Contains(sent, secret) || strings.Contains(logs, secret) {
			t.Errorf("the secret %q is told: by telemetry %t, by a log %t", secret, strings.Contains(sent, secret), strings.Contains(logs, secret))
		}
	}
	for _, name := range members {
		if strings.Contains(sent, name) {
			t.Errorf("telemetry tells of %s", name)
		}
	}
}

// persons are the words by which the people of a list would be known.
func persons(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		alias, _, _ := strings.Cut(row[0], "@")
		names = append(names, alias)
	}
	return names
}

// readLogs are all logs, whole.
func readLogs(t *testing.T, m *machine) string {
	t.Helper()
	var all strings.Builder
	for _, name := range []string{everything, workerProcess} {
		body, err := os.ReadFile(m.path(name + ".log"))
		if err != nil || len(body) == 0 {
			t.Fatalf("%s has no log: %v", name, err)
		}
		all.Write(body)
	}
	if !strings.Contains(all.String(), `"TraceId":"`) {
		t.Error("no log names a trace")
	}
	return all.String()
}
