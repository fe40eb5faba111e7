package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/local/tenant"
	"github.com/matoolkit/matoolkit/local/tenant/population"
)

// Predicted is a batch that is rehearsed and run, to compare the durations.
type Predicted struct {
	Members         int           // 0: none is compared
	Graph, Exchange time.Duration // of each request and each command
}

// predictedParallelism is how many jobs the worker has at once.
const predictedParallelism = 20

// predictedRunbook has a phase for each limit: the slots of the worker with the latency of Graph, the writes of Graph, and the
// commands of Exchange Online; and one with all of them.
const predictedRunbook = `name: bench
data_source: {type: csv, primary_key: Upn}
phases:
  - name: reads
    offset: T-3h
    steps:
      - {name: department, worker_id: worker-01, function: Test-EntraAttributeMatch, params: {UserId: "{{Id}}", AttributeName: department, ExpectedValue: "{{Department}}"}}
      - {name: country, worker_id: worker-01, function: Test-EntraAttributeMatch, params: {UserId: "{{Id}}", AttributeName: usageLocation, ExpectedValue: SE}}
  - name: writes
    offset: T-2h
    steps:
      - {name: attributes, worker_id: worker-01, function: Set-EntraUserAttributes, params: {UserId: "{{Id}}", Department: Navy}}
      - {name: block, worker_id: worker-01, function: Set-EntraUserEnabled, params: {UserId: "{{Id}}", Enabled: false}}
      - {name: office, worker_id: worker-01, function: Set-EntraUserAttributes, params: {UserId: "{{Id}}", OfficeLocation: Harbour}}
  - name: commands
    offset: T-1h
    steps:
      - {name: mailbox, worker_id: worker-01, function: Get-ExchangeMailbox, params: {Identity: "{{Upn}}"}}
      - {name: hide, worker_id: worker-01, function: Set-ExchangeHidden, params: {Identity: "{{Upn}}", Hidden: true}}
  - name: all
    offset: T-0
    steps:
      - {name: unblock, worker_id: worker-01, function: Set-EntraUserEnabled, params: {UserId: "{{Id}}", Enabled: true}}
      - {name: show, worker_id: worker-01, function: Set-ExchangeHidden, params: {Identity: "{{Upn}}", Hidden: false}}
      - {name: check, worker_id: worker-01, function: Test-EntraAttributeMatch, params: {UserId: "{{Id}}", AttributeName: accountEnabled, ExpectedValue: "true"}}
`

// predictions rehearses a batch, runs it on the wall clock against a tenant that throttles as Microsoft's do, and compares the
// durations of its phases.
func predictions(ctx context.Context, c Config) (difference float64, err error) {
	dir, err := os.MkdirTemp("", "matoolkit-bench-")
	if err != nil {
		return 0, err
	}
	b := &bed{Config: c, dir: dir}
	defer func() { err = errors.Join(err, b.stop(), os.RemoveAll(dir)) }()
	members, seed, err := b.predictedPeople()
	if err != nil {
		return 0, err
	}
	if _, err := b.command(ctx, nil, "rehearse", b.file("runbook.yaml"), "--members", b.file("members.csv"), "--target", b.file("copy.json"), "--start", "2026-12-01 18:00",
		"--parallelism", fmt.Sprint(predictedParallelism), "--graph-latency", c.Predicted.Graph.String(), "--exchange-latency", c.Predicted.Exchange.String(), "--json", b.file("report.json")); err != nil {
		return 0, err
	}
	text, err := os.ReadFile(b.file("report.json"))
	if err != nil {
		return 0, err
	}
	var rehearsed struct {
		Phases []struct {
			Phase   string
			Seconds float64
			Jobs    int
		}
	}
	if err := json.Unmarshal(text, &rehearsed); err != nil {
		return 0, err
	}
	b.replicas = func(env map[string]string) error {
		env["MAX_PARALLELISM"] = fmt.Sprint(predictedParallelism)
		_, err := b.spawn("worker", env, b.Worker)
		return err
	}
	if err := b.start(ctx); err != nil {
		return 0, errors.Join(err, b.logs())
	}
	ran, err := b.runPhases(ctx, members, seed)
	if err != nil {
		return 0, errors.Join(err, b.logs())
	}
	t := Table{Name: fmt.Sprintf("Phases rehearsed, and run with throttling: %d members", c.Predicted.Members), Columns: []string{"phase", "jobs", "seconds predicted", "seconds", "difference %"}}
	row := func(name string, jobs int, predicted, took float64) float64 {
		differs := 100 * (predicted - took) / took
		t.Rows = append(t.Rows, []any{name, jobs, one(predicted), one(took), one(differs)})
		return differs
	}
	var predicted, took float64
	jobs := 0
	for _, p := range rehearsed.Phases {
		row(p.Phase, p.Jobs, p.Seconds, ran[p.Phase])
		predicted, took, jobs = predicted+p.Seconds, took+ran[p.Phase], jobs+p.Jobs
	}
	difference = math.Abs(row("all together", jobs, predicted, took))
	c.add(t)
	return difference, nil
}

// predictedPeople writes the runbook, the members and the copy of the tenant, and returns members and seed.
func (b *bed) predictedPeople() (members, seed []byte, err error) {
	var of tenant.Seed
	list := bytes.NewBufferString("Upn,Id,Department\n")
	for i := range b.Predicted.Members {
		u, r := population.Person(i, false)
		delete(u, "managerId")
		of.Users, of.Recipients = append(of.Users, u), append(of.Recipients, r)
		fmt.Fprintf(list, "%s,%s,%s\n", u.UPN(), u.ID(), u.Text("department"))
	}
	if seed, err = json.Marshal(of); err != nil {
		return nil, nil, err
	}
	for name, content := range map[string][]byte{"runbook.yaml": []byte(predictedRunbook), "members.csv": list.Bytes(), "copy.json": seed} {
		if err := os.WriteFile(b.file(name), content, 0o600); err != nil {
			return nil, nil, err
		}
	}
	return list.Bytes(), seed, nil
}

// runPhases runs the phases one after the other, and returns how many seconds each takes.
func (b *bed) runPhases(ctx context.Context, members, seed []byte) (map[string]float64, error) {
	faults, err := json.Marshal(tenant.Faults{Rules: []tenant.Fault{
		// The published limit of writes, within which the worker stays.
		{Service: "graph", Op: "PATCH", After: 3000, PerMS: 150_000, Status: http.StatusTooManyRequests},
		{Service: "graph", DelayMS: int(b.Predicted.Graph.Milliseconds())},
		{Service: "exchange", DelayMS: int(b.Predicted.Exchange.Milliseconds())},
	}})
	if err == nil {
		err = b.tenant(ctx, http.MethodPost, "seed", seed)
	}
	if err == nil {
		err = b.tenant(ctx, http.MethodPut, "faults", faults)
	}
	if err != nil {
		return nil, err
	}
	client, err := b.api()
	if err != nil {
		return nil, err
	}
	if _, err := client.PublishRunbook(ctx, []byte(predictedRunbook)); err != nil {
		return nil, err
	}
	batch, err := client.CreateBatch(ctx, "bench", members)
	if err != nil {
		return nil, err
	}
	took := map[string]float64{}
	for _, name := range []string{"reads", "writes", "commands", "all"} {
		b.progress("run the phase %s", name)
		if _, err := client.Advance(ctx, batch.ID, name, ""); err != nil {
			return nil, err
		}
		var phase api.Phase
		if err := await(ctx, client, batch.ID, func(api.Batch) bool {
			phases, asked := client.Phases(ctx, batch.ID)
			if i := slices.IndexFunc(phases.Items, func(p api.Phase) bool { return p.Name == name }); asked == nil && i >= 0 {
				phase = phases.Items[i]
			}
			return asked != nil || phase.CompletedAt != nil
		}); err != nil {
			return nil, err
		}
		if phase.CompletedAt == nil || phase.DispatchedAt == nil || phase.Succeeded != b.Predicted.Members {
			return nil, fmt.Errorf("the phase %s has not succeeded for all members: %+v", name, phase)
		}
		took[name] = phase.CompletedAt.Sub(*phase.DispatchedAt).Seconds()
	}
	return took, nil
}

// tenant sends a request to the local endpoint of the tenant.
func (b *bed) tenant(ctx context.Context, method, what string, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, method, b.endpoints.TenantURL+"/_local/"+what, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= http.StatusMultipleChoices {
		text, _ := io.ReadAll(response.Body)
		return fmt.Errorf("the tenant answered %s: %s", response.Status, strings.TrimSpace(string(text)))
	}
	return nil
}
