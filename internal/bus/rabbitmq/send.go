package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/matoolkit/matoolkit/internal/bus"
)

// publisher publishes over a channel of its own, in which the broker confirms what it has
// stored. It is safe for concurrent use.
type publisher struct {
	client *Client

	turn     turn     // guards the fields below
	ch       *channel // nil before the first call
	returned chan amqp.Return
	known    map[string]bool // exchanges that exist
}

// publishing is a message with its exchange and its routing key.
type publishing struct {
	exchange, key string
	message       amqp.Publishing
}

// Send publishes the messages one after the other and waits for the broker's confirmations.
func (c *Client) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	exchange, now := c.Topic(topic), time.Now()
	all := make([]publishing, len(messages))
	for i, m := range messages {
		if m.ID == "" {
			return errors.New("bus: a message has no id")
		}
		if m.Size() > bus.MaxMessage {
			return bus.TooLarge(m, topic)
		}
		out, after, err := c.encode(ctx, topicOf(topic), m, now)
		if err != nil {
			return err
		}
		all[i] = publishing{exchange: exchange, message: out}
		if after > 0 {
			all[i].exchange, all[i].key = delayed(exchange, after)
		}
	}
	if len(all) == 0 {
		return nil
	}
	if err := c.sender.publish(ctx, exchange, false, all...); err != nil {
		return bus.About(err, exchange, "")
	}
	c.sent.Add(int64(len(all)))
	return nil
}

// publishToQueue publishes a message to a queue, which must exist.
func (c *Client) publishToQueue(ctx context.Context, queue string, m amqp.Publishing) error {
	return c.settler.publish(ctx, "", true, publishing{key: queue, message: m})
}

// publish publishes messages in order and returns when the broker has stored them all. If to is
// not empty, it is an exchange that must exist. If alone is set, one call follows the other, and
// a message that the broker cannot route is an error.
func (p *publisher) publish(ctx context.Context, to string, alone bool, all ...publishing) error {
	if err := p.turn.take(ctx); err != nil {
		return classify(err)
	}
	held := true
	defer func() {
		if held {
			p.turn.give()
		}
	}()
	ch, err := p.channel(ctx, to)
	if err != nil {
		return err
	}
	if alone {
		p.forget()
	}
	confirmed := make([]*amqp.DeferredConfirmation, 0, len(all))
	err = ch.call(ctx, func(ch *amqp.Channel) error {
		for _, m := range all {
			one, err := ch.PublishWithDeferredConfirm(m.exchange, m.key, alone, false, m.message)
			if err != nil {
				return err
			}
			confirmed = append(confirmed, one)
		}
		return nil
	})
	returned := p.returned
	if !alone {
		p.turn.give()
		held = false
	}
	if err != nil {
		return err
	}
	for _, one := range confirmed {
		stored, err := one.WaitContext(ctx)
		switch {
		case err != nil:
			return classify(err)
		case !stored:
			return fmt.Errorf("%w: the broker did not confirm a message", bus.ErrUnavailable)
		}
	}
	if alone {
		select {
		case r := <-returned: // it comes before the confirmation
			return fmt.Errorf("%w: the queue %s is missing", bus.ErrNotFound, r.RoutingKey)
		default:
		}
	}
	return nil
}

// forget drops the returned messages of earlier calls, which did not wait for them.
func (p *publisher) forget() {
	for {
		select {
		case <-p.returned:
		default:
			return
		}
	}
}

// maxReturned is how many returned messages the client library can leave until they are read.
const maxReturned = 64

// channel returns the open channel, or opens one, and sees to it that an exchange exists: to
// publish to a missing one closes the channel for all. The caller has the turn.
func (p *publisher) channel(ctx context.Context, exchange string) (*channel, error) {
	if p.ch == nil || p.ch.closed() {
		ch, err := p.client.open(ctx, &p.client.out)
		if err != nil {
			return nil, err
		}
		if err := ch.call(ctx, func(ch *amqp.Channel) error { return ch.Confirm(false) }); err != nil {
			ch.close()
			return nil, err
		}
		p.ch, p.known = ch, map[string]bool{}
		p.returned = ch.is.NotifyReturn(make(chan amqp.Return, maxReturned))
	}
	if exchange == "" || p.known[exchange] {
		return p.ch, nil
	}
	check, err := p.client.open(ctx, &p.client.out)
	if err != nil {
		return nil, err
	}
	defer check.close()
	if err := check.call(ctx, func(ch *amqp.Channel) error {
		return ch.ExchangeDeclarePassive(exchange, amqp.ExchangeHeaders, true, false, false, false, nil)
	}); err != nil {
		return nil, err
	}
	p.known[exchange] = true
	return p.ch, nil
}
