package example_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/examples/context-bundle/bundle"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/template"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/github"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/custom"
)

func load(t *testing.T) *runbook.Runbook {
	t.Helper()
	rb, found := runbook.Parse(testenv.Must(os.ReadFile("runbook.yaml"))(t))
	if len(found) > 0 {
		t.Fatal(found)
	}
	return rb
}

// functions are those of the worker, and that of its manifest.
func functions(t *testing.T) map[string]catalog.Function {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"train-semantic-model.yaml": 0o644, "train": 0o755} {
		content := []byte("program")
		if strings.HasSuffix(name, ".yaml") {
			content = testenv.Must(os.ReadFile(filepath.Join("functions", name)))(t)
		}
		if err := os.WriteFile(filepath.Join(dir, name), content, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	all := map[string]catalog.Function{}
	for _, f := range append(bundle.Functions(nil, nil), testenv.Must(custom.Load(custom.Config{Dir: dir}))(t).Functions()...) {
		all[f.Name] = f
	}
	return all
}

// The functions take what the steps give them, answer what the steps keep, and end before the steps' timeouts, which
// are those of the document.
func TestStepsFitTheFunctions(t *testing.T) {
	t.Parallel()
	rb, known := load(t), functions(t)
	vars := template.Variables{
		"_batch_owner": "octo", "_batch_start_time": "2026-03-01T12:00:00Z", "_outputs": "outputs/1/1",
		"Repository": "docs", "PushedAt": "2026-03-01T09:00:00Z", "Bundle": "bundle/octo", "Fingerprint": "f",
	}
	timeouts := map[string]time.Duration{"Sync-RepoContext": 30 * time.Second, "Merge-Bundle": time.Minute, "Train-SemanticModel": 10 * time.Minute}
	steps := append(slices.Clone(rb.Phases[0].Steps), rb.Phases[0].OnComplete...)
	if len(steps)+1 != len(known) { // List-Repositories is the source of listed.yaml
		t.Errorf("%d steps, %d functions", len(steps), len(known))
	}
	for _, step := range steps {
		f, is := known[step.Function]
		if !is {
			t.Errorf("%s: no worker has %s", step.Name, step.Function)
			continue
		}
		params := testenv.Must(template.ResolveParams(step.Params, vars))(t)
		if _, err := f.Check(testenv.Must(json.Marshal(params))(t)); err != nil {
			t.Errorf("%s: %v", step.Name, err)
		}
		for variable, field := range step.OutputParams {
			if !slices.ContainsFunc(f.Result, func(r catalog.Field) bool { return r.Name == field }) {
				t.Errorf("%s: %s answers no %s, which %s takes", step.Name, step.Function, field, variable)
			}
		}
		if step.Timeout != timeouts[step.Function] || time.Duration(f.TimeoutSeconds)*time.Second >= step.Timeout {
			t.Errorf("%s: timeout %s, of the function %d seconds", step.Name, step.Timeout, f.TimeoutSeconds)
		}
	}
}

// The runbook whose worker lists the repositories takes the same items, and has the same steps without the training.
func TestListedItemsAreThoseOfARequest(t *testing.T) {
	t.Parallel()
	listed, found := runbook.Parse(testenv.Must(os.ReadFile("listed.yaml"))(t))
	if len(found) > 0 {
		t.Fatal(found)
	}
	source, rb, known := listed.Request.Source, load(t), functions(t)
	if source == nil {
		t.Fatal("the runbook has no source")
	}
	f := known[source.Step.Function]
	params := testenv.Must(template.ResolveParams(source.Step.Params, template.Variables{"_batch_owner": "octo"}))(t)
	if _, err := f.Check(testenv.Must(json.Marshal(params))(t)); err != nil {
		t.Error(err)
	}
	if !slices.ContainsFunc(f.Result, func(r catalog.Field) bool { return r.Name == source.Output }) {
		t.Errorf("%s answers no %s", f.Name, source.Output)
	}
	calls := func(rb *runbook.Runbook) (all []string) {
		for _, step := range append(slices.Clone(rb.Phases[0].Steps), rb.Phases[0].OnComplete...) {
			if !step.Detached {
				all = append(all, step.WorkerID+" "+step.Function+" "+string(testenv.Must(json.Marshal(step.Params))(t)))
			}
		}
		return all
	}
	if got, want := calls(listed), calls(rb); !slices.Equal(got, want) {
		t.Errorf("the steps are %q, and those of the other runbook %q", got, want)
	}
}

// A repository is read once for each owner and time of its last push. The training is skipped by its function, which finds the
// model by the fingerprint of the bundle.
func TestUnchangedRepositoriesAreNotReadAgain(t *testing.T) {
	t.Parallel()
	rb := load(t)
	cache := rb.Phases[0].Steps[0].Cache
	if cache == nil || !slices.Equal(template.References(cache.Key), []string{"PushedAt", "Repository", "_batch_owner"}) || cache.TTL != rb.Request.Expires {
		t.Errorf("the cache of the sync is %+v", cache)
	}
	for _, step := range rb.Phases[0].OnComplete {
		if step.Cache != nil {
			t.Errorf("%s has a cache", step.Name)
		}
	}
}

// The items are the repositories of the local GitHub, with the times of their last pushes.
func TestItemsAreTheRepositoriesOfTheSeed(t *testing.T) {
	t.Parallel()
	seed := testenv.Must(github.ReadSeed("github.json"))(t)
	var items []struct {
		Repository string
		PushedAt   time.Time
	}
	decoder := json.NewDecoder(bytes.NewReader(testenv.Must(os.ReadFile("repositories.json"))(t)))
	if err := decoder.Decode(&items); err != nil {
		t.Fatal(err)
	}
	repos := seed.Owners[0].Repos
	if len(items) != 10 || len(repos) != 10 {
		t.Fatalf("%d items, %d repositories", len(items), len(repos))
	}
	for i, r := range repos {
		if items[i].Repository != r.Name || !items[i].PushedAt.Equal(r.PushedAt) {
			t.Errorf("item %+v, repository %s of %s", items[i], r.Name, r.PushedAt)
		}
	}
}
