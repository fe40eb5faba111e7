package memory

import (
	"cmp"
	"container/heap"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
)

// Clone returns a broker that goes on from the state of this one and shares no state with it:
// the same messages with their numbers, locks and delivery counts, scheduled messages, dead
// letters and remembered ids. It goes by the clock that it is given, nil for that of b.
//
// A delivery belongs to the broker that made it. Complete settles one in a clone.
func (b *Broker) Clone(now func() time.Time) *Broker {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now == nil {
		now = b.now
	}
	next := &Broker{now: now, copies: b.copies, topics: make(map[string]*topic, len(b.topics)), accepted: b.accepted, changed: make(chan struct{})}
	entries := map[*entry]*entry{}
	for name, t := range b.topics {
		next.topics[name] = t.clone(next, entries)
	}
	for _, t := range b.timers.heap {
		e := t.entry
		if e.state == scheduled && entries[e] == nil {
			c := *e
			c.topic = next.topics[key(e.topic.Name)]
			entries[e] = &c
		}
		if c := entries[e]; c != nil { // a timer of an entry that is gone does nothing
			next.timers.heap = append(next.timers.heap, timer{t.at, t.serial, c})
		}
	}
	heap.Init(&next.timers.heap)
	next.timers.serial = b.timers.serial
	return next
}

// clone copies a topic for another broker, and notes the copy of each entry.
func (t *topic) clone(b *Broker, entries map[*entry]*entry) *topic {
	next := &topic{Topic: t.Topic, sequence: t.sequence, seen: maps.Clone(t.seen), order: slices.Clone(t.order), subscriptions: make(map[string]*queue, len(t.subscriptions))}
	for _, q := range t.ordered {
		c := &queue{Subscription: q.Subscription, broker: b, topic: next, filter: q.filter}
		for _, e := range q.entries {
			if e.state != active && e.state != locked {
				continue
			}
			copied := *e
			copied.topic, copied.queue = next, c
			entries[e] = &copied
			c.entries = append(c.entries, &copied)
		}
		for _, e := range q.active {
			c.active = append(c.active, entries[e]) // which has the same index
		}
		for _, e := range q.dead {
			copied := *e
			copied.topic, copied.queue, copied.taken = next, c, false
			c.dead = append(c.dead, &copied)
		}
		next.subscriptions[key(q.Name)] = c
		next.ordered = append(next.ordered, c)
	}
	return next
}

// Complete removes a locked message from a subscription, as its receiver would.
func (b *Broker) Complete(topic, subscription string, sequence int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick()
	e, err := b.find(topic, subscription, sequence)
	if err != nil {
		return err
	}
	if e.state != locked {
		return fmt.Errorf("%w: message %s of subscription %s is not locked", bus.ErrLockLost, e.message.ID, subscription)
	}
	e.queue.remove(e, gone)
	return nil
}

// Scheduled returns the messages that a topic is to enqueue later, those first that fall due
// first.
func (b *Broker) Scheduled(topic string) ([]bus.Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick()
	t, err := b.topic(topic)
	if err != nil {
		return nil, err
	}
	var due []timer
	for _, timer := range b.timers.heap {
		if timer.entry.state == scheduled && timer.entry.topic == t {
			due = append(due, timer)
		}
	}
	slices.SortFunc(due, func(a, b timer) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.serial, b.serial)) })
	all := make([]bus.Message, len(due))
	for i, timer := range due {
		all[i] = timer.entry.message
	}
	return all, nil
}

// Remembered returns the message ids that a topic knows as duplicates at this moment, with
// the time at which each came.
func (b *Broker) Remembered(topic string) (map[string]time.Time, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.tick()
	t, err := b.topic(topic)
	if err != nil {
		return nil, err
	}
	all := map[string]time.Time{}
	for id, at := range t.seen {
		if now.Sub(at) < t.DuplicateWindow {
			all[id] = at
		}
	}
	return all, nil
}
