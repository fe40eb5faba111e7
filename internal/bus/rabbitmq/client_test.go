package rabbitmq_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/rabbitmq"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/testenv"
)

func TestConfigurationIsCheckedWithoutTellingThePassword(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]rabbitmq.Config{
		"empty":  {},
		"scheme": {URL: "https://user:very-secret@localhost/"},
		"port":   {URL: "amqp://user:very-secret@localhost:port/"},
		"escape": {URL: "amqp://user:very-secret%@localhost/"},
		"prefix": {URL: "amqp://user:very-secret@localhost/", Prefix: "a.b"},
	} {
		_, err := rabbitmq.Dial(c)
		if err == nil || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A broker that accepts a connection and does not answer is given up when the caller's time ends.
func TestBrokerThatDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	silent := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer silent.Close()
	client := testenv.Must(rabbitmq.Dial(rabbitmq.Config{URL: fmt.Sprintf("amqp://user:very-secret@%s/", silent.Addr())}))(t)
	receiver := testenv.Must(client.Receiver(message.TopicWorkerResults, message.SubscriptionOrchestrator))(t)
	for call, f := range map[string]func(context.Context) error{
		"send": func(ctx context.Context) error {
			return client.Send(ctx, message.TopicWorkerResults, bus.Message{ID: "1"})
		},
		"receive": func(ctx context.Context) error { _, err := receiver.Receive(ctx, 1, time.Hour); return err },
		"ping":    client.Ping,
		"declare": func(ctx context.Context) error { return client.Declare(ctx, "worker-01") },
		"oldest": func(ctx context.Context) error {
			_, _, err := client.Oldest(ctx, message.TopicWorkerResults, message.SubscriptionOrchestrator)
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := f(ctx)
		cancel()
		if call == "receive" && errors.Is(err, context.DeadlineExceeded) {
			continue
		}
		if !errors.Is(err, bus.ErrUnavailable) || strings.Contains(err.Error(), "very-secret") {
			t.Errorf("%s: %v", call, err)
		}
	}
}

func TestMessagesThatNoBrokerTakesAreRefused(t *testing.T) {
	t.Parallel()
	client := testenv.Must(rabbitmq.Dial(rabbitmq.Config{URL: "amqp://127.0.0.1:1/"}))(t)
	for name, m := range map[string]bus.Message{
		"no id":             {},
		"a year ahead":      {ID: "1", At: time.Now().AddDate(1, 0, 0)},
		"reserved property": {ID: "1", Properties: map[string]any{"X-Death": "1"}},
		"property":          {ID: "1", Properties: map[string]any{"List": []string{"1"}}},
	} {
		if err := client.Send(t.Context(), message.TopicWorkerResults, m); err == nil || errors.Is(err, bus.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
