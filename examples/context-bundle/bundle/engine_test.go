package bundle_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	busmemory "github.com/matoolkit/matoolkit/internal/bus/memory"
	"github.com/matoolkit/matoolkit/internal/message"
	storememory "github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
	local "github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// A request of five hundred repositories runs on the engine with 2 and with 20 workers. Each repository is read once, the
// progress adds up at any time, and the merge, after the last repository, makes the same bundle of both.
func TestARequestOfFiveHundredItemsWithTwoAndTwentyWorkers(t *testing.T) {
	t.Parallel()
	var fingerprints [2]string
	for i, workers := range []int{2, 20} {
		fingerprints[i] = requestAll(t, 500, workers)
	}
	if fingerprints[0] == "" || fingerprints[0] != fingerprints[1] {
		t.Errorf("the bundles have the fingerprints %q", fingerprints)
	}
}

// requestAll runs a request of some repositories, and returns the fingerprint of its bundle.
func requestAll(t *testing.T, items, workers int) string {
	t.Helper()
	w := newWorld(t, local.Config{PerMinute: 1_000_000, Limit: 1_000_000, Concurrent: 1000})
	owner, request := local.Owner{Login: "octo"}, api.PipelineRequest{Owner: "octo"}
	for i := range items {
		name := fmt.Sprintf("repo-%03d", i)
		owner.Repos = append(owner.Repos, local.Repo{Name: name, Files: map[string]string{"README.md": "# " + name}})
		request.Items = append(request.Items, map[string]json.RawMessage{"Repository": json.RawMessage(fmt.Sprintf("%q", name)), "PushedAt": json.RawMessage(`"2026-03-01T09:00:00Z"`)})
	}
	if err := w.server.Seed(local.Seed{Owners: []local.Owner{owner}}); err != nil {
		t.Fatal(err)
	}
	broker := testenv.Must(busmemory.New(busmemory.Config{Topics: busmemory.Deployment("sync", "merge")}))(t)
	client := broker.Client(nil)
	engine := app.New(app.Config{Store: storememory.New(storememory.Config{}), Bus: client, Artifacts: w.store, Log: slog.New(slog.DiscardHandler)})
	by := audit.Caller{Name: "ada"}
	testenv.Must(engine.PublishRunbook(t.Context(), by, "", withoutTraining(t), api.PublishOptions{}))(t)

	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, topic := range []string{message.TopicOrchestratorEvents, message.TopicWorkerResults} {
		running.Go(func() {
			_ = testenv.Serve(ctx, client, topic, message.SubscriptionOrchestrator, func(ctx context.Context, m *bus.Received) error {
				return testenv.Handle(ctx, engine, topic, testenv.Delivery(m))
			}, nil)
		})
	}
	for i := range workers + 1 {
		id := "sync"
		if i == workers {
			id = "merge"
		}
		loop := testenv.Must(dispatch.New(client, w.functions, dispatch.Config{WorkerID: id, MaxParallelism: 4}))(t)
		running.Go(func() { loop.Run(ctx) })
	}

	b := testenv.Must(engine.StartPipeline(ctx, by, "context-bundle", request))(t)
	testenv.Eventually(t, "the end of the batch", func() bool {
		b = testenv.Must(engine.PipelineBatch(ctx, "context-bundle", b.ID))(t)
		n := b.Items
		if n.Queued+n.Running+n.Succeeded+n.Failed+n.Cancelled != n.Total || n.Total != items {
			t.Errorf("%d workers: the progress is %+v", workers, n)
		}
		return b.CompletedAt != nil
	})
	if b.Status != api.PipelineCompleted || b.Items.Succeeded != items {
		t.Errorf("%d workers: %s with %+v", workers, b.Status, b.Items)
	}
	read := map[string]int{}
	for _, r := range w.server.Requests() {
		if repository, of, ok := strings.Cut(r.Path, "/contents/"); ok && of == "README.md" {
			read[repository]++
		}
	}
	for repository, times := range read {
		if times != 1 {
			t.Errorf("%d workers: %s was read %d times", workers, repository, times)
		}
	}
	if len(read) != items {
		t.Errorf("%d workers read %d repositories", workers, len(read))
	}
	result := testenv.Must(engine.PipelineResult(ctx, by, "context-bundle", b.ID))(t)
	var bundle merged
	if err := json.Unmarshal(testenv.Must(json.Marshal(result.Outputs))(t), &bundle); err != nil {
		t.Fatal(err)
	}
	if bundle.Repositories != items || bundle.Documented != items || len(bundle.Missing) > 0 {
		t.Errorf("%d workers: the bundle has %+v", workers, bundle)
	}
	return bundle.Fingerprint
}

// withoutTraining is the runbook of the example without its last step, which calls an external program.
func withoutTraining(t *testing.T) []byte {
	t.Helper()
	text := string(testenv.Must(os.ReadFile("../runbook.yaml"))(t))
	steps, _, found := strings.Cut(text, "      - name: train\n")
	if !found {
		t.Fatal("the runbook has no step train")
	}
	return []byte(steps)
}
