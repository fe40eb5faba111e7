// Package simulation proves the use cases of package app under faults: random
// runbooks and members go through the real app, over a store in memory or, for a share of
// the seeds, over the real driver on local/cosmos,
// while messages come twice, late and out of order, processes die at any write or
// send, the store refuses, throttles or loses its answers, and the clock jumps.
//
// A seed decides everything. Each runs in a bubble of testing/synctest: waiting
// costs nothing, and one goroutine decides which invocation takes its next step
// at the store or at the bus, so that races are as repeatable as the rest. What
// comes out is held against a sequential interpreter of the runbook (oracle_test.go)
// that knows nothing of package engine's decisions.
//
// The broker is one of its own and not bus/memory, because it draws from the seed what a real
// broker leaves open: a message that two handlers have at once, the end of a lock, a handler that
// completes its message after its lock has ended, and messages that are lost because the tick
// makes up for them.
package simulation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

// world is one system under simulation: its store, its broker, the processes of
// the handler, the worker, and the tasks that are under way.
type world struct {
	rng      *rand.Rand // the scheduler's alone
	together *rand.Rand // which Applies share a transaction
	plan     *plan
	back     backend
	store    documentStore // the test's own way to the store, which nothing disturbs
	app      *app.App      // over that
	broker   *broker
	worker   *worker

	clock     atomic.Int64 // Unix nanoseconds; only advance changes it
	processes []*process
	tasks     []*task
	taskID    int
	nextTick  time.Time
	outage    time.Time // until when the store refuses everything
	faults    int       // how many may still be injected
	batch     int
	acts      []act                // that the administrator has not done
	paused    bool                 // the batch may be, and is to be resumed
	pausing   int                  // pauses that are being asked for
	pauses    int                  // and all that ever were
	unpaused  int                  // how often a pause may have been ended
	stopped   bool                 // it was asked to be cancelled
	retries   int                  // how often a retry was asked for
	versions  int                  // of the runbook that were published
	pausedAt  time.Time            // when a pause was confirmed; zero once it is to be resumed
	stoppedAt time.Time            // when a cancellation was confirmed
	leftAt    map[string]time.Time // when the removal of a member was
	repeated  bool                 // something was delivered, or asked for, a second time
	still     int                  // actions since anything was written
	progress  uint64               // of the backend, when still was reset

	mu       sync.Mutex // parked, history and problems, which tasks write
	parked   []*operation
	verbose  bool
	history  []string
	problems []string
}

// process is one handler process: an app with its caches and its connections.
type process struct {
	id   int
	app  *app.App
	dead atomic.Bool
	skew time.Duration // how far its clock is ahead
}

// task is one invocation: a delivered message, a tick, or an administrator's call.
type task struct {
	id      int
	what    string
	process *process
	ctx     context.Context
	cancel  context.CancelFunc
	message *held // nil where none was delivered
	ended   func(error)
	done    atomic.Bool
	err     error
}

type taskKey struct{}

// invocation is how long an invocation may take.
const invocation = 4 * time.Minute

// longestWait is longer than any back-off of the SDK or the app. Time advances
// by at least that while a task waits, so that the jitter of back-offs decides
// nothing.
const longestWait = 15 * time.Second

var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func newWorld(p *plan, protocols, verbose bool) (*world, error) {
	w := &world{plan: p, leftAt: map[string]time.Time{}, versions: 1, acts: slices.Clone(p.acts), rng: p.rng("world"), together: p.rng("together"), verbose: verbose, faults: p.chaos.budget}
	w.clock.Store(epoch.UnixNano())
	w.nextTick = epoch.Add(model.TickInterval)
	w.broker = newBroker(w)
	w.worker = newWorker(w)
	var err error
	if w.back, err = newBackend(w, protocols); err != nil {
		return nil, err
	}
	if w.store, err = w.back.open(nil); err != nil {
		return nil, err
	}
	w.app = app.New(app.Config{Store: w.store, Bus: sender{w: w}, Now: w.now, NewID: newIDs(0), Log: slog.New(slog.DiscardHandler), WorkerStartup: time.Nanosecond})
	for range p.chaos.processes {
		if err := w.boot(); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func (w *world) now() time.Time { return time.Unix(0, w.clock.Load()).UTC() }

// boot starts one more process.
func (w *world) boot() error {
	w.taskID++
	p := &process{id: w.taskID}
	if w.rng.IntN(3) == 0 {
		p.skew = time.Duration(w.rng.IntN(4000)-2000) * time.Millisecond
	}
	s, err := w.back.open(p)
	if err != nil {
		return err
	}
	p.app = app.New(app.Config{
		Store: s, Bus: sender{w: w, process: p}, Waiting: sender{w: w, process: p}, Now: func() time.Time { return w.now().Add(p.skew) }, NewID: newIDs(p.id), Log: slog.New(&logger{w: w, process: p}),
	})
	w.processes = append(w.processes, p)
	return nil
}

// newIDs counts the ids that a process makes, so that a replay has the same.
func newIDs(process int) func() string {
	var made atomic.Int64
	return func() string { return fmt.Sprintf("p%05dn%09d", process, made.Add(1)) }
}

// close ends the running tasks, so that the bubble can end.
func (w *world) close() error {
	for _, p := range w.processes {
		p.dead.Store(true)
	}
	for _, t := range w.tasks {
		t.cancel()
	}
	synctest.Wait()
	time.Sleep(time.Hour) // for what the SDK does aside
	synctest.Wait()
	return w.back.close()
}

func (w *world) trace(format string, args ...any) {
	if !w.verbose {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.history = append(w.history, w.now().Sub(epoch).Truncate(time.Millisecond).String()+" "+fmt.Sprintf(format, args...))
}

// problem notes that something is not as it must be; the run ends with it.
func (w *world) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.problems) > 0
}

// spawn starts a task in a process and waits until the task has come to its first
// operation: two tasks that ran at once would log in any order. The caller says in ended
// what follows from the end of the task.
func (w *world) spawn(p *process, m *held, what string, run func(ctx context.Context, a *app.App) error, ended func(error)) {
	w.taskID++
	t := &task{id: w.taskID, what: what, process: p, message: m, ended: ended}
	ctx, cancel := context.WithTimeout(context.Background(), invocation)
	t.ctx, t.cancel = context.WithValue(ctx, taskKey{}, t), cancel
	w.tasks = append(w.tasks, t)
	w.trace("task %d on process %d: %s", t.id, p.id, what)
	defer w.sortLines(w.lines())
	go func() {
		t.err = run(t.ctx, p.app)
		t.done.Store(true)
	}()
	synctest.Wait()
}

// reap takes the tasks that have ended from the list, in their order.
func (w *world) reap() {
	w.tasks = slices.DeleteFunc(w.tasks, func(t *task) bool {
		if !t.done.Load() {
			return false
		}
		t.cancel()
		if t.err != nil {
			w.trace("task %d ends: %v", t.id, t.err)
		} else {
			w.trace("task %d ends", t.id)
		}
		t.ended(t.err)
		return true
	})
}

// advance advances the time by at least the longest back-off. It sorts the log lines of
// tasks that wake at the same moment, since they run in any order.
func (w *world) advance(d time.Duration) {
	w.mu.Lock()
	sleeping := len(w.tasks) > len(w.parked)
	w.mu.Unlock()
	if sleeping {
		d = max(d, longestWait)
	}
	lines := w.lines()
	time.Sleep(d)
	synctest.Wait()
	w.sortLines(lines)
	w.clock.Add(int64(d))
}

// lines returns how many lines the history has.
func (w *world) lines() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.history)
}

// sortLines sorts the lines of the history from one on, which goroutines wrote that ran in any
// order: those of several tasks, or of the parts of one.
func (w *world) sortLines(from int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.Sort(w.history[from:])
}

// kill ends a process: nothing that it still asks for happens. Another takes its
// place at once.
func (w *world) kill(p *process, why string) {
	p.dead.Store(true)
	synctest.Wait() // for a task that an operation was granted to: it may still log
	w.trace("process %d dies %s", p.id, why)
	for _, t := range w.tasks {
		if t.process == p {
			lines := w.lines()
			t.cancel()
			synctest.Wait() // one after the other, for the history's sake
			w.sortLines(lines)
		}
	}
	w.processes = slices.DeleteFunc(w.processes, func(q *process) bool { return q == p })
	if err := w.boot(); err != nil {
		w.problem("%v", err)
	}
}

// mayFail tells whether all that a process, or where it is nil any, has in hand can
// be delivered again without coming near the broker's limit, or the app's limit of attempts.
func (w *world) mayFail(p *process) bool {
	return !slices.ContainsFunc(w.tasks, func(t *task) bool {
		return (p == nil || t.process == p) && t.message != nil && slices.ContainsFunc(t.message.families(), func(name string) bool { return w.broker.deliveries[name] >= gentle })
	})
}

func (w *world) anyProcess() *process { return w.processes[w.rng.IntN(len(w.processes))] }

// chance tells whether a fault of a given probability is injected now.
func (w *world) chance(probability float64) bool {
	if w.faults <= 0 || w.rng.Float64() >= probability {
		return false
	}
	w.faults--
	return true
}

// deliver hands a message to a process. It is gone once a handler has returned
// without an error and the process lived to say so.
func (w *world) deliver(m *held) {
	m.deliveries++
	for _, name := range m.families() {
		w.broker.deliveries[name]++
	}
	m.inHand++
	w.repeated = w.repeated || m.deliveries > 1
	if m.deliveries > lastDelivery {
		w.problem("the broker dead-letters %s after %d deliveries", m.id, m.deliveries-1)
		return
	}
	p := w.anyProcess()
	delivered := testenv.Delivery(&bus.Received{ID: m.id, Body: m.body, Properties: m.properties, DeliveryCount: m.deliveries, EnqueuedAt: m.arrivedAt})
	w.spawn(p, m, fmt.Sprintf("delivery %d of %s", m.deliveries, m.id), func(ctx context.Context, a *app.App) error {
		return testenv.Handle(ctx, a, m.topic, delivered)
	}, func(err error) {
		m.inHand--
		switch {
		case p.dead.Load():
			w.broker.again(m)
		case err != nil && w.plan.chaos.calm:
			w.problem("handling %s failed without a fault: %v", m.id, err)
		case err != nil:
			w.broker.again(m)
		case m.deliveries < gentle && w.chance(w.plan.chaos.redeliver):
			w.trace("%s is not acknowledged", m.id)
			w.broker.again(m)
		default:
			w.broker.settle(m)
		}
	})
}

func (w *world) tick() {
	p := w.anyProcess()
	w.spawn(p, nil, "tick", func(ctx context.Context, a *app.App) error { return a.Tick(ctx) }, func(err error) {
		if err != nil && w.plan.chaos.calm && !errors.Is(err, store.ErrChanged) { // a lost race is made up for by the next tick
			w.problem("the tick failed without a fault: %v", err)
		}
	})
}

// logger puts what the app logs into the history.
type logger struct {
	w       *world
	process *process
	attrs   string
}

func (l *logger) Enabled(_ context.Context, level slog.Level) bool {
	return l.w.verbose && level >= slog.LevelInfo
}

func (l *logger) Handle(_ context.Context, r slog.Record) error {
	text := r.Message + l.attrs
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%v", a.Key, a.Value)
		return true
	})
	l.w.trace("  process %d logs: %s", l.process.id, text)
	return nil
}

func (l *logger) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	for _, a := range attrs {
		next.attrs += fmt.Sprintf(" %s=%v", a.Key, a.Value)
	}
	return &next
}

func (l *logger) WithGroup(string) slog.Handler { return l }
