package rabbitmq

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/panics"
)

// prefetch is how many messages the broker pushes to a receiver that waits: the first one ends
// its waiting.
const prefetch = 1

// receiver is a bus.Receiver. Its channel is opened at the first call. All deliveries of a
// channel end with it.
type receiver struct {
	client       *Client
	topic        topic
	exchange     string // by its name in the broker
	subscription string
	queue        string

	mu sync.Mutex
	ch *channel // nil before the first call
}

// Receiver opens a receiver of one subscription.
func (c *Client) Receiver(topic, subscription string) (bus.Receiver, error) {
	return &receiver{
		client: c, topic: topicOf(topic), exchange: c.Topic(topic), subscription: subscription, queue: c.queue(topic, subscription),
	}, nil
}

// delivery is the handle of a message in hand.
type delivery struct {
	amqp.Delivery
	receiver *receiver
	ch       *channel

	mu    sync.Mutex
	ended bool // it was settled, or its lock has ended
	timer *time.Timer
}

func (r *receiver) about(err error) error { return bus.About(err, r.exchange, r.subscription) }

// channel returns the open channel, or opens one.
func (r *receiver) channel(ctx context.Context) (*channel, error) {
	r.mu.Lock()
	ch := r.ch
	r.mu.Unlock()
	if ch != nil && !ch.closed() {
		return ch, nil
	}
	ch, err := r.client.open(ctx, &r.client.in)
	if err != nil {
		return nil, err
	}
	if err := ch.flush(ctx); err != nil { // which sets the prefetch
		ch.close()
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ch = ch
	return ch, nil
}

// Receive takes the messages that are there. If there is none it waits as a consumer of one
// message, and takes those that are there when it has come.
func (r *receiver) Receive(ctx context.Context, n int, wait time.Duration) ([]*bus.Received, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	end := time.Now().Add(wait)
	for {
		all, err := r.receive(ctx, n, time.Until(end))
		if err != nil {
			return nil, r.about(err)
		}
		if kept, err := r.keep(ctx, all); err != nil || len(kept) > 0 || time.Now().After(end) {
			return kept, r.about(err)
		}
	}
}

func (r *receiver) receive(ctx context.Context, n int, wait time.Duration) ([]*delivery, error) {
	ch, err := r.channel(ctx)
	if err != nil {
		return nil, err
	}
	all, err := r.take(ctx, ch, n)
	if err != nil || len(all) > 0 || wait <= 0 {
		return all, err
	}
	first, err := r.wait(ctx, ch, wait)
	if err != nil || len(first) == 0 {
		return first, err
	}
	more, err := r.take(ctx, ch, n-len(first))
	if err != nil { // the channel is closed, and with it the first delivery
		return nil, err
	}
	return append(first, more...), nil
}

// take gets up to n messages that are there.
func (r *receiver) take(ctx context.Context, ch *channel, n int) (all []*delivery, err error) {
	var got []amqp.Delivery
	err = ch.call(ctx, func(ch *amqp.Channel) error {
		for len(got) < n {
			d, ok, err := ch.Get(r.queue, false)
			if err != nil || !ok {
				return err
			}
			got = append(got, d)
		}
		return nil
	})
	if err != nil {
		// The deliveries go back to the queue with the channel.
		ch.close()
		return nil, err
	}
	for _, d := range got {
		all = append(all, &delivery{Delivery: d, receiver: r, ch: ch})
	}
	return all, nil
}

// wait waits for a message as a consumer, and ends that: a consumer without a reader would
// keep a message. The message that came meanwhile is received, too.
func (r *receiver) wait(ctx context.Context, ch *channel, wait time.Duration) (all []*delivery, err error) {
	tag := fmt.Sprintf("receiver-%d", r.client.numbers.next(time.Now(), time.Time{}))
	var came <-chan amqp.Delivery
	if err := ch.call(ctx, func(ch *amqp.Channel) (err error) {
		came, err = ch.Consume(r.queue, tag, false, false, false, false, nil)
		return err
	}); err != nil {
		ch.close()
		return nil, err
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case d, ok := <-came:
		if !ok {
			return nil, fmt.Errorf("%w: the channel was closed", bus.ErrUnavailable)
		}
		all = append(all, &delivery{Delivery: d, receiver: r, ch: ch})
	case <-timer.C:
	case <-ctx.Done():
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), dialTimeout)
	defer cancel()
	if err := ch.call(ending, func(ch *amqp.Channel) error { return ch.Cancel(tag, false) }); err != nil {
		ch.close()
		return nil, err
	}
	for d := range came {
		all = append(all, &delivery{Delivery: d, receiver: r, ch: ch})
	}
	if err := ctx.Err(); err != nil {
		for _, d := range all {
			_ = d.Nack(false, true) // otherwise it goes back with the channel
		}
		return nil, err
	}
	return all, nil
}

// keep returns the deliveries as messages with their locks. Those whose time to live has ended, and
// those that were delivered too often, leave the subscription; one that cannot comes again when its
// lock ends. The error is that of such a one, if no other message is left.
func (r *receiver) keep(ctx context.Context, all []*delivery) (kept []*bus.Received, failure error) {
	for _, d := range all {
		m, until := decode(d.Delivery), d.lock(r.topic.lock)
		var err error
		switch {
		case !m.ExpiresAt.IsZero() && !time.Now().Before(m.ExpiresAt):
			err = r.expire(ctx, d)
		case r.topic.deliveries > 0 && m.DeliveryCount > r.topic.deliveries:
			err = r.bury(ctx, d, bus.ReasonDeliveries, "the message was delivered as often as the subscription allows")
		default:
			m.LockedUntil, m.Handle = until, d
			r.client.inHand.add(d, m.EnqueuedAt)
			kept = append(kept, m)
		}
		failure = errors.Join(failure, err)
	}
	if len(kept) > 0 {
		return kept, nil
	}
	return nil, failure
}

func (r *receiver) expire(ctx context.Context, d *delivery) error {
	if r.topic.dropExpired {
		return d.settle(ctx, func() error { return d.Ack(false) })
	}
	return r.bury(ctx, d, bus.ReasonExpired, "the message's time to live has ended")
}

// lock begins the time of a delivery's lock anew and returns its end.
func (d *delivery) lock(lasts time.Duration) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer = time.AfterFunc(lasts, d.endLock)
	return time.Now().Add(lasts)
}

// endLock gives back a delivery whose lock was not renewed in time.
func (d *delivery) endLock() {
	_ = panics.Catch(context.Background(), func() error {
		if d.end() {
			_ = d.Nack(false, true) // it fails if the channel is closed: then it came back already
		}
		return nil
	})
}

// end ends a delivery, and reports whether it is this call that does.
func (d *delivery) end() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return false
	}
	d.ended = true
	d.receiver.client.inHand.remove(d)
	if d.timer != nil {
		d.timer.Stop()
	}
	return true
}

// held returns a delivery that the receiver has in hand.
func (r *receiver) held(m *bus.Received) (*delivery, error) {
	d, ok := m.Handle.(*delivery)
	if !ok || d.receiver != r {
		return nil, fmt.Errorf("%w: the message %s was not received", bus.ErrLockLost, m.ID)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended || d.ch.closed() {
		return nil, fmt.Errorf("%w: message %s", bus.ErrLockLost, m.ID)
	}
	return d, nil
}

// settle ends a delivery: tell writes to the broker, which has read it when settle returns. If
// the connection is lost meanwhile, the message may come again.
func (d *delivery) settle(ctx context.Context, tell func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !d.end() {
		return fmt.Errorf("%w: message %s", bus.ErrLockLost, d.MessageId)
	}
	err := await(ctx, tell)
	if err == nil {
		err = d.ch.flush(ctx)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		err = bus.Unavailable(classify(err))
	}
	return err
}

func (r *receiver) Complete(ctx context.Context, m *bus.Received) error {
	d, err := r.held(m)
	if err != nil {
		return err
	}
	return r.about(d.settle(ctx, func() error { return d.Ack(false) }))
}

// Abandon gives a message back to its place if no property changes. Otherwise a copy with the
// properties is published to the end of the queue, and then the message is removed.
func (r *receiver) Abandon(ctx context.Context, m *bus.Received, set map[string]any) error {
	d, err := r.held(m)
	if err != nil {
		return err
	}
	switch {
	case r.topic.deliveries > 0 && m.DeliveryCount >= r.topic.deliveries:
		return r.about(r.bury(ctx, d, bus.ReasonDeliveries, "the message was delivered as often as the subscription allows"))
	case len(set) == 0:
		return r.about(d.settle(ctx, func() error { return d.Nack(false, true) }))
	}
	again := copyOf(d.Delivery)
	if err := setProperties(again.Headers, set); err != nil {
		return err
	}
	again.Headers[headerDeliveries] = int64(m.DeliveryCount)
	if !m.ExpiresAt.IsZero() {
		again.Expiration = expiration(time.Until(m.ExpiresAt))
	}
	return r.about(r.replace(ctx, d, r.queue, again))
}

func (r *receiver) DeadLetter(ctx context.Context, m *bus.Received, reason, description string) error {
	d, err := r.held(m)
	if err != nil {
		return err
	}
	return r.about(r.bury(ctx, d, reason, description))
}

// bury moves a delivery to the dead-letter queue.
func (r *receiver) bury(ctx context.Context, d *delivery, reason, description string) error {
	dead := copyOf(d.Delivery)
	dead.Headers[headerReason], dead.Headers[headerDescription] = reason, description
	dead.Headers[headerDeliveries] = int64(decode(d.Delivery).DeliveryCount - 1)
	return r.replace(ctx, d, deadQueue(r.queue), dead)
}

// replace publishes a copy of a delivery to a queue, and then removes the delivery. The lock
// holds until then, so that no other receiver has the message meanwhile.
func (r *receiver) replace(ctx context.Context, d *delivery, queue string, by amqp.Publishing) error {
	if err := r.client.publishToQueue(ctx, queue, by); err != nil {
		return err
	}
	return d.settle(ctx, func() error { return d.Ack(false) })
}

// Renew asks the broker whether the channel is open: while it is, the broker delivers the
// message to no other.
func (r *receiver) Renew(ctx context.Context, m *bus.Received) (time.Time, error) {
	d, err := r.held(m)
	if err != nil {
		return time.Time{}, err
	}
	if err := d.ch.flush(ctx); err != nil {
		if d.ch.closed() {
			return time.Time{}, fmt.Errorf("%w: message %s: %w", bus.ErrLockLost, m.ID, err)
		}
		return time.Time{}, err
	}
	d.mu.Lock()
	ended := d.ended
	d.mu.Unlock()
	if ended {
		return time.Time{}, fmt.Errorf("%w: message %s", bus.ErrLockLost, m.ID)
	}
	return d.lock(r.topic.lock), nil
}

// Close closes the channel. The broker delivers the messages in hand again.
func (r *receiver) Close(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ch != nil {
		r.ch.close()
		r.ch = nil
	}
	return nil
}
