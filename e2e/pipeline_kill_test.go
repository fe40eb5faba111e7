package e2e_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/local/github"
)

// bundles is a machine with GitHub and the workers of the context bundle, and an administrator who has published its runbook.
type bundles struct {
	*machine
	*admin
	t *testing.T
}

// newBundles has so many documented repositories. GitHub takes a while for each request. With noTimer, the scheduler runs only
// when the test has it tick.
func newBundles(t *testing.T, repositories int, delay time.Duration, noTimer bool) *bundles {
	t.Helper()
	owner := github.Owner{Login: "octo"}
	var items []map[string]string
	for i := range repositories {
		name := fmt.Sprintf("repo-%03d", i+1)
		owner.Repos = append(owner.Repos, github.Repo{Name: name, Files: map[string]string{"README.md": "# " + name}})
		items = append(items, map[string]string{"Repository": name, "PushedAt": "2026-03-01T09:00:00Z"})
	}
	worker, functions := bundlePrograms(t)
	m := newMachineWith(t, nil, environment{
		noTimer: noTimer,
		github:  encode(github.Seed{Tokens: []github.Token{{Token: "local-token", Login: "octo"}}, Owners: []github.Owner{owner}}),
		programs: map[string]workerProgram{
			"sync":     {worker, map[string]string{"JOB_TIMEOUT_SECONDS": "25", "MAX_PARALLELISM": "4", "GITHUB_REQUESTS_PER_MINUTE": "100000"}},
			"merge":    {worker, map[string]string{"JOB_TIMEOUT_SECONDS": "55"}},
			"training": {worker, map[string]string{"JOB_TIMEOUT_SECONDS": "590", "CUSTOM_FUNCTIONS_DIR": functions}},
		},
	}, everything)
	b := &bundles{machine: m, admin: signIn(m), t: t}
	b.write("items.json", encode(items))
	b.slow(delay)
	runbook, err := os.ReadFile(filepath.Join(root, "examples", "context-bundle", "runbook.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	b.write("runbook.yaml", []byte(strings.NewReplacer("interval: 10s", "interval: 1s", "interval: 1m", "interval: 1s").Replace(string(runbook))))
	b.await("the functions of the workers", func() bool {
		var workers api.Page[api.Worker]
		b.ask(&workers, "worker", "list")
		return len(workers.Items) == 3 && !slices.ContainsFunc(workers.Items, func(w api.Worker) bool { return w.FunctionCount == 0 })
	})
	b.must("runbook", "publish", b.path("runbook.yaml"))
	return b
}

// slow has GitHub take so long for each request.
func (b *bundles) slow(delay time.Duration) {
	b.t.Helper()
	if delay == 0 {
		return
	}
	answer, err := http.Post("http://"+b.addresses.GitHub+"/_local/faults", "application/json", bytes.NewReader(encode([]github.Fault{{DelayMS: int(delay.Milliseconds())}})))
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= http.StatusMultipleChoices {
		b.t.Fatalf("GitHub answered %s", answer.Status)
	}
}

// await waits for a condition.
func (b *bundles) await(what string, is func() bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); !is(); time.Sleep(b.every) {
		if time.Now().After(end) {
			b.t.Fatalf("not in time: %s", what)
		}
	}
}

// request starts a batch of all repositories.
func (b *bundles) request(more ...string) int {
	b.t.Helper()
	var batch api.PipelineBatch
	b.ask(&batch, append([]string{"pipeline", "start", "context-bundle", "--owner", "octo", "--items", b.path("items.json")}, more...)...)
	return batch.ID
}

// status reads where a batch stands; an outage is waited out.
func (b *bundles) status(batch int) (v api.PipelineBatch) {
	b.t.Helper()
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(b.every) {
		var out string
		var status int
		if out, status, err = b.give("pipeline", "status", "context-bundle", strconv.Itoa(batch), "--output", "json"); status == exit.OK {
			err = json.Unmarshal([]byte(out), &v)
		}
		if err == nil {
			return v
		}
	}
	b.t.Fatal(err)
	return v
}

// steps are those of a batch, by their name.
func (b *bundles) steps(batch int, name string) []api.Step {
	b.t.Helper()
	var steps api.Page[api.Step]
	b.ask(&steps, "batch", "steps", strconv.Itoa(batch), "--all")
	return slices.DeleteFunc(steps.Items, func(s api.Step) bool { return s.Name != name })
}

// bundle is the result of a batch.
func (b *bundles) bundle(batch int) (r struct {
	Fingerprint              string
	Repositories, Documented int
	Missing, Stale           []string
	Superseded               bool
},
) {
	b.t.Helper()
	var answer api.PipelineResult
	b.ask(&answer, "pipeline", "result", "context-bundle", strconv.Itoa(batch))
	if err := json.Unmarshal(encode(answer.Outputs), &r); err != nil {
		b.t.Fatal(err)
	}
	return r
}

// awaitTraining waits until the training behind a batch has succeeded.
func (b *bundles) awaitTraining(batch int) {
	b.t.Helper()
	b.await("the training", func() bool {
		v := b.status(batch)
		return len(v.Detached) == 1 && v.Detached[0].Status == api.PipelineCompleted
	})
}

// TestContextBundleUnderKills kills each worker, the handler, and the whole system while a batch runs. Nothing is lost, the
// progress is exact at each look, and the bundle is merged once, after the last repository: its fingerprint is that of a batch
// which nothing disturbs.
func TestContextBundleUnderKills(t *testing.T) {
	t.Parallel()
	const repositories = 40
	b := newBundles(t, repositories, 100*time.Millisecond, false)
	batch := b.request()
	kills := []struct {
		victim string
		from   int // so many repositories have been read
		down   time.Duration
	}{{"sync", 1, 100 * time.Millisecond}, {"handler", 6, 0}, {everything, 12, 300 * time.Millisecond}, {"sync", 20, 0}, {"handler", 30, 0}, {"merge", repositories - 2, 500 * time.Millisecond}, {"handler", repositories, 0}}
	through := 0
	for ended := false; !ended; time.Sleep(b.every) {
		v := b.status(batch)
		i := v.Items
		if sum := i.Queued + i.Running + i.Succeeded + i.Failed + i.Cancelled; sum != repositories || i.Total != repositories || i.Succeeded < through || i.Failed+i.Cancelled > 0 {
			t.Fatalf("after %d repositories the batch stands at %+v", through, i)
		}
		ended = v.Status != api.PipelineQueued && v.Status != api.PipelineProcessing
		for through = i.Succeeded; len(kills) > 0 && through >= kills[0].from; kills = kills[1:] {
			if err := b.kill(kills[0].victim, kills[0].down); err != nil {
				t.Fatal(err)
			}
			t.Logf("killed %s after %d", kills[0].victim, through)
		}
		if time.Since(b.began) > 2*patience {
			t.Fatalf("the batch stands at %+v", v)
		}
	}
	if err := b.kill("training", 0); err != nil {
		t.Fatal(err)
	}
	b.awaitTraining(batch)
	if v := b.status(batch); v.Status != api.PipelineCompleted || v.Items != (api.PipelineItems{Total: repositories, Succeeded: repositories}) {
		t.Fatalf("%+v", v)
	}
	if err := errors.Join(b.checkMerge(batch, repositories), b.checkSteps(batch, "train", 1)); err != nil {
		t.Error(err)
	}
	disturbed := b.bundle(batch)
	again := b.request("--force", "--wait")
	b.awaitTraining(again)
	if calm := b.bundle(again); disturbed.Fingerprint != calm.Fingerprint || disturbed.Repositories != repositories || disturbed.Documented != repositories || disturbed.Superseded || len(disturbed.Missing)+len(disturbed.Stale) > 0 {
		t.Errorf("under kills %+v, otherwise %+v", disturbed, calm)
	}
}

// checkMerge returns what is wrong with the merge of a batch: it is dispatched once, after the last repository has been read.
func (b *bundles) checkMerge(batch, repositories int) error {
	b.t.Helper()
	if err := errors.Join(b.checkSteps(batch, "sync", repositories), b.checkSteps(batch, "merge", 1)); err != nil {
		return err
	}
	merge := b.steps(batch, "merge")[0]
	if merge.RetryCount != 0 || !strings.HasSuffix(merge.JobID, "-attempt-1") {
		return fmt.Errorf("the merge was dispatched again: %+v", merge)
	}
	for _, sync := range b.steps(batch, "sync") {
		if merge.DispatchedAt.Before(*sync.CompletedAt) {
			return fmt.Errorf("the merge began at %s, before %s had been read at %s", merge.DispatchedAt, sync.MemberKey, sync.CompletedAt)
		}
	}
	return nil
}

func (b *bundles) checkSteps(batch int, name string, want int) error {
	b.t.Helper()
	steps := b.steps(batch, name)
	succeeded := len(slices.DeleteFunc(slices.Clone(steps), func(s api.Step) bool { return s.Status != api.StepSucceeded }))
	if len(steps) != want || succeeded != want {
		return fmt.Errorf("%d of %d steps %s succeeded, want %d", succeeded, len(steps), name, want)
	}
	return nil
}
