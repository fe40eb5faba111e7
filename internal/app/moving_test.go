package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/internal/webhook"
	"github.com/matoolkit/matoolkit/local/receiver"
)

// moved is a runbook whose merge gives a fingerprint: that of the sha of its items. "bad" items fail it.
const moved = `
name: bundle
trigger: request
items: {primary_key: Repository, expires: 2h}
phases:
  - name: sync
    steps:
      - {name: sync, worker_id: worker-01, function: Sync, params: {Sha: "{{Sha}}", Shadow: "{{_batch_shadow}}"}, output_params: {Sha2: sha}}
    on_complete:
      - {name: merge, worker_id: worker-01, function: Merge, params: {Shadow: "{{_batch_shadow}}"}, output_params: {Fingerprint: fingerprint}}
      - {name: train, worker_id: worker-01, function: Train, detached: true}
`

// moving publishes the runbook and changes its routing.
func (s *stage) moving(r api.RoutingRequest) {
	s.t.Helper()
	s.script = script{
		"Sync": func(j message.Job) (string, error) {
			if strings.Contains(string(j.Parameters), `"bad"`) {
				return "", errNo
			}
			return `{"sha":"x"}`, nil
		},
		"Merge": always(`{"fingerprint":"f1"}`), "Train": always("true"),
	}
	s.publish(moved)
	s.setRouting(r)
}

// observed gives the stage two processes that log to a journal and post notifications to a receiver.
func (s *stage) observed() (*journal, *receiver.Receiver) {
	s.t.Helper()
	r, j := testenv.Started(receiver.Start(s.t.Context(), must(webhook.ParseKey(webhookKey))(s.t)))(s.t), &journal{}
	s.log = j.log()
	c := s.config()
	c.Poster, c.Log = posterTo(r), s.log
	s.app, s.other = app.New(c), app.New(c)
	return j, r
}

func (s *stage) setRouting(r api.RoutingRequest) api.Routing {
	s.t.Helper()
	return must(s.app.SetRouting(s.ctx, ada, "bundle", "", r))(s.t)
}

// asks starts a batch of the moved runbook and delivers all.
func (s *stage) asks(owner, sha string, shadow bool) api.PipelineBatch {
	s.t.Helper()
	b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: owner, Items: repositories(2, sha), Shadow: shadow}))(s.t)
	s.deliverAll()
	return must(s.app.PipelineBatch(s.ctx, "bundle", b.ID))(s.t)
}

func (s *stage) compares(batch int, r api.ComparisonRequest) api.Comparison {
	s.t.Helper()
	return must(s.app.ReportComparison(s.ctx, ada, "bundle", batch, r))(s.t)
}

// TestShadowModeWithoutEffectOnTheOldAnswer: a shadow runs to its end, and nothing that a person or a later
// request sees comes from it.
func TestShadowModeWithoutEffectOnTheOldAnswer(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		j, r := s.observed()
		s.moving(api.RoutingRequest{Shadow: new(true)})
		s.notify("all", api.NotificationRequest{FailedPercent: 1}, api.NotificationEvents...)
		real := s.asks("octo", "a", false)
		trained := len(s.jobsOf("Train"))

		shadow := s.asks("octo", "b", true)
		if !shadow.Shadow || shadow.Status != api.PipelineCompleted || shadow.ID == real.ID {
			t.Fatalf("%+v", shadow)
		}
		for _, of := range []api.PipelineBatch{real, shadow} {
			if b := must(s.app.Batch(s.ctx, ada, of.ID))(t); b.Shadow != of.Shadow {
				t.Errorf("batch %d is shown as a shadow: %v", of.ID, b.Shadow)
			}
		}
		if got := must(s.app.LatestResult(s.ctx, ada, "bundle", "octo"))(t); got.ID != real.ID {
			t.Errorf("the latest result is that of batch %d", got.ID)
		}
		if b := s.asks("octo", "a", false); b.ID != real.ID {
			t.Errorf("a request for the items of the last result got batch %d", b.ID)
		}
		if b := s.asks("octo", "b", true); b.ID != shadow.ID {
			t.Errorf("a shadow of the items of the last shadow got batch %d", b.ID)
		}
		if n := len(s.jobsOf("Train")); n != trained {
			t.Errorf("the shadow ran its detached steps: %d", n-trained)
		}
		for _, job := range s.jobsOf("Merge") {
			if want := fmt.Sprintf(`{"Shadow":%v}`, job.BatchID == shadow.ID); string(job.Parameters) != want {
				t.Errorf("batch %d: parameters %s, want %s", job.BatchID, job.Parameters, want)
			}
		}

		posts := len(r.Posts())
		if failed := s.asks("octo", "bad", true); failed.Status != api.PipelineFailed {
			t.Fatalf("%+v", failed)
		}
		s.tick()
		if lines := j.of(t, alert.BatchFailed); len(lines) > 0 {
			t.Errorf("a shadow that failed alerts: %v", lines)
		}
		for _, p := range r.Posts()[posts:] {
			if !strings.Contains(string(p.Body), fmt.Sprintf("Batch %d ", real.ID)) {
				t.Errorf("a shadow is announced: %s", p.Body)
			}
		}

		s.setRouting(api.RoutingRequest{Shadow: new(false)})
		if _, err := s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(2, "c"), Shadow: true}); problem.CodeOf(err) != api.CodeConflict {
			t.Errorf("a shadow where shadow mode is off: %v", err)
		}
	})
}

// jobsOf are the jobs of a function that workers took, each once.
func (s *stage) jobsOf(function string) (jobs []message.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{}
	for _, j := range s.jobs {
		if j.FunctionName == function && !seen[j.JobID] {
			seen[j.JobID] = true
			jobs = append(jobs, j)
		}
	}
	return jobs
}

func TestDeterministicTrafficShare(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.moving(api.RoutingRequest{})
	owners := []string{"../octo", "Octo", "o:1:x", "名前", "a b", "%00"}
	for i := range 1000 {
		owners = append(owners, fmt.Sprintf("owner-%d", i))
	}
	isNew := map[string]bool{}
	for _, percent := range []int{0, 1, 10, 50, 99, 100} {
		s.setRouting(api.RoutingRequest{Percent: &percent})
		n := 0
		for _, owner := range owners {
			r := must(s.app.Route(s.ctx, "bundle", owner))(t)
			if other := must(s.other.Route(s.ctx, "bundle", strings.ToUpper(owner)))(t); other.Orchestrator != r.Orchestrator || other.Bucket != r.Bucket {
				t.Fatalf("%q: %+v, of another process in capital letters %+v", owner, r, other)
			}
			if was := isNew[owner]; was && r.Orchestrator != api.OrchestratorNew {
				t.Errorf("%q went back at %d %%", owner, percent)
			}
			if isNew[owner] = r.Orchestrator == api.OrchestratorNew; isNew[owner] {
				n++
			}
		}
		if got := 100 * n / len(owners); got < percent-4 || got > percent+4 || percent == 0 && n > 0 || percent == 100 && n < len(owners) {
			t.Errorf("%d %% of the owners at %d %%", got, percent)
		}
	}
	if r := must(s.app.Route(s.ctx, "bundle", "owner-7"))(t); r.Bucket != 97 {
		t.Errorf("the bucket of owner-7 is %d: owners would change sides with this version", r.Bucket)
	}
	if _, err := s.app.Route(s.ctx, "other", "octo"); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("a pipeline that does not exist: %v", err)
	}
}

// failing sets a share and has so many requests fail and succeed.
func (s *stage) failingRequests(failed, fine int) {
	s.t.Helper()
	for i := range failed + fine {
		sha := "a"
		if i < failed {
			sha = "bad"
		}
		s.asks(fmt.Sprintf("owner-%d", i), sha, false)
	}
}

var half = api.RoutingRequest{Percent: new(50), MaxErrorPercent: new(20), MinRequests: new(4)}

// TestTheShareReturnsWhenTooManyRequestsFail: also if each message comes twice and out of order, the share
// returns once, and stays at 0 until an administrator sets it.
func TestTheShareReturnsWhenTooManyRequestsFail(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		j, r := s.observed()
		s.moving(half)
		s.notify("all", api.NotificationRequest{}, api.EventShareReturned)
		s.failingRequests(1, 2) // fewer than decide
		s.pass(20 * time.Second)
		if v := must(s.app.Routing(s.ctx, "bundle"))(t); v.Percent != 50 || *v.Recent != (api.ShareRequests{Requests: 3, Failed: 1}) {
			t.Fatalf("%+v of %+v", v, v.Recent)
		}
		s.asks("owner-9", "bad", false)
		s.pass(20 * time.Second)
		if r := must(s.app.Route(s.ctx, "bundle", "octo"))(t); r.Percent != 0 || r.Orchestrator != api.OrchestratorOld {
			t.Errorf("route %+v", r)
		}
		s.tick()
		s.tickAfter(5 * time.Minute)
		v := must(s.app.Routing(s.ctx, "bundle"))(t)
		if v.Percent != 0 || v.Returned == nil || v.Returned.Percent != 50 || v.Returned.Reason != "2 of 4 requests failed; the limit is 20 %" || v.Changed.By != "automatic-return" {
			t.Fatalf("%+v, returned %+v", v, v.Returned)
		}
		if records := s.listRunbookAudit("bundle", api.ActionSetRouting); len(records) != 2 || records[0].ByKind != api.ActorSystem {
			t.Errorf("audit records %+v", records)
		}
		if lines := j.of(t, alert.ShareReturned); len(lines) < 2 {
			t.Errorf("%d log records: the alert ends while the share is at 0", len(lines))
		}
		wantPosts(t, r, "share_returned")

		s.pass(time.Second)
		s.setRouting(half) // the earlier failures do not count again
		s.tickAfter(20 * time.Second)
		if v := must(s.app.Routing(s.ctx, "bundle"))(t); v.Percent != 50 || v.Returned != nil || v.Recent.Requests != 0 {
			t.Errorf("set again: %+v", v)
		}
	})
}

func TestOverdueRequestsHaveFailed(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.listen()
	s.moving(api.RoutingRequest{Percent: new(50), MinRequests: new(2), OverdueSeconds: new(60)})
	s.script["Sync"] = fails(errLost)
	s.asks("a", "a", false)
	s.asks("b", "a", false)
	s.tick()
	if v := must(s.app.Routing(s.ctx, "bundle"))(t); v.Percent != 50 || v.Recent.Requests != 0 {
		t.Fatalf("%+v, %+v", v, v.Recent)
	}
	s.tickAfter(2 * time.Minute)
	if v := must(s.app.Routing(s.ctx, "bundle"))(t); v.Percent != 0 || v.Returned == nil || v.Returned.Failed != 2 {
		t.Errorf("%+v", v)
	}
	must(s.app.SetRouting(s.ctx, ada, "bundle", "", api.RoutingRequest{Percent: new(10)}))(t)
	s.tickAfter(2 * time.Hour)
	if lines := j.of(t, alert.ShareUnused); len(lines) != 1 || lines[0]["RunbookName"] != "bundle" {
		t.Errorf("a share without requests: %v", lines)
	}
}

// TestRequestsThatNeverBeginHaveFailed: the events are not processed, so that no batch begins and none is listed.
func TestRequestsThatNeverBeginHaveFailed(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.moving(api.RoutingRequest{Shadow: new(true), Percent: new(50), MinRequests: new(2), OverdueSeconds: new(60)})
	for _, owner := range []string{"a", "b"} {
		must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: owner, Items: repositories(1, "a")}))(t)
	}
	must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "c", Items: repositories(1, "a"), Shadow: true}))(t)
	s.clock.ns.Add(int64(2 * time.Minute))
	if v := must(s.app.Routing(s.ctx, "bundle"))(t); *v.Recent != (api.ShareRequests{Requests: 2, Failed: 2}) {
		t.Errorf("%+v", v.Recent)
	}
}

// TestShadowsDoNotHideRequests: with a small share most batches are shadows of the other owners.
func TestShadowsDoNotHideRequests(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.moving(api.RoutingRequest{Shadow: new(true), Percent: new(1), MinRequests: new(2)})
	s.asks("a", "bad", false)
	s.asks("b", "bad", false)
	for i := range 250 {
		must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: fmt.Sprintf("owner-%d", i), Items: repositories(1, "a"), Shadow: true}))(t)
	}
	if v := must(s.app.Routing(s.ctx, "bundle"))(t); *v.Recent != (api.ShareRequests{Requests: 2, Failed: 2}) {
		t.Errorf("%+v", v.Recent)
	}
}

// TestTheShareReturnsOnceAtTheSameTime: of many requests for the route, of two processes, one returns it.
func TestTheShareReturnsOnceAtTheSameTime(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.moving(half)
	s.failingRequests(4, 0)
	s.pass(20 * time.Second)
	s.atOnce(8, func(i int, process *app.App) error {
		if i < 4 {
			return process.Tick(s.ctx)
		}
		_, err := process.Route(s.ctx, "bundle", "octo")
		return err
	})
	s.wantReturnedOnce("at the same time")
}

func (s *stage) wantReturnedOnce(when string) {
	s.t.Helper()
	v := must(s.app.Routing(s.ctx, "bundle"))(s.t)
	if records := s.listRunbookAudit("bundle", api.ActionSetRouting); v.Percent != 0 || v.Returned == nil || len(records) != 2 {
		s.t.Errorf("%s: %+v, %d audit records", when, v, len(records))
	}
}

// A process is killed after each write of a tick that returns the share.
func TestTheShareReturnsOnceIfAProcessIsKilled(t *testing.T) {
	t.Parallel()
	for write := 1; ; write++ {
		s := newStage(t, false)
		j, r := s.observed()
		s.moving(half)
		s.notify("all", api.NotificationRequest{}, api.EventShareReturned)
		s.failingRequests(4, 1)
		killed := s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
		for range 4 { // a delivery of the killed process is sent again after a while
			s.tickAfter(10 * time.Minute)
		}
		s.wantReturnedOnce(fmt.Sprintf("killed after write %d", write))
		if lines := j.of(t, alert.ShareReturned); len(lines) == 0 {
			t.Errorf("killed after write %d: no alert", write)
		}
		if posts := len(r.Posts()); posts < 1 {
			t.Errorf("killed after write %d: %d notifications", write, posts)
		}
		if !killed {
			break
		}
	}
}

func TestAdministratorsAndTheAutomaticReturnDoNotOverwriteEachOther(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.moving(half)
	read := must(s.app.Routing(s.ctx, "bundle"))(t)
	s.failingRequests(4, 0)
	noError(t, s.app.Tick(s.ctx))
	if _, err := s.app.SetRouting(s.ctx, ada, "bundle", "", api.RoutingRequest{Percent: new(100)}, read.ETag); problem.CodeOf(err) != api.CodeChanged {
		t.Errorf("a change of what was read before the return: %v", err)
	}
	before := s.store.Counts().Writes
	s.setRouting(api.RoutingRequest{MinRequests: new(4)})
	if n := s.store.Counts().Writes - before; n != 0 {
		t.Errorf("a request that changes nothing wrote %d times", n)
	}
	if v := s.setRouting(api.RoutingRequest{Percent: new(0)}); v.Returned != nil { // takes note
		t.Errorf("%+v", v)
	}
	for _, bad := range []api.RoutingRequest{
		{Percent: new(101)}, {Percent: new(-1)}, {MaxErrorPercent: new(101)}, {MinRequests: new(0)}, {WindowMinutes: new(1)}, {OverdueSeconds: new(0)}, {FingerprintOutput: new("")},
	} {
		if _, err := s.app.SetRouting(s.ctx, ada, "bundle", "", bad); problem.CodeOf(err) != api.CodeInvalid {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	s.publish(mover)
	if _, err := s.app.SetRouting(s.ctx, ada, "move", "", api.RoutingRequest{Percent: new(10)}); problem.CodeOf(err) != api.CodeConflict {
		t.Errorf("a runbook that requests do not start: %v", err)
	}
}

// outcomes are the counts of comparisons.
func (s *stage) outcomes() string {
	s.t.Helper()
	v := must(s.app.Comparisons(s.ctx, "bundle"))(s.t)
	return fmt.Sprintf("same %d, different %d, old %d, new %d, both %d, pending %d, differing %d", v.Same, v.Different, v.OldFailed, v.NewFailed, v.BothFailed, v.Pending, len(v.Differing))
}

func (s *stage) wantOutcomes(when, want string) {
	s.t.Helper()
	if got := s.outcomes(); got != want {
		s.t.Errorf("%s: %s, want %s", when, got, want)
	}
}

// TestShadowsAreComparedWithTheOldAnswer: once each, also if reports are repeated.
func TestShadowsAreComparedWithTheOldAnswer(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		j := s.listen()
		s.moving(api.RoutingRequest{Shadow: new(true)})
		for i, c := range []struct {
			sha    string
			old    api.ComparisonRequest
			want   string
			reason string
		}{
			{"a", api.ComparisonRequest{Fingerprint: "f1", Milliseconds: 4000}, api.ComparisonSame, ""},
			{"a", api.ComparisonRequest{Fingerprint: "f2", Milliseconds: 2000}, api.ComparisonDifferent, "the fingerprints differ"},
			{"a", api.ComparisonRequest{Error: "no", Milliseconds: 1}, api.ComparisonOldFailed, ""},
			{"bad", api.ComparisonRequest{Fingerprint: "f1"}, api.ComparisonNewFailed, "the shadow failed: no phase completed; failed: sync"},
			{"bad", api.ComparisonRequest{Error: "no"}, api.ComparisonBothFailed, ""},
		} {
			b := s.asks(fmt.Sprintf("owner-%d", i), c.sha, true)
			got := s.compares(b.ID, c.old)
			if got.Outcome != c.want || got.Reason != c.reason || got.Old.Fingerprint != c.old.Fingerprint || got.Old.Error != c.old.Error {
				t.Errorf("%+v, want %s %s", got, c.want, c.reason)
			}
			again := c.old
			again.Milliseconds++
			if repeated := s.compares(b.ID, again); repeated != got {
				t.Errorf("repeated: %+v, want %+v", repeated, got)
			}
		}
		cancelled := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "owner-9", Items: repositories(2, "a"), Shadow: true}))(t)
		s.cancel(cancelled.ID)
		s.deliverAll()
		if got := s.compares(cancelled.ID, api.ComparisonRequest{Fingerprint: "f1"}); got.Outcome != api.ComparisonCancelled || got.Reason != "the shadow was cancelled by ada" {
			t.Errorf("%+v", got)
		}
		s.wantOutcomes("all", "same 1, different 1, old 1, new 1, both 1, pending 0, differing 2")
		v := must(s.app.Comparisons(s.ctx, "bundle"))(t)
		if v.Old != (api.Latency{Requests: 2, AverageMilliseconds: 3000, MaxMilliseconds: 4000}) || v.New.Requests != 2 || v.Differing[0].Outcome != api.ComparisonNewFailed {
			t.Errorf("%+v", v)
		}
		if lines := j.of(t, alert.ShadowDiffers); len(lines) != 2 || lines[0]["Reason"] != "the fingerprints differ" {
			t.Errorf("log records %v", lines)
		}

		s.pass(time.Second)
		s.setRouting(api.RoutingRequest{Shadow: new(false)})
		s.setRouting(api.RoutingRequest{Shadow: new(true)})
		s.wantOutcomes("turned on again", "same 0, different 0, old 0, new 0, both 0, pending 0, differing 0")
	})
}

func TestBadReportsAreRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.moving(api.RoutingRequest{Shadow: new(true)})
	real, shadow := s.asks("octo", "a", false), s.asks("octo", "a", true)
	for _, c := range []struct {
		batch  int
		report api.ComparisonRequest
		want   api.Code
	}{
		{real.ID, api.ComparisonRequest{Fingerprint: "f"}, api.CodeConflict},
		{99, api.ComparisonRequest{Fingerprint: "f"}, api.CodeNotFound},
		{shadow.ID, api.ComparisonRequest{}, api.CodeInvalid},
		{shadow.ID, api.ComparisonRequest{Fingerprint: "f", Error: "e"}, api.CodeInvalid},
		{shadow.ID, api.ComparisonRequest{Fingerprint: strings.Repeat("f", 201)}, api.CodeInvalid},
		{shadow.ID, api.ComparisonRequest{Fingerprint: "f", Milliseconds: -1}, api.CodeInvalid},
	} {
		if _, err := s.app.ReportComparison(s.ctx, ada, "bundle", c.batch, c.report); problem.CodeOf(err) != c.want {
			t.Errorf("%+v: %v, want %s", c.report, err, c.want)
		}
	}
	s.setRouting(api.RoutingRequest{FingerprintOutput: new("Hash")})
	if c := s.compares(shadow.ID, api.ComparisonRequest{Fingerprint: "f1"}); c.Outcome != api.ComparisonDifferent || c.Reason != "the result of the shadow has no output Hash" {
		t.Errorf("%+v", c)
	}
}

// A report can come before the shadow has ended: a tick compares it then. A process is killed after each of
// its writes, for the report and for the tick, and does again what it did.
func TestComparisonsAreCountedOnceIfAProcessIsKilled(t *testing.T) {
	t.Parallel()
	for _, early := range []bool{false, true} {
		for write := 1; ; write++ {
			s := newStage(t, false)
			s.moving(api.RoutingRequest{Shadow: new(true)})
			request := api.PipelineRequest{Owner: "octo", Items: repositories(2, "a"), Shadow: true}
			b := must(s.app.StartPipeline(s.ctx, ada, "bundle", request))(t)
			report := func(ctx context.Context, a *app.App) error {
				_, err := a.ReportComparison(ctx, ada, "bundle", b.ID, api.ComparisonRequest{Fingerprint: "f2"})
				return err
			}
			var killed bool
			if early {
				if c := s.compares(b.ID, api.ComparisonRequest{Fingerprint: "f2"}); c.Outcome != api.ComparisonPending {
					t.Fatalf("%+v", c)
				}
				s.tick()
				s.deliverAll()
				killed = s.kill(write, func(ctx context.Context, a *app.App) error { return a.Tick(ctx) })
				s.tick()
			} else {
				s.deliverAll()
				killed = s.kill(write, report)
				noError(t, report(s.ctx, s.app))
			}
			s.wantOutcomes(fmt.Sprintf("early %v, killed after write %d", early, write), "same 0, different 1, old 0, new 0, both 0, pending 0, differing 1")
			if !killed {
				break
			}
		}
	}
}

func TestComparisonsAtTheSameTimeAreCountedOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.moving(api.RoutingRequest{Shadow: new(true)})
	var ids []int
	for i := range 4 {
		ids = append(ids, s.asks(fmt.Sprintf("owner-%d", i), "a", true).ID)
	}
	s.atOnce(16, func(i int, process *app.App) error {
		if i%5 == 4 {
			return process.Tick(s.ctx)
		}
		_, err := process.ReportComparison(s.ctx, ada, "bundle", ids[i%4], api.ComparisonRequest{Fingerprint: "f1"})
		return err
	})
	s.wantOutcomes("at the same time", "same 4, different 0, old 0, new 0, both 0, pending 0, differing 0")
}

// An expired shadow leaves its counts, and no document of its own.
func TestComparisonsGoWithTheirBatch(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.moving(api.RoutingRequest{Shadow: new(true)})
	b := s.asks("octo", "a", true)
	s.compares(b.ID, api.ComparisonRequest{Fingerprint: "f1"})
	s.tickAfter(3 * time.Hour)
	for _, d := range s.documents() {
		if d.Type == "comparison" || d.Type == "entry" {
			t.Errorf("%s is left", d.ID)
		}
	}
	s.wantOutcomes("expired", "same 1, different 0, old 0, new 0, both 0, pending 0, differing 0")
	if _, err := s.app.ReportComparison(s.ctx, ada, "bundle", b.ID, api.ComparisonRequest{Fingerprint: "f1"}); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("a report for an expired batch: %v", err)
	}
}

// TestCostOfARoutedRequest: a request costs the same whether its pipeline has a routing or not. A route is
// one read, and at most once in ten seconds one query of a pipeline with a share.
func TestCostOfARoutedRequest(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.moving(api.RoutingRequest{})
	cost := func(do func()) store.Counts {
		before := s.store.Counts()
		do()
		after := s.store.Counts()
		return store.Counts{Reads: after.Reads - before.Reads, Queries: after.Queries - before.Queries, Writes: after.Writes - before.Writes}
	}
	start := func(owner string) func() {
		return func() {
			must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: owner, Items: repositories(2, "a")}))(t)
		}
	}
	route := func() { must(s.app.Route(s.ctx, "bundle", "octo"))(t) }
	cost(start("warm-up"))
	without := cost(start("a"))
	if got := cost(route); got != (store.Counts{Reads: 2}) { // the routing, and whether there is such a pipeline
		t.Errorf("a route without a routing: %+v", got)
	}
	s.setRouting(api.RoutingRequest{Shadow: new(true), Percent: new(50)})
	if got := cost(start("b")); got != without {
		t.Errorf("a request with a routing costs %+v, without one %+v", got, without)
	}
	if got := cost(route); got != (store.Counts{Reads: 2, Queries: 1}) {
		t.Errorf("the first route: %+v", got)
	}
	if got := cost(route); got != (store.Counts{Reads: 1}) {
		t.Errorf("the next route: %+v", got)
	}
}

// TestACallerAnswersWithoutTheNewOrchestrator is the caller that docs/move-over.md shows: whatever happens to
// this program, the old orchestrator answers.
func TestACallerAnswersWithoutTheNewOrchestrator(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.moving(api.RoutingRequest{Shadow: new(true)})
	answer := func(a *app.App) string {
		route, err := a.Route(s.ctx, "bundle", "octo")
		if err == nil && route.Orchestrator == api.OrchestratorNew {
			return "new"
		}
		if err == nil && route.Shadow {
			_, _ = a.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: "octo", Items: repositories(2, "a"), Shadow: true})
		}
		return "old"
	}
	down := s.config()
	down.Store = s.over(line{before: func(operation) error { return store.ErrUnavailable }})
	for name, a := range map[string]*app.App{"in order": s.app, "without its store": app.New(down)} {
		if got := answer(a); got != "old" {
			t.Errorf("%s: %s answered", name, got)
		}
	}
}
