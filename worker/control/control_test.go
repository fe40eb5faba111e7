package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	azbus "github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/control"
)

const (
	workerID = "worker-01"
	patience = 10 * time.Second
)

func serve(t *testing.T, addr string) *servicebus.Server {
	t.Helper()
	return testenv.Started(servicebus.Start(context.Background(), servicebus.Config{Addr: addr, Topology: servicebus.DefaultTopology(), Key: "c2VjcmV0"}))(t)
}

func connect(t *testing.T, connectionString string) *azservicebus.Client {
	t.Helper()
	return testenv.Connected(azservicebus.NewClientFromConnectionString(connectionString, &azservicebus.ClientOptions{
		RetryOptions: azservicebus.RetryOptions{MaxRetries: 1, RetryDelay: 20 * time.Millisecond, MaxRetryDelay: 100 * time.Millisecond},
	}))(t)
}

// dial connects a worker.
func dial(t *testing.T, connectionString string) *azbus.Client {
	t.Helper()
	return testenv.Connected(azbus.Dial(azbus.Config{ConnectionString: connectionString}))(t)
}

func send(t *testing.T, client *azservicebus.Client, bodies ...string) {
	t.Helper()
	sender := testenv.Must(client.NewSender(message.TopicWorkerControl, nil))(t)
	defer sender.Close(context.Background())
	for _, body := range bodies {
		if err := sender.SendMessage(t.Context(), &azservicebus.Message{Body: []byte(body)}, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func revoke(t *testing.T, client *azservicebus.Client, controls ...message.Control) {
	t.Helper()
	for _, c := range controls {
		body := testenv.Must(json.Marshal(c))(t)
		send(t, client, string(body))
	}
}

// watch runs a watch until the test ends.
func watch(t *testing.T, connectionString string, c control.Config) *control.Watch {
	t.Helper()
	if c.WorkerID == "" {
		c.WorkerID = workerID
	}
	if c.Interval == 0 {
		c.Interval = 20 * time.Millisecond
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	w := testenv.Must(control.New(dial(t, connectionString), c))(t)
	ctx, stop := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-stopped
	})
	return w
}

// becomes waits until a condition holds.
func becomes(t *testing.T, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(2 * time.Millisecond)
	defer look.Stop()
	for end := time.After(patience); !holds(); {
		select {
		case <-look.C:
		case <-end:
			t.Fatal("waited in vain until ", what)
		}
	}
}

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }

func job(batch, dispatched int) message.Job {
	when := at(dispatched)
	return message.Job{BatchID: batch, DispatchedAt: &when}
}

func TestJobsThatWereDispatchedBeforeTheControlAreRevoked(t *testing.T) {
	t.Parallel()
	connection := serve(t, "127.0.0.1:0").ConnectionString()
	client := connect(t, connection)
	revoke(t, client, message.Control{BatchID: 1, RevokedThrough: at(10)})
	w := watch(t, connection, control.Config{})
	becomes(t, "the controls are read", func() bool { return w.Err() == nil })
	check := func(job message.Job, want bool) {
		t.Helper()
		if got := w.Revoked(job); got != want {
			t.Errorf("job of batch %d dispatched at %s: revoked is %t", job.BatchID, job.DispatchedAt, got)
		}
	}
	check(job(1, 9), true)
	check(job(1, 10), true)
	check(job(1, 11), false)
	check(job(2, 9), false)
	if w.Revoked(message.Job{BatchID: 1}) {
		t.Error("a job is revoked that does not say when it was dispatched")
	}

	// An earlier control that arrives later changes nothing, and neither does an invalid one.
	changed := w.Changed()
	revoke(t, client, message.Control{BatchID: 1, RevokedThrough: at(5)})
	send(t, client, `{"BatchId":`, `{}`, `{"BatchId":3}`, `[]`)
	revoke(t, client, message.Control{BatchID: 2, RevokedThrough: at(20)})
	select {
	case <-changed:
	case <-time.After(patience):
		t.Fatal("nobody is told of the change")
	}
	becomes(t, "the new control is read", func() bool { return w.Revoked(job(2, 9)) })
	check(job(1, 9), true)
	check(job(1, 10), true)
	check(job(3, 1), false)
}

// More controls than one request brings are all read before the first job.
func TestAllControlsAreReadAtTheStart(t *testing.T) {
	t.Parallel()
	connection := serve(t, "127.0.0.1:0").ConnectionString()
	client := connect(t, connection)
	sender := testenv.Must(client.NewSender(message.TopicWorkerControl, nil))(t)
	batch := testenv.Must(sender.NewMessageBatch(t.Context(), nil))(t)
	const n = 731
	for i := range n {
		body := fmt.Sprintf(`{"BatchId":%d,"RevokedThrough":"2026-03-01T12:00:00Z"}`, i+1)
		if err := batch.AddMessage(&azservicebus.Message{Body: []byte(body)}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := sender.SendMessageBatch(t.Context(), batch, nil); err != nil {
		t.Fatal(err)
	}
	w := watch(t, connection, control.Config{})
	becomes(t, "the controls are read", func() bool { return w.Err() == nil })
	for i := range n {
		if !w.Revoked(job(i+1, 0)) {
			t.Fatalf("the control of batch %d is not known", i+1)
		}
	}
}

// A namespace that was made anew counts from the beginning: a replica that went on from
// where it was would see no control any more.
func TestControlsOfASubscriptionThatWasMadeAnewAreRead(t *testing.T) {
	t.Parallel()
	addr := testenv.Address(t)
	first := serve(t, addr)
	client := connect(t, first.ConnectionString())
	for batch := range 5 {
		revoke(t, client, message.Control{BatchID: batch + 1, RevokedThrough: at(10)})
	}
	w := watch(t, first.ConnectionString(), control.Config{})
	becomes(t, "the controls are read", func() bool { return w.Err() == nil && w.Revoked(job(5, 1)) })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := connect(t, serve(t, addr).ConnectionString())
	revoke(t, second, message.Control{BatchID: 6, RevokedThrough: at(10)})
	becomes(t, "the control is read", func() bool { return w.Revoked(job(6, 1)) })
	if !w.Revoked(job(5, 1)) {
		t.Error("what was known is forgotten")
	}
}

// Known controls become stale while the broker does not answer, and Err says so.
func TestControlsThatCannotBeReadAreAnError(t *testing.T) {
	t.Parallel()
	addr := testenv.Address(t)
	first := serve(t, addr)
	w := watch(t, first.ConnectionString(), control.Config{MaxAge: 300 * time.Millisecond})
	becomes(t, "the controls are read", func() bool { return w.Err() == nil && !w.Until().IsZero() })
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	becomes(t, "the controls are old", func() bool { return w.Err() != nil && w.Until().IsZero() })
	becomes(t, "the error has its cause", func() bool {
		err := w.Err()
		return err != nil && strings.Contains(err.Error(), "were last read") && strings.Count(err.Error(), ": ") > 0
	})
	serve(t, addr)
	becomes(t, "the controls are read again", func() bool { return w.Err() == nil })
}

// lines receives a log, line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	select {
	case l <- string(p):
	default:
	}
	return len(p), nil
}

func TestAMissingSubscriptionIsLoggedWithItsRemedy(t *testing.T) {
	t.Parallel()
	said := make(lines, 100)
	w := watch(t, serve(t, "127.0.0.1:0").ConnectionString(), control.Config{
		WorkerID: "nobody", Log: slog.New(slog.NewJSONHandler(said, nil)),
	})
	var line struct{ Level, Msg, Remedy string }
	select {
	case text := <-said:
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
	case <-time.After(patience):
		t.Fatal("nothing is logged")
	}
	if line.Level != "ERROR" || !strings.Contains(line.Msg, "starts no jobs") ||
		!strings.Contains(line.Remedy, "the topic worker-control must have the subscription worker-nobody") {
		t.Errorf("got %+v", line)
	}
	if err := w.Err(); err == nil || !strings.Contains(err.Error(), "cannot read") {
		t.Errorf("got %v", err)
	}
}

func TestNewRefusesAWatchWithoutAWorker(t *testing.T) {
	t.Parallel()
	if _, err := control.New(nil, control.Config{}); err == nil {
		t.Error("no error")
	}
}
