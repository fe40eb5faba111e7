package rabbitmq

import (
	"context"
	"errors"
	"strings"

	amqp "github.com/rabbitmq/amqp091-go"
	"golang.org/x/sync/errgroup"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/panics"
)

const takeAtOnce = 8

// TakeDeadLetters has the dead letters in hand while it calls take. Those that are not taken go
// back to their place; if the connection is lost, all do.
func (c *Client) TakeDeadLetters(ctx context.Context, topic, subscription string, n int, take func(context.Context, bus.DeadLetter) error) (removed int, err error) {
	queue := c.queue(topic, subscription)
	removed, err = c.takeDeadLetters(ctx, deadQueue(queue), topicOf(topic), n, func(ctx context.Context, d bus.DeadLetter) error {
		d.Topic, d.Subscription = topic, subscription
		return take(ctx, d)
	})
	return removed, bus.About(err, c.Topic(topic), subscription)
}

func (c *Client) takeDeadLetters(ctx context.Context, queue string, t topic, n int, take func(context.Context, bus.DeadLetter) error) (removed int, err error) {
	ch, err := c.open(ctx, &c.in)
	if err != nil {
		return 0, err
	}
	defer ch.close()
	var held []amqp.Delivery
	if err := ch.call(ctx, func(ch *amqp.Channel) error {
		for len(held) < n {
			d, ok, err := ch.Get(queue, false)
			if err != nil || !ok {
				return err
			}
			held = append(held, d)
		}
		return nil
	}); err != nil {
		return 0, err
	}
	taken, failures := make([]bool, len(held)), make([]error, len(held)+1)
	var all errgroup.Group
	all.SetLimit(takeAtOnce)
	for i, d := range held {
		all.Go(func() error {
			failures[i] = panics.Catch(ctx, func() error {
				dead := deadLetter(d, t)
				if dead.Reason == bus.ReasonExpired && t.dropExpired {
					return classify(d.Ack(false))
				}
				if err := take(ctx, dead); err != nil {
					_ = d.Nack(false, true) // otherwise it goes back with the channel, as after a panic
					return err
				}
				err := classify(d.Ack(false))
				taken[i] = err == nil
				return err
			})
			return nil
		})
	}
	_ = all.Wait()
	failures[len(held)] = ch.flush(ctx)
	for _, is := range taken {
		if is {
			removed++
		}
	}
	return removed, errors.Join(failures...)
}

// deadLetter returns a message of a dead-letter queue. The reason is that of the receiver, or
// the broker's.
func deadLetter(d amqp.Delivery, t topic) bus.DeadLetter {
	m := decode(d)
	dead := bus.DeadLetter{
		Sequence: m.Sequence, ID: m.ID, Body: m.Body, Properties: m.Properties, EnqueuedAt: m.EnqueuedAt,
		DeliveryCount: int(number(d.Headers, headerDeliveries)) + 1,
	}
	dead.Reason, _ = d.Headers[headerReason].(string)
	dead.Description, _ = d.Headers[headerDescription].(string)
	if dead.Reason != "" {
		return dead
	}
	switch why := reasonOfDeath(d.Headers); why {
	case "expired":
		dead.Reason, dead.Description = bus.ReasonExpired, "the message's time to live has ended"
	case "delivery_limit":
		dead.Reason, dead.Description = bus.ReasonDeliveries, "the message was delivered as often as the subscription allows"
		dead.DeliveryCount = max(dead.DeliveryCount, t.deliveries)
	default:
		dead.Reason = why
	}
	return dead
}

// reasonOfDeath returns why the broker moved a message last. A scheduled one has expired in the
// ladder before.
func reasonOfDeath(headers amqp.Table) string {
	deaths, _ := headers[headerDeaths].([]any)
	for _, d := range deaths { // the last one comes first
		death, _ := d.(amqp.Table)
		if queue, _ := death["queue"].(string); strings.HasPrefix(queue, delayQueues) {
			continue
		}
		reason, _ := death["reason"].(string)
		return reason
	}
	return ""
}
