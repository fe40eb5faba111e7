package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// starting gives the stage processes that look at the subscriptions. A worker may take ten minutes
// to start, which is the default.
func (s *stage) starting() *journal {
	j := &journal{}
	process := func() *app.App {
		return app.New(app.Config{Store: s.store, Bus: s.bus, Waiting: s.bus, Now: s.clock.Now, Log: j.log(), Sources: s.sources(), Artifacts: s.artifacts})
	}
	s.app, s.other, s.log = process(), process(), j.log()
	return j
}

func (s *stage) wantWaits(id int, want ...string) {
	s.t.Helper()
	var got []string
	for _, w := range s.batchOf(id).WaitsFor {
		got = append(got, fmt.Sprintf("%s %s: %s; %d", w.WorkerID, w.State, w.Reason, w.JobsQueued))
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("the batch waits for %q, want %q", got, want)
	}
}

func TestBatchSaysWhichWorkerItWaitsFor(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.starting()
		s.script = script{"Do": fails(errLost)}
		b := s.createBatch(oneStep(", timeout: 1h"), people(45))
		s.wantWaits(b.ID)
		s.advance(b.ID)
		s.wantWaits(b.ID) // the worker may be about to answer
		s.pass(time.Minute)
		s.wantWaits(b.ID, "worker-01 scaled_to_zero: starting, until 2026-03-01T09:10:00Z at most; 45")
		r := s.replica("r1")
		r.beat()
		s.wantWaits(b.ID)
		r.takes(8)
		until := dawn.Add(5 * time.Minute)
		r.ThrottledUntil = &until
		s.pass(time.Second)
		r.beat()
		s.wantWaits(b.ID, "worker-01 alive: throttled until 2026-03-01T09:05:00Z; 37")
		if v := s.worker("worker-01"); v.State != api.WorkerAlive || v.JobsQueued != 37 || v.JobsInFlight != 8 || !v.ThrottledUntil.Equal(until) || !v.OldestQueuedAt.Equal(dawn) {
			t.Fatalf("%+v", v)
		}
		s.pass(2 * time.Minute)
		s.wantWaits(b.ID, "worker-01 gone: last seen at 2026-03-01T09:01:01Z; 45")
		r.ThrottledUntil = nil
		r.beat()
		for _, j := range slices.Clone(s.jobs) {
			s.answersJob(j, "true", nil)
		}
		s.wantWaits(b.ID)
		s.wantStatus(b.ID, "completed")
	})
}

func TestStepShowsWhoHasItsJob(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"Do": fails(errLost)}
		b := s.startBatch(oneStep(", timeout: 1h, retry: {max_retries: 1, interval: 10m}, poll: {interval: 10m, timeout: 5h}"), people(5))
		r := s.replica("r1")
		r.takes(2)
		r.beat()
		s.answersJob(s.jobs[2], "", errNo)
		s.answersJob(s.jobs[3], unfinished, nil)
		got := func(statuses string) string {
			t.Helper()
			var o api.ListOptions
			if statuses != "" {
				o.Statuses = strings.Split(statuses, ",")
			}
			page := must(s.app.Steps(s.ctx, reader, b.ID, o))(t)
			var all []string
			for _, v := range page.Items {
				all = append(all, fmt.Sprintf("%d:%s", v.MemberID, v.Status))
			}
			slices.Sort(all)
			return strings.Join(all, " ")
		}
		want := map[int]string{who(s.jobs[0]): "at_worker", who(s.jobs[1]): "at_worker", who(s.jobs[2]): "waiting_for_retry", who(s.jobs[3]): "polling", who(s.jobs[4]): "queued"}
		filtered := map[string][]string{"": nil, "pending": nil, "failed": nil}
		for member, status := range want {
			one := fmt.Sprintf("%d:%s", member, status)
			filtered[""], filtered[status] = append(filtered[""], one), append(filtered[status], one)
		}
		for _, both := range [][]string{{"at_worker", "waiting_for_retry"}, {"queued", "polling"}, {"failed", "waiting_for_retry"}} {
			filtered[strings.Join(both, ",")] = slices.Concat(filtered[both[0]], filtered[both[1]])
		}
		for status, all := range filtered {
			slices.Sort(all)
			if got := got(status); got != strings.Join(all, " ") {
				t.Errorf("steps that are %q: %s, want %s", status, got, all)
			}
		}
	})
}

// A job that is sent into the queue of a worker that was scaled to zero.
func TestJobOfAWorkerThatMayBeStartingDoesNotFail(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.starting()
		s.script = script{"Do": fails(errLost)}
		s.publish(oneStep(", timeout: 1m"))
		r := s.replica("r1")
		r.Stopping = true
		r.beat()
		s.pass(time.Hour)
		b := s.batch("one", people(2))
		s.advance(b.ID)
		for range 9 {
			s.pass(time.Minute)
		}
		s.wantPhases(b.ID, "only dispatched 0/0/0+2")
		for range 3 {
			s.pass(time.Minute)
		}
		s.wantPhases(b.ID, "only failed 0/2/0")
		if m := s.member(b.ID, 1); !strings.Contains(m.Error, "no result within 1m0s: worker worker-01 was last seen at 2026-03-01T09:00:00Z") {
			t.Errorf("error: %s", m.Error)
		}
	})
}

// A worker id without a subscription: the broker drops its jobs.
func TestMissingSubscriptionIsNamed(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.listen()
	b := s.startBatch(strings.Replace(oneStep(", timeout: 1m"), "worker_id: worker-01", "worker_id: worker-99", 1), people(1))
	s.pass(9 * time.Minute)
	s.wantPhases(b.ID, "only dispatched 0/0/0+1")
	s.pass(2 * time.Minute)
	s.wantPhases(b.ID, "only failed 0/1/0")
	if _, err := s.app.Worker(s.ctx, "worker-99"); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("no job waits for worker-99, and it is shown: %v", err)
	}
	const want = "worker worker-99 was never seen; subscription worker-worker-99 of topic worker-jobs is missing"
	if m := s.member(b.ID, 1); !strings.Contains(m.Error, want) {
		t.Errorf("error: %s", m.Error)
	}
}

// The list of workers contains a worker that was never seen while jobs wait for it, sorted by
// id on every page size.
func TestWorkerThatWasNeverSeenIsShownWhileJobsWait(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.starting()
	s.announce(catalogOf("worker-01", dawn, "Do"), catalogOf("worker-aa", dawn, "Do"))
	s.publish(strings.Replace(oneStep(", timeout: 2h"), "worker_id: worker-01", "worker_id: worker-99", 1))
	since := s.clock.Now()
	s.advance(s.batch("one", people(3)).ID)
	s.pass(11 * time.Minute)
	w := must(s.app.Worker(s.ctx, "worker-99"))(t)
	if w.ID != "worker-99" || w.State != api.WorkerGone || w.LastSeenAt != nil || w.JobsQueued != 3 || w.OldestQueuedAt == nil || !w.OldestQueuedAt.Equal(since) ||
		w.Problem != "subscription worker-worker-99 of topic worker-jobs is missing" {
		t.Errorf("%+v", w)
	}
	list := func(o api.ListOptions) (api.Page[api.Worker], error) { return s.app.Workers(s.ctx, o) }
	line := func(v api.Worker) string { return fmt.Sprintf("%s:%s:%d", v.ID, v.State, v.JobsQueued) }
	if got := pages(s, api.ListOptions{}, list, line); got != "worker-01:scaled_to_zero:0 worker-99:gone:3 worker-aa:scaled_to_zero:0" {
		t.Errorf("listed: %s", got)
	}
	if _, err := s.app.Workers(s.ctx, api.ListOptions{Continuation: "no token"}); problem.CodeOf(err) != api.CodeInvalid {
		t.Errorf("a wrong continuation: %v", err)
	}
	if _, err := s.app.Worker(s.ctx, "worker-98"); problem.CodeOf(err) != api.CodeNotFound {
		t.Errorf("nobody knows worker-98: %v", err)
	}
}

func TestGoneWorkerIsReportedAndOneScaledToZeroIsNot(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	j := s.starting()
	s.script = script{"Do": fails(errLost)}
	s.publish(oneStep(", timeout: 2h"))
	r := s.replica("r1")
	expires := dawn.Add(15 * day)
	r.CredentialExpiresAt, r.Stopping = &expires, true
	r.beat()
	s.tickAfter(10 * time.Minute)
	s.wantEvents(j, alert.WorkerGone, 0)
	s.advance(s.batch("one", people(3)).ID)
	s.tickAfter(9 * time.Minute)
	s.wantEvents(j, alert.WorkerGone, 0)
	s.wantEvents(j, alert.CredentialExpiring, 0)
	s.tickAfter(2 * time.Minute)
	line := s.wantEvents(j, alert.WorkerGone, 1)[0]
	if line["WorkerId"] != "worker-01" || line["Jobs"] != 3.0 || line["OldestSeconds"] != 660.0 || line["Reason"] != "worker worker-01 was last seen at 2026-03-01T09:00:00Z" {
		t.Errorf("%v", line)
	}
	next := s.replica("r2")
	soon := dawn.Add(10 * day)
	next.CredentialExpiresAt = &soon
	next.beat()
	s.tick()
	s.wantEvents(j, alert.WorkerGone, 1)
	if line := s.wantEvents(j, alert.CredentialExpiring, 1)[0]; line["WorkerId"] != "worker-01" || line["ExpiresAt"] != "2026-03-11T09:00:00Z" {
		t.Errorf("%v", line)
	}
}

func TestPublishWarnsOfAWorkerThatHasNotAnnouncedItself(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	warnings := func() (all []string) {
		t.Helper()
		view := must(s.app.PublishRunbook(s.ctx, ada, "", []byte(oneStep("")), api.PublishOptions{DryRun: true}))(t)
		for _, d := range view.Warnings {
			all = append(all, d.Code+": "+d.Message)
		}
		return all
	}
	if got := warnings(); len(got) != 1 || !strings.HasPrefix(got[0], `unknown-worker: no worker "worker-01" has announced itself; until one does`) {
		t.Errorf("while no worker is known: %q", got)
	}
	s.replica("r1").beat()
	if got := warnings(); len(got) != 1 || got[0] != `unknown-worker: the worker "worker-01" has not announced its functions; its steps cannot be checked, and the values of its secret parameters are visible until it announces them, unless secret lists their columns` {
		t.Errorf("after a heartbeat: %q", got)
	}
	s.announce(catalogOf("worker-01", dawn, "Do"))
	if got := warnings(); len(got) != 0 {
		t.Errorf("after its announcement: %q", got)
	}
}
