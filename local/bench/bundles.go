package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/local/github"
)

// Bundles are requests for bundles of repositories: the workload of examples/context-bundle.
type Bundles struct {
	Owners  int           // one after the other; 0: none is measured
	Latency time.Duration // of each answer of GitHub
	Worker  string        // the program of examples/context-bundle/worker, built
	Example string        // the folder of the example
}

// errNoBundle: the worker of the bundles is an example that is built by itself.
var errNoBundle = errors.New("examples/context-bundle/worker is not built")

// Of each owner, so many repositories are requested, and so many of them change.
const (
	repositories = 10
	staleOnes    = 2
)

// bundleTimes has the median of each kind of request.
type bundleTimes struct{ first, cached, stale time.Duration }

// bundleWorkers are the replicas of the workers with the limits of their jobs in seconds. Two replicas synchronize, as in Azure.
// Training has none: it is behind the batches.
var bundleWorkers = []struct{ name, id, seconds string }{{"sync", "sync", "25"}, {"sync-2", "sync", "25"}, {"merge", "merge", "55"}}

// bundles measures how long requests for bundles take until their batches have ended.
func bundles(ctx context.Context, c Config) (_ *bundleTimes, err error) {
	if _, err := os.Stat(c.Bundles.Worker); err != nil {
		return nil, errNoBundle
	}
	dir, err := os.MkdirTemp("", "matoolkit-bench-")
	if err != nil {
		return nil, err
	}
	b := &bed{Config: c, dir: dir}
	defer func() { err = errors.Join(err, b.stop(), os.RemoveAll(dir)) }()
	seed, err := json.Marshal(github.Seed{Owners: ownersOf(c.Bundles.Owners), Tokens: []github.Token{{Token: "bench", Login: "octo-1"}}})
	if err == nil {
		err = os.WriteFile(b.file("github.json"), seed, 0o600)
	}
	if err != nil {
		return nil, err
	}
	b.settings = []string{"--worker-id", "sync,merge,training", "--github-seed", b.file("github.json")}
	b.replicas = func(env map[string]string) error {
		for _, w := range bundleWorkers {
			own := maps.Clone(env)
			own["WORKER_ID"], own["JOB_TIMEOUT_SECONDS"] = w.id, w.seconds
			if _, err := b.spawn(w.name, own, c.Bundles.Worker); err != nil {
				return err
			}
		}
		return nil
	}
	var times *bundleTimes
	if err = b.start(ctx); err == nil {
		times, err = b.bundles(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.logs())
	}
	return times, nil
}

// ownersOf are owners with repositories.
func ownersOf(n int) (all []github.Owner) {
	for i := range n {
		o := github.Owner{Login: fmt.Sprintf("octo-%d", i+1)}
		for k := range repositories {
			o.Repos = append(o.Repos, repositoryOf(k, 0))
		}
		all = append(all, o)
	}
	return all
}

func repositoryOf(number, version int) github.Repo {
	name := fmt.Sprintf("repository-%02d", number)
	return github.Repo{
		Name: name, PushedAt: time.Date(2026, 1, 1+version, 0, 0, 0, 0, time.UTC),
		Files: map[string]string{"README.md": fmt.Sprintf("# %s\n\nVersion %d.\n", name, version), ".repo-context.json": `{"name":"` + name + `"}`},
	}
}

func (b *bed) bundles(ctx context.Context) (*bundleTimes, error) {
	client, err := b.api()
	if err != nil {
		return nil, err
	}
	runbook, err := os.ReadFile(filepath.Join(b.Bundles.Example, "runbook.yaml"))
	if err == nil {
		_, err = client.PublishRunbook(ctx, runbook)
	}
	if err == nil {
		err = b.github(ctx, "faults", []github.Fault{{DelayMS: int(b.Bundles.Latency.Milliseconds())}})
	}
	if err != nil {
		return nil, err
	}
	var firsts, cached, stale []time.Duration
	for i := range b.Bundles.Owners {
		r := api.PipelineRequest{Owner: fmt.Sprintf("octo-%d", i+1)}
		items := func(version func(int) int) {
			r.Items = nil
			for k := range repositories {
				repo := repositoryOf(k, version(k))
				r.Items = append(r.Items, map[string]json.RawMessage{"Repository": fmt.Appendf(nil, "%q", repo.Name), "PushedAt": fmt.Appendf(nil, "%q", repo.PushedAt.Format(time.RFC3339))})
			}
		}
		take := func(into *[]time.Duration, want api.PipelineStatus) error {
			took, err := oneBundle(ctx, client, r, want)
			*into = append(*into, took)
			return err
		}
		items(func(int) int { return 0 })
		if err := take(&firsts, api.PipelineCompleted); err != nil {
			return nil, fmt.Errorf("the first request of %s: %w", r.Owner, err)
		}
		if err := take(&cached, api.PipelineCached); err != nil {
			return nil, fmt.Errorf("the same request of %s: %w", r.Owner, err)
		}
		changed := github.Owner{Login: r.Owner}
		for k := range staleOnes {
			changed.Repos = append(changed.Repos, repositoryOf(k, 1))
		}
		if err := b.github(ctx, "seed", github.Seed{Owners: []github.Owner{changed}}); err != nil {
			return nil, err
		}
		items(func(k int) int {
			if k < staleOnes {
				return 1
			}
			return 0
		})
		if err := take(&stale, api.PipelineCompleted); err != nil {
			return nil, fmt.Errorf("the request of %s after changes: %w", r.Owner, err)
		}
	}
	t := Table{
		Name:    fmt.Sprintf("Bundles of %d repositories, %d owners, %d ms for each answer of GitHub", repositories, b.Bundles.Owners, b.Bundles.Latency.Milliseconds()),
		Columns: []string{"request", "median seconds", "slowest seconds"},
	}
	for _, row := range []struct {
		name  string
		times []time.Duration
	}{{"first", firsts}, {"the same again: cached, with the result", cached}, {fmt.Sprintf("%d repositories have changed", staleOnes), stale}} {
		t.Rows = append(t.Rows, []any{row.name, two(percentile(row.times, 50).Seconds()), two(percentile(row.times, 100).Seconds())})
	}
	b.add(t)
	return &bundleTimes{percentile(firsts, 50), percentile(cached, 50), percentile(stale, 50)}, nil
}

// oneBundle requests a bundle, waits for the end of its batch, and gets the result.
func oneBundle(ctx context.Context, client *apiclient.Client, r api.PipelineRequest, want api.PipelineStatus) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	began := time.Now()
	view, err := client.StartPipeline(ctx, "context-bundle", r)
	for err == nil && view.CompletedAt == nil {
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("batch %d is %s with %+v: %w", view.ID, view.Status, view.Items, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
		view, err = client.PipelineBatch(ctx, "context-bundle", view.ID)
	}
	if err != nil {
		return 0, err
	}
	result, err := client.PipelineResult(ctx, "context-bundle", view.ID)
	took := time.Since(began)
	if err == nil && (view.Status != want || result.Items.Succeeded != repositories || string(result.Outputs["Repositories"]) != fmt.Sprint(repositories)) {
		err = fmt.Errorf("batch %d is %s with %+v, and its result has %s repositories", view.ID, view.Status, result.Items, result.Outputs["Repositories"])
	}
	return took, err
}

// github changes what the local GitHub has and how it answers.
func (b *bed) github(ctx context.Context, what string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.endpoints.Addresses.GitHub+"/_local/"+what, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	if err = response.Body.Close(); err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("GitHub answered %s", response.Status)
	}
	return err
}
