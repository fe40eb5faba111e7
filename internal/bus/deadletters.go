package bus

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"golang.org/x/sync/errgroup"
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
	Reason, Description string // one of the reasons below, or what a receiver gave
}

// The broker's own reasons: nobody has said that something is wrong with the message.
const (
	ReasonDeliveries = "MaxDeliveryCountExceeded"
	ReasonExpired    = "TTLExpiredException"
)

// DeadLetters reads dead-letter queues. It is safe for concurrent use.
type DeadLetters interface {
	// TakeDeadLetters calls take with at most n dead letters of a subscription, several at
	// once, and removes those for which take returned nil. The others stay. It gives how
	// many were removed, and 0 without an error if there is none. It takes the right to
	// receive from the subscription. Errors: ErrUnavailable, or those of take.
	TakeDeadLetters(ctx context.Context, topic, subscription string, n int, take func(context.Context, DeadLetter) error) (removed int, err error)
}

const (
	takeAtOnce = 8
	// takeWithin is how long to wait for dead letters that were seen. Another process may
	// have locked all of them.
	takeWithin = 2 * time.Second
)

// The properties by which the broker says why it moved a message.
var deadLetterProperties = []string{"DeadLetterReason", "DeadLetterErrorDescription"}

// TakeDeadLetters looks before it receives: to receive from an empty queue is to wait.
func (a *Azure) TakeDeadLetters(ctx context.Context, topic, subscription string, n int, take func(context.Context, DeadLetter) error) (removed int, err error) {
	receiver, err := a.client.NewReceiverForSubscription(topic, subscription, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	if err != nil {
		return 0, unavailable(err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = receiver.Close(closing) // what it still holds comes again when its lock ends
	}()
	seen, err := receiver.PeekMessages(ctx, n, nil)
	if err != nil {
		return 0, unavailable(err)
	}
	if len(seen) == 0 {
		return 0, nil
	}
	waiting, cancel := context.WithTimeout(ctx, takeWithin)
	defer cancel()
	// No more are asked for than are there: what is given back would otherwise come to this
	// receiver, which takes no more, and be locked by it.
	messages, err := receiver.ReceiveMessages(waiting, len(seen), nil)
	if err != nil && (waiting.Err() == nil || ctx.Err() != nil) {
		return 0, unavailable(err)
	}
	failures := make([]error, len(messages))
	var all errgroup.Group
	all.SetLimit(takeAtOnce)
	for i, m := range messages {
		all.Go(func() error {
			if failures[i] = take(ctx, deadLetter(topic, subscription, m)); failures[i] == nil {
				failures[i] = settled(receiver.CompleteMessage(ctx, m, nil))
			} else {
				_ = receiver.AbandonMessage(ctx, m, nil) // otherwise its lock ends
			}
			return nil
		})
	}
	_ = all.Wait()
	for _, err := range failures {
		if err == nil {
			removed++
		}
	}
	return removed, errors.Join(failures...)
}

func settled(err error) error {
	if err == nil {
		return nil
	}
	return unavailable(err)
}

func deadLetter(topic, subscription string, m *azservicebus.ReceivedMessage) DeadLetter {
	d := DeadLetter{
		Topic: topic, Subscription: subscription, ID: m.MessageID, Body: m.Body,
		Properties: maps.Clone(m.ApplicationProperties), DeliveryCount: int(m.DeliveryCount),
	}
	for _, name := range deadLetterProperties {
		delete(d.Properties, name)
	}
	if m.SequenceNumber != nil {
		d.Sequence = *m.SequenceNumber
	}
	if m.EnqueuedTime != nil {
		d.EnqueuedAt = *m.EnqueuedTime
	}
	if m.DeadLetterReason != nil {
		d.Reason = *m.DeadLetterReason
	}
	if m.DeadLetterErrorDescription != nil {
		d.Description = *m.DeadLetterErrorDescription
	}
	return d
}
