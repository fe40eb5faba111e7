package servicebus_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// environment is the server under a conformance test: one of its own with a clock
// that the test moves, or, when SERVICEBUS_TEST_CONNECTION_STRING is set, a
// namespace elsewhere that holds testdata/conformance.json, where time is waited for.
type environment struct {
	t      *testing.T
	ctx    context.Context
	client *azservicebus.Client
	server *servicebus.Server // nil elsewhere
	clock  *testenv.Clock
	dir    string // of a server that killed started
}

const testKey = "SAS_KEY_VALUE"

func conformanceTopology(t testing.TB) servicebus.Topology {
	t.Helper()
	config := testenv.Must(os.ReadFile("testdata/conformance.json"))(t)
	return testenv.Must(servicebus.ParseTopology(config))(t)
}

func newEnvironment(t *testing.T) *environment {
	t.Helper()
	if remote := os.Getenv("SERVICEBUS_TEST_CONNECTION_STRING"); remote != "" {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
		t.Cleanup(cancel)
		e := &environment{t: t, ctx: ctx}
		e.connect(remote)
		e.drain()
		return e
	}
	t.Parallel()
	return newLocal(t, "")
}

// newLocal starts a server of this package.
func newLocal(t *testing.T, dir string) *environment {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	e := &environment{t: t, ctx: ctx, clock: testenv.NewClock()}
	e.start(dir)
	return e
}

func (e *environment) start(dir string) {
	e.t.Helper()
	server := testenv.Must(servicebus.Start(context.Background(), servicebus.Config{
		Addr: "127.0.0.1:0", DataDir: dir,
		Topology: conformanceTopology(e.t), Key: testKey, Now: e.clock.Now,
	}))(e.t)
	e.t.Cleanup(func() {
		if err := server.Close(); err != nil {
			e.t.Error(err)
		}
	})
	e.server = server
	e.connect(server.ConnectionString())
}

func (e *environment) connect(connectionString string) {
	e.t.Helper()
	client := testenv.Connected(azservicebus.NewClientFromConnectionString(connectionString, &azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: -1},
	}))(e.t)
	e.client = client
}

// drain empties a namespace that other tests used before.
func (e *environment) drain() {
	options := func(sub azservicebus.SubQueue) *azservicebus.ReceiverOptions {
		return &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete, SubQueue: sub}
	}
	for _, path := range []string{"plain", "expiring", "events/all", "events/sql", "events/correlation"} {
		for _, sub := range []azservicebus.SubQueue{0, azservicebus.SubQueueDeadLetter} {
			r := e.receiver(path, options(sub))
			for len(e.receiveWithin(r, 100, 2*time.Second)) > 0 {
			}
		}
	}
}

// advance moves the clock, or waits.
func (e *environment) advance(d time.Duration) {
	if e.server == nil {
		time.Sleep(d)
		return
	}
	e.clock.Advance(d)
	e.server.Tick()
}

func (e *environment) now() time.Time {
	if e.clock == nil {
		return time.Now()
	}
	return e.clock.Now()
}

func (e *environment) sender(entity string) *azservicebus.Sender {
	e.t.Helper()
	s, err := e.client.NewSender(entity, nil)
	e.must(err)
	return s
}

// receiver opens a queue, or a subscription written as topic/subscription.
func (e *environment) receiver(path string, o *azservicebus.ReceiverOptions) *azservicebus.Receiver {
	e.t.Helper()
	var r *azservicebus.Receiver
	var err error
	if topic, subscription, ok := cut(path); ok {
		r, err = e.client.NewReceiverForSubscription(topic, subscription, o)
	} else {
		r, err = e.client.NewReceiverForQueue(path, o)
	}
	e.must(err)
	e.t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func (e *environment) deadLetters(path string) *azservicebus.Receiver {
	e.t.Helper()
	return e.receiver(path, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
}

func (e *environment) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

func (e *environment) send(entity string, messages ...*azservicebus.Message) {
	e.t.Helper()
	s := e.sender(entity)
	for _, m := range messages {
		e.must(s.SendMessage(e.ctx, m, nil))
	}
	e.must(s.Close(e.ctx))
}

// one receives a message with the body given.
func (e *environment) one(r *azservicebus.Receiver, body string) *azservicebus.ReceivedMessage {
	e.t.Helper()
	got, err := r.ReceiveMessages(e.ctx, 1, nil)
	e.must(err)
	if len(got) != 1 || string(got[0].Body) != body {
		e.t.Fatalf("received %d messages, first %q, want %q", len(got), got[0].Body, body)
	}
	return got[0]
}

func (e *environment) receiveWithin(r *azservicebus.Receiver, n int, d time.Duration) []*azservicebus.ReceivedMessage {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(e.ctx, d)
	defer cancel()
	got, err := r.ReceiveMessages(ctx, n, nil)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		e.t.Fatal(err)
	}
	return got
}

// none checks, through peek, that nothing is there.
func (e *environment) none(r *azservicebus.Receiver) {
	e.t.Helper()
	first := int64(0)
	got, err := r.PeekMessages(e.ctx, 10, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &first})
	e.must(err)
	if len(got) != 0 {
		e.t.Fatalf("%d messages are there, the first one %q", len(got), got[0].Body)
	}
}

func (e *environment) code(err error, want azservicebus.Code) {
	e.t.Helper()
	var sbErr *azservicebus.Error
	if !errors.As(err, &sbErr) || sbErr.Code != want {
		e.t.Fatalf("got error %v, want code %s", err, want)
	}
}

func cut(path string) (string, string, bool) {
	for i := range path {
		if path[i] == '/' {
			return path[:i], path[i+1:], true
		}
	}
	return path, "", false
}

func message(body string) *azservicebus.Message { return &azservicebus.Message{Body: []byte(body)} }

func ptr[T any](v T) *T { return &v }
