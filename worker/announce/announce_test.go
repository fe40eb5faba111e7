package announce_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/bus"
	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/announce"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

var started = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func read(t *testing.T, body []byte) message.Catalog {
	t.Helper()
	var c message.Catalog
	if err := json.Unmarshal(body, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheMessageTellsAllThatIsDeclared(t *testing.T) {
	t.Parallel()
	w := announce.Worker{ID: "worker-01", Version: "1.2", Started: started, JobTimeout: 10 * time.Minute, Functions: append(catalog.Standard(), catalog.NoOp)}
	w.Functions[0].TimeoutSeconds = 90
	m := testenv.Must(w.Message())(t)
	if m.Properties["MessageType"] != "worker-catalog" || m.Properties["WorkerId"] != "worker-01" || len(m.ID) > 128 {
		t.Errorf("%+v", m)
	}
	c := read(t, m.Body)
	if c.WorkerID != "worker-01" || c.Version != "1.2" || !c.Timestamp.Equal(started) || len(c.Functions) != len(w.Functions) {
		t.Fatalf("%+v", c)
	}
	for i, f := range w.Functions {
		got := c.Functions[i]
		if want := map[bool]int{true: f.TimeoutSeconds, false: 600}[f.TimeoutSeconds > 0]; got.TimeoutSeconds != want {
			t.Errorf("%s takes up to %d s, want %d", f.Name, got.TimeoutSeconds, want)
		}
		if got.Name != f.Name || got.Description != f.Description || len(got.Parameters) != len(f.Params) || len(got.Result) != len(f.Result) || strings.Join(got.Permissions, " ") != strings.Join(f.Permissions, " ") {
			t.Errorf("%s is told as %+v", f.Name, got)
			continue
		}
		for j, p := range f.Params {
			if want := (message.CatalogParameter{Name: p.Name, Type: string(p.Type), Required: p.Required, Description: p.Description, Secret: p.Secret}); got.Parameters[j] != want {
				t.Errorf("%s: %+v, want %+v", f.Name, got.Parameters[j], want)
			}
		}
	}
	again, _ := w.Message()
	w.Started = started.Add(time.Millisecond)
	later, _ := w.Message()
	if again.ID != m.ID || later.ID == m.ID {
		t.Errorf("the ids are %s, %s again and %s later", m.ID, again.ID, later.ID)
	}
}

func TestWhatIsTooLargeIsReportedWithoutDescriptions(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long ", message.Limit/5)
	f := catalog.Function{
		Name: "Do", Description: long, Result: []catalog.Field{{Name: "R", Description: long}},
		Params: []catalog.Param{{Name: "P", Type: catalog.String, Required: true, Description: long}},
	}
	w := announce.Worker{ID: "w", Started: started, Functions: []catalog.Function{f}}
	m := testenv.Must(w.Message())(t)
	got := read(t, m.Body).Functions[0]
	if got.Description+got.Result[0].Description+got.Parameters[0].Description != "" || got.Parameters[0].Type != "string" || !got.Parameters[0].Required {
		t.Errorf("%+v", got)
	}
	w.Functions[0].Permissions = []string{long}
	if _, err := w.Message(); err == nil || !strings.Contains(err.Error(), "at most 245760 are allowed") {
		t.Errorf("got %v", err)
	}
}

// flaky is a way to the broker that fails at first, of which the second time the message
// arrives all the same.
type flaky struct {
	bus.Sender
	calls int
}

func (f *flaky) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	f.calls++
	if f.calls == 2 || f.calls > 3 {
		if err := f.Sender.Send(ctx, topic, messages...); err != nil {
			return err
		}
	}
	if f.calls <= 3 {
		return context.DeadlineExceeded
	}
	return nil
}

func TestItIsSentUntilItArrivesAndArrivesOnce(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	broker := testenv.Started(servicebus.Start(ctx, servicebus.Config{Addr: "127.0.0.1:0", Topology: servicebus.DefaultTopology(), Key: "c2VjcmV0"}))(t)
	client := testenv.Connected(azservicebus.NewClientFromConnectionString(broker.ConnectionString(), nil))(t)
	sender := testenv.Connected(azbus.Dial(azbus.Config{ConnectionString: broker.ConnectionString()}))(t)
	w := announce.Worker{ID: "worker-01", Started: started, Functions: catalog.Standard()}
	way := &flaky{Sender: sender}
	w.Send(ctx, way, slog.New(slog.DiscardHandler))
	if way.calls != 4 {
		t.Errorf("sent %d times", way.calls)
	}
	last := "the last one"
	if err := sender.Send(ctx, message.TopicWorkerResults, bus.Message{ID: last, Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	results := testenv.Must(client.NewReceiverForSubscription(message.TopicWorkerResults, message.SubscriptionOrchestrator, &azservicebus.ReceiverOptions{ReceiveMode: azservicebus.ReceiveModeReceiveAndDelete}))(t)
	var ids []string
	for len(ids) == 0 || ids[len(ids)-1] != last {
		messages := testenv.Must(results.ReceiveMessages(ctx, 10, nil))(t)
		for _, m := range messages {
			ids = append(ids, m.MessageID)
		}
	}
	if len(ids) != 2 {
		t.Errorf("%q arrived", ids)
	}

	gone, stop := context.WithCancel(ctx)
	stop()
	w.Send(gone, &flaky{Sender: sender}, slog.New(slog.DiscardHandler)) // returns
}
