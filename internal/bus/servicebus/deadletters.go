package servicebus

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/panics"
)

const (
	takeAtOnce = 8
	// takeWithin is how long to wait for dead letters that were seen. Another process may
	// have locked all of them.
	takeWithin = 2 * time.Second
)

// The properties by which the broker says why it moved a message.
var deadLetterProperties = []string{"DeadLetterReason", "DeadLetterErrorDescription"}

// TakeDeadLetters peeks before it receives: to receive from an empty queue is to wait.
func (c *Client) TakeDeadLetters(ctx context.Context, topic, subscription string, n int, take func(context.Context, bus.DeadLetter) error) (removed int, err error) {
	inTopic, inSubscription := c.names.Topic(topic), c.names.Subscription(topic, subscription)
	r, err := c.client.NewReceiverForSubscription(inTopic, inSubscription, &azservicebus.ReceiverOptions{SubQueue: azservicebus.SubQueueDeadLetter})
	if err != nil {
		return 0, bus.About(classify(err), inTopic, inSubscription)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		_ = r.Close(closing) // what it still holds comes again when its lock ends
	}()
	seen, err := r.PeekMessages(ctx, n, nil)
	if err != nil {
		return 0, bus.About(classify(err), inTopic, inSubscription)
	}
	if len(seen) == 0 {
		return 0, nil
	}
	waiting, cancel := context.WithTimeout(ctx, takeWithin)
	defer cancel()
	// Request no more than there are: otherwise messages that are abandoned would return to
	// this receiver, which reads no more, and stay locked by it.
	messages, err := r.ReceiveMessages(waiting, len(seen), nil)
	if err != nil && (waiting.Err() == nil || ctx.Err() != nil) {
		return 0, classify(err)
	}
	failures := make([]error, len(messages))
	var all errgroup.Group
	all.SetLimit(takeAtOnce)
	for i, m := range messages {
		all.Go(func() error {
			if failures[i] = panics.Catch(ctx, func() error { return take(ctx, deadLetter(topic, subscription, m)) }); failures[i] == nil {
				failures[i] = classify(r.CompleteMessage(ctx, m, nil))
			} else {
				_ = r.AbandonMessage(ctx, m, nil) // otherwise its lock ends
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

func deadLetter(topic, subscription string, m *azservicebus.ReceivedMessage) bus.DeadLetter {
	d := bus.DeadLetter{
		Topic: topic, Subscription: subscription, Sequence: value(m.SequenceNumber), ID: m.MessageID, Body: m.Body,
		Properties: maps.Clone(m.ApplicationProperties), EnqueuedAt: value(m.EnqueuedTime), DeliveryCount: int(m.DeliveryCount),
		Reason: value(m.DeadLetterReason), Description: value(m.DeadLetterErrorDescription),
	}
	for _, name := range deadLetterProperties {
		delete(d.Properties, name)
	}
	return d
}
