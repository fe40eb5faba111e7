package app_test

import (
	"context"
	"encoding/json"
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
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasource/csvfile"
	"github.com/matoolkit/matoolkit/internal/datasource/database"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store/memory"
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

	env     map[string]string // of the processes: what the runbooks' data sources are
	allowed []string          // the settings that runbooks may name

	mu   sync.Mutex
	jobs []message.Job // in the order they were taken
}

// reader is who looks at members in a test, apart from what the test is about.
var reader = audit.Caller{Name: "reader"}

// worker answers a job: a result as JSON, or an error.
type worker func(j message.Job) (string, error)

// errLost is a job that nothing is ever heard of, at least not for now.
var errLost = errors.New("no answer")

// failure is a failure with all that a worker may tell of it.
type failure struct{ message.JobError }

func (f *failure) Error() string { return f.Message }

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
	w.app = app.New(w.config())
	return w
}

// config is of a process of this world.
func (w *world) config() app.Config {
	return app.Config{Store: w.store, Bus: w.bus, Now: w.now, Log: slog.New(slog.DiscardHandler), Sources: w.sources()}
}

// sources read what the environment of this world names.
func (w *world) sources() *datasource.Reader {
	return &datasource.Reader{
		Sources:  map[string]datasource.Open{runbook.SourceSQL: database.OpenSQL, runbook.SourceCSV: csvfile.Open},
		Settings: w.allowed,
		Getenv:   func(name string) string { return w.env[name] },
	}
}

func (w *world) publish(yaml string) api.Runbook {
	w.t.Helper()
	view, err := w.app.PublishRunbook(w.ctx, audit.Caller{Name: "ada"}, "", []byte(yaml), api.PublishOptions{})
	if err != nil {
		w.t.Fatal(describe(err))
	}
	return view
}

func (w *world) batch(runbook, csv string, options ...api.UploadOption) api.Batch {
	w.t.Helper()
	view, err := w.app.CreateBatch(w.ctx, audit.Caller{Name: "ada"}, runbook, []byte(csv), options...)
	if err != nil {
		w.t.Fatal(describe(err))
	}
	return view
}

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
	receive := func(topic string, handle func(*bus.Received) error) {
		w.receive(ctx, topic, func(receiver bus.Receiver, messages []*bus.Received) {
			var wg sync.WaitGroup
			for _, m := range messages {
				wg.Go(func() {
					for range deliveries {
						if err := handle(m); err != nil {
							w.t.Errorf("%s %s: %v", topic, m.ID, describe(err))
						}
					}
					if err := receiver.Complete(w.ctx, m); err != nil {
						w.t.Errorf("%s %s: %v", topic, m.ID, err)
					}
				})
			}
			wg.Wait()
		})
	}
	all.Go(func() {
		receive(message.TopicOrchestratorEvents, func(m *bus.Received) error { return w.app.HandleEvent(w.ctx, delivered(m)) })
	})
	all.Go(func() {
		receive(message.TopicWorkerResults, func(m *bus.Received) error { return w.app.HandleResult(w.ctx, delivered(m)) })
	})
	all.Go(func() {
		receive(message.TopicWorkerJobs, func(m *bus.Received) error { return w.work(m.Body, answer) })
	})
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

func delivered(m *bus.Received) message.Delivery {
	kind, _ := m.Properties[message.PropertyMessageType].(string)
	return message.Delivery{ID: m.ID, Type: kind, Body: m.Body, Properties: m.Properties, DeliveryCount: m.DeliveryCount}
}

func (w *world) work(body []byte, answer worker) error {
	var j message.Job
	if err := json.Unmarshal(body, &j); err != nil {
		return err
	}
	w.mu.Lock()
	w.jobs = append(w.jobs, j)
	w.mu.Unlock()
	r := message.Result{JobID: j.JobID, Status: message.StatusSuccess, Timestamp: time.Now().UTC(), CorrelationData: j.CorrelationData}
	result, err := answer(j)
	if errors.Is(err, errLost) {
		return nil
	}
	if err != nil {
		r.Status, r.Error = message.StatusFailure, &message.JobError{Message: err.Error(), Type: "Test"}
		var wish *failure
		if errors.As(err, &wish) {
			r.Error = &wish.JobError
		}
	} else {
		r.Result = json.RawMessage(result)
	}
	encoded, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return w.bus.Send(w.ctx, message.TopicWorkerResults, bus.Message{ID: r.ID(), Body: encoded})
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
		view := patiently(w, func() (api.AdvanceResult, error) { return w.app.Advance(w.ctx, audit.Caller{Name: "ada"}, id, phase) })
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
	return patiently(w, func() (api.Page[api.Phase], error) { return w.app.Phases(w.ctx, id) }).Items
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
	return patiently(w, func() (api.Batch, error) { return w.app.Batch(w.ctx, id) }).Status
}

func (w *world) members(id int) map[string]api.Member {
	w.t.Helper()
	out := map[string]api.Member{}
	continuation := ""
	for {
		page, err := w.app.Members(w.ctx, reader, id, api.ListOptions{Limit: 1000, Continuation: continuation})
		if err != nil {
			w.t.Fatal(describe(err))
		}
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
