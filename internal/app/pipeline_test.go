package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

const bundle = `
name: bundle
trigger: request
items: {primary_key: Repository, max: 120}
phases:
  - name: sync
    steps:
      - {name: sync, worker_id: worker-01, function: Sync, params: {Name: "{{Repository}}", Sha: "{{Sha}}"}}
    on_complete:
      - {name: merge, worker_id: worker-01, function: Merge, params: {Batch: "{{_batch_id}}", Items: "{{_phase_succeeded}}"}, output_params: {Bundle: bundle}}
`

// repositories are n items, each with the given fingerprint.
func repositories(n int, sha string) []map[string]json.RawMessage {
	var items []map[string]json.RawMessage
	for i := range n {
		items = append(items, map[string]json.RawMessage{"Repository": json.RawMessage(fmt.Sprintf("%q", fmt.Sprintf("repo-%03d", i+1))), "Sha": json.RawMessage(fmt.Sprintf("%q", sha))})
	}
	return items
}

// merge is a worker of the bundle; it fails repositories whose sha is "bad", and the merge of seven.
func merge(j message.Job) (string, error) {
	switch {
	case j.FunctionName == "Merge" && (strings.Contains(string(j.Parameters), `"Items":7`) || strings.Contains(string(j.Parameters), `"Items":"7"`)):
		return "", fmt.Errorf("no merge today")
	case j.FunctionName == "Merge":
		return `{"bundle":"bundle-of-` + fmt.Sprint(j.BatchID) + `"}`, nil
	case strings.Contains(string(j.Parameters), `"bad"`):
		return "", fmt.Errorf("no such repository")
	}
	return "true", nil
}

// request sends a request, and serves the batch until it has ended.
func (w *world) request(r api.PipelineRequest) api.PipelineBatch {
	w.t.Helper()
	b := must(w.app.StartPipeline(w.ctx, ada, "bundle", r))(w.t)
	w.serve(b.ID)
	return b
}

func (w *world) serve(id int) api.PipelineBatch {
	w.t.Helper()
	var b api.PipelineBatch
	w.pump(1, merge, func() bool {
		b = patiently(w, func() (api.PipelineBatch, error) { return w.app.PipelineBatch(w.ctx, ada, "bundle", id) })
		return b.CompletedAt != nil
	})
	return b
}

// count is how many jobs of a function workers took.
func (w *world) count(function string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.jobs {
		if j.FunctionName == function {
			n++
		}
	}
	return n
}

func TestARequestStartsABatchOfItsItems(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	w.publish(bundle)
	b := must(w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(60, "a")}))(t)
	if b.ID != 1 || b.Status != api.PipelineQueued || b.Items != (api.PipelineItems{Total: 60, Queued: 60}) || b.Owner != "octo" || b.StatusURL != "/api/pipelines/bundle/batches/1" {
		t.Errorf("answer %+v", b)
	}
	if _, err := w.app.PipelineResult(w.ctx, ada, "bundle", b.ID); problem.CodeOf(err) != api.CodeConflict {
		t.Errorf("the result before the end: %v", err)
	}
	got := w.serve(b.ID)
	if got.Status != api.PipelineCompleted || got.Items != (api.PipelineItems{Total: 60, Succeeded: 60}) || got.ExpiresAt == nil || got.ExpiresAt.Sub(*got.CompletedAt) != 24*time.Hour {
		t.Errorf("at the end %+v", got)
	}
	if w.count("Sync") != 60 || w.count("Merge") != 1 {
		t.Errorf("%d repositories were read, and %d merges made", w.count("Sync"), w.count("Merge"))
	}
	r := must(w.app.PipelineResult(w.ctx, ada, "bundle", b.ID))(t)
	if string(r.Outputs["Bundle"]) != `"bundle-of-1"` || r.Items.Succeeded != 60 {
		t.Errorf("result %+v", r)
	}
}

func TestARequestForTheSameItemsIsAnsweredWithTheLastResult(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(bundle)
	request := api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}
	first := w.request(request)

	again := request
	again.Items = append(again.Items[1:], again.Items[0]) // the order does not matter
	if b := must(w.app.StartPipeline(w.ctx, ada, "bundle", again))(t); b.Status != api.PipelineCached || b.ID != first.ID || b.Fingerprint != first.Fingerprint {
		t.Errorf("the same items: %+v", b)
	}
	other := must(w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "hubot", Items: request.Items}))(t)
	if other.ID == first.ID || other.Status != api.PipelineQueued {
		t.Errorf("another owner: %+v", other)
	}
	stale := must(w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "b")}))(t)
	if stale.ID == first.ID || stale.Fingerprint == first.Fingerprint {
		t.Errorf("other items: %+v", stale)
	}
	if joined := must(w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "b")}))(t); joined.ID != stale.ID || joined.Status != api.PipelineQueued || !joined.Replayed {
		t.Errorf("the same items while the batch runs: %+v", joined)
	}
	if r := must(w.app.LatestResult(w.ctx, ada, "bundle", "octo"))(t); r.ID != first.ID {
		t.Errorf("the latest result while a batch runs is that of batch %d", r.ID)
	}
	w.serve(stale.ID)
	if r := must(w.app.LatestResult(w.ctx, ada, "bundle", "octo"))(t); r.ID != stale.ID {
		t.Errorf("the latest result is that of batch %d", r.ID)
	}
	if forced := must(w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "b"), Force: true}))(t); forced.ID == stale.ID || forced.Status != api.PipelineQueued {
		t.Errorf("a forced request: %+v", forced)
	}
	if _, err := w.app.LatestResult(w.ctx, ada, "bundle", "nobody"); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("the latest result of an owner without one: %v", err)
	}

	w.publish(strings.Replace(bundle, "Merge,", "Merge2,", 1))
	if b := must(w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "hubot", Items: request.Items}))(t); b.ID == other.ID || b.RunbookVersion != 2 {
		t.Errorf("the same items under another version: %+v", b)
	}
}

func TestFailedItemsAreTriedAgainByTheNextRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(bundle)
	request := api.PipelineRequest{Owner: "octo", Items: append(repositories(2, "a"), map[string]json.RawMessage{"Repository": json.RawMessage(`"gone"`), "Sha": json.RawMessage(`"bad"`)})}
	first := w.request(request)
	if b := must(w.app.PipelineBatch(w.ctx, ada, "bundle", first.ID))(t); b.Status != api.PipelineCompleted || b.Items != (api.PipelineItems{Total: 3, Succeeded: 2, Failed: 1}) {
		t.Errorf("with a failed item: %+v", b)
	}
	if b := must(w.app.StartPipeline(w.ctx, ada, "bundle", request))(t); b.Status == api.PipelineCached {
		t.Errorf("the next request: %+v", b)
	}
	all := w.request(api.PipelineRequest{Owner: "octo", Items: repositories(2, "bad")})
	b := must(w.app.PipelineBatch(w.ctx, ada, "bundle", all.ID))(t)
	if b.Status != api.PipelineFailed || b.Error == "" || b.Items.Failed != 2 {
		t.Errorf("with failed items only: %+v", b)
	}
	if _, err := w.app.PipelineResult(w.ctx, ada, "bundle", all.ID); problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), b.Error) {
		t.Errorf("its result: %v", err)
	}
}

func TestBadRequestsStartNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(bundle)
	w.publish(mover)
	item := func(text string) (items []map[string]json.RawMessage) {
		noError(t, json.Unmarshal([]byte(text), &items))
		return items
	}
	for _, tt := range []struct {
		name, runbook, owner, items string
		code                        api.Code
		want                        string
	}{
		{"no owner", "bundle", " ", `[{"Repository":"a","Sha":"1"}]`, api.CodeInvalid, "the owner is missing"},
		{"no items", "bundle", "octo", `[]`, api.CodeInvalid, "the request has no items"},
		{"no such runbook", "other", "octo", `[{"Repository":"a","Sha":"1"}]`, api.CodeNotFound, "other"},
		{"a runbook that requests do not start", "move", "octo", `[{"Upn":"a"}]`, api.CodeConflict, "it has no trigger: request"},
		{"no key", "bundle", "octo", `[{"Sha":"1"}]`, api.CodeInvalid, `items[0].Repository missing-field item 1 has no field "Repository"`},
		{"an empty key", "bundle", "octo", `[{"Repository":"","Sha":"1"}]`, api.CodeInvalid, "items[0].Repository empty-key"},
		{"a field that the runbook uses", "bundle", "octo", `[{"Repository":"a","Sha":"1"},{"Repository":"b"}]`, api.CodeInvalid, `items[1].Sha missing-field item 2 has no field "Sha"`},
		{"an item twice", "bundle", "octo", `[{"Repository":"a","Sha":"1"},{"Repository":"a","Sha":"2"}]`, api.CodeInvalid, "items[1].Repository duplicate-key"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := w.app.StartPipeline(w.ctx, ada, tt.runbook, api.PipelineRequest{Owner: tt.owner, Items: item(tt.items)})
			e := problem.Explain(err)
			text := e.Message
			for _, p := range e.Problems {
				text += "\n" + p.Field + " " + p.Code + " " + p.Message
			}
			if e.Code != tt.code || !strings.Contains(text, tt.want) {
				t.Errorf("%s: %s, want %s: %s", e.Code, text, tt.code, tt.want)
			}
		})
	}
	if _, err := w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(121, "a")}); problem.CodeOf(err) != api.CodeInvalid || !strings.Contains(err.Error(), "121 items; the runbook allows 120") {
		t.Errorf("too many items: %v", err)
	}
	if page := must(w.app.Batches(w.ctx, api.ListOptions{}))(t); len(page.Items) != 0 {
		t.Errorf("batches %+v", page.Items)
	}
	if _, err := w.app.PipelineBatch(w.ctx, ada, "bundle", 1); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("a batch that does not exist: %v", err)
	}
	manual := w.batch("move", people(1))
	if _, err := w.app.PipelineBatch(w.ctx, ada, "move", manual.ID); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("a batch that no request started: %v", err)
	}
	if _, err := w.app.CreateBatch(w.ctx, ada, "bundle", []byte("Repository,Sha\na,1\n")); problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "requests start its batches") {
		t.Errorf("an uploaded batch of the runbook: %v", err)
	}
}

// A process is killed after each of its writes in turn; the request then comes again.
func TestARequestThatWasCutShortGoesOn(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "key-1"} {
		for write := 1; ; write++ {
			s := newStage(t, false)
			s.publish(bundle)
			by := audit.Caller{Name: "ada", Key: key}
			request := api.PipelineRequest{Owner: "octo", Items: repositories(110, "a")}
			killed := s.kill(write, func(ctx context.Context, a *app.App) error {
				_, err := a.StartPipeline(ctx, by, "bundle", request)
				return err
			})
			b := must(s.app.StartPipeline(s.ctx, by, "bundle", request))(t)
			if got := s.serve(b.ID); got.Items != (api.PipelineItems{Total: 110, Succeeded: 110}) {
				t.Errorf("key %q, killed after write %d: %+v", key, write, got)
			}
			if page := must(s.app.Batches(s.ctx, api.ListOptions{}))(t); len(page.Items) != 1 {
				t.Errorf("key %q, killed after write %d: %d batches", key, write, len(page.Items))
			}
			if !killed {
				break
			}
		}
	}
}

func TestRequestsAtTheSameTimeStartOneBatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, azure)
	w.publish(bundle)
	ids := make([]int, 8)
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() {
			b, err := w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(5, "a")})
			if err != nil {
				t.Error(describe(err))
			}
			ids[i] = b.ID
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("batches %v", ids)
		}
	}
	if got := w.serve(ids[0]); got.Items.Succeeded != 5 || w.count("Sync") != 5 || w.count("Merge") != 1 {
		t.Errorf("%+v, %d and %d jobs", got, w.count("Sync"), w.count("Merge"))
	}
}

// A batch is deleted when its time is over, also if a tick is cut short after any of its writes.
func TestRequestedBatchesExpire(t *testing.T) {
	t.Parallel()
	for write := 1; ; write++ {
		s := newStage(t, false)
		s.publish(strings.Replace(bundle, "max: 120", "max: 120, expires: 2h", 1))
		request := api.PipelineRequest{Owner: "octo", Items: repositories(110, "a")}
		b := must(s.app.StartPipeline(s.ctx, ada, "bundle", request))(t)
		if got := s.serve(b.ID); got.ExpiresAt == nil || got.ExpiresAt.Sub(*got.CompletedAt) != 2*time.Hour {
			t.Fatalf("%+v", got)
		}
		s.clock.ns.Add(int64(2*time.Hour - time.Minute))
		noError(t, s.app.Tick(s.ctx))
		if c := must(s.app.StartPipeline(s.ctx, ada, "bundle", request))(t); c.Status != api.PipelineCached {
			t.Errorf("before it expires: %+v", c)
		}
		s.clock.ns.Add(int64(2 * time.Minute))
		if _, err := s.app.PipelineBatch(s.ctx, ada, "bundle", b.ID); problem.CodeOf(err) != api.CodeNotFound {
			t.Errorf("after it has expired: %v", err)
		}
		if _, err := s.app.LatestResult(s.ctx, ada, "bundle", "octo"); problem.CodeOf(err) != api.CodeNotFound {
			t.Errorf("its result: %v", err)
		}
		killed := s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
		noError(t, s.app.Tick(s.ctx))
		for _, d := range s.documents() {
			if d.PK == store.BatchPartition(b.ID) || d.PK == store.PartitionBatches && d.Type == "entry" {
				t.Errorf("killed after write %d: %s/%s is left", write, d.PK, d.ID)
			}
		}
		if c := must(s.app.StartPipeline(s.ctx, ada, "bundle", request))(t); c.ID != 2 || c.Status != api.PipelineQueued {
			t.Errorf("the next request: %+v", c)
		}
		if !killed {
			break
		}
	}
}

func TestAKeyedRequestIsAnsweredWithItsBatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(bundle)
	keyed := func(key string) audit.Caller { return audit.Caller{Name: "ada", Key: key} }
	request := api.PipelineRequest{Owner: "octo", Items: repositories(2, "a")}
	first := must(s.app.StartPipeline(s.ctx, keyed("k"), "bundle", request))(t)

	s.publish(strings.Replace(bundle, "{{Sha}}", "{{Other}}", 1)) // under which the items lack a field
	if b := must(s.app.StartPipeline(s.ctx, keyed("k"), "bundle", request))(t); b.ID != first.ID || !b.Replayed {
		t.Errorf("repeated after another version: %+v", b)
	}
	if _, err := s.app.StartPipeline(s.ctx, keyed("k"), "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}); problem.CodeOf(err) != api.CodeKeyReused {
		t.Errorf("other items with the key: %v", err)
	}
	noError(t, s.app.Tick(s.ctx))
	if b := s.serve(first.ID); b.RunbookVersion != 1 || b.Items != (api.PipelineItems{Total: 2, Succeeded: 2}) {
		t.Errorf("a batch that ran while another version was published: %+v", b)
	}
	s.publish(bundle)
	again := s.request(request)
	for range 2 {
		if b := must(s.app.StartPipeline(s.ctx, keyed("cached"), "bundle", request))(t); b.ID != again.ID || b.Status != api.PipelineCached {
			t.Errorf("%+v", b)
		}
	}
	if _, err := s.app.StartPipeline(s.ctx, keyed("cached"), "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}); problem.CodeOf(err) != api.CodeKeyReused {
		t.Errorf("other items with the key of a cached answer: %v", err)
	}

	s.clock.ns.Add(int64(25 * time.Hour))
	for range 2 {
		if _, err := s.app.StartPipeline(s.ctx, keyed("k"), "bundle", request); problem.CodeOf(err) != api.CodeNotFound || !strings.Contains(err.Error(), "has expired: use a new key") {
			t.Errorf("repeated after its batch has expired: %v", err)
		}
		noError(t, s.app.Tick(s.ctx))
	}
}

func TestTheLatestResultIsThatOfTheNewestBatchWithOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(strings.Replace(bundle, "phases:\n", "phases:\n  - name: look\n    steps: [{name: look, worker_id: worker-01, function: Look, params: {Name: \"{{Repository}}\"}}]\n", 1))
	good := w.request(api.PipelineRequest{Owner: "octo", Items: repositories(2, "a")})
	newer := must(w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(2, "b")}))(t)
	must(w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(2, "c")}))(t)
	if r := must(w.app.LatestResult(w.ctx, ada, "bundle", "octo"))(t); r.ID != good.ID {
		t.Errorf("while two batches run: batch %d", r.ID)
	}
	w.serve(newer.ID)
	// All three have ended, or the last one soon.
	if r := must(w.app.LatestResult(w.ctx, ada, "bundle", "octo"))(t); r.ID < newer.ID {
		t.Errorf("after the second has completed: batch %d", r.ID)
	}
	failed := w.request(api.PipelineRequest{Owner: "octo", Items: repositories(7, "d")})
	b := must(w.app.PipelineBatch(w.ctx, ada, "bundle", failed.ID))(t)
	if b.CompletedAt == nil {
		t.Fatalf("%+v", b)
	}
	if _, err := w.app.PipelineResult(w.ctx, ada, "bundle", failed.ID); problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "no merge today") {
		t.Errorf("the result of a batch whose merge failed: %v", err)
	}
	if r := must(w.app.LatestResult(w.ctx, ada, "bundle", "octo"))(t); r.ID == failed.ID {
		t.Error("the latest result is that of a merge that failed")
	}
}

// The owner of the request is a variable of each step. Items cannot change it.
func TestStepsKnowTheOwnerOfTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(strings.NewReplacer(`Sha: "{{Sha}}"`, `Owner: "{{_batch_owner}}"`, `Batch: "{{_batch_id}}"`, `Owner: "{{_batch_owner}}"`).Replace(bundle))
	items := repositories(2, "a")
	items[0]["_batch_owner"] = json.RawMessage(`"hubot"`)
	w.request(api.PipelineRequest{Owner: "octo/../x", Items: items})
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.jobs) != 3 {
		t.Errorf("%d jobs", len(w.jobs))
	}
	for _, j := range w.jobs {
		if !strings.Contains(string(j.Parameters), `"Owner":"octo/../x"`) {
			t.Errorf("%s has %s", j.FunctionName, j.Parameters)
		}
	}
}
