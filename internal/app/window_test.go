package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// wantBegun checks how many of the first pages of a phase have been begun.
func (s *stage) wantBegun(batch, phase, pages int) {
	s.t.Helper()
	if shards := must(s.store.Shards(s.ctx, batch, store.ShardFilter{Phase: phase}))(s.t); len(shards) != pages {
		s.t.Errorf("%d pages of phase %d are begun, want %d", len(shards), phase, pages)
	}
}

// A batch of any size has a few pages of jobs at its worker, so that one that starts
// behind it does not wait behind all of it.
func TestFanOutWaitsUntilAPageHasYielded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		yaml  string
		yield func(s *stage, member int)
	}{
		"its run ends":          {twoSteps, func(s *stage, member int) { s.answers(member, "New", "true", nil) }},
		"it waits for a retry":  {"retry: {max_retries: 1, interval: 10m}\n" + twoSteps, func(s *stage, member int) { s.answers(member, "New", "", errNo) }},
		"it polls":              {strings.Replace(twoSteps, "function: New", "function: New, poll: {interval: 10m, timeout: 5h}", 1), func(s *stage, member int) { s.answers(member, "New", unfinished, nil) }},
		"the member is removed": {twoSteps, func(s *stage, member int) { s.remove(1, member); s.answers(member, "New", "true", nil) }},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T, s *stage) {
				s.script = script{"New": fails(errLost)}
				b := s.pages(c.yaml, engine.FanOutWindow+3)
				s.advance(b.ID)
				s.wantBegun(b.ID, 1, engine.FanOutWindow)
				for member := 1; member <= 3; member++ {
					s.pass(time.Minute)
					s.tick() // which is no reason to go on
					s.wantBegun(b.ID, 1, engine.FanOutWindow+member-1)
					c.yield(s, member)
					s.wantBegun(b.ID, 1, engine.FanOutWindow+member)
				}
				for _, p := range s.phases(b.ID) {
					if p.Name == "first" && p.Status != "dispatched" {
						t.Errorf("the phase is %s", p.Status)
					}
				}
				s.finish(b.ID)
			})
		})
	}
}

// finish cancels a batch that a test is done with, so that nothing of it is left over.
func (s *stage) finish(batch int) {
	s.t.Helper()
	s.cancel(batch)
	s.revokes()
	s.pass(15 * time.Second)
	s.wantStatus(batch, "cancelled")
}

// Yields that come together, or before the last page is begun, leave no page out.
func TestFanOutComesToEveryPage(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		b := s.pages(twoSteps, 4*engine.FanOutWindow)
		s.advance(b.ID)
		s.wantPhases(b.ID, "first completed 12/0/0, second pending 0/0/0")
		s.advance(b.ID)
		s.wantStatus(b.ID, "completed")
	})
}

// Members who are still in an earlier phase do not hold the fan-out of a later one up.
func TestFanOutDoesNotWaitForAnEarlierPhase(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"A": always(unfinished)}
		yaml := strings.Replace(overlapping, "function: A", "function: A, poll: {interval: 10m, timeout: 5h}", 1)
		s.publish(yaml)
		const id = 100
		s.schedule(id, yaml, (engine.FanOutWindow+2)*model.PageSize, dawn)
		s.wantBegun(id, 3, engine.FanOutWindow+2)
		s.finish(id)
	})
}

func TestFanOutGoesOnWhereverItIsCut(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"New": fails(errLost)}
		b := s.pages(twoSteps, engine.FanOutWindow+1)
		s.advance(b.ID)
		first := s.jobs[slices.IndexFunc(s.jobs, func(j message.Job) bool { return who(j) == 1 })]
		s.script = script{}
		body := must(json.Marshal(message.Result{JobID: first.JobID, Status: message.StatusFailure, Error: &message.JobError{Message: "no"}, CorrelationData: first.CorrelationData}))(t)
		result := message.Delivery{ID: first.JobID, Body: body, DeliveryCount: 1}
		cut := s.kill(write, func(ctx context.Context, a *app.App) error { return a.HandleResult(ctx, result) })
		noError(t, s.app.HandleResult(s.ctx, result)) // the broker delivers it again
		s.deliverAll()
		s.wantCalls(4, "New Join")
		s.wantBegun(b.ID, 1, engine.FanOutWindow+1)
		for member := 2; member <= 3; member++ {
			s.answers(member, "New", "true", nil)
		}
		s.wantPhases(b.ID, "first completed 3/1/0, second pending 0/0/0")
		return cut
	})
}

// A stored page whose jobs were not sent does not wait for another page to yield: no other
// message sends them.
func TestTickSendsThePageThatWasCutShortWhileTheFanOutWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.script = script{"New": fails(errLost)}
	b := s.pages(twoSteps, engine.FanOutWindow+2)
	announced := 0
	s.park = func(kind, _ string) bool {
		if kind == message.TypePhaseDue {
			announced++
		}
		return announced == engine.FanOutWindow
	}
	s.advance(b.ID)
	last := s.parked[0]
	s.parked, s.park = nil, nil // the broker gives it up
	if !s.kill(1, last.handle) {
		t.Fatal("the process did not die")
	}
	s.wantBegun(b.ID, 1, engine.FanOutWindow)
	s.wantCalls(engine.FanOutWindow, "")
	s.tickAfter(model.TickInterval)
	s.wantCalls(engine.FanOutWindow, "New")
	s.wantBegun(b.ID, 1, engine.FanOutWindow)
	s.finish(b.ID)
	s.verify()
}

// A retried member joins the page of a phase under way and no longer counts there, so
// the page may yield.
func TestRetryThatMakesAPageYieldAnnouncesTheNext(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": only(fails(errNo), 2), "Check": fails(errLost)}
		b := s.createBatch(twoSteps, people(2))
		for page := 2; page <= engine.FanOutWindow+2; page++ {
			s.add(b.ID, fmt.Sprintf("page%d@x", page))
		}
		s.advance(b.ID)
		s.advance(b.ID)
		s.wantBegun(b.ID, 2, engine.FanOutWindow)
		delete(s.script, "New")
		s.retry(b.ID, api.Selection{})
		s.wantCalls(2, "New New Join Check")
		s.wantBegun(b.ID, 2, engine.FanOutWindow+1)
		s.finish(b.ID)
	})
}

// controls are the messages of the topic that workers peek at.
func (s *stage) controls() []message.Control {
	s.t.Helper()
	receiver := must(s.bus.Receiver(message.TopicWorkerControl, message.WorkerSubscription("worker-01")))(s.t)
	defer receiver.Close(context.Background())
	sent := must(receiver.Peek(s.ctx, 0, 100))(s.t)
	var all []message.Control
	for _, m := range sent {
		var c message.Control
		noError(s.t, json.Unmarshal(m.Body, &c))
		all = append(all, c)
	}
	return all
}

func TestPauseAndCancelAreSentToTheWorkers(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(twoSteps, people(1))
		s.pause(b.ID)
		s.pause(b.ID) // again
		job, paused := s.jobs[0], s.controls()
		if len(paused) == 0 || slices.ContainsFunc(paused, func(c message.Control) bool {
			return c.BatchID != b.ID || !c.Revokes(job) || c.RevokedThrough.After(s.clock.Now().Add(10*time.Second))
		}) {
			t.Fatalf("controls after a pause: %+v", paused)
		}
		s.revokes()
		s.wantSteps(b.ID, 1, "new pending, join pending")
		s.pass(time.Hour + 2*model.TickInterval) // the sweep repeats the revocation for an hour
		s.resume(b.ID)
		s.wantCalls(1, "New New")
		again := s.jobs[len(s.jobs)-1]
		resumed := s.controls()
		if slices.ContainsFunc(resumed, func(c message.Control) bool { return c.Revokes(again) }) || again.EffectID != job.EffectID || again.JobID == job.JobID {
			t.Fatalf("after the resume %+v is dispatched, with controls %+v", again, resumed)
		}
		s.cancel(b.ID)
		cancelled := s.controls()[len(resumed):]
		if len(cancelled) == 0 || slices.ContainsFunc(cancelled, func(c message.Control) bool {
			return c.BatchID != b.ID || !c.Revokes(again) || c.RevokedThrough.After(s.clock.Now().Add(10*time.Second))
		}) {
			t.Fatalf("controls after a cancellation: %+v", cancelled)
		}
		s.revokes()
		s.pass(5 * time.Second)
		s.wantStatus(b.ID, "cancelled")
	})
}

func TestPauseIsSentToTheWorkersWhereverItIsCut(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		s.script = script{"New": fails(errLost)}
		b := s.startBatch(twoSteps, people(1))
		cut := s.kill(write, func(ctx context.Context, a *app.App) error {
			return errorOf(a.Pause(ctx, ada, b.ID, ""))
		})
		paused := s.modeOf(b.ID) == model.Paused
		s.tickAfter(time.Minute)
		if all := s.controls(); paused != (len(all) > 0) {
			t.Errorf("the batch is paused %t, and the workers have %+v", paused, all)
		}
		s.finish(b.ID)
		return cut
	})
}

func (s *stage) modeOf(batch int) model.DispatchMode {
	s.t.Helper()
	b := must(store.Read[model.Batch](s.ctx, s.store, store.BatchKey(batch)))(s.t)
	return b.Doc.DispatchMode()
}

// An announcement of a page that is on its way is not lost.
func TestFanOutIsNotStuckWhenItsWindowHasJustOpened(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	log := s.listen()
	s.script = script{"New": fails(errLost)}
	b := s.pages(twoSteps, engine.FanOutWindow+2)
	s.advance(b.ID)
	s.pass(10 * time.Minute)
	s.park = ofType(message.TypePhaseDue)
	s.answers(1, "New", "true", nil)
	s.wantStuck(log)
	s.deliverAll()
	if len(s.parked) != 1 {
		t.Errorf("the page is announced %d times, want once", len(s.parked))
	}
	s.pass(model.TickInterval) // by then the announcement is lost
	s.wantStuck(log, "batch 1 of two: 1 for 300s, silent <nil>")
	s.unpark()
	s.wantBegun(b.ID, 1, engine.FanOutWindow+1)
	s.finish(b.ID)
	s.verify()
}

// Else the fan-out would stand still until the next tick.
func TestPageWhoseAnnouncementIsLostIsAnnouncedByThePageThatYieldsNext(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": fails(errLost)}
		b := s.pages(twoSteps, engine.FanOutWindow+3)
		s.advance(b.ID)
		s.park = ofType(message.TypePhaseDue)
		s.answers(1, "New", "true", nil)
		s.park, s.parked = nil, nil // lost
		s.wantBegun(b.ID, 1, engine.FanOutWindow)
		s.answers(2, "New", "true", nil)
		s.wantBegun(b.ID, 1, engine.FanOutWindow+2)
		s.finish(b.ID)
	})
}

// If the process that pauses or cancels a batch dies, the next one that loads the batch
// notifies the workers: it need not be the tick.
func TestCancelIsSentToTheWorkersByTheProcessThatSeesIt(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(ctx context.Context, a *app.App, batch int) error{
		"pause": func(ctx context.Context, a *app.App, batch int) error {
			return errorOf(a.Pause(ctx, ada, batch, ""))
		},
		"cancel": func(ctx context.Context, a *app.App, batch int) error {
			return errorOf(a.Cancel(ctx, ada, batch, ""))
		},
	} {
		t.Run(name, func(t *testing.T) {
			whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
				s.script = script{"New": fails(errLost)}
				b := s.startBatch(twoSteps, people(2))
				cut := s.kill(write, func(ctx context.Context, a *app.App) error { return stop(ctx, a, b.ID) })
				stopped := s.modeOf(b.ID) != model.Running
				s.pass(2 * time.Second) // until a process asks again whether the batch is open
				s.answers(1, "New", "true", nil)
				all := s.controls()
				if stopped != (len(all) > 0) {
					t.Errorf("the batch is stopped %t, and the workers have %+v", stopped, all)
				}
				for _, j := range s.jobs {
					if stopped && !all[len(all)-1].Revokes(j) {
						t.Errorf("%+v does not revoke a job that was dispatched at %s", all, j.DispatchedAt)
					}
				}
				s.finish(b.ID)
				return cut
			})
		})
	}
}

// It takes a while until the cancellation is stored, and other processes dispatch jobs in
// that time. Then the process dies before it tells the workers.
func TestTickRevokesWhatWasDispatchedUntilTheCancellationWasStored(t *testing.T) {
	t.Parallel()
	s := newStage(t, false, azure)
	s.script = script{"New": fails(errLost)}
	b := s.startBatch(twoSteps, people(1))
	asked := s.clock.Now()
	remove := s.cosmos.Inject(cosmos.Fault{On: []cosmos.Operation{cosmos.Batch}, Count: 1, Match: func(cosmos.Request) bool {
		s.clock.ns.Add(int64(20 * time.Second))
		return false
	}})
	if !s.kill(1, func(ctx context.Context, a *app.App) error { return errorOf(a.Cancel(ctx, ada, b.ID, "")) }) {
		t.Fatal("the process did not die")
	}
	remove()
	stored := s.clock.Now()
	if !stored.After(asked) {
		t.Fatal("no time has passed")
	}
	s.tickAfter(3 * time.Minute)
	if all := s.controls(); len(all) == 0 || all[0].RevokedThrough.Before(stored) {
		t.Errorf("controls %+v; the cancellation was stored at %s", all, stored)
	}
	s.finish(b.ID)
	s.verify()
}

// The effect id is the same for each attempt, and another after an
// administrator restarts the step.
func TestEffectIDOutlivesTheJob(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		s.script = script{"New": inTurn(fails(errNo), fails(errNo), always("true"))}
		b := s.startBatch("retry: {max_retries: 1, interval: 1s}\n"+twoSteps, people(1))
		s.pass(time.Second)
		s.wantMember(b.ID, 1, "failed")
		s.retry(b.ID, api.Selection{})
		s.wantCalls(1, "New New New Join")
		var effects []string
		for _, j := range s.jobs {
			if j.FunctionName == "New" && !slices.Contains(effects, j.EffectID) {
				effects = append(effects, j.EffectID)
			}
		}
		if want := []string{"1/10000001000/1", "1/10000001000/2"}; !slices.Equal(effects, want) {
			t.Errorf("effects %q, want %q", effects, want)
		}
	})
}

// joinsWhilePaused creates a batch whose first member has completed a phase, and pages of
// one late member each that catch up when it resumes.
func (s *stage) joinsWhilePaused(pages int) int {
	s.t.Helper()
	b := s.startBatch(twoSteps, people(1))
	s.pause(b.ID)
	for page := range pages {
		s.add(b.ID, fmt.Sprintf("late%d@x", page))
	}
	return b.ID
}

func TestEveryLatePageCatchesUp(t *testing.T) {
	play(t, func(t *testing.T, s *stage) {
		const pages = 3 * engine.FanOutWindow
		id := s.joinsWhilePaused(pages)
		s.resume(id)
		s.wantPhases(id, fmt.Sprintf("first completed %d/0/0, second pending 0/0/0", pages+1))
	})
}

func TestEveryLatePageCatchesUpWhereverItIsCut(t *testing.T) {
	whereverItIsCut(t, func(t *testing.T, s *stage, write int) bool {
		const pages = engine.FanOutWindow + 1
		id := s.joinsWhilePaused(pages)
		s.park = ofType(message.TypeMemberAdded)
		s.resume(id)
		joins := s.parked
		s.parked, s.park = nil, nil
		slices.SortFunc(joins, func(p, q past) int { return strings.Compare(p.m.ID, q.m.ID) })
		s.give(joins[pages-1]) // which has to wait until one of the others has caught up
		cut := s.kill(write, joins[0].handle)
		for _, join := range joins[:pages-1] { // the broker delivers the first again
			s.give(join)
		}
		s.deliverAll()
		s.wantPhases(id, fmt.Sprintf("first completed %d/0/0, second pending 0/0/0", pages+1))
		return cut
	})
}

// A tick begins no second resumption beside one that is under way.
func TestTickLeavesAResumptionThatIsUnderWay(t *testing.T) {
	t.Parallel()
	m := newMaking(t)
	const large = 8 * model.PageSize
	m.publish("name: large\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: only\n    offset: T-0\n    steps:\n" +
		"      - {name: one, worker_id: worker-01, function: large, poll: {interval: 10m, timeout: 50h}}\n")
	m.script = script{"large": always(unfinished)}
	b := m.begins("large", large)
	m.serveAll()
	must(m.app.Pause(m.ctx, ada, b, ""))(t)
	m.clock.ns.Add(int64(time.Hour))
	m.deliver()
	must(m.app.Resume(m.ctx, ada, b, ""))(t)
	m.deliver(message.TopicOrchestratorEvents)
	for range 5 { // the worker is slow
		m.clock.ns.Add(int64(model.TickInterval))
		noError(t, m.app.Tick(m.ctx))
		m.deliver(message.TopicOrchestratorEvents)
	}
	queued := 0
	for _, l := range m.queue.letters {
		if l.Topic == message.TopicWorkerJobs {
			queued++
		}
	}
	if most := (engine.FanOutWindow + 1) * model.PageSize; queued > most {
		t.Errorf("%d jobs are queued after the ticks, more than %d", queued, most)
	}
	m.script = nil
	for range 5 {
		m.clock.ns.Add(int64(model.TickInterval))
		noError(t, m.app.Tick(m.ctx))
		m.serveAll()
	}
	if got := m.phases(b)[0].Succeeded; got != large {
		t.Errorf("%d members have succeeded, not %d", got, large)
	}
}

const parallelism = 8

// rounds lets a worker take its jobs eight at a time, in their order, until a batch has
// completed, and counts how often it does.
func (m *making) rounds(batch int) int {
	m.t.Helper()
	for n := 0; ; n++ {
		m.deliver(message.TopicOrchestratorEvents, message.TopicWorkerResults)
		if view := must(m.app.Batch(m.ctx, ada, batch))(m.t); view.Status == "completed" {
			return n
		}
		m.serve()
	}
}

// serve lets a worker take eight jobs, and reports whether there was one.
func (m *making) serve() bool {
	m.t.Helper()
	m.clock.ns.Add(int64(time.Second))
	for i := range parallelism {
		l, ok := m.queue.next(message.TopicWorkerJobs)
		if !ok {
			return i > 0
		}
		var j message.Job
		noError(m.t, json.Unmarshal(l.Body, &j))
		result, err := "true", error(nil)
		if f := m.script[j.FunctionName]; f != nil {
			result, err = f(j)
		}
		if !errors.Is(err, errLost) {
			noError(m.t, m.answer(j, result, err))
		}
	}
	return true
}

// serveAll lets a worker take jobs until there is none.
func (m *making) serveAll() {
	m.t.Helper()
	for {
		m.deliver(message.TopicOrchestratorEvents, message.TopicWorkerResults)
		if !m.serve() {
			return
		}
	}
}

// begins creates a batch of members with names of their own, and begins its phase.
func (m *making) begins(name string, members int) int {
	m.t.Helper()
	b := m.batch(name, strings.ReplaceAll(people(members), "\np", "\n"+name))
	must(m.app.Advance(m.ctx, ada, b.ID, "only"))(m.t)
	return b.ID
}

// The worker runs its jobs in the order of sending. A batch that starts behind a large
// one completes within ten times the rounds that it takes alone.
func TestSmallBatchDoesNotWaitBehindALargeOne(t *testing.T) {
	t.Parallel()
	const large = 12 * model.PageSize
	const yaml = "name: NAME\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: only\n    offset: T-0\n    steps:\n" +
		"      - {name: one, worker_id: worker-01, function: NAME, poll: {interval: 10m, timeout: 5h}}\n"
	publish := func(m *making, name string) { m.publish(strings.ReplaceAll(yaml, "NAME", name)) }
	alone := newMaking(t)
	publish(alone, "small")
	took := alone.rounds(alone.begins("small", 25))

	for name, begin := range map[string]func(m *making) (batch int){
		"that begins a phase": func(m *making) int { return m.begins("large", large) },
		"whose failed members are retried": func(m *making) int {
			m.script = script{"large": fails(errNo)}
			b := m.begins("large", large)
			m.serveAll()
			m.script = nil
			must(m.app.Repair(m.ctx, ada, b, api.Repair{Selection: api.Selection{}}))(t)
			return b
		},
		"whose failed members follow the active version": func(m *making) int {
			m.script = script{"large": fails(errNo)}
			b := m.begins("large", large)
			m.serveAll()
			m.script = nil
			m.publish(strings.ReplaceAll(yaml, "NAME", "large") + "# corrected\n")
			must(m.app.Repair(m.ctx, ada, b, api.Repair{Version: api.VersionActive}))(t)
			return b
		},
		"whose failed steps are skipped": func(m *making) int {
			m.publish(strings.ReplaceAll(yaml, "NAME", "large") + "      - {name: two, worker_id: worker-01, function: next}\n")
			m.script = script{"large": fails(errNo)}
			b := m.begins("large", large)
			m.serveAll()
			m.script = nil
			must(m.app.Repair(m.ctx, ada, b, api.Repair{Action: api.RepairSkip, Reason: "there is nothing to do"}))(t)
			return b
		},
		"whose members were added late": func(m *making) int {
			m.script = script{"large": only(fails(errLost), 1)} // or the batch ends
			b := m.begins("large", 1)
			m.serveAll()
			must(m.app.AddMembers(m.ctx, ada, b, []byte(strings.ReplaceAll(people(large), "\np", "\nlate"))))(t)
			return b
		},
		"that is resumed": func(m *making) int {
			m.script = script{"large": always(unfinished)}
			b := m.begins("large", large)
			m.serveAll()
			must(m.app.Pause(m.ctx, ada, b, ""))(t)
			m.clock.ns.Add(int64(time.Hour))
			m.deliver()
			m.script = nil
			must(m.app.Resume(m.ctx, ada, b, ""))(t)
			return b
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMaking(t)
			publish(m, "small")
			publish(m, "large")
			b := begin(m)
			for range 10 { // it is well under way
				m.deliver(message.TopicOrchestratorEvents, message.TopicWorkerResults)
				m.serve()
			}
			if got := m.rounds(m.begins("small", 25)); got > 10*took {
				t.Errorf("behind the large batch the small one took %d rounds, more than ten times %d", got, took)
			} else {
				t.Logf("alone %d rounds, behind the large batch %d", took, got)
			}
			if view := m.batchOf(b); view.Status != "active" {
				t.Errorf("the large batch is %s: it was too small for this", view.Status)
			}
			for range 60 { // nothing of the large batch is left out
				m.clock.ns.Add(int64(time.Minute))
				m.serveAll()
			}
			if got := m.phases(b)[0].Succeeded; got != large {
				t.Errorf("%d members of the large batch have succeeded, not %d", got, large)
			}
		})
	}
}

// Members who poll keep their worker busy as long as they poll: a phase begins no more of
// them than the worker keeps up with, or each poll would wait for those of all others, and
// so would a small batch.
func TestSmallBatchDoesNotWaitBehindPolls(t *testing.T) {
	t.Parallel()
	const large = 20 * model.PageSize // the worker keeps up with 240: eight jobs a second, each again after 30 seconds
	const yaml = "name: NAME\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: only\n    offset: T-0\n    steps:\n" +
		"      - {name: one, worker_id: worker-01, function: NAME, poll: {interval: 30s, timeout: 50h}}\n"
	publish := func(m *making, name string) { m.publish(strings.ReplaceAll(yaml, "NAME", name)) }
	alone := newMaking(t)
	publish(alone, "small")
	took := alone.rounds(alone.begins("small", 25))

	m := newMaking(t)
	publish(m, "small")
	publish(m, "large")
	m.script = script{"large": always(unfinished)}
	b := m.begins("large", large)
	for round := range 200 {
		m.deliver(message.TopicOrchestratorEvents, message.TopicWorkerResults)
		if round > 150 { // a page waits already: the tick announces it no second time
			noError(t, m.app.Tick(m.ctx))
		}
		m.serve()
	}
	if got := m.rounds(m.begins("small", 25)); got > 10*took {
		t.Errorf("behind the polls the small batch took %d rounds, more than ten times %d", got, took)
	} else {
		t.Logf("alone %d rounds, behind the polls %d", took, got)
	}
	shards := must(m.store.Shards(m.ctx, b, store.ShardFilter{Phase: 1}))(t)
	if begun := len(shards) * model.PageSize; begun < 240 {
		t.Errorf("%d members are begun, fewer than the worker keeps up with", begun)
	} else {
		t.Logf("%d members of %d are begun", begun, large)
	}
	waiting := len(m.queue.letters)
	m.queue.letters = slices.DeleteFunc(m.queue.letters, func(l letter) bool { return l.Properties[message.PropertyMessageType] == message.TypePhaseDue })
	if lost := waiting - len(m.queue.letters); lost != 1 {
		t.Errorf("the page that waits is announced %d times, want once", lost)
	}
	m.script = nil
	for range 60 { // nothing of the large batch is left out: the tick announces the page again
		m.clock.ns.Add(int64(time.Minute))
		noError(t, m.app.Tick(m.ctx))
		m.serveAll()
	}
	if got := m.phases(b)[0].Succeeded; got != large {
		t.Errorf("%d members of the large batch have succeeded, not %d", got, large)
	}
}
