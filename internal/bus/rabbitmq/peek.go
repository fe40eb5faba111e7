package rabbitmq

import (
	"context"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/matoolkit/matoolkit/internal/bus"
)

// Oldest looks at the messages that the receivers of this client have in hand, and at the first one that waits: it takes it and
// gives it back to its place, which counts as a delivery. It does not see what other processes have in hand.
func (c *Client) Oldest(ctx context.Context, topic, subscription string) (at time.Time, found bool, err error) {
	queue := c.queue(topic, subscription)
	at, found, err = c.oldest(ctx, queue)
	if held, holds := c.inHand.oldest(queue); err == nil && holds && (!found || held.Before(at)) {
		at, found = held, true
	}
	return at, found, bus.About(err, c.Topic(topic), subscription)
}

// oldest returns when the first message that waits was enqueued, by a look that may be some seconds old.
func (c *Client) oldest(ctx context.Context, queue string) (at time.Time, found bool, err error) {
	ready, err := c.exists(ctx, queue)
	if err != nil || ready == 0 {
		return at, false, err
	}
	if at, found = c.looks.recent(queue, time.Now()); found {
		return at, true, nil
	}
	ch, err := c.open(ctx, &c.in)
	if err != nil {
		return at, false, err
	}
	defer ch.close()
	err = ch.call(ctx, func(ch *amqp.Channel) error {
		d, ok, err := ch.Get(queue, false)
		if err != nil || !ok {
			return err
		}
		at, found = decode(d).EnqueuedAt, true
		c.looks.note(queue, at, time.Now())
		return d.Nack(false, true)
	})
	return at, found, err
}

// Exists asks for the queue of a subscription.
func (c *Client) Exists(ctx context.Context, topic, subscription string) error {
	_, err := c.exists(ctx, c.queue(topic, subscription))
	return bus.About(err, c.Topic(topic), subscription)
}

// Peek reads the log of a followed subscription. What waits in a queue cannot be seen: of any
// other subscription Peek only finds out whether it exists.
func (r *receiver) Peek(ctx context.Context, from int64, n int) ([]*bus.Received, error) {
	if !r.topic.followed {
		_, err := r.client.exists(ctx, r.queue)
		return nil, r.about(err)
	}
	page, err := r.read(ctx, from, n)
	return page, r.about(err)
}

// read returns up to n messages of the log from a number on: the offset in the log and 1. It
// reads to the record that was the last one when it began, so that it finds every message whose
// sending was confirmed before.
func (r *receiver) read(ctx context.Context, from int64, n int) (page []*bus.Received, err error) {
	if n <= 0 {
		return nil, nil
	}
	stream := logStream(r.queue)
	if _, err := r.client.exists(ctx, stream); err != nil {
		return nil, err
	}
	end, err := r.client.lastOffset(ctx, stream)
	if err != nil {
		return nil, err
	}
	begin := max(from-1, 0)
	if begin > end {
		return nil, nil
	}
	l, err := r.client.openLog(ctx, stream, begin)
	if err != nil {
		return nil, err
	}
	defer l.ch.close()
	for now := time.Now(); len(page) < n; {
		d, err := l.next(ctx)
		if err != nil {
			return nil, err
		}
		offset := number(d.Headers, headerOffset)
		if m := decode(d); offset >= begin && d.Headers[headerMark] == nil && now.Before(m.ExpiresAt) {
			m.Sequence = offset + 1
			page = append(page, m)
		}
		if offset >= end {
			break
		}
		if err := d.Ack(false); err != nil {
			return nil, classify(err)
		}
	}
	return page, nil
}

// logPrefetch is how many records the broker sends before it waits for an acknowledgement: more
// than a chunk of a log has.
const logPrefetch = 10_000

// logConsumer reads a log from a record on, in a channel of its own.
type logConsumer struct {
	ch   *channel
	came <-chan amqp.Delivery
}

const logTag = "log"

// openLog begins to read a log at an offset, or at "last", the last chunk.
func (c *Client) openLog(ctx context.Context, stream string, offset any) (*logConsumer, error) {
	ch, err := c.open(ctx, &c.in)
	if err != nil {
		return nil, err
	}
	l := &logConsumer{ch: ch}
	err = ch.call(ctx, func(ch *amqp.Channel) (err error) {
		if err = ch.Qos(logPrefetch, 0, false); err == nil {
			l.came, err = ch.Consume(stream, logTag, false, false, false, false, amqp.Table{"x-stream-offset": offset})
		}
		return err
	})
	if err != nil {
		ch.close()
		return nil, err
	}
	return l, nil
}

// next waits for a record.
func (l *logConsumer) next(ctx context.Context) (amqp.Delivery, error) {
	select {
	case d, ok := <-l.came:
		if !ok {
			return d, fmt.Errorf("%w: the channel was closed", bus.ErrUnavailable)
		}
		return d, nil
	case <-ctx.Done():
		return amqp.Delivery{}, classify(ctx.Err())
	}
}

// lastOffset returns the offset of the last record: there is one from the beginning. The broker
// sends the last chunk as a whole, before it ends the consumer.
func (c *Client) lastOffset(ctx context.Context, stream string) (int64, error) {
	l, err := c.openLog(ctx, stream, "last")
	if err != nil {
		return 0, err
	}
	defer l.ch.close()
	d, err := l.next(ctx)
	if err != nil {
		return 0, err
	}
	if err := l.ch.call(ctx, func(ch *amqp.Channel) error { return ch.Cancel(logTag, false) }); err != nil {
		return 0, err
	}
	last := number(d.Headers, headerOffset)
	for d := range l.came {
		last = number(d.Headers, headerOffset)
	}
	return last, nil
}
