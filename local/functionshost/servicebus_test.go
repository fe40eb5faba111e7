package functionshost

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
)

const onEvent = `{"bindings":[{"type":"serviceBusTrigger","direction":"in","name":"msg","topicName":"orchestrator-events","subscriptionName":"orchestrator","connection":"ServiceBusConnection","cardinality":"one","dataType":"binary"}]}`

// delivery is a message as the handler receives it.
type delivery struct {
	Data     struct{ Msg []byte }
	Metadata struct {
		DeliveryCount         string
		ApplicationProperties map[string]any
	}
}

func decode(t *testing.T, r *http.Request) delivery {
	t.Helper()
	var d delivery
	raw, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Errorf("the payload is %s: %v", raw, err)
	}
	return d
}

// broker starts a namespace whose locks last that long.
func broker(t testing.TB, addr string, lock time.Duration) *servicebus.Server {
	t.Helper()
	topology := servicebus.DefaultTopology()
	for i := range topology.Topics {
		for j := range topology.Topics[i].Subscriptions {
			topology.Topics[i].Subscriptions[j].LockDuration = lock
			topology.Topics[i].Subscriptions[j].MaxDeliveryCount = 10
		}
	}
	var b *servicebus.Server
	testenv.Eventually(t, "the broker's start", func() (ok bool) {
		var err error
		b, err = servicebus.Start(context.Background(), servicebus.Config{Addr: addr, Topology: topology, Key: "SAS_KEY_VALUE"})
		return err == nil
	})
	t.Cleanup(func() { _ = b.Close() })
	return b
}

func client(t testing.TB, b *servicebus.Server) *azservicebus.Client {
	t.Helper()
	return testenv.Connected(azservicebus.NewClientFromConnectionString(b.ConnectionString(), nil))(t)
}

func send(t testing.TB, b *servicebus.Server, bodies ...string) {
	t.Helper()
	sender, err := client(t, b).NewSender("orchestrator-events", nil)
	if err != nil {
		t.Fatal(err)
	}
	batch := testenv.Must(sender.NewMessageBatch(t.Context(), nil))(t)
	for _, body := range bodies {
		if err := batch.AddMessage(&azservicebus.Message{Body: []byte(body), ApplicationProperties: map[string]any{"MessageType": "phase-due", "n": int64(7)}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := sender.SendMessageBatch(t.Context(), batch, nil); err != nil {
		t.Fatal(err)
	}
}

// left counts what the subscription still holds, locked messages included.
func left(t testing.TB, b *servicebus.Server) int {
	t.Helper()
	receiver, err := client(t, b).NewReceiverForSubscription("orchestrator-events", "orchestrator", nil)
	if err != nil {
		t.Fatal(err)
	}
	messages := testenv.Must(receiver.PeekMessages(t.Context(), 100, nil))(t)
	return len(messages)
}

func TestMessagesAreCompletedOnSuccessAndComeAgainOnFailure(t *testing.T) {
	t.Parallel()
	b := broker(t, "127.0.0.1:0", time.Minute)
	var mu sync.Mutex
	seen := map[string][]string{}
	run(t, Config{AppDir: app(t, map[string]string{"on-event": onEvent}), Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()}, Logger: quietly}, func(w http.ResponseWriter, r *http.Request) {
		d := decode(t, r)
		mu.Lock()
		defer mu.Unlock()
		body := string(d.Data.Msg)
		seen[body] = append(seen[body], d.Metadata.DeliveryCount)
		if d.Metadata.ApplicationProperties["MessageType"] != "phase-due" || d.Metadata.ApplicationProperties["n"] != 7.0 {
			t.Errorf("properties %v", d.Metadata.ApplicationProperties)
		}
		if body == "bad" && len(seen[body]) < 3 || body == "poison" {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		success(w)
	})
	send(t, b, "good", "bad", "poison", "\xff\x00")
	testenv.Eventually(t, "an empty subscription", func() bool { return left(t, b) == 0 })
	mu.Lock()
	defer mu.Unlock()
	got := fmt.Sprint(seen)
	if want := fmt.Sprint(map[string][]string{"good": {"1"}, "bad": {"1", "2", "3"}, "\xff\x00": {"1"}, "poison": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "10"}}); got != want {
		t.Errorf("deliveries %s, want %s", got, want)
	}
}

// The names of the topic and the subscription are settings, as in the product's function.json.
func TestTriggersByNamesInSettings(t *testing.T) {
	t.Parallel()
	b := broker(t, "127.0.0.1:0", time.Minute)
	came := make(chan string, 1)
	trigger := strings.NewReplacer(`"orchestrator-events"`, `"%ORCHESTRATOR_EVENTS_TOPIC%"`, `"orchestrator"`, `"%Orchestrator_Subscription%"`).Replace(onEvent)
	run(t, Config{AppDir: app(t, map[string]string{"on-event": trigger}), Settings: map[string]string{
		"ServiceBusConnection": b.ConnectionString(), "ORCHESTRATOR_EVENTS_TOPIC": "orchestrator-events", "ORCHESTRATOR_SUBSCRIPTION": "orchestrator",
	}, Logger: quietly}, func(w http.ResponseWriter, r *http.Request) {
		came <- string(decode(t, r).Data.Msg)
		success(w)
	})
	send(t, b, "good")
	if got := <-came; got != "good" {
		t.Errorf("got %q", got)
	}
}

var quietly = slog.New(slog.DiscardHandler)

func TestNoMoreCallsAtOnceThanConfigured(t *testing.T) {
	t.Parallel()
	b := broker(t, "127.0.0.1:0", time.Minute)
	var now, most, done atomic.Int64
	full := make(chan struct{})
	run(t, Config{AppDir: app(t, map[string]string{"on-event": onEvent}), Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()}}, func(w http.ResponseWriter, r *http.Request) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if n == 8 && done.Load() == 0 {
			close(full)
		}
		<-full
		now.Add(-1)
		done.Add(1)
		success(w)
	})
	bodies := make([]string, 100)
	send(t, b, bodies...)
	testenv.Eventually(t, "100 calls", func() bool { return done.Load() == 100 })
	if most.Load() != 8 {
		t.Errorf("%d calls ran at once, want 8", most.Load())
	}
	testenv.Eventually(t, "an empty subscription", func() bool { return left(t, b) == 0 })
}

func TestALockIsKeptWhileTheCallRuns(t *testing.T) {
	t.Parallel()
	b := broker(t, "127.0.0.1:0", time.Second)
	var calls atomic.Int64
	run(t, Config{AppDir: app(t, map[string]string{"on-event": onEvent}), Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()}}, func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		select {
		case <-time.After(2500 * time.Millisecond): // more than two locks
		case <-r.Context().Done():
		}
		success(w)
	})
	send(t, b, "slow")
	testenv.Eventually(t, "an empty subscription", func() bool { return left(t, b) == 0 })
	if calls.Load() != 1 {
		t.Errorf("%d calls, want 1", calls.Load())
	}
}

func TestALockIsNotKeptForEver(t *testing.T) {
	t.Parallel()
	b := broker(t, "127.0.0.1:0", time.Second)
	calls, leave := make(chan string, 10), make(chan struct{})
	run(t, Config{AppDir: app(t, map[string]string{"on-event": onEvent}), Logger: quietly, Settings: map[string]string{
		"ServiceBusConnection": b.ConnectionString(),
		OverridePrefix + "extensions__serviceBus__maxAutoLockRenewalDuration": "00:00:00",
	}}, func(w http.ResponseWriter, r *http.Request) {
		count := decode(t, r).Metadata.DeliveryCount
		calls <- count
		if count == "1" {
			<-leave
		}
		success(w)
	})
	send(t, b, "slow")
	if first, second := <-calls, <-calls; first != "1" || second != "2" {
		t.Errorf("deliveries %s and %s", first, second)
	}
	close(leave)
}

func TestTheBrokerMayGoAndComeBack(t *testing.T) {
	t.Parallel()
	addr := testenv.Address(t)
	b := broker(t, addr, time.Minute)
	bodies := make(chan string, 10)
	run(t, Config{AppDir: app(t, map[string]string{"on-event": onEvent}), Logger: quietly, Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()}}, func(w http.ResponseWriter, r *http.Request) {
		bodies <- string(decode(t, r).Data.Msg)
		success(w)
	})
	send(t, b, "before")
	if got := <-bodies; got != "before" {
		t.Errorf("got %q", got)
	}
	testenv.Eventually(t, "an empty subscription", func() bool { return left(t, b) == 0 })
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	b = broker(t, addr, time.Minute)
	send(t, b, "after")
	select {
	case got := <-bodies:
		if got != "after" {
			t.Errorf("got %q", got)
		}
	case <-time.After(20 * time.Second):
		t.Error("nothing is received from the new broker")
	}
}

// TestMessagesWhoseHandlerIsKilledComeAgain: the end of the handler costs a message
// one delivery, although given back it could be had again at once.
func TestMessagesWhoseHandlerIsKilledComeAgain(t *testing.T) {
	t.Parallel()
	b := broker(t, "127.0.0.1:0", time.Minute)
	const calls = 8 // as many as run at once
	counts := make(chan string, 10*calls)
	s := run(t, Config{AppDir: app(t, map[string]string{"on-event": onEvent}), Logger: quietly, Settings: map[string]string{"ServiceBusConnection": b.ConnectionString()}}, func(w http.ResponseWriter, r *http.Request) {
		count := decode(t, r).Metadata.DeliveryCount
		counts <- count
		if count == "1" {
			<-r.Context().Done()
			return
		}
		success(w)
	})
	send(t, b, strings.Split("abcdefgh", "")...)
	for range calls {
		if got := <-counts; got != "1" {
			t.Fatalf("the first delivery has count %s", got)
		}
	}
	process := testenv.Must(os.FindProcess(s.HandlerPID()))(t)
	if err := process.Kill(); err != nil {
		t.Fatal(err)
	}
	for range calls {
		if got := <-counts; got != "2" {
			t.Errorf("the second delivery has count %s", got)
		}
	}
	testenv.Eventually(t, "an empty subscription", func() bool { return left(t, b) == 0 })
}

func TestConnections(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		settings map[string]string
		want     string
	}{
		"neither setting":      {map[string]string{}, "set C or C__fullyQualifiedNamespace"},
		"no connection string": {map[string]string{"C": "SharedAccessKey=secret"}, "setting C is not a Service Bus connection string"},
	} {
		if _, _, err := connect(tc.settings, "C"); err == nil || err.Error() != tc.want {
			t.Errorf("%s: error %v, want %s", name, err, tc.want)
		}
	}
	_, namespace, err := connect(map[string]string{"C": "Endpoint=sb://ns.servicebus.windows.net/;SharedAccessKeyName=k;SharedAccessKey=c2VjcmV0"}, "C")
	if err != nil || namespace != "ns.servicebus.windows.net" {
		t.Errorf("namespace %q, %v", namespace, err)
	}
}

// BenchmarkMessages is a message's way from the broker through the handler to its
// settlement, with a handler that does nothing.
func BenchmarkMessages(b *testing.B) {
	namespace := broker(b, "127.0.0.1:0", time.Minute)
	bodies := make([]string, 500)
	for i := range bodies {
		bodies[i] = `{"BatchId":42,"RunbookName":"migrate","RunbookVersion":3,"PhaseName":"cutover","PhaseExecutionId":7}`
	}
	sent := 0
	for ; sent < b.N; sent += len(bodies) {
		send(b, namespace, bodies[:min(len(bodies), b.N-sent)]...)
	}
	b.ResetTimer()
	run(b, Config{AppDir: app(b, map[string]string{"on-event": onEvent}), Settings: map[string]string{
		"ServiceBusConnection": namespace.ConnectionString(), "FAKE_DIRECT": "yes",
		OverridePrefix + "extensions__serviceBus__maxConcurrentCalls": "64",
	}}, nil)
	testenv.Eventually(b, "an empty subscription", func() bool { return left(b, namespace) == 0 })
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
}
