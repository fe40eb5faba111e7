package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// lister is the bundle whose items a function lists.
var lister = strings.Replace(bundle, "items: {primary_key: Repository, max: 120}", `items:
  primary_key: Repository
  max: 120
  expires: 2h
  source:
    worker_id: worker-01
    function: List
    params: {Owner: "{{_batch_owner}}", Batch: "{{_batch_id}}"}
    output: Repositories
    retry: {max_retries: 1, interval: 1s}
    timeout: 2m`, 1)

// lists answers with n repositories, each with the given fingerprint.
func lists(n int, sha string) worker {
	return func(message.Job) (string, error) {
		list, err := json.Marshal(repositories(n, sha))
		return fmt.Sprintf(`{"Repositories":%s}`, list), err
	}
}

// listerScript is what the worker answers, with its answer to the call that lists the items.
func listerScript(list worker) script {
	return script{"List": list, "Sync": merge, "Merge": merge}
}

// refresh requests a batch of the lister for octo, and delivers all.
func (s *stage) refresh(force bool) api.PipelineBatch {
	s.t.Helper()
	b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Force: force}))(s.t)
	s.deliverAll()
	return b
}

// refreshed is the batch as its requester sees it.
func (s *stage) refreshed(id int) api.PipelineBatch {
	s.t.Helper()
	return must(s.app.PipelineBatch(s.ctx, "bundle", id))(s.t)
}

// wantRefreshed wants the status of a batch and the number of its items, all of which succeeded.
func (s *stage) wantRefreshed(id int, status api.PipelineStatus, items int) {
	s.t.Helper()
	if b := s.refreshed(id); b.Status != status || b.Items != (api.PipelineItems{Total: items, Succeeded: items}) {
		s.t.Errorf("batch %d: %+v, want %s with %d items", id, b, status, items)
	}
}

func TestAFunctionListsTheItems(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(lister)
		s.script = listerScript(lists(60, "a"))
		b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo"}))(t)
		if b.ID != 1 || b.Status != api.PipelineQueued || b.Items != (api.PipelineItems{}) || b.Fingerprint != "" || b.StatusURL != "/api/pipelines/bundle/batches/1" {
			t.Errorf("the answer, before anything is listed: %+v", b)
		}
		s.deliverAll()
		s.wantRefreshed(b.ID, api.PipelineCompleted, 60)
		s.wantPhases(b.ID, "items completed 1/0/0, sync completed 60/0/0")
		s.wantDistinct("List", 1, "at the end")
		if v := s.step(b.ID, 0, "items"); string(v.Params) != `{"Batch":1,"Owner":"octo"}` || v.Kind != api.KindItems {
			t.Errorf("the call: %s %s", v.Kind, v.Params)
		}
		if r := must(s.app.PipelineResult(s.ctx, ada, "bundle", b.ID))(t); string(r.Outputs["Bundle"]) != `"bundle-of-1"` || r.Items.Succeeded != 60 {
			t.Errorf("result %+v", r)
		}
	}, azure)
}

// While the function lists the items the status says so, and there is neither a number of items nor a fingerprint.
func TestABatchThatListsItsItemsSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.withoutStartup()
	s.publish(lister)
	s.script = listerScript(fails(errLost))
	b := s.refresh(false)
	listing := s.refreshed(b.ID)
	if listing.Status != api.PipelineListing || listing.CompletedAt != nil || listing.ExpiresAt != nil {
		t.Errorf("while the function lists: %+v", listing)
	}
	if text := string(must(json.Marshal(listing))(t)); strings.Contains(text, `"items"`) || strings.Contains(text, "fingerprint") {
		t.Errorf("%s", text)
	}
	if _, err := s.app.PipelineResult(s.ctx, ada, "bundle", b.ID); problem.CodeOf(err) != api.CodeConflict {
		t.Errorf("its result: %v", err)
	}
	s.clock.ns.Add(int64(3 * time.Hour)) // longer than the results of a batch stay
	if got := s.refreshed(b.ID); got.Status != api.PipelineListing {
		t.Errorf("long after: %+v", got)
	}
	s.script = listerScript(lists(2, "a"))
	for range 2 {
		s.pass(3 * time.Minute) // the job is lost, and the call is repeated
	}
	s.wantRefreshed(b.ID, api.PipelineCompleted, 2)
}

func TestAShadowOfTheSameItemsIsComparedByTheEarlierResult(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, inMemory)
	s.publish(lister)
	s.setRouting(api.RoutingRequest{Shadow: new(true), FingerprintOutput: new("Bundle")})
	s.script = listerScript(lists(3, "a"))
	for _, want := range []api.PipelineStatus{api.PipelineCompleted, api.PipelineCached} {
		b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Shadow: true}))(t)
		s.deliverAll()
		s.wantRefreshed(b.ID, want, 3)
		c := must(s.app.ReportComparison(s.ctx, ada, "bundle", b.ID, api.ComparisonRequest{Fingerprint: "bundle-of-1", Milliseconds: 1}))(t)
		if c.Outcome != api.ComparisonSame {
			t.Errorf("batch %d, %s: %+v", b.ID, want, c)
		}
	}
}

func TestAListOfTheSameItemsEndsWithTheEarlierResult(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(lister)
		s.script = listerScript(lists(3, "a"))
		first := s.refresh(false)
		s.pass(time.Hour)
		second := s.refresh(false)
		third := s.refresh(false)
		s.wantDistinct("List", 3, "after three requests")
		s.wantDistinct("Sync", 3, "after three requests for the same items")
		one := s.refreshed(first.ID)
		for _, id := range []int{second.ID, third.ID} {
			b := s.refreshed(id)
			s.wantRefreshed(id, api.PipelineCached, 3)
			if id == first.ID || b.CachedBatch != first.ID || b.ResultURL != "/api/pipelines/bundle/batches/1/result" || b.Fingerprint != one.Fingerprint || b.CompletedAt == nil {
				t.Errorf("%+v", b)
			}
			if r := must(s.app.PipelineResult(s.ctx, ada, "bundle", id))(t); r.ID != first.ID || string(r.Outputs["Bundle"]) != `"bundle-of-1"` {
				t.Errorf("the result of batch %d: %+v", id, r)
			}
			if b.ExpiresAt == nil || b.ExpiresAt.After(*one.ExpiresAt) {
				t.Errorf("batch %d expires at %v, and that with its result at %v", id, b.ExpiresAt, one.ExpiresAt)
			}
			s.wantPhases(id, "items completed 1/0/0, sync skipped 0/0/0")
		}
		if r := must(s.app.LatestResult(s.ctx, ada, "bundle", "octo"))(t); r.ID != first.ID {
			t.Errorf("the latest result is that of batch %d", r.ID)
		}

		forced := s.refresh(true)
		s.wantRefreshed(forced.ID, api.PipelineCompleted, 3)
		s.wantDistinct("Sync", 6, "after a forced request")
		s.script = listerScript(lists(3, "b"))
		stale := s.refresh(false)
		s.wantRefreshed(stale.ID, api.PipelineCompleted, 3)
		if r := must(s.app.LatestResult(s.ctx, ada, "bundle", "octo"))(t); r.ID != stale.ID {
			t.Errorf("the latest result is that of batch %d", r.ID)
		}
	})
}

// A result that expires while the items are listed is not used again, and neither is one with a failed item.
func TestOnlyACurrentResultIsUsedAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.withoutStartup()
	s.publish(lister)
	s.script = listerScript(lists(3, "bad"))
	s.wantStatus(s.refresh(false).ID, "failed")
	s.wantStatus(s.refresh(false).ID, "failed")
	s.wantDistinct("Sync", 6, "after two requests whose items fail")

	s.script = listerScript(lists(3, "a"))
	first := s.refresh(false)
	s.clock.ns.Add(int64(2*time.Hour - 2*time.Minute))
	s.park = containing(`"Repositories"`)
	second := s.refresh(false)
	s.clock.ns.Add(int64(90 * time.Second))
	s.unpark()
	s.deliverAll()
	s.wantRefreshed(second.ID, api.PipelineCompleted, 3)
	if b := s.refreshed(second.ID); b.CachedBatch != 0 || first.ID == second.ID {
		t.Errorf("half a minute before the end of the earlier result: %+v", b)
	}

	s.park = containing(`"Repositories"`)
	third := s.refresh(false)
	s.clock.ns.Add(int64(3 * time.Hour))
	noError(t, s.app.Tick(s.ctx))
	s.unpark()
	for range 3 {
		s.pass(3 * time.Minute)
	}
	s.wantRefreshed(third.ID, api.PipelineCompleted, 3)
}

// A request that comes while the items of the owner's batch are listed gets that batch. Later the list is as old
// as the batch, and the items are listed again.
func TestARequestJoinsABatchThatListsItsItems(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(lister)
	s.script = listerScript(lists(3, "a"))
	s.park = containing(`"Repositories"`)
	first := s.refresh(false)
	if b := s.refresh(false); b.ID != first.ID || !b.Replayed || b.Status != api.PipelineListing {
		t.Errorf("while the items are listed: %+v", b)
	}
	forced := s.refresh(true)
	if forced.ID == first.ID {
		t.Errorf("a forced request: %+v", forced)
	}
	if other := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "hubot"}))(t); other.ID == first.ID || other.ID == forced.ID {
		t.Errorf("another owner: %+v", other)
	}
	s.park = ofType(message.TypePhaseDue, `"PhaseName":"sync"`)
	s.unparkAll()
	later := s.refresh(false)
	if later.ID <= forced.ID {
		t.Errorf("when the items are listed: %+v", later)
	}
	s.unpark()
	s.deliverAll()
	for _, id := range []int{first.ID, forced.ID} {
		s.wantRefreshed(id, api.PipelineCompleted, 3)
	}
}

// unparkAll lets the messages come that were kept back, and goes on to keep others back.
func (s *stage) unparkAll() {
	s.t.Helper()
	park := s.park
	s.park = nil
	parked := s.parked
	s.parked, s.park = nil, park
	for _, p := range parked {
		s.takeUp(p)
	}
	s.deliverAll()
}

// A list is checked as the items of a request are. One that is refused fails the batch at once, and no member of it
// exists.
func TestABadListFailsTheBatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, result, want string }{
		{"no items", `{"Repositories":[]}`, "the list Repositories has no items"},
		{"no list", `{"Repos":[]}`, "the result lacks Repositories, the list of the items"},
		{"no result", `true`, "the result lacks Repositories, the list of the items"},
		{"null", `{"Repositories":null}`, "the list Repositories is not a list"},
		{"no list of objects", `{"Repositories":[1]}`, "the list Repositories has 1 problem: Repositories[0]: item 1 is not an object"},
		{"a text", `{"Repositories":"a"}`, "the list Repositories is not a list"},
		{"no key", `{"Repositories":[{"Sha":"1"}]}`, `the list Repositories has 1 problem: Repositories[0].Repository: item 1 has no field "Repository", which the runbook uses`},
		{"a field that the runbook uses", `{"Repositories":[{"Repository":"a","Sha":"1"},{"Repository":"b"}]}`, `Repositories[1].Sha: item 2 has no field "Sha", which the runbook uses`},
		{"an item twice", `{"Repositories":[{"Repository":"a","Sha":"1"},{"Repository":"a","Sha":"2"}]}`, `Repositories[1].Repository: column Repository: "a" is in row 1 and again in row 2`},
		{"too many items", must(lists(121, "a")(message.Job{}))(t), "the list Repositories has 121 items; the runbook allows 120"},
		{"a result that is too large", `{"Repositories":[{"Repository":"` + strings.Repeat("a", model.MaxPayload) + `","Sha":"1"}]}`, "at most 131072 are allowed"},
		{"many problems", `{"Repositories":[{},{}]}`, "has 4 problems: Repositories[0].Repository: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.publish(lister)
			s.script = listerScript(always(tt.result))
			b := s.refresh(false)
			got := s.refreshed(b.ID)
			if got.Status != api.PipelineFailed || !strings.HasPrefix(got.Error, `listing the items failed: step "items": `) || !strings.Contains(got.Error, tt.want) || got.Items != (api.PipelineItems{}) {
				t.Errorf("%+v, want %s", got, tt.want)
			}
			s.wantDistinct("List", 1, "after a bad list")
			if page := must(s.app.Members(s.ctx, ada, b.ID, api.ListOptions{}))(t); len(page.Items) != 0 {
				t.Errorf("members %+v", page.Items)
			}
			s.wantPhases(b.ID, "items failed 0/1/0, sync cancelled 0/0/0")
			s.verify()
		})
	}
}

// The call has the retries and the timeout of a step. A batch whose call failed has no items, and the next request
// lists them again.
func TestTheCallIsRetriedAsAStepIs(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(lister)
		calls := 0
		s.script = listerScript(func(j message.Job) (string, error) {
			if calls++; calls == 1 {
				return "", &testenv.Failure{JobError: message.JobError{Message: "rate limit", RetryAfterSeconds: 60}}
			}
			return lists(2, "a")(j)
		})
		b := s.refresh(false)
		if got := s.refreshed(b.ID); got.Status != api.PipelineListing {
			t.Errorf("before the retry: %+v", got)
		}
		s.pass(time.Minute)
		s.wantRefreshed(b.ID, api.PipelineCompleted, 2)

		s.script = listerScript(fails(errNo))
		failed := s.refresh(false)
		s.pass(time.Minute)
		if got := s.refreshed(failed.ID); got.Status != api.PipelineFailed || !strings.Contains(got.Error, "listing the items failed") {
			t.Errorf("without a retry left: %+v", got)
		}
		if r := must(s.app.LatestResult(s.ctx, ada, "bundle", "octo"))(t); r.ID != b.ID {
			t.Errorf("the latest result is that of batch %d", r.ID)
		}
		s.script = listerScript(lists(3, "a"))
		s.wantRefreshed(s.refresh(false).ID, api.PipelineCompleted, 3)
	})
}

// An administrator can retry the call of a batch that failed with it, or give its list.
func TestAnAdministratorRepairsTheCall(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(strings.Replace(lister, "phases:\n", "init:\n  - {name: open, worker_id: worker-01, function: Open}\nphases:\n", 1))
		s.script = listerScript(always(`{"Repositories":[]}`))
		b := s.refresh(false)
		s.wantStatus(b.ID, "failed")
		s.script = listerScript(lists(2, "a"))
		must(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Reason: "there are some now"}))(t)
		s.pass(time.Second)
		s.wantRefreshed(b.ID, api.PipelineCompleted, 2)
		s.wantPhases(b.ID, "items completed 1/0/0, init completed 1/0/0, sync completed 2/0/0")
	})
}

// The items are listed under the version that the phases have. Else the result of these would be taken for one of the
// newer version, and be the answer to its requests.
func TestTheItemsAreListedUnderTheVersionOfThePhases(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(lister)
	s.script = listerScript(always(`{"Repositories":[]}`))
	b := s.refresh(false)
	s.wantStatus(b.ID, "failed")
	s.publish(strings.Replace(lister, "function: Merge", "function: Join", 1))
	s.script = script{"List": lists(2, "a"), "Sync": merge, "Merge": merge, "Join": always(`{"bundle":"joined"}`)}
	s.pass(time.Second)
	_, err := s.app.Repair(s.ctx, ada, b.ID, api.Repair{Version: "active", Reason: "as the new version has it"})
	s.wantRefused(err, api.CodeConflict, "send another request for version 2")
	must(s.app.Repair(s.ctx, ada, b.ID, api.Repair{Reason: "there are some now"}))(t)
	s.pass(time.Second)
	s.wantRefreshed(b.ID, api.PipelineCompleted, 2)
	next := s.refresh(false)
	s.wantRefreshed(next.ID, api.PipelineCompleted, 2)
	if r := must(s.app.LatestResult(s.ctx, ada, "bundle", "octo"))(t); r.ID != next.ID || string(r.Outputs["Bundle"]) != `"joined"` {
		t.Errorf("%+v", r)
	}
}

func TestAStepThatListsTheItemsIsNotSkipped(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(lister)
	s.script = listerScript(fails(errLost))
	b := s.refresh(false)
	v := s.step(b.ID, 0, "items")
	if _, err := s.app.SkipStep(s.ctx, ada, b.ID, v.ID, "no need"); problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), "cannot be skipped: mark it done with a list") {
		t.Errorf("skipped: %v", err)
	}
	for result, want := range map[string]string{`true`: "the result lacks Repositories", `{"Repositories":[{"Repository":"a"}]}`: `Repositories[0].Sha: item 1 has no field "Sha"`} {
		if _, err := s.app.MarkStepDone(s.ctx, ada, b.ID, v.ID, json.RawMessage(result), "by hand"); problem.CodeOf(err) != api.CodeConflict || !strings.Contains(err.Error(), want) {
			t.Errorf("done with %s: %v", result, err)
		}
	}
	must(s.app.MarkStepDone(s.ctx, ada, b.ID, v.ID, json.RawMessage(must(lists(2, "a")(message.Job{}))(t)), "by hand"))(t)
	s.deliverAll()
	s.wantRefreshed(b.ID, api.PipelineCompleted, 2)
}

func TestItemsAreSentWhereNoFunctionListsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.publish(lister)
	for name, items := range map[string][]map[string]json.RawMessage{"items": repositories(2, "a"), "an empty list": {}} {
		if _, err := w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: items}); problem.CodeOf(err) != api.CodeInvalid || !strings.Contains(err.Error(), "send the request without items") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if page := must(w.app.Batches(w.ctx, api.ListOptions{}))(t); len(page.Items) != 0 {
		t.Errorf("batches %+v", page.Items)
	}
	w.publish(bundle)
	if _, err := w.app.StartPipeline(w.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo"}); problem.CodeOf(err) != api.CodeInvalid || !strings.Contains(err.Error(), "the request has no items") {
		t.Errorf("a request without items to a runbook without a source: %v", err)
	}
}

func TestAKeyedRequestListsItsItemsOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(lister)
	s.script = listerScript(lists(2, "a"))
	keyed := audit.Caller{Name: "ada", Key: "k"}
	ask := func(owner string) (api.PipelineBatch, error) {
		return s.app.StartPipeline(s.ctx, keyed, "bundle", api.PipelineRequest{Owner: owner})
	}
	first := must(ask("octo"))(t)
	s.park = containing(`"Repositories"`)
	s.deliverAll()
	if b := must(ask("octo"))(t); b.ID != first.ID || !b.Replayed || b.Status != api.PipelineListing {
		t.Errorf("while the items are listed: %+v", b)
	}
	s.unpark()
	s.deliverAll()
	s.publish(strings.Replace(lister, "{{Sha}}", "{{Other}}", 1)) // under which the items lack a field
	if b := must(ask("octo"))(t); b.ID != first.ID || b.Status != api.PipelineCompleted {
		t.Errorf("when the batch has ended: %+v", b)
	}
	if _, err := ask("hubot"); problem.CodeOf(err) != api.CodeKeyReused {
		t.Errorf("another request with the key: %v", err)
	}
	s.wantDistinct("List", 1, "after the repetitions")
	s.clock.ns.Add(int64(3 * time.Hour))
	if _, err := ask("octo"); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("after the batch has expired: %v", err)
	}
}

func TestRequestsAtTheSameTimeListOnce(t *testing.T) {
	t.Parallel()
	for _, by := range []audit.Caller{ada, {Name: "ada", Key: "k"}} {
		w := newWorld(t, azure)
		w.publish(lister)
		ids := make([]int, 8)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				b, err := w.app.StartPipeline(w.ctx, by, "bundle", api.PipelineRequest{Owner: "octo"})
				if err != nil {
					t.Error(describe(err))
				}
				ids[i] = b.ID
			})
		}
		all.Wait()
		for _, id := range ids {
			if id != ids[0] {
				t.Errorf("key %q: batches %v", by.Key, ids)
			}
		}
		w.pump(1, func(j message.Job) (string, error) {
			if j.FunctionName == "List" {
				return lists(5, "a")(j)
			}
			return merge(j)
		}, func() bool {
			return patiently(w, func() (api.PipelineBatch, error) { return w.app.PipelineBatch(w.ctx, "bundle", ids[0]) }).CompletedAt != nil
		})
		if w.count("List") != 1 || w.count("Sync") != 5 {
			t.Errorf("key %q: %d and %d jobs", by.Key, w.count("List"), w.count("Sync"))
		}
	}
}

// A process is killed after each of its writes in turn; the request then comes again.
func TestARequestWithoutItemsThatWasCutShortGoesOn(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"", "key-1"} {
		for write := 1; ; write++ {
			s := newStage(t, false)
			s.publish(lister)
			s.script = listerScript(lists(110, "a"))
			by := audit.Caller{Name: "ada", Key: key}
			killed := s.kill(write, func(ctx context.Context, a *app.App) error {
				_, err := a.StartPipeline(ctx, by, "bundle", api.PipelineRequest{Owner: "octo"})
				return err
			})
			b := must(s.app.StartPipeline(s.ctx, by, "bundle", api.PipelineRequest{Owner: "octo"}))(t)
			s.deliverAll()
			s.wantRefreshed(b.ID, api.PipelineCompleted, 110)
			if page := must(s.app.Batches(s.ctx, api.ListOptions{}))(t); len(page.Items) != 1 {
				t.Errorf("key %q, killed after write %d: %d batches", key, write, len(page.Items))
			}
			if !killed {
				break
			}
		}
	}
}

// A process dies after each of its writes, while it starts the call, takes its result or writes the items. The
// message in its hand comes again, or the tick finds what is left.
func TestListingGoesOnWhereverItIsCutShort(t *testing.T) {
	t.Parallel()
	for name, parks := range map[string]func(kind, body string) bool{
		"as the call is started":           ofType(message.TypePhaseDue, `"PhaseName":"items"`),
		"as the result comes":              containing(`"Repositories"`, `"JobId"`),
		"as the items are written":         ofType(message.TypeBatchWork, `"Work":"items"`),
		"as the first page is made":        ofType(message.TypePhaseDue, `"PhaseName":"sync"`),
		"as the unchanged items are found": nil,
	} {
		for _, comesAgain := range []bool{true, false} {
			if !comesAgain && name == "as the result comes" {
				continue // a lost result is found by the deadline, as that of any step
			}
			t.Run(fmt.Sprintf("%s, comes again: %t", name, comesAgain), func(t *testing.T) {
				whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
					s.publish(lister)
					s.script = listerScript(lists(110, "a"))
					want, batch := api.PipelineCompleted, 1
					s.park = parks
					if parks == nil {
						s.refresh(false)
						want, batch = api.PipelineCached, 2
						s.park = ofType(message.TypeBatchWork, `"Work":"items"`)
					}
					s.refresh(false)
					if len(s.parked) == 0 {
						t.Fatal("nothing is parked")
					}
					cut := s.kill(write, s.parked[0].handle)
					if comesAgain {
						s.unpark()
					} else {
						s.park, s.parked = nil, nil
					}
					s.deliverAll()
					for range 4 {
						s.tickAfter(model.TickInterval)
					}
					s.wantRefreshed(batch, want, 110)
					s.wantListed(batch)
					s.wantDistinct("List", batch, "at the end")
					s.wantDistinct("Sync", 110, "at the end")
					return cut
				})
			})
		}
	}
}

// A list that comes after the timeout of its job, or twice, changes nothing.
func TestALateListChangesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.withoutStartup()
	s.publish(lister)
	s.script = listerScript(lists(3, "late"))
	s.park = containing(`"Repositories"`, `"JobId"`)
	b := s.refresh(false)
	late := s.parked
	s.park, s.parked = nil, nil
	s.script = listerScript(lists(2, "a"))
	for range 2 {
		s.pass(3 * time.Minute)
	}
	s.wantRefreshed(b.ID, api.PipelineCompleted, 2)
	for range 2 {
		for _, p := range late {
			s.takeUp(p)
		}
		s.deliverAll()
	}
	s.wantRefreshed(b.ID, api.PipelineCompleted, 2)
	s.wantDistinct("Sync", 2, "after the late list")
	s.verify()
}

// A batch that is cancelled while its items are listed or written ends, and begins nothing.
func TestACancelledBatchListsNothing(t *testing.T) {
	for name, parks := range map[string]func(kind, body string) bool{
		"before the call":            ofType(message.TypePhaseDue, `"PhaseName":"items"`),
		"before its result":          containing(`"Repositories"`, `"JobId"`),
		"before the items are there": ofType(message.TypeBatchWork, `"Work":"items"`),
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.publish(lister)
				s.script = listerScript(lists(3, "a"))
				s.park = parks
				b := s.refresh(false)
				s.cancel(b.ID)
				s.unpark()
				s.revokes()
				for range 4 {
					s.tickAfter(model.TickInterval)
				}
				s.wantStatus(b.ID, "cancelled")
				if got := s.refreshed(b.ID); got.Status != api.PipelineFailed || !strings.HasPrefix(got.Error, "cancelled by ") || got.Items != (api.PipelineItems{}) {
					t.Errorf("%+v", got)
				}
				if page := must(s.app.Members(s.ctx, ada, b.ID, api.ListOptions{}))(t); len(page.Items) != 0 {
					t.Errorf("members %+v", page.Items)
				}
				s.wantDistinct("Sync", 0, "in a cancelled batch")
				s.wantRefreshed(s.refresh(false).ID, api.PipelineCompleted, 3)
			})
		})
	}
}

// listedTwice requests the same 110 items twice. The phase of the first batch has not begun: first is its message. The items of
// the second, b, are listed, and the message about them is parked.
func (s *stage) listedTwice() (first []past, b api.PipelineBatch) {
	s.t.Helper()
	s.publish(lister)
	s.script = listerScript(lists(110, "a"))
	s.park = ofType(message.TypePhaseDue, `"PhaseName":"sync"`)
	s.refresh(false)
	first = s.parked
	s.parked, s.park = nil, ofType(message.TypeBatchWork, `"Work":"items"`)
	return first, s.refresh(false)
}

// Items of which some were written when the batch was cancelled, or when the earlier result became current, are all
// written.
func TestItemsAreWrittenWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"cancelled", "the earlier result becomes current"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			first, b := s.listedTwice()
			if !s.kill(2, s.parked[0].handle) { // after the batch took its items, and a part of them is written
				t.Fatal("it was not cut short")
			}
			if name == "cancelled" {
				s.cancel(b.ID)
			}
			half := s.parked
			s.park, s.parked = nil, first
			s.unpark()
			s.deliverAll()
			s.wantRefreshed(1, api.PipelineCompleted, 110)
			s.parked = half
			s.unpark()
			s.deliverAll()
			got := s.refreshed(b.ID)
			want := api.PipelineItems{Total: 110, Succeeded: 110}
			if name == "cancelled" {
				want = api.PipelineItems{Total: 110, Cancelled: 110}
			}
			if got.Items != want {
				t.Errorf("%+v", got)
			}
			s.verify()
		})
	}
}

// A process stands still before each of its operations on the items, while the earlier result becomes current and
// another process handles the same message, or before that dies amid the members. The batch ends with that result and has
// no member, or all are its items.
func TestTwoProcessesDecideAboutTheItemsOnce(t *testing.T) {
	t.Parallel()
	for _, dies := range []bool{false, true} {
		ends := map[api.PipelineStatus]int{}
		for held, reached := 1, true; reached; held++ {
			s := newStage(t, false)
			first, b := s.listedTwice()
			items := s.parked
			var operations atomic.Int64
			db := s.over(line{before: func(operation) error {
				if operations.Add(1) != int64(held) {
					return nil
				}
				if dies {
					s.kill(2, items[0].handle) // the batch has taken its items, and a part of them is written
				}
				s.parked = first
				s.unpark()
				if !dies {
					s.parked = items
					s.unpark()
				}
				return nil
			}})
			process := app.New(app.Config{Store: db, Bus: s.bus, Now: s.clock.Now, Log: s.log, Artifacts: s.artifacts})
			noError(t, items[0].handle(s.ctx, process))
			reached = operations.Load() >= int64(held)
			s.park, s.parked = nil, nil
			s.deliverAll()
			got := s.refreshed(b.ID)
			ends[got.Status]++
			want := 110
			if got.Status == api.PipelineCached {
				want = 0
			}
			if n := len(storedAs[model.Member](s, b.ID, "member")); n != want || got.Items != (api.PipelineItems{Total: 110, Succeeded: 110}) {
				t.Errorf("held up before operation %d, dies: %t: %d members of %+v", held, dies, n, got)
			}
			s.verify()
		}
		if ends[api.PipelineCompleted] == 0 || dies == (ends[api.PipelineCached] > 0) || len(ends) > 2 {
			t.Errorf("dies: %t: the batches ended so: %v", dies, ends)
		}
	}
}

// A paused batch keeps its items, and begins when it is resumed.
func TestAPausedBatchTakesItsList(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(lister)
		s.script = listerScript(lists(3, "a"))
		s.park = containing(`"Repositories"`, `"JobId"`)
		b := s.refresh(false)
		must(s.app.Pause(s.ctx, ada, b.ID, ""))(t)
		s.unpark()
		s.deliverAll()
		s.wantDistinct("Sync", 0, "in a paused batch")
		must(s.app.Resume(s.ctx, ada, b.ID, ""))(t)
		s.deliverAll()
		for range 2 {
			s.tickAfter(model.TickInterval)
		}
		s.wantRefreshed(b.ID, api.PipelineCompleted, 3)
	})
}

// A call that polls is asked again until it has its list.
func TestACallThatPollsGivesItsListInTheEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(strings.Replace(lister, "    output:", "    poll: {interval: 10s, timeout: 5m}\n    output:", 1))
	calls := 0
	s.script = listerScript(func(j message.Job) (string, error) {
		if calls++; calls < 3 {
			return `{"complete":false}`, nil
		}
		return `{"complete":true,"data":` + must(lists(2, "a")(j))(t) + `}`, nil
	})
	b := s.refresh(false)
	for range 3 {
		s.pass(10 * time.Second)
	}
	s.wantRefreshed(b.ID, api.PipelineCompleted, 2)
}
