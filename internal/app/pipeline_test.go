package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
	"github.com/matoolkit/matoolkit/internal/testenv"
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
		b = patiently(w, func() (api.PipelineBatch, error) { return w.app.PipelineBatch(w.ctx, "bundle", id) })
		return b.CompletedAt != nil
	})
	return b
}

// count is how many jobs of a function workers took. One that came twice counts once: not every broker detects duplicates.
func (w *world) count(function string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[string]bool{}
	for _, j := range w.jobs {
		if j.FunctionName == function {
			seen[j.ID()] = true
		}
	}
	return len(seen)
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
	if records := must(w.app.BatchAudit(w.ctx, b.ID, api.AuditFilter{}, api.ListOptions{}))(t); !slices.ContainsFunc(records.Items, func(a api.AuditRecord) bool { return a.Action == api.ActionReadSteps && a.By == ada.Name }) {
		t.Errorf("nothing says who read the result: %+v", records.Items)
	}
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
	if b := must(w.app.PipelineBatch(w.ctx, "bundle", first.ID))(t); b.Status != api.PipelineCompleted || b.Items != (api.PipelineItems{Total: 3, Succeeded: 2, Failed: 1}) {
		t.Errorf("with a failed item: %+v", b)
	}
	if b := must(w.app.StartPipeline(w.ctx, ada, "bundle", request))(t); b.Status == api.PipelineCached {
		t.Errorf("the next request: %+v", b)
	}
	all := w.request(api.PipelineRequest{Owner: "octo", Items: repositories(2, "bad")})
	b := must(w.app.PipelineBatch(w.ctx, "bundle", all.ID))(t)
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
	if _, err := w.app.PipelineBatch(w.ctx, "bundle", 1); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("a batch that does not exist: %v", err)
	}
	manual := w.batch("move", people(1))
	if _, err := w.app.PipelineBatch(w.ctx, "move", manual.ID); problem.CodeOf(err) != api.CodeNotFound {
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
		if _, err := s.app.PipelineBatch(s.ctx, "bundle", b.ID); problem.CodeOf(err) != api.CodeNotFound {
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

// An owner is the same in upper and in lower case, as for permissions and for the share of a pipeline.
func TestAnOwnerIsTheSameInAnyCase(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(bundle)
	first := s.request(api.PipelineRequest{Owner: "Octo@contoso.example", Items: repositories(2, "a")})
	if b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo@CONTOSO.example", Items: repositories(2, "a")}))(t); b.ID != first.ID || b.Status != api.PipelineCached {
		t.Errorf("the same items: %+v", b)
	}
	if r := must(s.app.LatestResult(s.ctx, ada, "bundle", "OCTO@contoso.example"))(t); r.ID != first.ID {
		t.Errorf("the latest result: %+v", r)
	}
	for _, owner := range []string{"octo@contoso.example", "Octo@contoso.example"} {
		if b := must(s.app.StartPipeline(s.ctx, adaBy("k"), "bundle", api.PipelineRequest{Owner: owner, Items: repositories(3, "a")}))(t); b.ID != first.ID+1 {
			t.Errorf("with a key: %+v", b)
		}
	}
}

// The result of an owner's batch is there as long as the batch, also after later ones failed and expired.
func TestAResultOutlivesLaterBatches(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(bundle)
	first := s.request(api.PipelineRequest{Owner: "octo", Items: repositories(2, "a")})
	s.publish(strings.Replace(bundle, "max: 120", "max: 120, expires: 15m", 1))
	for range 3 {
		s.request(api.PipelineRequest{Owner: "octo", Items: repositories(2, "bad")})
		for range 2 {
			s.clock.ns.Add(int64(16 * time.Minute))
			noError(t, s.app.Tick(s.ctx))
		}
		if r, err := s.app.LatestResult(s.ctx, ada, "bundle", "octo"); err != nil || r.ID != first.ID {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// An item that a required check refuses has failed, as one that a step fails.
func TestItemsThatFailTheirChecksHaveFailed(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(strings.Replace(bundle, "phases:\n", "checks:\n  - {name: known, worker_id: worker-01, function: Known, params: {Name: \"{{Repository}}\"}, require: true}\nphases:\n", 1))
		s.script = script{"Known": func(j message.Job) (string, error) {
			if strings.Contains(string(j.Parameters), "repo-002") {
				return "", fmt.Errorf("no such repository")
			}
			return "true", nil
		}, "Sync": merge, "Merge": merge}
		b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}))(t)
		s.deliverAll()
		for range 3 {
			s.tickAfter(model.TickInterval)
		}
		if got := must(s.app.PipelineBatch(s.ctx, "bundle", b.ID))(t); got.Items != (api.PipelineItems{Total: 3, Succeeded: 2, Failed: 1}) {
			t.Errorf("%+v", got)
		}
	})
}

// The owner of a request has its result, also after another one is named for the batch, which is refused.
func TestTheOwnerOfARequestStays(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(bundle)
	b := s.request(api.PipelineRequest{Owner: "octo", Items: repositories(2, "a")})
	s.wantRefused(errorOf(s.app.UpdateBatch(s.ctx, ada, b.ID, detailsOf("-", "-", "hubot"), "")), api.CodeConflict, "its result is for octo")
	if v := must(s.app.UpdateBatch(s.ctx, ada, b.ID, detailsOf("Nightly", "-", "octo"), ""))(t); v.Name != "Nightly" || v.Owner != "octo" {
		t.Errorf("%+v", v)
	}
}

// Failed items that two owners have are retried in both batches at once, also where a person of an open batch has the key of
// one: they are no persons, and claim nothing.
func TestFailedItemsOfTwoOwnersAreRetried(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(bundle)
		s.script = script{"Sync": merge, "Merge": merge}
		var batches []int
		for _, owner := range []string{"octo", "hubot"} {
			b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: owner, Items: repositories(3, "bad")}))(t)
			s.deliverAll()
			s.wantStatus(b.ID, "failed")
			batches = append(batches, b.ID)
		}
		s.publish(flat)
		must(s.app.CreateBatch(s.ctx, ada, "flat", []byte("Upn,Name\nrepo-001,Ada\n")))(t)
		s.script = script{"Sync": always("true"), "Merge": merge}
		s.pass(time.Second)
		for _, id := range batches {
			must(s.app.Repair(s.ctx, ada, id, api.Repair{Reason: "the cause is gone"}))(t)
			s.park = ofType(message.TypePhaseDue) // so that the first is open as the second is retried
			s.deliverAll()
		}
		s.unpark()
		for range 3 {
			s.tickAfter(model.TickInterval)
		}
		for _, id := range batches {
			if got := must(s.app.PipelineBatch(s.ctx, "bundle", id))(t); got.Items != (api.PipelineItems{Total: 3, Succeeded: 3}) {
				t.Errorf("%+v", got)
			}
		}
		if claims := must(storetest.All[store.PersonClaim](s.ctx, s.store, store.PartitionBatches, "claim"))(t); len(claims) != 1 { // of the person
			t.Errorf("claims %v", claims)
		}
	})
}

// Failed items are retried at each moment of the tick that deletes their batch: they are done, or the batch is gone.
func TestARetryComesAsABatchExpires(t *testing.T) {
	t.Parallel()
	ends := map[bool]int{}
	for held, reached := int64(1), true; reached; held++ {
		s := newStage(t, false, inMemory) // there are many
		s.publish(strings.Replace(bundle, "max: 120", "max: 120, expires: 2h", 1))
		s.script = script{"Sync": merge, "Merge": merge}
		b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "bad")}))(t)
		s.deliverAll()
		s.wantStatus(b.ID, "failed")
		s.script = script{"Sync": always("true"), "Merge": merge}
		s.clock.ns.Add(int64(2*time.Hour + time.Minute))
		var operations atomic.Int64
		retried := false
		db := s.over(line{before: func(operation) error {
			if operations.Add(1) == held {
				if _, err := s.app.Repair(s.ctx, ada, b.ID, api.Repair{Reason: "the cause is gone"}); err == nil {
					s.deliverAll()
					retried = s.count("Sync") > 3
				}
			}
			return nil
		}})
		noError(t, app.New(app.Config{Store: db, Bus: s.bus, Now: s.clock.Now, Log: s.log, Artifacts: s.artifacts}).Tick(s.ctx))
		s.deliverAll()
		noError(t, s.app.Tick(s.ctx))
		reached = operations.Load() >= held
		got, err := s.app.PipelineBatch(s.ctx, "bundle", b.ID)
		if retried && (err != nil || got.Items != (api.PipelineItems{Total: 3, Succeeded: 3})) || !retried && problem.CodeOf(err) != api.CodeNotFound {
			t.Errorf("before operation %d of the tick, retried: %t; then %+v, %v", held, retried, got, err)
		}
		ends[retried]++
		s.verify()
	}
	if ends[true] == 0 || ends[false] == 0 {
		t.Errorf("retried or not: %v", ends)
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

// TestKeysOfRequestsExpire: the Functions host gives each request a key.
func TestKeysOfRequestsExpire(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, inMemory)
	s.publish(bundle)
	request := api.PipelineRequest{Owner: "octo", Items: repositories(2, "a")}
	s.request(request)
	for i := range 250 { // more than one write can delete
		if b := must(s.app.StartPipeline(s.ctx, audit.Caller{Name: "ada", Key: fmt.Sprint("host ", i)}, "bundle", request))(t); b.Status != api.PipelineCached {
			t.Fatalf("%+v", b)
		}
	}
	for _, step := range []struct {
		after time.Duration
		want  int
	}{{47 * time.Hour, 250}, {2 * time.Hour, 0}} {
		s.tickAfter(step.after)
		if n := len(slices.DeleteFunc(s.documents(), func(d document) bool { return d.Type != "request" })); n != step.want {
			t.Errorf("%d keys are kept, want %d", n, step.want)
		}
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
	b := must(w.app.PipelineBatch(w.ctx, "bundle", failed.ID))(t)
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

// deliverInTurn delivers the results one after the other, each when all that followed from the one before is done.
func (s *stage) deliverInTurn() {
	s.t.Helper()
	s.park = ofType(message.TypeWorkerResult)
	for s.deliverAll(); len(s.parked) > 0; s.deliverAll() {
		next := s.parked[0]
		s.parked = s.parked[1:]
		noError(s.t, next.handle(s.ctx, s.app))
	}
	s.park = nil
}

// TestCostOfARequest: a caller waits for four operations of the store, however many of up to 98 items the
// request has, and the batch costs little more than a write for each of its items.
func TestCostOfARequest(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 10, 98} {
		s := newStage(t, false, inMemory)
		s.script = script{"Sync": always("true"), "Merge": always(`{"bundle":"b"}`)}
		s.publish(bundle)
		start := func(owner string) {
			must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: owner, Items: repositories(n, "a")}))(t)
		}
		start("warm-up")
		s.deliverAll()
		before := s.store.Counts()
		start("octo")
		after := s.store.Counts()
		if got, want := (store.Counts{Reads: after.Reads - before.Reads, Queries: after.Queries - before.Queries, Writes: after.Writes - before.Writes}), (store.Counts{Reads: 2, Writes: 2}); got != want {
			t.Errorf("a request of %d items costs %+v, want %+v", n, got, want)
		}
		summaries := 0
		defer s.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
			for _, w := range op.Writes {
				if w.Key == store.EntryKey(2) {
					summaries++
				}
			}
			return memory.Fault{}
		})()
		s.deliverInTurn()
		ended := s.store.Counts()
		if got, want := (store.Counts{Reads: ended.Reads - before.Reads, Queries: ended.Queries - before.Queries, Writes: ended.Writes - before.Writes}), (store.Counts{Reads: 4, Queries: 1, Writes: int64(n) + 11}); n <= 10 && got != want {
			t.Errorf("a batch of %d items costs %+v, want %+v", n, got, want)
		}
		if n == 10 && summaries > 3 {
			t.Errorf("the summary of the batch was written %d times after the request", summaries)
		}
	}
}

// TestABatchIsListedAfterAKill: a process is killed after each write of the start of a batch. The message comes again to
// another process, which lists the batch. A later request for the same items does not list it again.
func TestABatchIsListedAfterAKill(t *testing.T) {
	t.Parallel()
	for write := 1; ; write++ {
		s := newStage(t, false, inMemory)
		s.script = script{"Sync": fails(errLost)}
		s.publish(bundle)
		request := api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}
		must(s.app.StartPipeline(s.ctx, ada, "bundle", request))(t)
		s.park = ofType(message.TypePhaseDue)
		s.deliverAll()
		event := s.parked[0].m
		killed := s.kill(write, func(ctx context.Context, a *app.App) error { return a.HandleEvent(ctx, event) })
		noError(t, s.other.HandleEvent(s.ctx, event))
		if all := must(s.other.Batches(s.ctx, api.ListOptions{}))(t).Items; len(all) != 1 || all[0].Status != string(model.BatchActive) {
			t.Errorf("killed after write %d: the list is %+v", write, all)
		}
		end := s.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
			if len(op.Writes) > 0 && op.Writes[0].Key == store.EntryKey(1) {
				t.Errorf("killed after write %d: another request lists the batch again", write)
			}
			return memory.Fault{}
		})
		must(s.other.StartPipeline(s.ctx, ada, "bundle", request))(t)
		end()
		if !killed {
			return
		}
	}
}

// TestTheSweepDoesNotHideABatchThatIsWrittenMeanwhile: a request was cut short long ago. While a tick deletes what it has
// left, the request comes again.
func TestTheSweepDoesNotHideABatchThatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, inMemory)
	s.script = script{"Sync": always("true"), "Merge": always(`{"bundle":"b"}`)}
	s.publish(bundle)
	by := audit.Caller{Name: "ada", Key: "k"}
	request := func(ctx context.Context, a *app.App) error {
		return errorOf(a.StartPipeline(ctx, by, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}))
	}
	s.kill(1, request) // the number is reserved
	s.clock.ns.Add(int64(membership.AbandonAfter + time.Minute))
	again := false
	end := s.disturb(func(_ context.Context, op memory.Operation) memory.Fault {
		if !again && len(op.Writes) == 1 && op.Writes[0].Op == store.OpDelete && op.Writes[0].Key == store.EntryKey(1) {
			again = true
			noError(t, request(s.ctx, s.other))
		}
		return memory.Fault{}
	})
	noError(t, s.app.Tick(s.ctx))
	end()
	if all := must(s.app.Batches(s.ctx, api.ListOptions{}))(t).Items; !again || len(all) != 1 {
		t.Errorf("the list is %+v; the request came again: %t", all, again)
	}
}

// TestEndOfABatchThatAnotherProcessChanged: the process that starts the last step of a batch remembers the batch. Another
// process gives the batch a name meanwhile. The result of the step ends the batch, and the name stays.
func TestEndOfABatchThatAnotherProcessChanged(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"Sync": always("true"), "Merge": fails(errLost)}
	s.publish(bundle)
	b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}))(t)
	s.deliverAll()
	name := "renamed"
	must(s.other.UpdateBatch(s.ctx, ada, b.ID, api.BatchDetails{Name: &name}, ""))(t)
	last := s.jobs[len(s.jobs)-1]
	if last.FunctionName != "Merge" {
		t.Fatalf("the last job is %s", last.FunctionName)
	}
	r := testenv.Result(last, s.clock.Now(), `{"bundle":"b"}`, nil)
	conflicts := s.store.Counts().Conflicts
	noError(t, s.app.HandleResult(s.ctx, deliveryOf(bus.Message{ID: r.ID(), Body: must(json.Marshal(r))(t), Properties: map[string]any{message.PropertyMessageType: message.TypeWorkerResult}}, 1)))
	s.deliverAll()
	if got := must(s.app.Batch(s.ctx, ada, b.ID))(t); got.Name != name || got.Status != string(model.BatchCompleted) {
		t.Errorf("batch %+v", got)
	}
	if s.store.Counts().Conflicts == conflicts {
		t.Error("the process did not remember the batch")
	}
}

// TestItemsThatAreStoredWithoutTheirBatchStayAsTheyAre: an earlier version wrote all items before the document of their batch,
// and died in between. The request goes on with those that are missing.
func TestItemsThatAreStoredWithoutTheirBatchStayAsTheyAre(t *testing.T) {
	t.Parallel()
	for stored := range 4 {
		s := newStage(t, false)
		s.script = script{"Sync": always("true"), "Merge": always(`{"bundle":"b"}`)}
		s.publish(bundle)
		by := audit.Caller{Name: "ada", Key: "k"}
		request := api.PipelineRequest{Owner: "octo", Items: repositories(3, "a")}
		s.kill(1, func(ctx context.Context, a *app.App) error { // the number is reserved
			return errorOf(a.StartPipeline(ctx, by, "bundle", request))
		})
		for i := range stored {
			m := model.Member{ID: i + 1, Page: 1, Key: fmt.Sprintf("repo-%03d", i+1), Data: request.Items[i], Status: model.MemberActive, AddedAt: s.clock.Now()}
			must(s.store.Apply(s.ctx, store.Writes{store.Create(store.MemberKey(1, m.ID), m)}))(t)
		}
		ctx, cancel := context.WithTimeout(s.ctx, 20*time.Second) // a call that tries for ever ends
		b, err := s.app.StartPipeline(ctx, by, "bundle", request)
		cancel()
		if err != nil || b.ID != 1 {
			t.Fatalf("with %d items: batch %d, %v", stored, b.ID, err)
		}
		s.deliverAll()
		if got := must(s.app.PipelineBatch(s.ctx, "bundle", 1))(t); got.Status != api.PipelineCompleted || got.Items != (api.PipelineItems{Total: 3, Succeeded: 3}) {
			t.Errorf("with %d items: %+v", stored, got)
		}
	}
}
