// Package bus carries messages over Azure Service Bus. It knows topics, message
// ids, application properties and times; what is in a message is its users'
// business (package message).
//
// There is one implementation, over azservicebus; on a laptop and in tests it
// talks to local/servicebus.
package bus

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable: the broker cannot be reached or did not acknowledge. The
// messages may have been taken; sending them again, with the same ids, is safe.
var ErrUnavailable = errors.New("bus: the broker cannot be reached")

// ErrNotFound: the broker has no such topic or subscription.
var ErrNotFound = errors.New("bus: there is no such topic or subscription")

// Message is one message to send. ID is derived from what the message is about, so
// that the same message sent twice within ten minutes arrives once.
type Message struct {
	ID         string
	Body       []byte
	Properties map[string]any
	At         time.Time // when it is to arrive; zero is at once
}

// Sender sends messages. It is safe for concurrent use.
type Sender interface {
	// Send returns when the broker has all messages. Errors: ErrUnavailable, or
	// the broker's refusal.
	Send(ctx context.Context, topic string, messages ...Message) error
	// Ping tells whether the broker answers.
	Ping(ctx context.Context) error
}

// Watcher looks at what waits in subscriptions. It is safe for concurrent use.
type Watcher interface {
	// Oldest tells when the message came to a subscription that is there longest, and
	// whether there is any. One that is being processed counts, one that is scheduled
	// for later or was set aside (deferred) does not. Nothing is taken, locked or counted as delivered. It takes the
	// right to receive. Errors: ErrNotFound, ErrUnavailable.
	Oldest(ctx context.Context, topic, subscription string) (at time.Time, found bool, err error)
}
