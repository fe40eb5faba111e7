package bus_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

// The suite is the bus's contract. It runs against local/servicebus, or against the
// namespace that SERVICEBUS_TEST_CONNECTION_STRING names, which must have the
// product's topics, with nobody else consuming from them.
func dial(t *testing.T) (*bus.Azure, *azservicebus.Client, *servicebus.Server) {
	t.Helper()
	connection := os.Getenv("SERVICEBUS_TEST_CONNECTION_STRING")
	var server *servicebus.Server
	if connection == "" {
		var err error
		server, err = servicebus.Start(t.Context(), servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "SAS_KEY_VALUE"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		connection = server.ConnectionString()
	}
	b, err := bus.Dial(bus.Config{ConnectionString: connection})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close(context.Background()) })
	client, err := azservicebus.NewClientFromConnectionString(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close(context.Background()) })
	return b, client, server
}

// receive takes n messages and completes them.
func receive(t *testing.T, client *azservicebus.Client, topic, subscription string, n int) []*azservicebus.ReceivedMessage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	receiver, err := client.NewReceiverForSubscription(topic, subscription, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close(context.Background())
	var all []*azservicebus.ReceivedMessage
	for len(all) < n {
		messages, err := receiver.ReceiveMessages(ctx, n-len(all), nil)
		if err != nil {
			t.Fatalf("%d of %d messages: %v", len(all), n, err)
		}
		for _, m := range messages {
			if err := receiver.CompleteMessage(ctx, m, nil); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, messages...)
	}
	return all
}

// unique makes ids that no earlier test has sent.
func unique(t *testing.T, i int) string {
	return fmt.Sprintf("%s-%d-%d", t.Name(), time.Now().UnixNano(), i)
}

func TestMessageArrivesAsItWasSent(t *testing.T) {
	t.Parallel()
	b, client, _ := dial(t)
	id := unique(t, 0)
	err := b.Send(t.Context(), message.TopicWorkerJobs, bus.Message{
		ID: id, Body: []byte(`{"a":1}`), Properties: map[string]any{message.PropertyWorkerID: "worker-01"},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := receive(t, client, message.TopicWorkerJobs, message.WorkerSubscription("worker-01"), 1)[0]
	if got.MessageID != id || string(got.Body) != `{"a":1}` || *got.ContentType != "application/json" || got.ApplicationProperties[message.PropertyWorkerID] != "worker-01" {
		t.Fatalf("%+v", got)
	}
	if b.Sent() != 1 {
		t.Fatalf("%d sent", b.Sent())
	}
}

func TestManyMessagesGoInBatchesAndArriveInOrder(t *testing.T) {
	t.Parallel()
	b, client, _ := dial(t)
	const n = 60 // with their bodies, more than one batch holds
	var messages []bus.Message
	for i := range n {
		messages = append(messages, bus.Message{ID: unique(t, i), Body: []byte(strings.Repeat("x", 10_000))})
	}
	if err := b.Send(t.Context(), message.TopicWorkerResults, messages...); err != nil {
		t.Fatal(err)
	}
	got := receive(t, client, message.TopicWorkerResults, message.SubscriptionOrchestrator, n)
	// What arrives between two calls of a receiver it gives back, and is given again
	// later: the order is that of the numbers which the broker gave on arrival.
	slices.SortFunc(got, func(a, b *azservicebus.ReceivedMessage) int { return cmp.Compare(*a.SequenceNumber, *b.SequenceNumber) })
	for i, m := range got {
		if m.MessageID != messages[i].ID {
			t.Fatalf("message %d is %s", i, m.MessageID)
		}
	}
}

func TestSameMessageSentTwiceArrivesOnce(t *testing.T) {
	t.Parallel()
	b, client, _ := dial(t)
	first, second := unique(t, 1), unique(t, 2)
	for _, id := range []string{first, first, second} {
		if err := b.Send(t.Context(), message.TopicOrchestratorEvents, bus.Message{ID: id, Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	got := receive(t, client, message.TopicOrchestratorEvents, message.SubscriptionOrchestrator, 2)
	if got[0].MessageID != first || got[1].MessageID != second {
		t.Fatalf("%s, %s", got[0].MessageID, got[1].MessageID)
	}
}

func TestScheduledMessageArrivesWhenItIsDue(t *testing.T) {
	t.Parallel()
	b, client, _ := dial(t)
	at := time.Now().Add(500 * time.Millisecond).Truncate(time.Millisecond) // as messages carry it
	late, now := bus.Message{ID: unique(t, 1), Body: []byte("{}"), At: at}, bus.Message{ID: unique(t, 2), Body: []byte("{}")}
	if err := b.Send(t.Context(), message.TopicOrchestratorEvents, late, now); err != nil {
		t.Fatal(err)
	}
	got := receive(t, client, message.TopicOrchestratorEvents, message.SubscriptionOrchestrator, 2)
	if got[0].MessageID != now.ID || got[1].MessageID != late.ID || time.Now().Before(at) {
		t.Fatalf("%s, then %s", got[0].MessageID, got[1].MessageID)
	}
}

func TestMessageThatIsTooLargeIsRefusedForGood(t *testing.T) {
	t.Parallel()
	b, _, _ := dial(t)
	large := bus.Message{ID: unique(t, 0), Body: make([]byte, 2<<20)}
	for _, messages := range [][]bus.Message{{large}, {{ID: unique(t, 1), Body: []byte("{}")}, large}} {
		if err := b.Send(t.Context(), message.TopicWorkerResults, messages...); err == nil || errors.Is(err, bus.ErrUnavailable) {
			t.Errorf("%d messages: %v", len(messages), err)
		}
	}
}

func TestBrokerThatIsAwayIsUnavailableAndUsedAgainWhenItIsBack(t *testing.T) {
	t.Parallel()
	config := servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "SAS_KEY_VALUE"}
	server, err := servicebus.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	b, err := bus.Dial(bus.Config{ConnectionString: server.ConnectionString()})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close(context.Background())
	if err := b.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	config.Addr = server.Addr()
	if err := server.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := b.Send(ctx, message.TopicWorkerResults, bus.Message{ID: unique(t, 1)}); !errors.Is(err, bus.ErrUnavailable) {
		t.Fatalf("send: %v", err)
	}
	if err := b.Ping(ctx); !errors.Is(err, bus.ErrUnavailable) {
		t.Fatalf("ping: %v", err)
	}
	if server, err = servicebus.Start(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	for err = errors.New("not yet"); err != nil; err = b.Send(t.Context(), message.TopicWorkerResults, bus.Message{ID: unique(t, 2), Body: []byte("{}")}) {
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestConfigurationIsCheckedWithoutTellingTheKey(t *testing.T) {
	t.Parallel()
	for _, c := range []bus.Config{
		{},
		{Namespace: "n.servicebus.windows.net"},
		{ConnectionString: "Endpoint=;SharedAccessKey=very-secret"},
	} {
		if _, err := bus.Dial(c); err == nil || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%+v: %v", c.Namespace, err)
		}
	}
}

// What is sent within a trace carries it, and what its sender made of the message
// stays as it was.
func TestMessageCarriesTheTrace(t *testing.T) {
	t.Parallel()
	b, client, _ := dial(t)
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0x11}, SpanID: trace.SpanID{0x22}, TraceFlags: trace.FlagsSampled,
	}))
	properties := map[string]any{message.PropertyWorkerID: "worker-01"}
	var messages []bus.Message
	for i := range 3 {
		messages = append(messages, bus.Message{ID: unique(t, i), Body: []byte(`{}`), Properties: properties})
	}
	if err := b.Send(ctx, message.TopicWorkerJobs, messages...); err != nil {
		t.Fatal(err)
	}
	for _, got := range receive(t, client, message.TopicWorkerJobs, message.WorkerSubscription("worker-01"), 3) {
		if got.ApplicationProperties["traceparent"] != "00-11000000000000000000000000000000-2200000000000000-01" {
			t.Errorf("%v", got.ApplicationProperties)
		}
	}
	if len(properties) != 1 {
		t.Errorf("the caller's properties are %v", properties)
	}
}

// Whoever looks at what waits sees the oldest message, be it locked or not, and takes
// nothing: not what is there, nor of the number of times that it may be delivered.
func TestOldestMessageIsSeenAndLeftAlone(t *testing.T) {
	t.Parallel()
	b, client, _ := dial(t)
	look := func() (time.Time, bool) {
		t.Helper()
		at, found, err := b.Oldest(t.Context(), message.TopicWorkerResults, message.SubscriptionOrchestrator)
		if err != nil {
			t.Fatal(err)
		}
		return at, found
	}
	if at, found := look(); found {
		t.Fatalf("of nothing the oldest is of %s", at)
	}
	later := bus.Message{ID: unique(t, 0), Body: []byte("{}"), At: time.Now().Add(time.Hour)}
	if err := b.Send(t.Context(), message.TopicWorkerResults, later); err != nil {
		t.Fatal(err)
	}
	if at, found := look(); found {
		t.Fatalf("what is scheduled is taken to wait since %s", at)
	}
	const n = 25 // more than one look brings
	for i := range n {
		if err := b.Send(t.Context(), message.TopicWorkerResults, bus.Message{ID: unique(t, 1+i), Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	first, found := look()
	if !found {
		t.Fatal("nothing is seen")
	}
	receiver, err := client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer receiver.Close(context.Background())
	var locked []*azservicebus.ReceivedMessage
	for len(locked) < n {
		got, err := receiver.ReceiveMessages(t.Context(), n-len(locked), nil)
		if err != nil {
			t.Fatal(err)
		}
		locked = append(locked, got...)
	}
	oldest := slices.MinFunc(locked, func(a, b *azservicebus.ReceivedMessage) int { return cmp.Compare(*a.SequenceNumber, *b.SequenceNumber) })
	if at, found := look(); !found || !at.Equal(first) || !at.Equal(*oldest.EnqueuedTime) {
		t.Errorf("the oldest is of %s (%v), then %s; it came at %s", first, found, at, oldest.EnqueuedTime)
	}
	for _, m := range locked {
		if m.DeliveryCount != 1 {
			t.Errorf("a message was delivered %d times", m.DeliveryCount)
		}
		if err := receiver.DeferMessage(t.Context(), m, nil); err != nil {
			t.Fatal(err)
		}
	}
	if at, found := look(); found {
		t.Errorf("what is set aside is taken to wait since %s", at)
	}
	if err := b.Send(t.Context(), message.TopicWorkerResults, bus.Message{ID: unique(t, 1+n), Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	at, found := look() // behind all those
	last, err := receiver.ReceiveMessages(t.Context(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !found || !at.Equal(*last[0].EnqueuedTime) {
		t.Errorf("the oldest is of %s (%v); it came at %s", at, found, last[0].EnqueuedTime)
	}
	if err := receiver.CompleteMessage(t.Context(), last[0], nil); err != nil {
		t.Fatal(err)
	}
	if at, found := look(); found {
		t.Errorf("what is done is taken to wait since %s", at)
	}
	for _, m := range locked { // a namespace that is there for longer is left as it was
		aside, err := receiver.ReceiveDeferredMessages(t.Context(), []int64{*m.SequenceNumber}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := receiver.CompleteMessage(t.Context(), aside[0], nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := b.Oldest(t.Context(), message.TopicWorkerResults, "nobody"); !errors.Is(err, bus.ErrNotFound) {
		t.Errorf("a subscription that is not there: %v", err)
	}
}
