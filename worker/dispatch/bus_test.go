package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

const workerID = "worker-01"

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// bus is a namespace with a worker on it and the orchestrator's end of both
// topics.
type bus struct {
	server  *servicebus.Server
	client  *azservicebus.Client
	jobs    *azservicebus.Sender
	results *azservicebus.Receiver
	stop    context.CancelFunc // SIGTERM for the worker
	stopped chan struct{}      // closed when Run has returned
}

type options struct {
	config   dispatch.Config
	topology func(*servicebus.Topology)
}

func start(t testing.TB, functions dispatch.Functions, o options) *bus {
	t.Helper()
	topology := servicebus.DefaultTopology()
	if o.topology != nil {
		o.topology(&topology)
	}
	b := &bus{server: serve(t, "127.0.0.1:0", topology)}
	b.client = connect(t, b.server.ConnectionString())
	b.open(t)
	b.stop, b.stopped = work(t, dial(t, b.server.ConnectionString()), functions, o.config)
	return b
}

func serve(t testing.TB, addr string, topology servicebus.Topology) *servicebus.Server {
	t.Helper()
	return testenv.Started(servicebus.Start(context.Background(), servicebus.Config{Addr: addr, Topology: topology, Key: "c2VjcmV0"}))(t)
}

func connect(t testing.TB, connectionString string) *azservicebus.Client {
	t.Helper()
	return testenv.Connected(azservicebus.NewClientFromConnectionString(connectionString, &azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: 1, RetryDelay: 20 * time.Millisecond, MaxRetryDelay: 100 * time.Millisecond},
	}))(t)
}

// dial connects a worker.
func dial(t testing.TB, connectionString string) *azbus.Client {
	t.Helper()
	return testenv.Connected(azbus.Dial(azbus.Config{ConnectionString: connectionString}))(t)
}

func (b *bus) open(t testing.TB) {
	t.Helper()
	var err error
	if b.jobs, err = b.client.NewSender(message.TopicWorkerJobs, nil); err != nil {
		t.Fatal(err)
	}
	b.results = testenv.Must(b.client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator,
		&azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete}))(t)
}

// work runs a worker until the test ends.
func work(t testing.TB, client *azbus.Client, functions dispatch.Functions, config dispatch.Config) (stop context.CancelFunc, stopped chan struct{}) {
	t.Helper()
	config.WorkerID = workerID
	config.MaxParallelism = max(config.MaxParallelism, 1)
	config.Backoff, config.MaxBackoff = 10*time.Millisecond, 100*time.Millisecond
	if config.SettleTimeout == 0 {
		config.SettleTimeout = time.Second
	}
	config.Log = slog.New(slog.DiscardHandler)
	loop := testenv.Must(dispatch.New(client, functions, config))(t)
	ctx, stop := context.WithCancel(context.Background())
	stopped = make(chan struct{})
	go func() {
		defer close(stopped)
		loop.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	return stop, stopped
}

func job(n int) message.Job {
	return message.Job{
		JobID: fmt.Sprintf("step-%d-attempt-1", n), BatchID: 42, WorkerID: workerID, FunctionName: "Do",
		Parameters: json.RawMessage(`{"N":1}`),
		CorrelationData: message.Correlation{
			BatchID: 42, StepExecutionID: int64(n), IsInitStep: true, RunbookName: "contoso", RunbookVersion: 3,
		},
	}
}

// send puts a job on the bus under a message id of its own each time, so that
// the broker does not take the second delivery for a repetition.
func (b *bus) send(t testing.TB, jobs ...message.Job) {
	t.Helper()
	for _, j := range jobs {
		body := testenv.Must(json.Marshal(j))(t)
		b.sendBody(t, string(body))
	}
}

func (b *bus) sendBody(t testing.TB, body string) {
	t.Helper()
	b.sendWith(t, body, nil)
}

// sendWith sends a job with properties beside those that every job has.
func (b *bus) sendWith(t testing.TB, body string, properties map[string]any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	m := &azservicebus.Message{Body: []byte(body), ApplicationProperties: map[string]any{
		message.PropertyWorkerID: workerID, "traceparent": "00-trace-01",
	}}
	maps.Copy(m.ApplicationProperties, properties)
	for ctx.Err() == nil {
		err := b.jobs.SendMessage(ctx, m, nil)
		if err == nil {
			return
		}
		t.Log("sending again after", err)
	}
	t.Fatal("the job could not be sent")
}

// receive returns the next n results with their messages.
func (b *bus) receive(t testing.TB, n int) ([]message.Result, []*azservicebus.ReceivedMessage) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var results []message.Result
	var messages []*azservicebus.ReceivedMessage
	for len(results) < n {
		got, err := b.results.ReceiveMessages(ctx, n-len(results), &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: time.Millisecond})
		if ctx.Err() != nil {
			t.Fatalf("got %d results of %d: %v", len(results), n, err)
		}
		for _, m := range got {
			var r message.Result
			if err := json.Unmarshal(m.Body, &r); err != nil {
				t.Fatalf("%s: %v", m.Body, err)
			}
			results, messages = append(results, r), append(messages, m)
		}
	}
	return results, messages
}

func (b *bus) result(t testing.TB) message.Result {
	t.Helper()
	results, _ := b.receive(t, 1)
	return results[0]
}

// jobsLeft waits until as many jobs are on the worker's subscription, whether
// locked or not, and returns them.
func (b *bus) jobsLeft(t testing.TB, want int, o *azservicebus.ReceiverOptions) []*azservicebus.ReceivedMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		r := testenv.Must(b.client.NewReceiverForSubscription(message.TopicWorkerJobs, message.WorkerSubscription(workerID), o))(t)
		left, err := r.PeekMessages(ctx, 100, nil)
		_ = r.Close(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(left) == want {
			return left
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("%d jobs are left, want %d", len(left), want)
		}
	}
}

// function is one function under every name. It may be told to wait.
type function struct {
	run func(ctx context.Context, name string, parameters []byte) (any, error)

	mu            sync.Mutex
	calls         int
	running, peak int
	started       chan string // one name for each call, when not nil
}

func (f *function) Call(ctx context.Context, name string, parameters []byte) (any, error) {
	f.mu.Lock()
	f.calls++
	f.running++
	f.peak = max(f.peak, f.running)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.running--
	}()
	if f.started != nil {
		f.started <- name
	}
	return f.run(ctx, name, parameters)
}

func (f *function) counts() (calls, peak int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls, f.peak
}

// until makes a function that answers true when the channel is closed.
func until(release <-chan struct{}) *function {
	return &function{started: make(chan string, 100), run: func(ctx context.Context, _ string, _ []byte) (any, error) {
		select {
		case <-release:
			return true, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}}
}

func await(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(patience):
		t.Fatal("waited in vain until ", what)
	}
}

func awaitStart(t testing.TB, f *function) {
	t.Helper()
	select {
	case <-f.started:
	case <-time.After(patience):
		t.Fatal("waited in vain for a job to start")
	}
}

var errPlain = errors.New("plain error")
