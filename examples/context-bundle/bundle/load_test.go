package bundle_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	busmemory "github.com/matoolkit/matoolkit/internal/bus/memory"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	local "github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// Five hundred repositories are read by 2 and by 20 workers. Each job comes twice; its answers are equal, and the bundle is
// the same.
func TestFiveHundredItemsWithTwoToTwentyWorkers(t *testing.T) {
	t.Parallel()
	const items = 500
	fingerprints := make([]string, 2)
	var group sync.WaitGroup
	for i, workers := range []int{2, 20} {
		group.Go(func() { fingerprints[i] = syncAll(t, items, workers) })
	}
	group.Wait()
	if fingerprints[0] == "" || fingerprints[0] != fingerprints[1] {
		t.Errorf("the bundles have the fingerprints %q", fingerprints)
	}
}

// syncAll reads repositories with so many workers, and returns the fingerprint of their bundle.
func syncAll(t *testing.T, items, workers int) string {
	t.Helper()
	w := newWorld(t, local.Config{PerMinute: 1_000_000, Limit: 1_000_000, Concurrent: 1000})
	owner := local.Owner{Login: "octo"}
	name := func(i int) string { return fmt.Sprintf("repo-%03d", i) }
	for i := range items {
		owner.Repos = append(owner.Repos, local.Repo{Name: name(i), Files: map[string]string{"README.md": "# " + name(i)}})
	}
	if err := w.server.Seed(local.Seed{Owners: []local.Owner{owner}}); err != nil {
		t.Fatal(err)
	}
	broker := testenv.Must(busmemory.New(busmemory.Config{Topics: busmemory.Deployment("sync")}))(t)
	client := broker.Client(nil)
	ctx := t.Context()
	var running sync.WaitGroup
	for range workers {
		loop := testenv.Must(dispatch.New(client, w.functions, dispatch.Config{WorkerID: "sync", MaxParallelism: 4, IdleTimeout: 2 * time.Second}))(t)
		running.Go(func() { loop.Run(ctx) })
	}
	for i := range items {
		job := message.Job{
			JobID: fmt.Sprintf("batch-1-step-%d-attempt-1", i+1), BatchID: 1, WorkerID: "sync", FunctionName: "Sync-RepoContext",
			Parameters:      testenv.Must(json.Marshal(object{"Owner": "octo", "Repository": name(i), "Generation": at(0)}))(t),
			CorrelationData: message.Correlation{BatchID: 1, StepExecutionID: int64(i + 1)},
		}
		body := testenv.Must(json.Marshal(job))(t)
		for _, id := range []string{"a", "b"} { // another id: the broker does not see that it is the same
			if err := client.Send(ctx, message.TopicWorkerJobs, bus.Message{ID: job.ID() + id, Body: body, Properties: map[string]any{message.PropertyWorkerID: "sync"}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	running.Wait()
	answered := map[string]synced{}
	results := testenv.Must(client.Receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator))(t)
	for {
		got := testenv.Must(results.Receive(ctx, 50, time.Millisecond))(t)
		if len(got) == 0 {
			break
		}
		for _, m := range got {
			for _, r := range resultsOf(t, m) {
				var answer synced
				if err := json.Unmarshal(r.Result, &answer); err != nil || r.Status != message.StatusSuccess {
					t.Errorf("%s: %+v", r.JobID, r.Error)
				}
				if before, again := answered[r.JobID]; again && before != answer {
					t.Errorf("%s was answered with %+v and %+v", r.JobID, before, answer)
				}
				answered[r.JobID] = answer
			}
			if err := results.Complete(ctx, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(answered) != items {
		t.Errorf("%d workers answered %d jobs", workers, len(answered))
	}
	var lines []string
	for i := range items {
		answer := answered[fmt.Sprintf("batch-1-step-%d-attempt-1", i+1)]
		lines = append(lines, item(name(i), &answer))
	}
	m := testenv.Must(w.merge(w.outputs("all", lines...), 1))(t)
	if m.Repositories != items || m.Documented != items || len(m.Missing) > 0 {
		t.Errorf("%d workers: %+v", workers, m)
	}
	return m.Fingerprint
}

// resultsOf are the results in a message, which may be a group.
func resultsOf(t *testing.T, m *bus.Received) (all []message.Result) {
	t.Helper()
	var group struct {
		Results []struct{ Body json.RawMessage }
	}
	bodies := []json.RawMessage{m.Body}
	if err := json.Unmarshal(m.Body, &group); err == nil && len(group.Results) > 0 {
		bodies = nil
		for _, r := range group.Results {
			bodies = append(bodies, r.Body)
		}
	}
	for _, body := range bodies {
		var r message.Result
		if err := json.Unmarshal(body, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}
