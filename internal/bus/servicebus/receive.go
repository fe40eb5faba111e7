package servicebus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/bus"
)

// gather is how long Receive collects further messages once it has the first: messages
// that wait arrive together, and a lone one should not wait for company.
const gather = 5 * time.Millisecond

// receiver is a bus.Receiver. It asks the broker for as many messages as Receive may
// return, and holds no others in advance.
type receiver struct {
	*azservicebus.Receiver
	topic, subscription string // by their names in the namespace
}

// Receiver opens a receiver of one subscription.
func (c *Client) Receiver(topic, subscription string) (bus.Receiver, error) {
	return c.receiver(topic, subscription)
}

func (c *Client) receiver(topic, subscription string) (*receiver, error) {
	r := &receiver{topic: c.names.Topic(topic), subscription: c.names.Subscription(topic, subscription)}
	var err error
	if r.Receiver, err = c.client.NewReceiverForSubscription(r.topic, r.subscription, nil); err != nil {
		return nil, r.classify(err)
	}
	return r, nil
}

// classify also names the subscription.
func (r *receiver) classify(err error) error {
	return bus.About(classify(err), r.topic, r.subscription)
}

func (r *receiver) Receive(ctx context.Context, n int, wait time.Duration) ([]*bus.Received, error) {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	messages, err := r.ReceiveMessages(waiting, n, &azservicebus.ReceiveMessagesOptions{TimeAfterFirstMessage: gather})
	switch {
	case len(messages) > 0:
		return received(messages), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, context.DeadlineExceeded), err == nil && waiting.Err() != nil:
		return nil, nil
	case err == nil: // the SDK recovers from a failure by itself, and says nothing
		return nil, fmt.Errorf("%w: the connection was interrupted", bus.ErrUnavailable)
	}
	return nil, r.classify(err)
}

func (r *receiver) Complete(ctx context.Context, m *bus.Received) error {
	return r.settle(m, func(of *azservicebus.ReceivedMessage) error { return r.CompleteMessage(ctx, of, nil) })
}

func (r *receiver) Abandon(ctx context.Context, m *bus.Received, set map[string]any) error {
	options := &azservicebus.AbandonMessageOptions{PropertiesToModify: set}
	return r.settle(m, func(of *azservicebus.ReceivedMessage) error { return r.AbandonMessage(ctx, of, options) })
}

func (r *receiver) DeadLetter(ctx context.Context, m *bus.Received, reason, description string) error {
	options := &azservicebus.DeadLetterOptions{Reason: &reason, ErrorDescription: &description}
	return r.settle(m, func(of *azservicebus.ReceivedMessage) error { return r.DeadLetterMessage(ctx, of, options) })
}

func (r *receiver) Renew(ctx context.Context, m *bus.Received) (until time.Time, err error) {
	err = r.settle(m, func(of *azservicebus.ReceivedMessage) error {
		held := *of // the SDK writes LockedUntil while others read the message
		err := r.RenewMessageLock(ctx, &held, nil)
		until = value(held.LockedUntil)
		return err
	})
	return until, err
}

func (r *receiver) settle(m *bus.Received, settle func(*azservicebus.ReceivedMessage) error) error {
	of, ok := m.Handle.(*azservicebus.ReceivedMessage)
	if !ok {
		return fmt.Errorf("%w: the message %s was not received", bus.ErrLockLost, m.ID)
	}
	return r.classify(settle(of))
}

func (r *receiver) Peek(ctx context.Context, from int64, n int) ([]*bus.Received, error) {
	page, err := r.peek(ctx, from, n)
	if err != nil {
		return nil, err
	}
	peeked := received(page)
	for _, m := range peeked {
		m.Handle, m.LockedUntil = nil, time.Time{}
	}
	return peeked, nil
}

func (r *receiver) peek(ctx context.Context, from int64, n int) ([]*azservicebus.ReceivedMessage, error) {
	page, err := r.PeekMessages(ctx, n, &azservicebus.PeekMessagesOptions{FromSequenceNumber: &from})
	if err != nil {
		return nil, r.classify(err)
	}
	for _, m := range page {
		if m.SequenceNumber == nil {
			return nil, fmt.Errorf("bus: the broker gave the message %s without a sequence number", m.MessageID)
		}
	}
	return page, nil
}

func (r *receiver) Close(ctx context.Context) error { return r.classify(r.Receiver.Close(ctx)) }

func received(messages []*azservicebus.ReceivedMessage) []*bus.Received {
	all := make([]*bus.Received, len(messages))
	for i, m := range messages {
		all[i] = &bus.Received{
			ID: m.MessageID, CorrelationID: value(m.CorrelationID), ContentType: value(m.ContentType),
			Body: m.Body, Properties: m.ApplicationProperties,
			Sequence: value(m.SequenceNumber), EnqueuedAt: value(m.EnqueuedTime), ExpiresAt: value(m.ExpiresAt),
			DeliveryCount: int(m.DeliveryCount), LockedUntil: value(m.LockedUntil), Handle: m,
		}
	}
	return all
}

// value dereferences p; it is the zero value if the broker set none.
func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}
