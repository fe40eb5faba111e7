// Package servicebus is the bus's driver for Azure Service Bus, over azservicebus. On a
// laptop and in end-to-end tests it talks to local/servicebus.
package servicebus

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Config says where the broker is: a connection string, for the local broker and
// the emulator, or a namespace and a credential.
type Config struct {
	ConnectionString string
	Namespace        string // fully qualified: <name>.servicebus.windows.net
	Credential       azcore.TokenCredential
	Names            Names  // of topics and subscriptions
	ApplicationID    string // names the program in the broker's diagnostics; may be empty
	// Connect opens the connection to a namespace; nil means TLS on the AMQP port.
	Connect func(ctx context.Context, host string) (net.Conn, error)
}

// Client is a bus.Client.
type Client struct {
	client *azservicebus.Client
	names  Names

	mu      sync.Mutex
	senders map[string]*azservicebus.Sender
	sent    atomic.Int64
}

var _ bus.Client = (*Client)(nil)

// Dial makes a client. It does not connect: the first call of a method does.
func Dial(c Config) (*Client, error) {
	client, err := newClient(c)
	if err != nil {
		return nil, err
	}
	return &Client{client: client, names: c.Names.filled(), senders: map[string]*azservicebus.Sender{}}, nil
}

func newClient(c Config) (*azservicebus.Client, error) {
	// The callers wait out an outage themselves, with the whole message in view:
	// the SDK's own retries would only hide it from them.
	options := &azservicebus.ClientOptions{
		ApplicationID: c.ApplicationID,
		RetryOptions:  azservicebus.RetryOptions{MaxRetries: 2, RetryDelay: 50 * time.Millisecond, MaxRetryDelay: time.Second},
	}
	if c.Connect != nil {
		options.NewWebSocketConn = func(ctx context.Context, args azservicebus.NewWebSocketConnArgs) (net.Conn, error) {
			return c.Connect(ctx, args.Host)
		}
	}
	switch {
	case c.ConnectionString != "":
		client, err := azservicebus.NewClientFromConnectionString(c.ConnectionString, options)
		if err != nil {
			return nil, errors.New("bus: the connection string cannot be used") // the SDK's error may quote the key
		}
		return client, nil
	case c.Namespace != "" && c.Credential != nil:
		client, err := azservicebus.NewClient(c.Namespace, c.Credential, options)
		if err != nil {
			return nil, fmt.Errorf("bus: namespace %s: %w", c.Namespace, err)
		}
		return client, nil
	}
	return nil, errors.New("bus: a connection string, or a namespace with a credential, is required")
}

// Close ends the connection.
func (c *Client) Close(ctx context.Context) error { return c.client.Close(ctx) }

// closeTime bounds the end of a link. The broker ends it with the connection otherwise.
const closeTime = time.Second

// Ping peeks at a subscription, which takes nothing from it.
func (c *Client) Ping(ctx context.Context) error {
	return c.Exists(ctx, message.TopicOrchestratorEvents, message.SubscriptionOrchestrator)
}

// peeked is how many messages one request of Oldest returns: their bodies come along, which
// can be 256 KB each.
const peeked = 10

// Exists peeks at one message.
func (c *Client) Exists(ctx context.Context, topic, subscription string) error {
	return c.peek(ctx, topic, subscription, func(r *receiver) error {
		_, err := r.peek(ctx, 0, 1)
		return err
	})
}

// Oldest peeks page by page until it finds a message that waits. A scheduled message waits
// at the topic, and no program of the product defers messages: one page suffices.
func (c *Client) Oldest(ctx context.Context, topic, subscription string) (at time.Time, found bool, err error) {
	err = c.peek(ctx, topic, subscription, func(r *receiver) error {
		for from := int64(0); !found; {
			page, err := r.peek(ctx, from, peeked)
			if err != nil || len(page) == 0 {
				return err
			}
			for _, m := range page {
				from = *m.SequenceNumber + 1
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

// peek calls look with a receiver that exists for that call and receives nothing.
func (c *Client) peek(ctx context.Context, topic, subscription string, look func(*receiver) error) error {
	r, err := c.receiver(topic, subscription)
	if err != nil {
		return err
	}
	err = look(r)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return errors.Join(err, r.Close(closing))
}

// classify turns an error of the SDK into one of package bus. A cancelled context stays
// what it is.
func classify(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	var sdk *azservicebus.Error // of most calls
	var wire *amqp.Error        // which the SDK passes on for some
	code, condition := azservicebus.Code(""), amqp.ErrCond("")
	if errors.As(err, &sdk) {
		code = sdk.Code
	}
	if errors.As(err, &wire) {
		condition = wire.Condition
	}
	kind := bus.ErrUnavailable
	switch {
	case errors.Is(err, azservicebus.ErrMessageTooLarge):
		kind = bus.ErrTooLarge
	case code == azservicebus.CodeLockLost:
		kind = bus.ErrLockLost
	case code == azservicebus.CodeNotFound, condition == amqp.ErrCondNotFound:
		kind = bus.ErrNotFound
	case code == azservicebus.CodeUnauthorizedAccess, condition == amqp.ErrCondUnauthorizedAccess:
		kind = bus.ErrUnauthorized
	}
	return fmt.Errorf("%w: %w", kind, err)
}
