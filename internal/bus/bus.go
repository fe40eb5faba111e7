// Package bus is the contract between the programs and the message broker: sending,
// receiving and settling messages, and the errors of these. It knows topics,
// message ids, application properties and times; it must not know a message's content
// (package message).
//
// Drivers: bus/servicebus over Azure Service Bus, bus/rabbitmq over RabbitMQ, and bus/memory in
// the process, for tests and simulations. All pass the same suite, package bustest. A broker may
// lack a Property.
package bus

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Errors of a broker. ErrNotFound and ErrUnauthorized are also ErrUnavailable: the call
// can succeed later, after an administrator has created the entity or granted the role.
var (
	// ErrUnavailable means that the broker cannot be reached or did not acknowledge.
	// Messages of a Send may have been accepted; sending them again, with the same ids,
	// is safe.
	ErrUnavailable = errors.New("bus: the broker cannot be reached")
	// ErrNotFound means that the broker has no such topic or subscription.
	ErrNotFound error = refinement{"bus: unknown topic or subscription"}
	// ErrUnauthorized means that the broker refused the caller's credential.
	ErrUnauthorized error = refinement{"bus: the credential has no right to do this"}
	// ErrTooLarge means that a message is larger than the broker accepts. Messages before it
	// may have been accepted. It is not worth sending again.
	ErrTooLarge = errors.New("bus: the message is too large")
	// ErrLockLost means that a delivery is not, or no longer, locked by its receiver. The
	// message was settled, or is delivered again.
	ErrLockLost = errors.New("bus: the lock of the message is lost")
)

// refinement is an ErrUnavailable whose cause is known.
type refinement struct{ text string }

func (r refinement) Error() string        { return r.text }
func (r refinement) Is(target error) bool { return target == ErrUnavailable }

// EntityError is an ErrNotFound or ErrUnauthorized with the topic and the subscription that it
// is about, by their names in the namespace.
type EntityError struct {
	Topic, Subscription string // Subscription is empty if the error is about the topic
	Err                 error
}

func (e *EntityError) Error() string {
	if e.Subscription == "" {
		return fmt.Sprintf("topic %s: %v", e.Topic, e.Err)
	}
	return fmt.Sprintf("subscription %s of topic %s: %v", e.Subscription, e.Topic, e.Err)
}

func (e *EntityError) Unwrap() error { return e.Err }

// MaxMessage is how many bytes a message can have in the tier Standard of Service Bus, with its
// properties. Premium takes more.
const MaxMessage = 256 << 10

// TooLarge returns the ErrTooLarge for a message.
func TooLarge(m Message, topic string) error {
	return fmt.Errorf("%w: the body of %s for %s has %d bytes; a message can have %d with its properties", ErrTooLarge, m.ID, topic, len(m.Body), MaxMessage)
}

// About returns err as an EntityError if it is an ErrNotFound or ErrUnauthorized.
func About(err error, topic, subscription string) error {
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrUnauthorized) {
		return &EntityError{Topic: topic, Subscription: subscription, Err: err}
	}
	return err
}

// Unavailable returns err as an ErrUnavailable. A cancelled context stays what it is.
func Unavailable(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnavailable, err)
}

// Property is a feature that a broker may lack. The programs do not depend on it: the suite leaves out its
// tests with a driver that states it.
type Property string

// Properties. Service Bus and the broker in memory have them all.
const (
	// Duplicates: a message with the id of another that was sent to the topic within ten
	// minutes before does not arrive. It saves work only: a consumer recognizes what it has
	// done by its own state.
	Duplicates Property = "duplicate detection"
	// Place: a message that is abandoned with properties is delivered again before those that
	// came after it. Without it, it comes after all that wait.
	Place Property = "place of an abandoned message"
	// Looks: Peek shows what waits in any subscription. Without it, Peek shows the messages of
	// followed subscriptions only (see Receiver.Peek), completed ones among them. Oldest sees of
	// the locked messages those that receivers of the same client have, and counts now and then
	// as a delivery of the message that it finds. The check of a deadline relies on Oldest: while
	// another process holds the last of old results, it can take the job for lost. Then the step
	// ends or is repeated as after any lost job, and the result that comes late is recognized by
	// its job id.
	Looks Property = "looking at messages that wait"
)

// Message is a message to send. ID is derived from what the message is about, so that a broker
// with duplicate detection drops repetitions. The content type is application/json.
type Message struct {
	ID            string
	CorrelationID string
	Body          []byte
	Properties    map[string]any // strings, booleans and numbers
	At            time.Time      // when the message is enqueued; zero means at once
	TimeToLive    time.Duration  // after it is enqueued; 0 means as long as the topic keeps messages
}

// Size is about how many bytes a message has, to compare with MaxMessage.
func (m Message) Size() int {
	size := len(m.Body) + len(m.ID) + len(m.CorrelationID)
	for name, value := range m.Properties {
		size += len(name) + len(fmt.Sprint(value))
	}
	return size
}

// Sender sends messages. It is safe for concurrent use.
type Sender interface {
	// Send returns when the broker has all messages. They are sent in order and in as few
	// requests as possible; an error may leave the first of them sent. A message carries the
	// trace of ctx, if ctx has one. Errors: ErrUnavailable, ErrTooLarge, or the broker's
	// refusal.
	Send(ctx context.Context, topic string, messages ...Message) error
	// Ping returns nil if the broker answers.
	Ping(ctx context.Context) error
}

// Watcher looks at subscriptions and the messages that wait in them. It is safe for concurrent
// use.
type Watcher interface {
	// Exists returns nil if there is such a subscription. It takes the right to receive.
	// Errors: ErrNotFound, ErrUnavailable.
	Exists(ctx context.Context, topic, subscription string) error
	// Oldest returns when the oldest message of a subscription was enqueued, and whether
	// there is one. A locked message counts; one that is scheduled or deferred does not.
	// Nothing is received, locked or counted as delivered, if the broker has the property
	// Looks. It takes the right to receive.
	// Errors: ErrNotFound, ErrUnavailable.
	Oldest(ctx context.Context, topic, subscription string) (at time.Time, found bool, err error)
}

// Receivers opens receivers. It is safe for concurrent use.
type Receivers interface {
	// Receiver opens a receiver of one subscription. It does not connect: the receiver's
	// first call does.
	Receiver(topic, subscription string) (Receiver, error)
}

// Receiver receives the messages of one subscription. Each delivery is locked for as long
// as the subscription says, and delivered again unless the receiver completes, abandons
// or dead-letters it within that time. Receive must not be called concurrently; all other
// methods may, also while Receive runs.
//
// Errors: ErrNotFound, ErrUnauthorized, ErrUnavailable, the context's own and, of
// settlements and Renew, ErrLockLost.
type Receiver interface {
	// Receive waits until there is a message, for the given time at most, and returns up to
	// n of those that are there. It returns neither messages nor an error if none came.
	Receive(ctx context.Context, n int, wait time.Duration) ([]*Received, error)
	// Complete removes the message from the subscription.
	Complete(ctx context.Context, m *Received) error
	// Abandon ends the lock and sets properties of the message, which may be none. The
	// message is delivered again at once, or dead-lettered if this was the last delivery that
	// the subscription allows. See the property Place.
	Abandon(ctx context.Context, m *Received, set map[string]any) error
	// DeadLetter moves the message to the subscription's dead-letter queue.
	DeadLetter(ctx context.Context, m *Received, reason, description string) error
	// Renew begins the lock's time anew and returns its end. It does not change m, which
	// others may read.
	Renew(ctx context.Context, m *Received) (lockedUntil time.Time, err error)
	// Peek returns up to n messages from a sequence number on, in order, locked ones among
	// them, and changes nothing. It may return fewer than there are: only an empty answer
	// is the end. A message that was peeked cannot be settled.
	//
	// The subscriptions of worker-control are followed: all replicas of a worker peek at them
	// and nothing receives from them. There each message whose sending has ended before Peek
	// began is seen, with a higher number than those that were seen before it. Of other
	// subscriptions, see the property Looks.
	Peek(ctx context.Context, from int64, n int) ([]*Received, error)
	// Close ends the receiver. Deliveries in hand come again, when their time is up at the
	// latest.
	Close(ctx context.Context) error
}

// Received is one delivery of a message, or a message that was peeked.
type Received struct {
	ID            string
	CorrelationID string
	ContentType   string
	Body          []byte
	Properties    map[string]any
	Sequence      int64     // the broker's number of the message within its topic, which it keeps
	EnqueuedAt    time.Time // by the broker's clock, or the sender's
	ExpiresAt     time.Time // when the broker drops or dead-letters the message; zero means never
	DeliveryCount int       // 1 with the first delivery
	LockedUntil   time.Time // zero if the message was peeked
	Handle        any       // the driver's own
}

// Reasons which the broker itself gives to a dead letter: no receiver said that something is
// wrong with the message.
const (
	ReasonDeliveries = "MaxDeliveryCountExceeded"
	ReasonExpired    = "TTLExpiredException"
)

// DeadLetter is a message that the broker, or a receiver, moved to the dead-letter queue
// of a subscription.
type DeadLetter struct {
	Topic, Subscription string
	Sequence            int64 // identifies it within its dead-letter queue
	ID                  string
	Body                []byte
	Properties          map[string]any // without those that say why it was moved
	EnqueuedAt          time.Time
	DeliveryCount       int
	Reason, Description string // one of the reasons above, or what a receiver gave
}

// DeadLetters reads dead-letter queues. It is safe for concurrent use.
type DeadLetters interface {
	// TakeDeadLetters calls take with at most n dead letters of a subscription, possibly
	// several at once, and removes those for which take returned nil. The others stay. It
	// returns how many were removed, and 0 without an error if there is none that no other receiver holds. It takes the
	// right to receive from the subscription. Errors: ErrNotFound, ErrUnavailable, or those
	// of take.
	TakeDeadLetters(ctx context.Context, topic, subscription string, n int, take func(context.Context, DeadLetter) error) (removed int, err error)
}

// Client is one program's connection to the broker: what each driver offers. It is safe for
// concurrent use.
type Client interface {
	Sender
	Watcher
	Receivers
	DeadLetters
	// Close ends the connection, and with it all receivers.
	Close(ctx context.Context) error
}
