package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/control"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

const controlInterval = 100 * time.Millisecond

// replica runs a worker that follows controls, until the test ends or stop is called.
func replica(t *testing.T, b *bus, functions dispatch.Functions, config dispatch.Config) (stop func()) {
	t.Helper()
	client := dial(t, b.server.ConnectionString())
	watch := testenv.Must(control.New(client, control.Config{WorkerID: workerID, Interval: controlInterval, Log: slog.New(slog.DiscardHandler)}))(t)
	config.Controls = watch
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		watch.Run(ctx)
	}()
	end, stopped := work(t, client, functions, config)
	stop = func() {
		end()
		<-stopped
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// dispatched makes jobs of a batch that were dispatched at a time.
func dispatched(batch, from, n int, at time.Time) []message.Job {
	jobs := make([]message.Job, n)
	for i := range jobs {
		j := job(from + i)
		j.BatchID, j.CorrelationData.BatchID, j.DispatchedAt = batch, batch, &at
		j.Parameters = json.RawMessage(fmt.Sprintf(`{"Batch":%d}`, batch))
		jobs[i] = j
	}
	return jobs
}

// sendMany sends jobs in as few messages to the broker as they fit in.
func (b *bus) sendMany(t *testing.T, jobs []message.Job) {
	t.Helper()
	for len(jobs) > 0 {
		batch := testenv.Must(b.jobs.NewMessageBatch(t.Context(), nil))(t)
		n := 0
		for ; n < len(jobs); n++ {
			body := testenv.Must(json.Marshal(jobs[n]))(t)
			id := jobs[n].ID()
			err := batch.AddMessage(&azservicebus.Message{
				MessageID: &id, Body: body, ApplicationProperties: map[string]any{message.PropertyWorkerID: workerID},
			}, nil)
			if errors.Is(err, azservicebus.ErrMessageTooLarge) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := b.jobs.SendMessageBatch(t.Context(), batch, nil); err != nil {
			t.Fatal(err)
		}
		jobs = jobs[n:]
	}
}

func (b *bus) revoke(t *testing.T, batch int, through time.Time) {
	t.Helper()
	sender := testenv.Must(b.client.NewSender(message.TopicWorkerControl, nil))(t)
	defer sender.Close(context.Background())
	c := message.Control{BatchID: batch, RevokedThrough: through}
	body := testenv.Must(json.Marshal(c))(t)
	id := c.ID()
	if err := sender.SendMessage(t.Context(), &azservicebus.Message{MessageID: &id, Body: body}, nil); err != nil {
		t.Fatal(err)
	}
}

// tally counts results by batch and how they ended.
type tally map[string]int

// collect receives results and counts them.
func (b *bus) collect(t *testing.T, n int) tally {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 6*patience)
	defer cancel()
	counts, seen := tally{}, map[string]bool{}
	for len(seen) < n {
		got, err := b.results.ReceiveMessages(ctx, 500, &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: time.Millisecond})
		if ctx.Err() != nil {
			t.Fatalf("got %d results of %d, %v: %v", len(seen), n, counts, err)
		}
		for _, m := range got {
			var r message.Result
			if err := json.Unmarshal(m.Body, &r); err != nil {
				t.Fatal(err)
			}
			if seen[r.ID()] {
				t.Errorf("%s is answered twice", r.ID())
			}
			seen[r.ID()] = true
			how := r.Status
			if r.Error != nil {
				how = r.Error.Type
			}
			counts[fmt.Sprintf("%d %s", r.CorrelationData.BatchID, how)]++
		}
	}
	return counts
}

// begun counts the jobs that were begun, by batch.
type begun struct {
	mu     sync.Mutex
	counts map[string]int
}

// function waits for gate in the jobs of batch 1.
func (g *begun) function(release <-chan struct{}) *function {
	return &function{started: make(chan string, 20000), run: func(ctx context.Context, _ string, parameters []byte) (any, error) {
		g.mu.Lock()
		if g.counts == nil {
			g.counts = map[string]int{}
		}
		g.counts[string(parameters)]++
		g.mu.Unlock()
		if string(parameters) == `{"Batch":1}` {
			select {
			case <-release:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return true, nil
	}}
}

func (g *begun) of(batch int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.counts[fmt.Sprintf(`{"Batch":%d}`, batch)]
}

// A pause or cancel of a batch reaches every replica with any queue, also while running
// jobs fill a replica. The jobs of other batches behind the revoked ones pass.
func TestNoJobBeginsAfterItsBatchWasRevoked(t *testing.T) {
	t.Parallel()
	const jobs, others, parallelism = 6000, 60, 4
	b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	before := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b.sendMany(t, dispatched(1, 1, jobs, before))
	b.sendMany(t, dispatched(2, 1, others, before))

	var g begun
	release := make(chan struct{})
	f := g.function(release)
	stops := []func(){
		replica(t, b, f, dispatch.Config{MaxParallelism: parallelism, ShutdownGrace: patience}),
		replica(t, b, f, dispatch.Config{MaxParallelism: parallelism, ShutdownGrace: patience}),
	}
	for range 2 * parallelism {
		awaitStart(t, f)
	}
	b.revoke(t, 1, before)
	// Every slot is taken by a job of batch 1. The others of that batch are answered all
	// the same.
	if got := b.collect(t, jobs-2*parallelism); got["1 JobRevoked"] != jobs-2*parallelism || len(got) != 1 {
		t.Fatalf("got %v", got)
	}
	if n := g.of(1); n != 2*parallelism {
		t.Errorf("%d jobs of the batch were begun, %d of them after it was revoked", n, n-2*parallelism)
	}
	close(release)
	if got := b.collect(t, others+2*parallelism); got["2 Success"] != others || got["1 Success"] != 2*parallelism || len(got) != 2 {
		t.Errorf("got %v", got)
	}
	b.jobsLeft(t, 0, nil)

	// Replicas that start later read it before they begin a job. Jobs dispatched after
	// the batch was resumed run.
	for _, stop := range stops {
		stop()
	}
	b.sendMany(t, dispatched(1, jobs+1, 1000, before))
	b.sendMany(t, dispatched(2, others+1, others, before))
	b.sendMany(t, dispatched(1, jobs+1001, 10, before.Add(time.Second)))
	for range 2 {
		replica(t, b, f, dispatch.Config{MaxParallelism: parallelism})
	}
	if got := b.collect(t, 1010+others); got["1 JobRevoked"] != 1000 || got["1 Success"] != 10 || got["2 Success"] != others || len(got) != 3 {
		t.Errorf("after the restart: %v", got)
	}
	if n := g.of(1); n != 2*parallelism+10 {
		t.Errorf("after the restart %d jobs of the batch were begun", n)
	}
	b.jobsLeft(t, 0, nil)
	if dead := b.jobsLeft(t, 0, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter}); len(dead) > 0 {
		t.Errorf("%d jobs are dead-lettered", len(dead))
	}
}

// Jobs of two batches that lie between each other: those of the batch that goes on are
// neither lost nor dead-lettered where the others are sorted out.
func TestRevokedJobsAmongOthersAreSortedOut(t *testing.T) {
	t.Parallel()
	const jobs = 600
	b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	before := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var mixed []message.Job
	revoked, others := dispatched(1, 1, jobs, before), dispatched(2, 1, jobs, before)
	for i := range jobs {
		mixed = append(mixed, revoked[i], others[i])
	}
	b.sendMany(t, mixed)
	b.revoke(t, 1, before)
	var g begun
	f := g.function(nil)
	for range 2 {
		replica(t, b, f, dispatch.Config{MaxParallelism: 3})
	}
	if got := b.collect(t, 2*jobs); got["1 JobRevoked"] != jobs || got["2 Success"] != jobs {
		t.Errorf("got %v", got)
	}
	if _, peak := f.counts(); g.of(1) != 0 || peak > 6 {
		t.Errorf("%d revoked jobs were begun, %d functions ran at once", g.of(1), peak)
	}
	b.jobsLeft(t, 0, nil)
}

// A revoked job that was done before is answered as it was: that it was done counts.
func TestARevokedJobThatWasDoneIsAnsweredFromMemory(t *testing.T) {
	t.Parallel()
	b := start(t, until(nil), options{topology: withoutDuplicateDetection})
	b.stop()
	await(t, "the first worker stops", b.stopped)
	controls := &fixedControls{changed: make(chan struct{})}
	f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	seen := newDeliveries()
	work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{Controls: controls, Observer: seen})
	at := time.Now()
	j := dispatched(1, 1, 1, at)[0]
	b.send(t, j)
	if got := b.result(t); got.Status != message.StatusSuccess {
		t.Fatalf("got %+v", got.Error)
	}
	next(t, "the first delivery to end", seen.ended) // until then another one has the same answer
	controls.set(func(c *fixedControls) { c.revoked = true })
	b.send(t, j)
	if got := b.result(t); got.Status != message.StatusSuccess {
		t.Errorf("got %+v", got.Error)
	}
	other := dispatched(1, 2, 1, at)[0]
	b.send(t, other)
	got := b.result(t)
	if got.Error == nil || got.Error.Type != catalog.FailureRevoked || !strings.Contains(got.Error.Message, "Do was not started: its batch was paused or cancelled") {
		t.Errorf("got %+v", got.Error)
	}
	if calls, _ := f.counts(); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

// fixedControls say what a test sets.
type fixedControls struct {
	mu      sync.Mutex
	revoked bool
	err     error
	changed chan struct{}
}

func (c *fixedControls) set(change func(*fixedControls)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change(c)
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *fixedControls) Revoked(message.Job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.revoked
}

func (c *fixedControls) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

func (c *fixedControls) Until() time.Time {
	if c.Err() != nil {
		return time.Time{}
	}
	return time.Now().Add(100 * time.Millisecond)
}

func (c *fixedControls) Changed() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.changed
}

// A replica without current controls begins no job, logs why, and leaves the jobs to
// others. It continues once it has the controls.
func TestNoJobBeginsWithoutControls(t *testing.T) {
	t.Parallel()
	b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	controls := &fixedControls{changed: make(chan struct{}), err: errors.New("no controls")}
	f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	loop := testenv.Must(dispatch.New(dial(t, b.server.ConnectionString()), f, dispatch.Config{
		WorkerID: workerID, MaxParallelism: 1, IdleTimeout: time.Second, Controls: controls, Log: slog.New(slog.DiscardHandler),
	}))(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		loop.Run(ctx)
	}()
	b.send(t, job(1))
	other := &function{run: func(context.Context, string, []byte) (any, error) { return map[string]any{"Other": true}, nil }}
	_, otherStopped := work(t, dial(t, b.server.ConnectionString()), other, dispatch.Config{IdleTimeout: 2 * time.Second})
	if got := b.result(t); string(got.Result) != `{"Other":true}` {
		t.Errorf("got %s", got.Result)
	}
	await(t, "the other worker is idle, later than the one without controls would be", otherStopped)
	if err := loop.Ready(); err == nil || err.Error() != "no controls" {
		t.Errorf("ready is %v", err)
	}
	if err := loop.Alive(time.Now().Add(time.Hour)); err != nil {
		t.Errorf("alive is %v", err)
	}
	select {
	case <-stopped:
		t.Fatal("it took having no controls for being idle")
	default:
	}
	b.send(t, job(2))
	controls.set(func(c *fixedControls) { c.err = nil })
	if got := b.result(t); string(got.Result) != "true" {
		t.Errorf("got %s", got.Result)
	}
	await(t, "it is idle", stopped)
}

// Controls that get lost after a job was taken, and before it is begun, send it back.
func TestAJobInHandIsGivenBackWhenControlsGetLost(t *testing.T) {
	t.Parallel()
	b := &bus{server: serve(t, "127.0.0.1:0", servicebus.DefaultTopology())}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	controls := &fixedControls{changed: make(chan struct{})}
	watch := newDeliveries()
	lost := &losesControls{deliveries: watch, controls: controls}
	f := &function{run: func(context.Context, string, []byte) (any, error) { return true, nil }}
	work(t, dial(t, b.server.ConnectionString()), f, dispatch.Config{Controls: controls, Observer: lost})
	b.send(t, job(1))
	if got := next(t, "the end of the delivery", watch.ended); got.Answered || got.Ran {
		t.Errorf("got %+v", got)
	}
	b.jobsLeft(t, 1, nil)
	controls.set(func(c *fixedControls) { c.err = nil })
	if got := b.result(t); got.Status != message.StatusSuccess {
		t.Errorf("got %+v", got.Error)
	}
}

// losesControls makes the controls get lost when the first delivery comes.
type losesControls struct {
	*deliveries
	controls *fixedControls
	once     sync.Once
}

func (l *losesControls) Received(ctx context.Context, d dispatch.Delivery) (context.Context, func(dispatch.Outcome)) {
	l.once.Do(func() { l.controls.set(func(c *fixedControls) { c.err = errors.New("lost") }) })
	return l.deliveries.Received(ctx, d)
}

// Heartbeats report the jobs that a replica has in hand.
func TestWhatAReplicaHasInHand(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", servicebus.DefaultTopology())
	b := &bus{server: server, client: connect(t, server.ConnectionString())}
	b.open(t)
	release := make(chan struct{})
	f := until(release)
	loop := testenv.Must(dispatch.New(dial(t, server.ConnectionString()), f, dispatch.Config{WorkerID: workerID, MaxParallelism: 2, ShutdownGrace: patience, Log: slog.New(slog.DiscardHandler)}))(t)
	if got := loop.InHand(); len(got.Jobs) != 0 || !got.Oldest.IsZero() || !got.TakenThrough.IsZero() {
		t.Errorf("before it runs: %+v", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		loop.Run(ctx)
	}()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	began := time.Now()
	b.send(t, dispatched(1, 1, 1, at)...)
	awaitStart(t, f)
	b.send(t, dispatched(1, 2, 1, at.Add(time.Minute))...)
	awaitStart(t, f)
	got := loop.InHand()
	if strings.Join(got.Jobs, " ") != "batch-1-step-1-attempt-1 batch-1-step-2-attempt-1" || !got.TakenThrough.Equal(at.Add(time.Minute)) ||
		got.Oldest.Before(began) || got.Oldest.After(time.Now()) {
		t.Errorf("got %+v", got)
	}
	close(release)
	b.receive(t, 2)
	stop()
	await(t, "the worker stops", stopped)
	if got := loop.InHand(); len(got.Jobs) != 0 || got.Ended != 2 || !got.Oldest.IsZero() || !got.TakenThrough.Equal(at.Add(time.Minute)) {
		t.Errorf("in the end: %+v", got)
	}
}

// A job that waits for a slot may be given back to the queue, and those before it too.
// The orchestrator must not take them for lost.
func TestAJobThatWaitsForASlotHasNotHadItsTurn(t *testing.T) {
	t.Parallel()
	server := serve(t, "127.0.0.1:0", servicebus.DefaultTopology())
	b := &bus{server: server, client: connect(t, server.ConnectionString())}
	b.open(t)
	release := make(chan struct{})
	f := until(release)
	controls, watch := &fixedControls{changed: make(chan struct{})}, newDeliveries()
	loop := testenv.Must(dispatch.New(dial(t, server.ConnectionString()), f, dispatch.Config{
		WorkerID: workerID, MaxParallelism: 1, ShutdownGrace: patience, Controls: controls, Observer: watch, Log: slog.New(slog.DiscardHandler),
	}))(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		loop.Run(ctx)
	}()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b.send(t, dispatched(1, 1, 1, at)...)
	awaitStart(t, f)
	next(t, "the first job", watch.came)
	b.send(t, dispatched(2, 2, 1, at.Add(time.Minute))...)
	controls.set(func(*fixedControls) {}) // another batch is paused: the queue is looked through
	next(t, "the second job", watch.came)
	if got := loop.InHand(); len(got.Jobs) != 2 || !got.TakenThrough.Equal(at) {
		t.Errorf("while the second waits: %+v", got)
	}
	close(release)
	b.receive(t, 2)
	if got := loop.InHand(); !got.TakenThrough.Equal(at.Add(time.Minute)) {
		t.Errorf("when both are done: %+v", got)
	}
	stop()
	await(t, "the worker stops", stopped)
}
