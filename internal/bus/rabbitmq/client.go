// Package rabbitmq is the bus's driver for RabbitMQ 3.10 or newer, for installations outside
// Azure. It needs no plugin.
//
// A topic is a headers exchange. A subscription is a quorum queue that is bound to it, with a
// dead-letter queue beside it; what a subscription filters by is a header of the binding. Declare
// makes them.
//
// Where RabbitMQ differs from Service Bus:
//
//   - It does not detect duplicates (bus.Property Duplicates).
//   - A scheduled message moves through a ladder of queues with one time to live each
//     (delay.go). It is up to a tenth of a second late, and some milliseconds for each hop.
//   - The broker does not end a lock while the receiver's connection lives. The receiver ends
//     it: a delivery whose time is up goes back to the queue. The connection of a process that
//     died is closed at once, or after two heartbeats of 10 seconds if its machine died. Renew
//     asks the broker, and fails with ErrLockLost when the channel is closed, such as after the
//     broker's consumer_timeout.
//   - Sequence numbers, and the time at which a message was enqueued, are the sender's: as exact
//     as the clocks of the senders agree.
//   - Abandon with properties, and DeadLetter, publish a copy and then remove the message.
//     A process that is killed between the two leaves both. An abandoned copy is the last in
//     the queue (bus.Property Place).
//   - What waits in a queue cannot be seen without taking it (bus.Property Looks). A followed
//     subscription, that of worker-control, has a stream beside its queue: Peek reads it, and
//     shows completed messages, too.
package rabbitmq

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"regexp"
	"sync/atomic"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/panics"
)

// Config says where the broker is.
type Config struct {
	// URL is amqp://user:password@host:5672/vhost, or amqps:// for TLS. It is a secret.
	URL string
	// Prefix begins the names of exchanges and queues, so that several installations can
	// share a virtual host: up to 20 letters, digits, '-' and '_'. It may be empty.
	Prefix string
	// TLS is used with amqps; nil means the roots of the system.
	TLS *tls.Config
	// Name names the connections in the broker's lists; it may be empty.
	Name string
	// Declare makes the client declare the exchanges and queues, with the subscriptions of
	// Workers, before it uses its first channel (see Client.Declare).
	Declare bool
	Workers []string
	// Connect opens a TCP connection; nil means that of package net.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Client is a bus.Client. Messages are sent over one connection and received over another: a
// broker that is short of memory or disk stops reading from those that publish.
type Client struct {
	config  Config
	uri     amqp.URI
	prefix  string
	numbers numbers
	sent    atomic.Int64
	inHand  inHand
	looks   looks

	in, out connection
	sender  publisher // of Send
	settler publisher // of Abandon and DeadLetter

	declaring turn // guards declared
	declared  bool // or not to be declared
}

var _ bus.Client = (*Client)(nil)

var prefixForm = regexp.MustCompile(`^[A-Za-z0-9_-]{0,20}$`)

// Dial makes a client. It does not connect: the first call of a method does.
func Dial(c Config) (*Client, error) {
	uri, err := amqp.ParseURI(c.URL)
	if err != nil { // the error may quote the password
		return nil, errors.New("bus: invalid URL of RabbitMQ: use amqps://user:password@host/vhost, with special characters percent-encoded")
	}
	if !prefixForm.MatchString(c.Prefix) {
		return nil, fmt.Errorf("bus: invalid prefix %q: use letters, digits, '-' and '_', at most 20", c.Prefix)
	}
	if c.Connect == nil {
		c.Connect = (&net.Dialer{Timeout: dialTimeout}).DialContext
	}
	client := &Client{config: c, uri: uri, prefix: c.Prefix, in: connection{turn: newTurn()}, out: connection{turn: newTurn()}}
	client.declaring, client.declared = newTurn(), !c.Declare
	client.sender = publisher{client: client, turn: newTurn()}
	client.settler = publisher{client: client, turn: newTurn()}
	return client, nil
}

const (
	heartbeat = 10 * time.Second
	// dialTimeout bounds the opening of a connection, with the handshakes.
	dialTimeout = 10 * time.Second
)

// turn is a mutex that a caller can stop waiting for.
type turn chan struct{}

func newTurn() turn { return make(turn, 1) }

func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

// connection is a connection that is opened at the first call.
type connection struct {
	turn turn
	is   *amqp.Connection
}

// get returns the open connection, or opens one.
func (k *connection) get(ctx context.Context, c *Client) (*amqp.Connection, error) {
	if err := k.turn.take(ctx); err != nil {
		return nil, err
	}
	defer k.turn.give()
	if k.is != nil && !k.is.IsClosed() {
		return k.is, nil
	}
	properties := amqp.NewConnectionProperties()
	if c.config.Name != "" {
		properties.SetClientConnectionName(c.config.Name)
	}
	limited, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	opened, err := amqp.DialConfig(c.config.URL, amqp.Config{
		Heartbeat: heartbeat, TLSClientConfig: c.tls(), Properties: properties,
		Dial: func(network, address string) (net.Conn, error) {
			conn, err := c.config.Connect(limited, network, address)
			if err != nil {
				return nil, err
			}
			deadline, _ := limited.Deadline()
			return conn, conn.SetDeadline(deadline) // the client library lifts it after the handshake
		},
	})
	if err != nil {
		return nil, err
	}
	k.is = opened
	return opened, nil
}

func (c *Client) tls() *tls.Config {
	if c.config.TLS == nil {
		return &tls.Config{ServerName: c.uri.Host, MinVersion: tls.VersionTLS12}
	}
	own := c.config.TLS.Clone()
	if own.ServerName == "" {
		own.ServerName = c.uri.Host
	}
	return own
}

// close closes the connection if it is open.
func (k *connection) close(ctx context.Context) error {
	if err := k.turn.take(ctx); err != nil {
		return err
	}
	defer k.turn.give()
	if k.is == nil || k.is.IsClosed() {
		return nil
	}
	return k.is.Close()
}

// channel is a channel of a connection, whose calls wait for each other: the client library
// takes the answer to one for that to another. It is safe for concurrent use.
type channel struct {
	is   *amqp.Channel
	turn turn
}

// open opens a channel, after the first declaration.
func (c *Client) open(ctx context.Context, k *connection) (*channel, error) {
	if err := c.declareOnce(ctx); err != nil {
		return nil, err
	}
	return c.openChannel(ctx, k)
}

func (c *Client) openChannel(ctx context.Context, k *connection) (*channel, error) {
	var opened *amqp.Channel
	err := await(ctx, func() error {
		conn, err := k.get(ctx, c)
		if err != nil {
			return err
		}
		opened, err = conn.Channel()
		return err
	})
	if err != nil {
		return nil, classify(err)
	}
	return &channel{is: opened, turn: newTurn()}, nil
}

// call makes calls of the channel, alone. It returns when ctx ends; then the calls go on.
func (ch *channel) call(ctx context.Context, do func(*amqp.Channel) error) error {
	if err := ch.turn.take(ctx); err != nil {
		return classify(err)
	}
	return classify(await(ctx, func() error {
		defer ch.turn.give()
		return do(ch.is)
	}))
}

// flush waits until the broker has read all that was written to the channel.
func (ch *channel) flush(ctx context.Context) error {
	return ch.call(ctx, func(ch *amqp.Channel) error { return ch.Qos(prefetch, 0, false) })
}

func (ch *channel) closed() bool { return ch.is.IsClosed() }

// close closes the channel without waiting for the broker: what it had in hand is delivered again.
func (ch *channel) close() {
	go func() { _ = panics.Catch(context.Background(), ch.is.Close) }()
}

// await calls f and returns its error, or that of ctx if that ends first. It always calls f.
func await(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- panics.Catch(ctx, f) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Sent returns how many messages the broker has acknowledged.
func (c *Client) Sent() int64 { return c.sent.Load() }

// Ping opens a channel.
func (c *Client) Ping(ctx context.Context) error {
	ch, err := c.open(ctx, &c.in)
	if err != nil {
		return err
	}
	ch.close()
	return nil
}

// Close ends both connections.
func (c *Client) Close(ctx context.Context) error {
	return await(ctx, func() error { return errors.Join(c.out.close(ctx), c.in.close(ctx)) })
}

// exists returns an error if the broker has no such queue, and how many messages it can deliver.
func (c *Client) exists(ctx context.Context, queue string) (ready int, err error) {
	ch, err := c.open(ctx, &c.in)
	if err != nil {
		return 0, err
	}
	defer ch.close()
	err = ch.call(ctx, func(ch *amqp.Channel) error {
		q, err := ch.QueueDeclarePassive(queue, true, false, false, false, nil)
		ready = q.Messages
		return err
	})
	return ready, err
}

// classify turns an error of the client library into one of package bus. A cancelled context
// stays what it is.
func classify(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, bus.ErrUnavailable) {
		return err
	}
	kind := bus.ErrUnavailable
	var refused *amqp.Error
	if errors.As(err, &refused) {
		switch refused.Code {
		case amqp.NotFound:
			kind = bus.ErrNotFound
		case amqp.AccessRefused, amqp.NotAllowed:
			kind = bus.ErrUnauthorized
		case amqp.ContentTooLarge:
			return fmt.Errorf("%w: %w", bus.ErrTooLarge, err)
		case amqp.PreconditionFailed: // of a declaration, or of a settlement on a channel that is closed
			return fmt.Errorf("bus: %w", err)
		}
	}
	return fmt.Errorf("%w: %w", kind, err)
}
