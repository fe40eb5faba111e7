package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// client is a bus.Client.
type client struct {
	broker *Broker
	fault  Fault
}

// do carries out a call as far as the fault lets it. A call that is carried out although
// its caller gets an error has its own answer lost.
func (c *client) do(ctx context.Context, call Call, carryOut func(n int) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	var v Verdict
	if c.fault != nil {
		v = c.fault(ctx, call)
	}
	if v.Err == nil {
		return carryOut(max(len(call.Messages), 1))
	}
	if v.CarriedOut > 0 {
		_ = carryOut(v.CarriedOut) // the answer is lost
	}
	return v.Err
}

func (c *client) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	if len(messages) == 0 {
		return nil
	}
	sent := make([]bus.Message, len(messages))
	for i, m := range messages {
		m.Properties = maps.Clone(m.Properties) // the caller may change its own
		if m.Properties == nil {
			m.Properties = map[string]any{}
		}
		tracecontext.Inject(ctx, m.Properties)
		sent[i] = m
	}
	return c.do(ctx, Call{Operation: OpSend, Topic: topic, Messages: sent}, func(n int) error {
		return c.broker.send(topic, sent[:min(n, len(sent))])
	})
}

func (c *client) Ping(ctx context.Context) error {
	return c.do(ctx, Call{Operation: OpPing}, func(int) error { return nil })
}

func (c *client) Exists(ctx context.Context, topic, subscription string) error {
	return c.do(ctx, Call{Operation: OpExists, Topic: topic, Subscription: subscription}, func(int) error {
		_, err := c.broker.queue(topic, subscription)
		return err
	})
}

func (c *client) Oldest(ctx context.Context, topic, subscription string) (at time.Time, found bool, err error) {
	err = c.do(ctx, Call{Operation: OpOldest, Topic: topic, Subscription: subscription}, func(int) error {
		page, err := c.broker.peek(topic, subscription, 0, 1)
		if len(page) > 0 {
			at, found = page[0].EnqueuedAt, true
		}
		return err
	})
	if err != nil {
		return time.Time{}, false, err
	}
	return at, found, nil
}

func (c *client) Receiver(topic, subscription string) (bus.Receiver, error) {
	return &receiver{c, topic, subscription}, nil
}

// TakeDeadLetters calls take with one dead letter after the other.
func (c *client) TakeDeadLetters(ctx context.Context, topic, subscription string, n int, take func(context.Context, bus.DeadLetter) error) (removed int, err error) {
	err = c.do(ctx, Call{Operation: OpTakeDeadLetters, Topic: topic, Subscription: subscription}, func(int) error {
		removed, err = c.broker.takeDeadLetters(ctx, topic, subscription, n, take)
		return err
	})
	return removed, err
}

func (c *client) Close(context.Context) error { return nil }

// receiver is a bus.Receiver.
type receiver struct {
	client              *client
	topic, subscription string
}

func (r *receiver) Receive(ctx context.Context, n int, wait time.Duration) (all []*bus.Received, err error) {
	call := Call{Operation: OpReceive, Topic: r.topic, Subscription: r.subscription}
	err = ctx.Err()
	if err == nil && r.client.fault != nil {
		err = r.client.fault(ctx, call).Err
	}
	if err != nil {
		return nil, err
	}
	return r.client.broker.receive(ctx, r.topic, r.subscription, n, wait)
}

func (r *receiver) Complete(ctx context.Context, m *bus.Received) error {
	return r.settle(ctx, OpComplete, m, func(e *entry, _ time.Time) { e.queue.remove(e, gone) })
}

func (r *receiver) Abandon(ctx context.Context, m *bus.Received, set map[string]any) error {
	return r.settle(ctx, OpAbandon, m, func(e *entry, now time.Time) {
		e.message.Properties = maps.Clone(e.message.Properties) // other subscriptions have the same
		maps.Copy(e.message.Properties, set)
		e.queue.release(e, now)
	})
}

func (r *receiver) DeadLetter(ctx context.Context, m *bus.Received, reason, description string) error {
	return r.settle(ctx, OpDeadLetter, m, func(e *entry, _ time.Time) { e.queue.bury(e, reason, description) })
}

func (r *receiver) Renew(ctx context.Context, m *bus.Received) (until time.Time, err error) {
	err = r.settle(ctx, OpRenew, m, func(e *entry, now time.Time) {
		e.queue.extend(e, now)
		until = e.lockedUntil
	})
	if err != nil {
		return time.Time{}, err
	}
	return until, nil
}

func (r *receiver) settle(ctx context.Context, op Operation, m *bus.Received, do func(*entry, time.Time)) error {
	call := Call{Operation: op, Topic: r.topic, Subscription: r.subscription, Received: m}
	return r.client.do(ctx, call, func(int) error {
		b := r.client.broker
		b.mu.Lock()
		defer b.mu.Unlock()
		now := b.tick()
		h, ok := m.Handle.(handle)
		if !ok || h.entry.state != locked || h.entry.deliveries != h.delivery {
			return fmt.Errorf("%w: message %s", bus.ErrLockLost, m.ID)
		}
		do(h.entry, now)
		return nil
	})
}

func (r *receiver) Peek(ctx context.Context, from int64, n int) (page []*bus.Received, err error) {
	err = r.client.do(ctx, Call{Operation: OpPeek, Topic: r.topic, Subscription: r.subscription}, func(int) error {
		page, err = r.client.broker.peek(r.topic, r.subscription, from, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	return page, nil
}

func (r *receiver) Close(context.Context) error { return nil }

// receive waits in real time, and looks again when something changes or falls due.
func (b *Broker) receive(ctx context.Context, topic, subscription string, n int, wait time.Duration) ([]*bus.Received, error) {
	ended := time.NewTimer(wait)
	defer ended.Stop()
	for {
		all, changed, due, err := b.take(topic, subscription, n)
		if err != nil || len(all) > 0 {
			return all, err
		}
		more := true
		select {
		case <-changed:
		case <-due:
		case <-ended.C:
			more = false
		case <-ctx.Done():
			err, more = ctx.Err(), false
		}
		b.mu.Lock()
		b.waiting--
		b.mu.Unlock()
		if !more {
			return nil, err
		}
	}
}

// take locks what can be delivered. If there is nothing, the caller is counted among those
// who wait, and gets a channel of the next change and one of the time at which something
// falls due.
func (b *Broker) take(topic, subscription string, n int) (all []*bus.Received, changed <-chan struct{}, due <-chan time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.tick()
	q, err := b.queue(topic, subscription)
	if err != nil {
		return nil, nil, nil, err
	}
	for len(all) < n {
		e := q.next(now)
		if e == nil {
			break
		}
		all = append(all, e.received())
	}
	if len(all) > 0 {
		return all, nil, nil, nil
	}
	b.waiting++
	if first, ok := b.timers.first(); ok {
		due = time.After(max(first.at.Sub(now), time.Millisecond)) // the clock may stand still
	}
	return nil, b.changed, due, nil
}

func (b *Broker) peek(topic, subscription string, from int64, n int) ([]*bus.Received, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick()
	q, err := b.queue(topic, subscription)
	if err != nil {
		return nil, err
	}
	var page []*bus.Received
	at, _ := slices.BinarySearchFunc(q.entries, from, func(e *entry, s int64) int { return cmp.Compare(e.sequence, s) })
	for _, e := range q.entries[at:] {
		if len(page) == n {
			break
		}
		if e.state != active && e.state != locked {
			continue
		}
		m := e.received()
		m.LockedUntil, m.Handle = time.Time{}, nil
		page = append(page, m)
	}
	return page, nil
}

func (b *Broker) takeDeadLetters(ctx context.Context, topic, subscription string, n int, take func(context.Context, bus.DeadLetter) error) (removed int, err error) {
	held, err := b.holdDeadLetters(topic, subscription, n)
	if err != nil {
		return 0, err
	}
	var failures []error
	for _, e := range held {
		err := take(ctx, bus.DeadLetter{
			Topic: e.topic.Name, Subscription: e.queue.Name, Sequence: e.sequence, ID: e.message.ID, Body: e.message.Body,
			Properties: maps.Clone(e.message.Properties), EnqueuedAt: e.enqueuedAt, DeliveryCount: e.deliveries,
			Reason: e.reason, Description: e.description,
		})
		b.mu.Lock()
		e.taken = false
		if err == nil {
			e.state = gone
			e.queue.dead = slices.DeleteFunc(e.queue.dead, func(d *entry) bool { return d == e })
			removed++
		} else {
			failures = append(failures, err)
		}
		b.mu.Unlock()
	}
	return removed, errors.Join(failures...)
}

// holdDeadLetters locks dead letters that no other receiver holds.
func (b *Broker) holdDeadLetters(topic, subscription string, n int) ([]*entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick()
	q, err := b.queue(topic, subscription)
	if err != nil {
		return nil, err
	}
	var held []*entry
	for _, e := range q.dead {
		if len(held) < n && !e.taken {
			e.taken = true
			held = append(held, e)
		}
	}
	return held, nil
}
