package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/storetest"
)

const cachedSync = `
name: bundle
trigger: request
items: {primary_key: Repository, expires: 2h}
phases:
  - name: sync
    steps:
      - name: sync
        worker_id: worker-01
        function: Sync
        params: {Name: "{{Repository}}", Batch: "{{_batch_id}}"}
        output_params: {Context: context}
        timeout: 2m
        cache: {key: "{{Repository}}@{{Sha?}}", ttl: 1h}
      - {name: note, worker_id: worker-01, function: Note, params: {Context: "{{Context}}"}}
`

// requests starts a batch of the bundle, and delivers all.
func (s *stage) requests(owner string, items int, sha string, force bool) int {
	s.t.Helper()
	b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: owner, Items: repositories(items, sha), Force: force}))(s.t)
	s.deliverAll()
	return b.ID
}

func (s *stage) wantDistinct(function string, want int, when string) {
	s.t.Helper()
	if got := s.count(function); got != want {
		s.t.Errorf("%s: %d jobs of %s, want %d", when, got, function, want)
	}
}

// stored is a run from the store.
func (s *stage) stored(batch, phase, member int) *model.Run {
	s.t.Helper()
	run := must(store.Read[model.Run](s.ctx, s.store, store.RunKey(batch, phase, member)))(s.t)
	return &run.Doc
}

func (s *stage) entries() (all []model.CacheEntry) {
	s.t.Helper()
	for part := range store.CachePartitions {
		for _, e := range must(storetest.All[model.CacheEntry](s.ctx, s.store, store.CachePartition(part), "cache"))(s.t) {
			all = append(all, e.Doc)
		}
	}
	return all
}

func cacheScript(sync worker) script {
	return script{"Sync": sync, "Note": always("true")}
}

// contextOf answers with a context of the repository and batch.
func contextOf(j message.Job) (string, error) {
	var params struct {
		Name  string
		Batch int
	}
	err := json.Unmarshal(j.Parameters, &params)
	return fmt.Sprintf(`{"context":"%s of batch %d"}`, params.Name, params.Batch), err
}

func TestTwoBatchesDoTheWorkOfAKeyOnce(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(cachedSync)
		s.script = cacheScript(fails(errLost)) // it takes long
		first, second := s.requests("octo", 3, "a", false), s.requests("hubot", 4, "a", false)
		s.wantDistinct("Sync", 4, "while the work is under way")
		if step := s.stored(second, 1, 1).Steps[0]; step.Cached == nil || step.Cached.Batch != first || step.Attempts != 0 || step.RetryAfter == nil {
			t.Errorf("the step that waits: %+v", step)
		}
		if v := s.step(second, 1, "sync"); v.Cached == nil || v.Cached.BatchID != first || v.Cached.At != nil || v.Status != api.StepPending {
			t.Errorf("the step that waits is shown as %+v", v)
		}
		for _, j := range s.jobs {
			result, _ := contextOf(j)
			s.answersJob(j, result, nil)
		}
		s.pass(3 * time.Second)
		s.wantDistinct("Sync", 4, "when it is done")
		s.wantDistinct("Note", 7, "when it is done")
		s.wantPhases(first, "sync completed 3/0/0")
		s.wantPhases(second, "sync completed 4/0/0")
		if got := string(s.step(second, 1, "note").Params); got != `{"Context":"repo-001 of batch `+fmt.Sprint(first)+`"}` {
			t.Errorf("note gets %s", got)
		}
		if step := s.stored(second, 1, 1).Steps[0]; step.Cached == nil || step.Cached.Batch != first || step.Cached.At == nil || step.Job != "" || step.Attempts != 0 {
			t.Errorf("the step from the cache: %+v", step)
		}
		if v := s.step(second, 1, "sync"); v.Cached == nil || v.Cached.StepID != s.step(first, 1, "sync").ID || v.Cached.At == nil || v.Status != api.StepSucceeded {
			t.Errorf("the step from the cache is shown as %+v", v)
		}
	})
}

func TestAResultIsUsedWithinItsTime(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(cachedSync)
		s.script = cacheScript(contextOf)
		s.requests("octo", 2, "a", false)
		s.pass(59 * time.Minute)
		second := s.requests("hubot", 2, "a", false)
		s.wantDistinct("Sync", 2, "within the time")
		s.wantPhases(second, "sync completed 2/0/0")
		s.requests("mona", 2, "b", false)
		s.wantDistinct("Sync", 4, "another key")
		s.pass(time.Minute)
		late := s.requests("lisa", 2, "a", false)
		s.wantDistinct("Sync", 6, "after the time")
		s.wantPhases(late, "sync completed 2/0/0")
	})
}

func TestAForcedRequestTakesNothingFromBefore(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(cachedSync)
		s.script = cacheScript(contextOf)
		s.requests("octo", 2, "a", false)
		s.pass(time.Second)
		forced := s.requests("octo", 2, "a", true)
		s.wantDistinct("Sync", 4, "forced")
		s.wantPhases(forced, "sync completed 2/0/0")
		after := s.requests("hubot", 2, "a", false)
		s.wantDistinct("Sync", 4, "afterwards")
		if step := s.stored(after, 1, 1).Steps[0]; step.Cached == nil || step.Cached.Batch != forced {
			t.Errorf("the result that is used afterwards: %+v", step.Cached)
		}
	})
}

func TestItemsWithoutAFingerprintAreNotCached(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(cachedSync)
		s.script = cacheScript(contextOf)
		s.requests("octo", 2, "", false)
		s.requests("hubot", 2, "", false)
		s.wantDistinct("Sync", 4, "without a fingerprint")
		if all := s.entries(); len(all) != 0 {
			t.Errorf("entries %+v", all)
		}
	})
}

func TestMembersOfABatchShareTheWork(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(strings.Replace(cachedSync, "{{Repository}}@{{Sha?}}", "{{Sha}}", 1))
		s.script = cacheScript(contextOf)
		b := s.requests("octo", 60, "a", false)
		s.pass(3 * time.Second)
		s.wantDistinct("Sync", 1, "60 members with one key")
		s.wantPhases(b, "sync completed 60/0/0")
	})
}

// TestAnotherTakesOver: what the holder of a key was to do is done by the batch that waits.
func TestAnotherTakesOver(t *testing.T) {
	for name, ends := range map[string]func(t *testing.T, s *stage, first int){
		"of a step that failed": func(_ *testing.T, s *stage, _ int) { s.answers(1, "Sync", "", errNo) },
		"of a batch that is cancelled": func(t *testing.T, s *stage, first int) {
			must(s.app.Cancel(s.ctx, ada, first, ""))(t)
			s.deliverAll()
			s.revokes()
		},
		"of a batch that is paused": func(t *testing.T, s *stage, first int) {
			must(s.app.Pause(s.ctx, ada, first, ""))(t)
			s.deliverAll()
			s.revokes()
		},
		"of a job that is lost": func(_ *testing.T, s *stage, _ int) { s.pass(3 * time.Minute); s.pass(3 * time.Minute) },
		"of a step that is skipped": func(t *testing.T, s *stage, first int) {
			v := s.step(first, 1, "sync")
			must(s.app.SkipStep(s.ctx, ada, first, v.ID, "no need"))(t)
			s.deliverAll()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.withoutStartup()
			s.publish(cachedSync)
			s.script = cacheScript(fails(errLost))
			first := s.requests("octo", 1, "a", false)
			second := s.requests("hubot", 1, "a", false)
			s.wantDistinct("Sync", 1, "at first")
			s.script = cacheScript(contextOf)
			ends(t, s, first)
			for range 3 {
				s.pass(2 * time.Minute)
			}
			s.wantDistinct("Sync", 2, "afterwards")
			s.wantPhases(second, "sync completed 1/0/0")
			if step := s.stored(second, 1, 1).Steps[0]; step.Cached != nil || step.CacheID == "" || step.Attempts != 1 {
				t.Errorf("the step that took over: %+v", step)
			}
		})
	}
}

// TestABatchDoesNotWaitForAHolderThatHasExpired: the batch of the holder is cancelled, expires and is deleted, while no process
// looks for the batch that waits, since it is paused or its message is lost.
func TestABatchDoesNotWaitForAHolderThatHasExpired(t *testing.T) {
	for name, c := range map[string]struct {
		stops, goesOn func(t *testing.T, s *stage, second int)
	}{
		"paused": {
			func(t *testing.T, s *stage, second int) {
				must(s.app.Pause(s.ctx, ada, second, ""))(t)
				s.deliverAll()
				s.revokes()
			},
			func(t *testing.T, s *stage, second int) { must(s.app.Resume(s.ctx, ada, second, ""))(t) },
		},
		"its message is lost": {
			func(_ *testing.T, s *stage, _ int) { s.park = ofType(message.TypeRetryCheck, `"BatchId":2,`) },
			func(_ *testing.T, s *stage, _ int) { s.park, s.parked = nil, nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, false)
			s.withoutStartup()
			s.publish(strings.Replace(cachedSync, "timeout: 2m", "timeout: 10h", 1))
			s.script = cacheScript(fails(errLost))
			first, second := s.requests("octo", 1, "a", false), s.requests("hubot", 1, "a", false)
			c.stops(t, s, second)
			must(s.app.Cancel(s.ctx, ada, first, ""))(t)
			s.deliverAll()
			s.revokes()
			for range 4 {
				s.tickAfter(model.TickInterval)
			}
			s.wantStatus(first, "cancelled")
			s.tickAfter(3 * time.Hour)
			if _, err := store.Read[model.Batch](s.ctx, s.store, store.BatchKey(first)); !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("the batch of the holder: %v", err)
			}
			s.wantDistinct("Sync", 1, "when the holder has expired")
			if len(s.entries()) != 1 {
				t.Fatal("the entry of the holder is gone: the test shows nothing")
			}
			s.script = cacheScript(contextOf)
			c.goesOn(t, s, second)
			for range 3 {
				s.tickAfter(model.TickInterval)
			}
			s.wantDistinct("Sync", 2, "at the end")
			s.wantPhases(second, "sync completed 1/0/0")
		})
	}
}

// TestAShadowBesideARealBatchSharesNothing: with the same items at the same time, each does its own work, and gets nothing of the
// other later. Two shadows share, as two real batches do.
func TestAShadowBesideARealBatchSharesNothing(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.publish(cachedSync)
		s.setRouting(api.RoutingRequest{Shadow: new(true)})
		s.script = cacheScript(fails(errLost))
		requests := func(owner string, shadow bool) int {
			b := must(s.app.StartPipeline(s.ctx, ada, "bundle", api.PipelineRequest{Owner: owner, Items: repositories(2, "a"), Shadow: shadow}))(t)
			s.deliverAll()
			return b.ID
		}
		shadow, real := requests("octo", true), requests("octo", false)
		s.wantDistinct("Sync", 4, "while both run")
		for _, b := range []int{shadow, real} {
			if step := s.stored(b, 1, 1).Steps[0]; step.Cached != nil || step.Attempts != 1 {
				t.Errorf("batch %d waits for the other: %+v", b, step)
			}
		}
		s.script = cacheScript(contextOf)
		for _, first := range []int{real, shadow} {
			for _, j := range s.jobsOf("Sync") {
				if j.BatchID == first {
					result, _ := contextOf(j)
					s.answersJob(j, result, nil)
				}
			}
			s.wantPhases(first, "sync completed 2/0/0")
		}
		laterShadow, later := requests("mona", true), requests("mona", false)
		s.wantDistinct("Sync", 4, "at the end")
		for b, of := range map[int]int{laterShadow: shadow, later: real} {
			s.wantPhases(b, "sync completed 2/0/0")
			if step := s.stored(b, 1, 1).Steps[0]; step.Cached == nil || step.Cached.Batch != of {
				t.Errorf("batch %d uses %+v, want batch %d", b, step.Cached, of)
			}
		}
	})
}

// TestACachedBatchSurvivesAKill: after the death of a process at any write the members of both batches
// succeed, and no work is done a third time.
func TestACachedBatchSurvivesAKill(t *testing.T) {
	for _, comesAgain := range []bool{true, false} {
		for name, parks := range map[string]func(kind, body string) bool{
			"as the page of the first batch is made":  ofType(message.TypePhaseDue, `"BatchId":1,`),
			"as the page of the second batch is made": ofType(message.TypePhaseDue, `"BatchId":2,`),
			"as the second batch waits":               ofType(message.TypeRetryCheck),
			"as the result comes":                     containing(`"JobId"`, `of batch 1`),
		} {
			if !comesAgain && name == "as the result comes" {
				continue // of a lost result the deadline is found, which is no matter of the cache
			}
			t.Run(fmt.Sprintf("%s, comes again: %t", name, comesAgain), func(t *testing.T) {
				whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
					s.publish(cachedSync)
					s.script = cacheScript(contextOf)
					s.park = parks
					if strings.Contains(name, "waits") {
						s.script = cacheScript(fails(errLost))
					}
					s.requests("octo", 1, "a", false)
					s.requests("hubot", 1, "a", false)
					s.pass(time.Second)
					if len(s.parked) == 0 {
						t.Fatal("nothing is parked")
					}
					cut := s.kill(write, s.parked[0].handle)
					if comesAgain {
						s.unpark()
					} else {
						s.park, s.parked = nil, nil
					}
					if strings.Contains(name, "waits") {
						s.answers(1, "Sync", `{"context":"of batch 1"}`, nil)
					}
					s.deliverAll()
					for range 4 {
						s.pass(time.Minute)
						s.tickAfter(model.TickInterval)
					}
					for _, b := range []int{1, 2} {
						s.wantPhases(b, "sync completed 1/0/0")
						s.wantStatus(b, "completed")
					}
					if n := s.count("Sync"); n > 2 || !cut && n != 1 {
						t.Errorf("%d jobs of Sync", n)
					}
					return cut
				})
			})
		}
	}
}

// TestTheTickDeletesEntriesThatAreOfNoUse: those stay whose run has a result to give or does the work.
func TestTheTickDeletesEntriesThatAreOfNoUse(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.publish(strings.NewReplacer("ttl: 1h", "ttl: 10m", "timeout: 2m", "timeout: 10h", "expires: 2h", "expires: 7d").Replace(cachedSync))
	s.script = cacheScript(func(j message.Job) (string, error) {
		if strings.Contains(string(j.Parameters), "repo-001") {
			return "", errLost
		}
		return contextOf(j)
	})
	s.requests("octo", 30, "a", false)
	if n := len(s.entries()); n != 30 {
		t.Fatalf("%d entries", n)
	}
	sweep := func() {
		for range store.CachePartitions {
			s.clock.ns.Add(int64(model.TickInterval))
			noError(t, s.app.Orchestrator.SweepExpired(s.ctx))
		}
	}
	sweep()
	sweep() // some had not expired when their turn came
	if all := s.entries(); len(all) != 1 || all[0].Member != 1 || !all[0].ExpiresAt.After(dawn.Add(10*time.Minute)) {
		t.Errorf("the entries that stay: %+v", all)
	}
	s.answers(1, "Sync", `{"context":"late"}`, nil)
	done := s.clock.Now()
	s.clock.ns.Add(int64(9 * time.Minute))
	second := s.requests("hubot", 1, "a", false)
	if step := s.stored(second, 1, 1).Steps[0]; step.Cached == nil || !step.Cached.At.Equal(done) {
		t.Errorf("the result of long work: %+v", step)
	}
	sweep()
	sweep()
	if all := s.entries(); len(all) != 0 {
		t.Errorf("at the end: %+v", all)
	}
}

// TestCostOfACachedStep: the work costs a read and a write more than without a cache, a result from the cache
// two reads, and a look while it waits two reads, a write and a message, and the read of the batch that each process
// makes once a second.
func TestCostOfACachedStep(t *testing.T) {
	t.Parallel()
	cachedSync := strings.Replace(cachedSync, "        timeout: 2m\n", "", 1) // whose deadline would be a message
	before, _, _ := strings.Cut(cachedSync, "        cache:")
	_, after, _ := strings.Cut(cachedSync, "      - {name: note")
	uncached := before + "      - {name: note" + after
	costs := func(yaml string, sync worker, owners ...string) (s *stage, page [4]int64) {
		s = newStage(t, false)
		m := newMeter(s)
		s.publish(yaml)
		s.script = cacheScript(sync)
		for _, owner := range owners {
			delete(m.costs, message.TypePhaseDue)
			s.requests(owner, 1, "a", false)
		}
		c := m.costs[message.TypePhaseDue]
		return s, [4]int64{c.reads, c.queries, c.writes, c.sent}
	}
	_, plain := costs(uncached, contextOf, "octo")
	for name, c := range map[string]struct {
		sync   worker
		owners []string
		more   [4]int64
	}{
		"the work":              {contextOf, []string{"octo"}, [4]int64{1, 0, 1, 0}},
		"a result of the cache": {contextOf, []string{"octo", "hubot"}, [4]int64{2, 0, 0, 0}},
		"a wait":                {fails(errLost), []string{"octo", "hubot"}, [4]int64{2, 0, 0, 0}},
	} {
		s, got := costs(cachedSync, c.sync, c.owners...)
		for i := range got {
			got[i] -= plain[i]
		}
		if got != c.more {
			t.Errorf("%s: the page costs %v reads, queries, writes and messages more, want %v", name, got, c.more)
		}
		if name == "a wait" {
			s.pass(time.Second)
			if look := s.meter.costs[message.TypeRetryCheck]; look.reads != 3 || look.queries != 0 || look.writes != 1 || look.sent != 1 {
				t.Errorf("a look costs %+v", look)
			}
		}
	}
}
