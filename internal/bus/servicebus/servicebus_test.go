package servicebus_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/bustest"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	local "github.com/matoolkit/matoolkit/local/servicebus"
)

// TestConformance runs against local/servicebus. Against a namespace it runs instead where
// SERVICEBUS_TEST_CONNECTION_STRING or SERVICEBUS_TEST_NAMESPACE names one: with the
// topology of infra/topology.json, without other receivers, and with the time that passes
// there (go test -timeout 60m). For a namespace the credential is that of the environment
// (DefaultAzureCredential), with the roles Data Sender and Data Receiver.
func TestConformance(t *testing.T) {
	t.Parallel()
	live := servicebus.Config{ConnectionString: os.Getenv("SERVICEBUS_TEST_CONNECTION_STRING"), Namespace: os.Getenv("SERVICEBUS_TEST_NAMESPACE")}
	if live.ConnectionString == "" && live.Namespace == "" {
		bustest.Run(t, openLocal)
		return
	}
	if live.ConnectionString == "" {
		credential := testenv.Must(azidentity.NewDefaultAzureCredential(nil))(t)
		live.Credential = credential
	}
	var turn sync.Mutex // the tests share the namespace
	bustest.Run(t, func(t *testing.T) bustest.Namespace {
		t.Helper()
		turn.Lock()
		t.Cleanup(turn.Unlock)
		client := dial(t, live)
		drain(t, client)
		return bustest.Namespace{Client: client, Advance: time.Sleep, Now: time.Now, Quiet: 3 * time.Second}
	})
}

func openLocal(t *testing.T) bustest.Namespace {
	t.Helper()
	clock := testenv.NewClock()
	server := start(t, local.Config{Addr: "127.0.0.1:0", Topology: local.DefaultTopology(), Key: "SAS_KEY_VALUE", Now: clock.Now})
	client := dial(t, servicebus.Config{ConnectionString: server.ConnectionString()})
	return bustest.Namespace{
		Client: client, Now: clock.Now, Quiet: 100 * time.Millisecond,
		Advance: func(d time.Duration) { clock.Advance(d); server.Tick() },
	}
}

func start(t *testing.T, config local.Config) *local.Server {
	t.Helper()
	return testenv.Started(local.Start(t.Context(), config))(t)
}

func dial(t *testing.T, config servicebus.Config) *servicebus.Client {
	t.Helper()
	return testenv.Connected(servicebus.Dial(config))(t)
}

// drain empties a namespace that other tests used before.
func drain(t *testing.T, client *servicebus.Client) {
	t.Helper()
	worker := message.WorkerSubscription("worker-01")
	for topic, subscription := range map[string]string{
		message.TopicOrchestratorEvents: message.SubscriptionOrchestrator, message.TopicWorkerResults: message.SubscriptionOrchestrator,
		message.TopicWorkerJobs: worker, message.TopicWorkerControl: worker,
	} {
		receiver := testenv.Must(client.Receiver(topic, subscription))(t)
		for more := true; more; {
			messages := testenv.Must(receiver.Receive(t.Context(), 100, 3*time.Second))(t)
			for _, m := range messages {
				if err := receiver.Complete(t.Context(), m); err != nil {
					t.Fatal(err)
				}
			}
			more = len(messages) > 0
		}
		_ = receiver.Close(t.Context()) // its connection ends with the test
		for more := true; more; {
			n := testenv.Must(client.TakeDeadLetters(t.Context(), topic, subscription, 100, func(context.Context, bus.DeadLetter) error { return nil }))(t)
			more = n > 0
		}
	}
}

func TestBrokerThatIsAwayIsUnavailableAndUsedAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	config := local.Config{Addr: testenv.Address(t), Topology: local.DefaultTopology(), Key: "SAS_KEY_VALUE"}
	server := start(t, config)
	b := dial(t, servicebus.Config{ConnectionString: server.ConnectionString()})
	if err := b.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	receiver := testenv.Must(b.Receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator))(t)
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := b.Send(ctx, message.TopicWorkerResults, bus.Message{ID: "1"}); !errors.Is(err, bus.ErrUnavailable) {
		t.Fatalf("send: %v", err)
	}
	if err := b.Ping(ctx); !errors.Is(err, bus.ErrUnavailable) {
		t.Fatalf("ping: %v", err)
	}
	if _, err := receiver.Receive(ctx, 1, 5*time.Second); !errors.Is(err, bus.ErrUnavailable) {
		t.Fatalf("receive: %v", err)
	}
	start(t, config)
	for err := errors.New("not yet"); err != nil; err = b.Send(t.Context(), message.TopicWorkerResults, bus.Message{ID: "2", Body: []byte("{}")}) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	if b.Sent() != 1 {
		t.Errorf("%d messages are acknowledged", b.Sent())
	}
	var got []*bus.Received
	for len(got) == 0 {
		var err error
		if got, err = receiver.Receive(t.Context(), 1, time.Second); t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
	if got[0].ID != "2" {
		t.Errorf("%+v", got[0])
	}
}

// A broker that accepts a connection and does not answer is given up when the caller's time ends.
func TestBrokerThatDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	silent := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	b := dial(t, servicebus.Config{ConnectionString: fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=k;SharedAccessKey=SAS_KEY_VALUE;UseDevelopmentEmulator=true", silent.Addr())})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, _, err := b.Oldest(ctx, message.TopicWorkerResults, message.SubscriptionOrchestrator); !errors.Is(err, bus.ErrUnavailable) {
		t.Error(err)
	}
}

func TestWrongKeyIsUnauthorized(t *testing.T) {
	t.Parallel()
	server := start(t, local.Config{Addr: "127.0.0.1:0", Topology: local.DefaultTopology(), Key: "SAS_KEY_VALUE"})
	b := dial(t, servicebus.Config{ConnectionString: strings.Replace(server.ConnectionString(), "SAS_KEY_VALUE", "another", 1)})
	receiver := testenv.Must(b.Receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator))(t)
	_, receive := receiver.Receive(t.Context(), 1, 10*time.Second)
	for call, err := range map[string]error{"receive": receive, "send": b.Send(t.Context(), message.TopicWorkerResults, bus.Message{ID: "1"}), "ping": b.Ping(t.Context())} {
		if !errors.Is(err, bus.ErrUnauthorized) || !errors.Is(err, bus.ErrUnavailable) {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestConfigurationIsCheckedWithoutTellingTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []servicebus.Config{
		{},
		{Namespace: "n.servicebus.windows.net"},
		{ConnectionString: "Endpoint=;SharedAccessKey=very-secret"},
	} {
		if _, err := servicebus.Dial(c); err == nil || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%+v: %v", c.Namespace, err)
		}
	}
}

// TestDeferredMessagesDoNotWait defers over the SDK: the contract has no deferral.
func TestDeferredMessagesDoNotWait(t *testing.T) {
	t.Parallel()
	server := start(t, local.Config{Addr: "127.0.0.1:0", Topology: local.DefaultTopology(), Key: "SAS_KEY_VALUE"})
	b := dial(t, servicebus.Config{ConnectionString: server.ConnectionString()})
	client := testenv.Connected(azservicebus.NewClientFromConnectionString(server.ConnectionString(), nil))(t)
	receiver := testenv.Must(client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator, nil))(t)
	defer receiver.Close(context.Background())
	const n = 25 // more than one page of Oldest
	for i := range n {
		if err := b.Send(t.Context(), message.TopicWorkerResults, bus.Message{ID: string(rune('a' + i)), Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
		messages := testenv.Must(receiver.ReceiveMessages(t.Context(), 1, nil))(t)
		if err := receiver.DeferMessage(t.Context(), messages[0], nil); err != nil {
			t.Fatal(err)
		}
	}
	look := func() (time.Time, bool) {
		t.Helper()
		at, found, err := b.Oldest(t.Context(), message.TopicWorkerResults, message.SubscriptionOrchestrator)
		if err != nil {
			t.Fatal(err)
		}
		return at, found
	}
	if at, found := look(); found {
		t.Errorf("a deferred message waits since %s", at)
	}
	if err := b.Send(t.Context(), message.TopicWorkerResults, bus.Message{ID: "last", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	at, found := look()
	last := testenv.Must(receiver.ReceiveMessages(t.Context(), 1, nil))(t)
	if !found || !at.Equal(*last[0].EnqueuedTime) {
		t.Errorf("the oldest is of %s (%v); it came at %s", at, found, last[0].EnqueuedTime)
	}
}
