package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/artifact"
	memoryartifacts "github.com/matoolkit/matoolkit/internal/artifact/memory"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/datasource/database"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store/memory"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// world is the app over a broker and a store, with this test in the place of the
// Functions host and of the worker.
type world struct {
	t      testing.TB
	ctx    context.Context
	app    *app.App
	store  documentStore
	over   func(line) documentStore // the same store over another line
	broker broker
	bus    *countedBus
	cosmos *cosmos.Server              // nil where the drivers are those in memory
	hook   atomic.Pointer[memory.Hook] // of the store in memory; see disturb
	now    func() time.Time            // nil: the real time

	throttled atomic.Int64 // queries of the source that asks for a pause

	env     map[string]string // of the processes: what the runbooks' data sources are
	allowed []string          // the settings that runbooks may name

	artifacts artifact.Store // of outputs

	mu   sync.Mutex
	jobs []message.Job // in the order they were taken
}

// ada and grace are administrators. reader looks at members, apart from what a test is about.
var (
	ada    = audit.Caller{Name: "ada"}
	grace  = audit.Caller{Name: "grace"}
	reader = audit.Caller{Name: "reader"}
)

// worker answers a job: a result as JSON, or an error.
type worker = testenv.Answer

// errLost is the answer to a job of which nothing is heard, at least not for now.
var errLost = testenv.ErrNoAnswer

func newWorld(t testing.TB, on ...drivers) *world {
	t.Helper()
	return newWorldAt(t, nil, on...)
}

// newWorldAt is a world by a clock; nil is the real one.
func newWorldAt(t testing.TB, now func() time.Time, on ...drivers) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	w := &world{t: t, ctx: ctx, now: now, env: map[string]string{}, allowed: []string{"PEOPLE", "ELSEWHERE"}}
	w.connect(on...)
	w.artifacts = new(memoryartifacts.Store)
	w.app = app.New(w.config())
	return w
}

// config is of a process of this world.
func (w *world) config() app.Config {
	return app.Config{Store: w.store, Bus: w.bus, Now: w.now, Log: slog.New(slog.DiscardHandler), Sources: w.sources(), Artifacts: w.artifacts}
}

// sources read what the environment of this world names.
func (w *world) sources() *datasource.Reader {
	return &datasource.Reader{
		Sources: map[string]datasource.Open{
			runbook.SourceSQL: database.OpenSQL, runbook.SourceCSV: csvfile.Open,
			runbook.SourcePostgres: func(datasource.Spec) (datasource.Source, error) { return throttled{w}, nil },
		},
		Settings: w.allowed,
		Getenv:   func(name string) string { return w.env[name] },
	}
}

// throttled is a source that asks for a pause of an hour at each query.
type throttled struct{ w *world }

func (s throttled) Query(context.Context) (datasource.Rows, error) {
	s.w.throttled.Add(1)
	return nil, datasource.AwayUntil(errors.New("too many requests"), s.w.now().Add(time.Hour))
}

func (w *world) publish(yaml string) api.Runbook {
	w.t.Helper()
	view := must(w.app.PublishRunbook(w.ctx, ada, "", []byte(yaml), api.PublishOptions{}))(w.t)
	return view
}

func (w *world) batch(runbook, csv string, options ...api.UploadOption) api.Batch {
	w.t.Helper()
	view := must(w.app.CreateBatch(w.ctx, ada, runbook, []byte(csv), options...))(w.t)
	return view
}

// createBatch publishes a runbook and creates a batch of it.
func (w *world) createBatch(yaml, csv string, options ...api.UploadOption) api.Batch {
	w.t.Helper()
	return w.batch(w.publish(yaml).Name, csv, options...)
}

// must returns the value of a call. The function that it returns fails the test if the call failed.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		noError(t, err)
		return v
	}
}

// noError fails the test if a call failed.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(describe(err))
	}
}

// errorOf returns the error of a call that has a result, too.
func errorOf(_ any, err error) error { return err }

func describe(err error) string {
	e := problem.Explain(err)
	return fmt.Sprintf("%s: %v %v", e.Code, err, e.Problems)
}

// pump delivers messages to the app and jobs to the worker until idle tells that
// nothing more is awaited. Each message is delivered the given number of times.
func (w *world) pump(deliveries int, answer worker, idle func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	var all sync.WaitGroup
	receive := func(topic string, handle func(context.Context, *bus.Received) error) {
		all.Go(func() {
			if err := testenv.Serve(ctx, w.bus, topic, subscriptions[topic], func(_ context.Context, m *bus.Received) error {
				for range deliveries {
					if err := handle(w.ctx, m); err != nil {
						w.t.Errorf("%s %s: %v", topic, m.ID, describe(err))
					}
				}
				return nil
			}, func(m *bus.Received, err error) { w.t.Errorf("%s %s: %v", topic, m.ID, err) }); err != nil {
				w.t.Error(err)
			}
		})
	}
	for _, topic := range []string{message.TopicOrchestratorEvents, message.TopicWorkerResults} {
		receive(topic, func(ctx context.Context, m *bus.Received) error {
			return testenv.Handle(ctx, w.app, topic, testenv.Delivery(m))
		})
	}
	receive(message.TopicWorkerJobs, func(_ context.Context, m *bus.Received) error { return w.work(m.Body, answer) })
	for !idle() {
		if w.ctx.Err() != nil || w.t.Failed() {
			w.t.Error("not done in time")
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	all.Wait()
}

// work has a worker carry out the job that a message has.
func (w *world) work(body []byte, answer worker) error {
	k := testenv.Worker{Bus: w.bus, Answer: func(j message.Job) (string, error) {
		w.mu.Lock()
		w.jobs = append(w.jobs, j)
		w.mu.Unlock()
		return answer(j)
	}}
	return k.Work(w.ctx, body)
}

// patiently calls again while the store is away, as a client of the API does.
func patiently[T any](w *world, call func() (T, error)) T {
	w.t.Helper()
	for {
		v, err := call()
		if err == nil {
			return v
		}
		if problem.CodeOf(err) != api.CodeUnavailable || w.ctx.Err() != nil {
			w.t.Error(describe(err))
			return v
		}
	}
}

// run advances a batch through all its phases.
func (w *world) run(id, deliveries int, answer worker) {
	w.t.Helper()
	for {
		phase := w.next(id)
		view := patiently(w, func() (api.AdvanceResult, error) { return w.app.Advance(w.ctx, ada, id, phase) })
		w.pump(deliveries, answer, func() bool { return w.ended(id, view.Advanced) })
		if w.t.Failed() {
			w.t.FailNow()
		}
		if len(view.Remaining) == 0 || w.status(id) == "failed" {
			return
		}
	}
}

// next names the phase that comes next in a batch; empty where none does.
func (w *world) next(id int) string {
	w.t.Helper()
	for _, p := range w.phases(id) {
		if p.Status == "pending" {
			return p.Name
		}
	}
	return ""
}

func (w *world) phases(id int) []api.Phase {
	w.t.Helper()
	return patiently(w, func() (api.Page[api.Phase], error) { return w.app.Phases(w.ctx, ada, id) }).Items
}

func (w *world) ended(id int, phase string) bool {
	for _, p := range w.phases(id) {
		if p.Name == phase {
			return p.Status != "pending" && p.Status != "dispatched"
		}
	}
	w.t.Errorf("no phase %s", phase)
	return true
}

func (w *world) status(id int) string {
	w.t.Helper()
	return patiently(w, func() (api.Batch, error) { return w.app.Batch(w.ctx, ada, id) }).Status
}

func (w *world) members(id int) map[string]api.Member {
	w.t.Helper()
	out := map[string]api.Member{}
	continuation := ""
	for {
		page := must(w.app.Members(w.ctx, reader, id, api.ListOptions{Limit: 1000, Continuation: continuation}))(w.t)
		for _, m := range page.Items {
			out[m.Key] = m
		}
		if continuation = page.Continuation; continuation == "" {
			return out
		}
	}
}

// people is a CSV of n members.
func people(n int) string {
	var b strings.Builder
	b.WriteString("Upn,Name\n")
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "p%03d@x,Person %d\n", i, i)
	}
	return b.String()
}
