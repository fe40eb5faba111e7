package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/artifact/blobstorage"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/local/system"
)

// pipelineWorkers are the ids of the workers, which run one program, with the seconds that a job has.
var pipelineWorkers = map[string]string{"sync": "25", "merge": "55", "training": "590"}

const (
	pipelineRunbook = "context-bundle"
	listedRunbook   = "context-bundle-listed"
	pipelineOwner   = "octo"
)

// pipelineDemo is a demo of requests. Functions is the folder with the manifest and the program of the command function.
type pipelineDemo struct {
	demo
	functions string
	items     []map[string]string // of the next request
	seen      int                 // requests of GitHub so far
	first     bundleResult        // of the first request
	began     time.Time           // of the step in hand
}

// RunPipeline runs the context bundle: it refreshes ten repositories, asks again, changes two, forces, and has one
// repository blocked and one missing. It fails unless each result is as expected.
func RunPipeline(ctx context.Context, c Config, functions string) error {
	p := &pipelineDemo{demo: demo{Config: c}, functions: functions}
	p.more = []string{"--worker-id", strings.Join(slices.Sorted(maps.Keys(pipelineWorkers)), ","), "--github-seed", filepath.Join(c.Example, "github.json")}
	return run(ctx, &p.demo, func(_ *demo, ctx context.Context) error {
		return p.steps(ctx, []step{
			{"Start Azure and GitHub on this machine", p.start},
			{"Sign in as an administrator", p.command("auth", "login")},
			{"Start three workers of one program", p.startWorkers},
			{"Publish the runbook", p.command("runbook", "publish", filepath.Join(c.Example, "runbook.yaml"))},
			{"Request a bundle of ten repositories", p.refresh},
			{"Request it again", p.again},
			{"Change two repositories, and request it again", p.change},
			{"Force a batch for the same repositories", p.force},
			{"Publish a runbook whose worker lists the repositories", p.command("runbook", "publish", filepath.Join(c.Example, "listed.yaml"))},
			{"Request its bundle twice, without a list", p.list},
			{"Block a repository, name one that does not exist, and request it again", p.fail},
			{"Request a bundle of an owner whose name is a path", p.refuse},
			{"Show the result", p.command("pipeline", "result", pipelineRunbook, "--owner", pipelineOwner)},
		})
	})
}

func (p *pipelineDemo) startWorkers(ctx context.Context) error {
	if err := p.awaitBuild(ctx); err != nil {
		return err
	}
	var workers []*system.Process
	for _, id := range slices.Sorted(maps.Keys(pipelineWorkers)) {
		env := maps.Clone(p.endpoints.Worker)
		env["WORKER_ID"], env["JOB_TIMEOUT_SECONDS"] = id, pipelineWorkers[id]
		if id == "training" {
			env["CUSTOM_FUNCTIONS_DIR"] = p.functions
		}
		w, err := p.spawn(id, env, p.Worker)
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	return p.awaitWorkers(ctx, workers)
}

// bundleResult has the outputs of the runbook's on_complete steps.
type bundleResult struct {
	Bundle, Fingerprint      string
	Repositories, Documented int
	Missing, Stale           []string
	Superseded               bool
}

// request requests a batch for the items, waits for its end, and reads its result.
func (p *pipelineDemo) request(ctx context.Context, more ...string) (b api.PipelineBatch, r bundleResult, err error) {
	text, err := json.Marshal(p.items)
	if err != nil {
		return b, r, err
	}
	file := filepath.Join(p.dir, "repositories.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return b, r, err
	}
	return p.batch(ctx, pipelineRunbook, append([]string{"--items", file}, more...)...)
}

// batch requests a batch of a runbook, waits for its end, and reads its result.
func (p *pipelineDemo) batch(ctx context.Context, runbook string, more ...string) (b api.PipelineBatch, r bundleResult, err error) {
	args := append([]string{"pipeline", "start", runbook, "--owner", pipelineOwner, "--wait"}, more...)
	fmt.Fprintf(p.out, "$ matoolkit %s\n", strings.Join(args, " "))
	p.began = time.Now()
	if b, err = ask[api.PipelineBatch](ctx, &p.demo, args...); err != nil {
		return b, r, err
	}
	took := time.Since(p.began)
	answer, err := ask[api.PipelineResult](ctx, &p.demo, "pipeline", "result", runbook, fmt.Sprint(b.ID))
	if err != nil {
		return b, r, err
	}
	outputs, err := json.Marshal(answer.Outputs)
	if err == nil {
		err = json.Unmarshal(outputs, &r)
	}
	fmt.Fprintf(p.out, "Batch %d is %s after %.1f seconds: %d of %d items succeeded.\n", b.ID, b.Status, took.Seconds(), b.Items.Succeeded, b.Items.Total)
	return b, r, err
}

// asked tells which repositories GitHub was asked for since the last call.
func (p *pipelineDemo) asked(ctx context.Context) ([]string, error) {
	text, err := p.github(ctx, http.MethodGet, "/_local/requests", nil)
	if err != nil {
		return nil, err
	}
	var all []github.Request
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, r := range all[p.seen:] {
		path, _, _ := strings.Cut(r.Path, "?")
		if parts := strings.Split(path, "/"); len(parts) > 3 {
			names[parts[3]] = true
		}
	}
	p.seen = len(all)
	return slices.Sorted(maps.Keys(names)), nil
}

// github calls a local endpoint of GitHub.
func (p *pipelineDemo) github(ctx context.Context, method, path string, body any) ([]byte, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+p.endpoints.Addresses.GitHub+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("GitHub answered %s: %s", response.Status, answer)
	}
	return answer, err
}

// expect returns the differences of a request from what it must be.
func (p *pipelineDemo) expect(ctx context.Context, b api.PipelineBatch, r bundleResult, status api.PipelineStatus, models int, asked ...string) error {
	var errs []error
	names, err := p.asked(ctx)
	if err != nil {
		return err
	}
	if !slices.Equal(names, slices.Sorted(slices.Values(asked))) {
		errs = append(errs, fmt.Errorf("GitHub was asked for %q, not for %q", names, asked))
	}
	if b.Status != status || r.Repositories != 10 || r.Documented != 8 || r.Superseded {
		errs = append(errs, fmt.Errorf("batch %d is %s with %+v", b.ID, b.Status, r))
	}
	fmt.Fprintf(p.out, "GitHub was asked for %d repositories. The bundle has %d, of which %d are documented.\n", len(names), r.Repositories, r.Documented)
	return errors.Join(append(errs, p.trained(ctx, b.ID, r.Fingerprint, models))...)
}

// trained waits for the end of the training behind a batch. There is a model of the bundle then, and so many of all.
func (p *pipelineDemo) trained(ctx context.Context, batch int, fingerprint string, models int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		phases, err := ask[api.Page[api.Phase]](ctx, &p.demo, "batch", "phases", fmt.Sprint(batch))
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(phases.Items, func(ph api.Phase) bool { return ph.Kind == api.KindDetached }); i >= 0 && phases.Items[i].Status == api.PhaseCompleted {
			break
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the training behind batch %d has not ended: %w", batch, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	web, err := tlsroots.HTTPClient(p.endpoints.Worker["EXTRA_CA_FILE"])
	if err != nil {
		return err
	}
	store, err := blobstorage.New(blobstorage.Config{
		Endpoint: p.endpoints.Worker["BLOB_ENDPOINT"], Container: p.endpoints.Worker["BLOB_CONTAINER"], HTTP: web, Credential: workerIdentity{p.endpoints.Worker, web},
	})
	if err != nil {
		return err
	}
	found, own := 0, false
	for m, err := range store.List(ctx, artifact.NewKey("model", pipelineOwner)) {
		if err != nil {
			return err
		}
		found++
		own = own || m.Fingerprint == fingerprint
	}
	if found != models || !own {
		return fmt.Errorf("there are %d models, of this bundle: %t; want %d", found, own, models)
	}
	fmt.Fprintf(p.out, "The training behind it has ended: there are %d models, one of this bundle.\n", found)
	return nil
}

// workerIdentity gets tokens as a worker gets those of its managed identity.
type workerIdentity struct {
	env map[string]string
	web *http.Client
}

func (w workerIdentity) GetToken(ctx context.Context, options policy.TokenRequestOptions) (azcore.AccessToken, error) {
	address := w.env["IDENTITY_ENDPOINT"] + "?api-version=2019-08-01&resource=" + strings.TrimSuffix(options.Scopes[0], "/.default")
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	request.Header.Set("X-IDENTITY-HEADER", w.env["IDENTITY_HEADER"])
	response, err := w.web.Do(request)
	if err != nil {
		return azcore.AccessToken{}, err
	}
	defer response.Body.Close()
	var token struct {
		Text string `json:"access_token"`
	}
	err = json.NewDecoder(response.Body).Decode(&token)
	return azcore.AccessToken{Token: token.Text, ExpiresOn: time.Now().Add(time.Minute)}, err
}

func (p *pipelineDemo) refresh(ctx context.Context) error {
	text, err := os.ReadFile(filepath.Join(p.Example, "repositories.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &p.items); err != nil {
		return err
	}
	b, r, err := p.request(ctx)
	if err != nil {
		return err
	}
	p.first = r
	return p.expect(ctx, b, r, api.PipelineCompleted, 1, p.names()...)
}

// names are those of the repositories in the items.
func (p *pipelineDemo) names() (all []string) {
	for _, i := range p.items {
		all = append(all, i["Repository"])
	}
	return all
}

func (p *pipelineDemo) again(ctx context.Context) error {
	slices.Reverse(p.items) // the order does not matter
	b, r, err := p.request(ctx)
	if err != nil {
		return err
	}
	return p.expect(ctx, b, r, api.PipelineCached, 1)
}

// change pushes to two repositories.
func (p *pipelineDemo) change(ctx context.Context) error {
	seed, err := github.ReadSeed(filepath.Join(p.Example, "github.json"))
	if err != nil {
		return err
	}
	changed := github.Seed{Owners: []github.Owner{{Login: pipelineOwner}}}
	for _, r := range seed.Owners[0].Repos {
		if r.Name == "docs" || r.Name == "shop" {
			r.Files["README.md"] += "\nNew since the last bundle.\n"
			r.PushedAt = r.PushedAt.Add(24 * time.Hour)
			changed.Owners[0].Repos = append(changed.Owners[0].Repos, r)
			for _, i := range p.items {
				if i["Repository"] == r.Name {
					i["PushedAt"] = r.PushedAt.Format(time.RFC3339)
				}
			}
		}
	}
	if _, err := p.github(ctx, http.MethodPost, "/_local/seed", changed); err != nil {
		return err
	}
	b, r, err := p.request(ctx)
	switch {
	case err != nil:
		return err
	case r.Fingerprint == p.first.Fingerprint:
		return fmt.Errorf("the bundle has not changed: %+v", r)
	}
	return p.expect(ctx, b, r, api.PipelineCompleted, 2, "docs", "shop")
}

// force starts a batch that reads all repositories again, and finds everything as it is.
func (p *pipelineDemo) force(ctx context.Context) error {
	b, r, err := p.request(ctx, "--force")
	if err != nil {
		return err
	}
	return p.expect(ctx, b, r, api.PipelineCompleted, 2, p.names()...)
}

// list requests bundles under a runbook whose worker lists the repositories. Each request lists them, and only the first
// reads them.
func (p *pipelineDemo) list(ctx context.Context) error {
	const listing = "repos" // in the place of the name of a repository
	for _, want := range []struct {
		status api.PipelineStatus
		asked  []string
	}{
		{api.PipelineCompleted, append(p.names(), listing)},
		{api.PipelineCached, []string{listing}},
	} {
		b, r, err := p.batch(ctx, listedRunbook)
		if err != nil {
			return err
		}
		asked, err := p.asked(ctx)
		if err != nil {
			return err
		}
		if b.Status != want.status || b.Items.Total != 10 || r.Repositories != 10 || !slices.Equal(asked, slices.Sorted(slices.Values(want.asked))) {
			return fmt.Errorf("batch %d is %s with %+v, and GitHub was asked for %q, not for %q", b.ID, b.Status, r, asked, want.asked)
		}
	}
	fmt.Fprintln(p.out, "The worker listed 10 repositories twice, and read them once.")
	return nil
}

// fail has a repository that GitHub blocks, whose earlier context the bundle keeps, and one that does not exist.
func (p *pipelineDemo) fail(ctx context.Context) error {
	if _, err := p.github(ctx, http.MethodPost, "/_local/faults", []github.Fault{{Contains: "/" + pipelineOwner + "/api", Status: http.StatusUnavailableForLegalReasons}}); err != nil {
		return err
	}
	for _, i := range p.items {
		if i["Repository"] == "api" {
			i["PushedAt"] = "2026-04-01T09:00:00Z"
		}
	}
	p.items = append(p.items, map[string]string{"Repository": "gone", "PushedAt": "2026-04-01T09:00:00Z"})
	b, r, err := p.request(ctx)
	switch {
	case err != nil:
		return err
	case !slices.Equal(r.Stale, []string{"api"}) || !slices.Equal(r.Missing, []string{"gone"}) || b.Items.Failed != 2:
		return fmt.Errorf("%d items failed; the bundle has %+v", b.Items.Failed, r)
	}
	fmt.Fprintf(p.out, "The bundle keeps the earlier context of %s, and lacks %s.\n", r.Stale[0], r.Missing[0])
	return p.expect(ctx, b, r, api.PipelineCompleted, 2, "api", "gone")
}

// refuse has an owner that GitHub cannot have: the workers refuse the items, and ask for nothing.
func (p *pipelineDemo) refuse(ctx context.Context) error {
	args := []string{"pipeline", "start", pipelineRunbook, "--owner", "../" + pipelineOwner, "--items", filepath.Join(p.dir, "repositories.json"), "--wait"}
	fmt.Fprintf(p.out, "$ matoolkit %s\n", strings.Join(args, " "))
	b, err := ask[api.PipelineBatch](ctx, &p.demo, args...)
	if b.Status != api.PipelineFailed {
		return errors.Join(err, fmt.Errorf("batch %d is %s", b.ID, b.Status))
	}
	names, err := p.asked(ctx)
	if err != nil || len(names) > 0 || b.Items.Failed != len(p.items) {
		return errors.Join(err, fmt.Errorf("%d items failed; GitHub was asked for %q", b.Items.Failed, names))
	}
	fmt.Fprintf(p.out, "Batch %d is %s: all %d items failed, and GitHub was asked for nothing.\n", b.ID, b.Status, b.Items.Failed)
	return nil
}
