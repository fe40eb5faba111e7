package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// Config says where the broker is: a connection string, for the local broker and
// the emulator, or a namespace and a credential.
type Config struct {
	ConnectionString string
	Namespace        string // fully qualified: <name>.servicebus.windows.net
	Credential       azcore.TokenCredential
}

// Azure sends over azservicebus.
type Azure struct {
	client *azservicebus.Client

	mu      sync.Mutex
	senders map[string]*azservicebus.Sender
	sent    atomic.Int64
}

// Dial makes a sender. It does not connect: the first message does.
func Dial(c Config) (*Azure, error) {
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	return &Azure{client: client, senders: map[string]*azservicebus.Sender{}}, nil
}

func newClient(c Config) (*azservicebus.Client, error) {
	// The callers wait out an outage themselves, with the whole message in view:
	// the SDK's own retries would only hide it from them.
	options := &azservicebus.ClientOptions{RetryOptions: azservicebus.RetryOptions{MaxRetries: 2, RetryDelay: 50 * time.Millisecond, MaxRetryDelay: time.Second}}
	switch {
	case c.ConnectionString != "":
		client, err := azservicebus.NewClientFromConnectionString(c.ConnectionString, options)
		if err != nil {
			return nil, errors.New("bus: the connection string cannot be used") // its text holds a key
		}
		return client, nil
	case c.Namespace != "" && c.Credential != nil:
		client, err := azservicebus.NewClient(c.Namespace, c.Credential, options)
		if err != nil {
			return nil, fmt.Errorf("bus: namespace %s: %w", c.Namespace, err)
		}
		return client, nil
	}
	return nil, errors.New("bus: neither a connection string nor a namespace with a credential is given")
}

// Close ends the connection.
func (a *Azure) Close(ctx context.Context) error { return a.client.Close(ctx) }

// Sent is how many messages have been acknowledged.
func (a *Azure) Sent() int64 { return a.sent.Load() }

// Ping tells whether the broker answers, by a look at a subscription that takes
// nothing from it.
func (a *Azure) Ping(ctx context.Context) error {
	return a.peek(ctx, message.TopicOrchestratorEvents, message.SubscriptionOrchestrator, func(r *azservicebus.Receiver) error {
		_, err := r.PeekMessages(ctx, 1, nil)
		return err
	})
}

// peeked is how many messages one look brings: their bodies come along, which can be
// 256 KB each.
const peeked = 10

// Oldest looks page by page until it finds a message that waits. What is scheduled waits
// at the topic, and nobody here sets messages aside: one page is what it takes.
func (a *Azure) Oldest(ctx context.Context, topic, subscription string) (at time.Time, found bool, err error) {
	err = a.peek(ctx, topic, subscription, func(r *azservicebus.Receiver) error {
		for !found {
			page, err := r.PeekMessages(ctx, peeked, nil) // each goes on behind the one before
			if err != nil || len(page) == 0 {
				return err
			}
			for _, m := range page {
				if m.State != azservicebus.MessageStateActive || m.EnqueuedTime == nil {
					continue
				}
				if !found || m.EnqueuedTime.Before(at) {
					at, found = *m.EnqueuedTime, true
				}
			}
		}
		return nil
	})
	return at, found, err
}

// peek looks at a subscription over a link that is there for as long as look takes, and
// that asks for no message.
func (a *Azure) peek(ctx context.Context, topic, subscription string, look func(*azservicebus.Receiver) error) error {
	receiver, err := a.client.NewReceiverForSubscription(topic, subscription, nil)
	if err != nil {
		return unavailable(err)
	}
	err = look(receiver)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	err = errors.Join(err, receiver.Close(closing))
	switch {
	case err == nil:
		return nil
	case notFound(err):
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return unavailable(err)
}

// notFound reports whether the broker says that there is no such entity. The SDK passes on
// the protocol's own error when it peeks, and its own when it receives.
func notFound(err error) bool {
	var sdk *azservicebus.Error
	var wire *amqp.Error
	return errors.As(err, &sdk) && sdk.Code == azservicebus.CodeNotFound || errors.As(err, &wire) && wire.Condition == amqp.ErrCondNotFound
}

// Send sends one message as it is, several in as few batches as they fit in.
func (a *Azure) Send(ctx context.Context, topic string, messages ...Message) error {
	sender, err := a.sender(topic)
	if err != nil {
		return err
	}
	if len(messages) == 1 {
		err := sender.SendMessage(ctx, encode(ctx, messages[0]), nil)
		return a.done(topic, len(messages), err)
	}
	return a.sendMany(ctx, topic, sender, messages)
}

func (a *Azure) sendMany(ctx context.Context, topic string, sender *azservicebus.Sender, messages []Message) error {
	for len(messages) > 0 {
		batch, err := sender.NewMessageBatch(ctx, nil)
		if err != nil {
			return a.done(topic, 0, err)
		}
		n := 0
		for ; n < len(messages); n++ {
			err := batch.AddMessage(encode(ctx, messages[n]), nil)
			if errors.Is(err, azservicebus.ErrMessageTooLarge) && n > 0 {
				break
			}
			if err != nil {
				return fmt.Errorf("bus: message %s for %s: %w", messages[n].ID, topic, err)
			}
		}
		if err := a.done(topic, n, sender.SendMessageBatch(ctx, batch, nil)); err != nil {
			return err
		}
		messages = messages[n:]
	}
	return nil
}

func (a *Azure) done(topic string, n int, err error) error {
	switch {
	case err == nil:
		a.sent.Add(int64(n))
		return nil
	case errors.Is(err, azservicebus.ErrMessageTooLarge):
		return fmt.Errorf("bus: a message for %s is too large: %w", topic, err)
	}
	return unavailable(err)
}

func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

func (a *Azure) sender(topic string) (*azservicebus.Sender, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s, ok := a.senders[topic]; ok {
		return s, nil
	}
	s, err := a.client.NewSender(topic, nil)
	if err != nil {
		return nil, unavailable(err)
	}
	a.senders[topic] = s
	return s, nil
}

// encode gives the message the trace of ctx, where that has one.
func encode(ctx context.Context, m Message) *azservicebus.Message {
	contentType := "application/json"
	properties := maps.Clone(m.Properties) // the caller's stay as they are
	if properties == nil {
		properties = map[string]any{}
	}
	tracecontext.Inject(ctx, properties)
	out := &azservicebus.Message{MessageID: &m.ID, Body: m.Body, ContentType: &contentType, ApplicationProperties: properties}
	if !m.At.IsZero() {
		at := m.At.UTC()
		out.ScheduledEnqueueTime = &at
	}
	return out
}
