// Package memory is the bus's driver in memory, for unit tests, simulations and the search
// for faults. It behaves as Azure Service Bus does for the product: topics with
// subscriptions and their filters, scheduled messages, duplicate detection, locks, delivery
// counts and dead-letter queues.
//
// It is deterministic: one goroutine that makes the same calls at the same times gets the
// same answers. It starts no goroutine, and time passes only as Config.Now says.
//
// A test that drives the broker itself, such as the fault simulation, does not receive: it
// lists the messages with Messages, chooses one, takes it with Take and settles it with a
// Receiver or Complete, or ends its lock with EndLock; Next says how far the clock can move.
// Each process under test has a Client of its own, whose Fault decides the outcome of each
// call and may wait while it decides. A test that tries several continuations of one state
// uses a Clone for each; Messages, Scheduled and Remembered return the state.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Limits of a message, as in the standard tier of Service Bus.
const (
	maxMessage   = bus.MaxMessage
	maxMessageID = 128
)

// Config of a broker.
type Config struct {
	// Now is the clock by which messages fall due, expire, and are known as duplicates, and
	// by which locks end; nil means time.Now. Call Tick after a clock of your own has moved
	// while receivers wait.
	Now func() time.Time
	// Topics are those of the namespace; nil means Deployment("worker-01").
	Topics []Topic
	// Copies says how often a message that a topic accepts is enqueued: 0 loses it, 2 makes
	// it arrive twice. Nil means once. The broker calls it while locked, so it must not call
	// the broker. Duplicate detection comes first.
	Copies func(topic string, m bus.Message) int
}

// Topic is a topic with its subscriptions.
type Topic struct {
	Name            string
	DuplicateWindow time.Duration // 0 means no duplicate detection
	TimeToLive      time.Duration // of messages that have none of their own; 0 means for ever
	Subscriptions   []Subscription
}

// Subscription is a subscription of a topic. MaxDeliveryCount is how often a message is
// delivered before it is dead-lettered; 0 means without limit.
type Subscription struct {
	Name string
	// Filter is the SQL filter of the messages that the subscription gets, in the form
	// Property = 'text'. Empty means all messages.
	Filter           string
	LockDuration     time.Duration
	MaxDeliveryCount int
	// DropExpired means that a message whose time to live ends is dropped, not
	// dead-lettered.
	DropExpired bool
}

// Deployment returns the topics of the product with the subscriptions of some workers, as
// they are deployed to Azure.
func Deployment(workers ...string) []Topic {
	topic := func(name string, days int) Topic {
		return Topic{Name: name, DuplicateWindow: 10 * time.Minute, TimeToLive: time.Duration(days) * 24 * time.Hour}
	}
	orchestrator := Subscription{Name: message.SubscriptionOrchestrator, LockDuration: 15 * time.Second, MaxDeliveryCount: 2000}
	events, jobs, control, results := topic(message.TopicOrchestratorEvents, 7), topic(message.TopicWorkerJobs, 7), topic(message.TopicWorkerControl, 14), topic(message.TopicWorkerResults, 7)
	events.Subscriptions, results.Subscriptions = []Subscription{orchestrator}, []Subscription{orchestrator}
	for _, id := range workers {
		name, own := message.WorkerSubscription(id), message.PropertyWorkerID+" = '"+strings.ReplaceAll(id, "'", "''")+"'"
		jobs.Subscriptions = append(jobs.Subscriptions, Subscription{Name: name, Filter: own, LockDuration: 30 * time.Second, MaxDeliveryCount: 2000})
		control.Subscriptions = append(control.Subscriptions, Subscription{Name: name, LockDuration: time.Minute, MaxDeliveryCount: 10, DropExpired: true})
	}
	return []Topic{events, jobs, control, results}
}

// Broker is a namespace in memory. Its methods may be called concurrently.
type Broker struct {
	now    func() time.Time
	copies func(string, bus.Message) int

	mu       sync.Mutex
	topics   map[string]*topic
	timers   timers
	accepted int
	waiting  int           // receivers that wait for a message
	changed  chan struct{} // closed at the next change, if anybody waits
}

// New makes a broker.
func New(c Config) (*Broker, error) {
	b := &Broker{now: c.Now, copies: c.Copies, topics: map[string]*topic{}, changed: make(chan struct{})}
	if b.now == nil {
		b.now = time.Now
	}
	if c.Topics == nil {
		c.Topics = Deployment("worker-01")
	}
	for _, t := range c.Topics {
		made := &topic{Topic: t, seen: map[string]time.Time{}, subscriptions: map[string]*queue{}}
		for _, s := range t.Subscriptions {
			f, err := parseFilter(s.Filter)
			if err != nil {
				return nil, fmt.Errorf("bus: subscription %s of topic %s: %w", s.Name, t.Name, err)
			}
			q := &queue{Subscription: s, broker: b, topic: made, filter: f}
			made.subscriptions[key(s.Name)] = q
			made.ordered = append(made.ordered, q)
		}
		b.topics[key(t.Name)] = made
	}
	return b, nil
}

// key is the key of a topic or a subscription, whose names are the same in any case.
func key(name string) string { return strings.ToLower(name) }

// topic is a topic's state.
type topic struct {
	Topic
	sequence      int64
	seen          map[string]time.Time // when a message id came that is in the duplicate window
	order         []string             // the ids of seen, oldest first
	subscriptions map[string]*queue
	ordered       []*queue // in the order of the configuration
}

// duplicate reports whether the id came within the duplicate window before, and remembers
// it if not.
func (t *topic) duplicate(id string, now time.Time) bool {
	if t.DuplicateWindow <= 0 {
		return false
	}
	for len(t.order) > 0 && now.Sub(t.seen[t.order[0]]) >= t.DuplicateWindow {
		delete(t.seen, t.order[0])
		t.order = t.order[1:]
	}
	if _, ok := t.seen[id]; ok {
		return true
	}
	t.seen[id] = now
	t.order = append(t.order, id)
	return false
}

func (b *Broker) topic(name string) (*topic, error) {
	t, ok := b.topics[key(name)]
	if !ok {
		return nil, bus.About(bus.ErrNotFound, name, "")
	}
	return t, nil
}

func (b *Broker) queue(topic, subscription string) (*queue, error) {
	t, err := b.topic(topic)
	if err != nil {
		return nil, err
	}
	q, ok := t.subscriptions[key(subscription)]
	if !ok {
		return nil, bus.About(bus.ErrNotFound, topic, subscription)
	}
	return q, nil
}

// check is an error for a message that no topic accepts.
func check(topic string, m bus.Message) error {
	switch {
	case m.Size() > maxMessage:
		return bus.TooLarge(m, topic)
	case m.ID == "":
		return errors.New("bus: a message has no id")
	case len(m.ID) > maxMessageID:
		return fmt.Errorf("bus: the message id %s has %d characters, more than %d", m.ID, len(m.ID), maxMessageID)
	}
	return nil
}

// send accepts messages one after the other.
func (b *Broker) send(name string, messages []bus.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.tick()
	t, err := b.topic(name)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if err := check(name, m); err != nil {
			return err
		}
	}
	for _, m := range messages {
		if t.duplicate(m.ID, now) {
			continue
		}
		b.accepted++
		copies := 1
		if b.copies != nil {
			copies = b.copies(t.Name, m)
		}
		for range copies {
			if m.At.After(now) {
				b.timers.add(m.At, &entry{topic: t, message: m, state: scheduled})
			} else {
				b.enqueue(t, m, now)
			}
		}
	}
	return nil
}

// enqueue gives a message its number and puts it into the subscriptions that it is for.
func (b *Broker) enqueue(t *topic, m bus.Message, now time.Time) {
	t.sequence++
	ttl := t.TimeToLive
	if m.TimeToLive > 0 && (ttl <= 0 || m.TimeToLive < ttl) {
		ttl = m.TimeToLive
	}
	for _, q := range t.ordered {
		if !q.filter.matches(m.Properties) {
			continue
		}
		e := &entry{topic: t, queue: q, message: m, sequence: t.sequence, enqueuedAt: now, index: -1}
		if ttl > 0 {
			e.expiresAt = now.Add(ttl)
			b.timers.add(e.expiresAt, e)
		}
		q.add(e)
	}
	b.notify()
}

// notify wakes the receivers that wait.
func (b *Broker) notify() {
	if b.waiting > 0 {
		close(b.changed)
		b.changed = make(chan struct{})
	}
}

// Tick applies the timers that are due: it enqueues scheduled messages and ends locks and
// times to live. Each call of a client does the same; a waiting receiver notices a moved
// clock only by this.
func (b *Broker) Tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick()
	b.notify()
}

// tick applies the timers that are due and returns the time.
func (b *Broker) tick() time.Time {
	now := b.now()
	for {
		t, ok := b.timers.first()
		if !ok || t.at.After(now) {
			return now
		}
		b.timers.pop()
		switch e := t.entry; {
		case e.state == scheduled:
			e.state = gone
			b.enqueue(e.topic, e.message, t.at) // also if the clock was moved past it
		case e.state == locked && !e.lockedUntil.After(now):
			e.queue.release(e, now)
		default:
			e.queue.expire(e, now)
		}
	}
}

// Next returns when the next scheduled message, lock or time to live falls due, and false if
// there is none.
func (b *Broker) Next() (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	t, ok := b.timers.first()
	return t.at, ok
}

// Accepted returns how many messages were accepted, duplicates not among them.
func (b *Broker) Accepted() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.accepted
}

// Message is a message of a subscription as Messages shows it.
type Message struct {
	bus.Received
	Locked bool // until LockedUntil
}

// Messages returns all messages of a subscription in the order of their numbers, locked ones
// among them. Take or EndLock name one by its Sequence.
func (b *Broker) Messages(topic, subscription string) ([]Message, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick()
	q, err := b.queue(topic, subscription)
	if err != nil {
		return nil, err
	}
	var all []Message
	for _, e := range q.entries {
		if e.state == active || e.state == locked {
			all = append(all, Message{*e.received(), e.state == locked})
		}
	}
	return all, nil
}

// DeadLetters returns how many messages are in the dead-letter queue of a subscription.
func (b *Broker) DeadLetters(topic, subscription string) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tick()
	q, err := b.queue(topic, subscription)
	if err != nil {
		return 0, err
	}
	return len(q.dead), nil
}

// Take delivers one message of a subscription out of order: it locks the message and
// counts the delivery. It refuses a locked message.
func (b *Broker) Take(topic, subscription string, sequence int64) (*bus.Received, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.tick()
	e, err := b.find(topic, subscription, sequence)
	if err != nil {
		return nil, err
	}
	if e.state != active {
		return nil, fmt.Errorf("bus: message %s of subscription %s is locked until %s", e.message.ID, subscription, e.lockedUntil)
	}
	e.queue.lock(e, now)
	return e.received(), nil
}

// EndLock makes the lock of a message end at a time, which may be now, as if its receiver
// had taken too long. The receiver cannot settle the message then; the next delivery can.
func (b *Broker) EndLock(topic, subscription string, sequence int64, at time.Time) error {
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
	e.lockedUntil = at
	b.timers.add(at, e)
	b.tick()
	return nil
}

func (b *Broker) find(topic, subscription string, sequence int64) (*entry, error) {
	q, err := b.queue(topic, subscription)
	if err != nil {
		return nil, err
	}
	i, ok := slices.BinarySearchFunc(q.entries, sequence, func(e *entry, s int64) int { return cmp.Compare(e.sequence, s) })
	if !ok || q.entries[i].state == gone || q.entries[i].state == dead {
		return nil, fmt.Errorf("%w: no message %d in subscription %s of topic %s", bus.ErrLockLost, sequence, subscription, topic)
	}
	return q.entries[i], nil
}

// Operation names a method of a bus.Client or a bus.Receiver.
type Operation string

// Operations that a Fault decides on.
const (
	OpSend            Operation = "send"
	OpPing            Operation = "ping"
	OpOldest          Operation = "oldest"
	OpExists          Operation = "exists"
	OpTakeDeadLetters Operation = "take dead letters"
	OpReceive         Operation = "receive"
	OpComplete        Operation = "complete"
	OpAbandon         Operation = "abandon"
	OpDeadLetter      Operation = "dead-letter"
	OpRenew           Operation = "renew"
	OpPeek            Operation = "peek"
)

// Call is one call of a client, before its execution.
type Call struct {
	Operation    Operation
	Topic        string        // empty of OpPing
	Subscription string        // empty of OpPing and OpSend
	Messages     []bus.Message // of OpSend
	Received     *bus.Received // of settlements and OpRenew
}

// Verdict is the outcome of a call. The zero value carries it out.
type Verdict struct {
	// Err is the caller's error; nil means the broker's own. Without CarriedOut the call
	// does nothing: the broker is unavailable. With it the answer is lost.
	Err error
	// CarriedOut is how much of a call with an Err is carried out: of a send the number of
	// messages, of all else 0 or 1. A receive with an Err is never carried out.
	CarriedOut int
}

// Fault decides the outcome of a client's calls. The broker calls it without any lock; it
// may wait until ctx ends.
type Fault func(ctx context.Context, c Call) Verdict

// Client returns a connection to the broker whose calls a fault decides on; nil injects
// nothing. Closing it does nothing to the broker.
func (b *Broker) Client(fault Fault) bus.Client { return &client{b, fault} }

// received is a copy of the entry for a receiver.
func (e *entry) received() *bus.Received {
	m := &bus.Received{
		ID: e.message.ID, CorrelationID: e.message.CorrelationID, ContentType: "application/json",
		Body: e.message.Body, Properties: maps.Clone(e.message.Properties),
		Sequence: e.sequence, EnqueuedAt: e.enqueuedAt, ExpiresAt: e.expiresAt, DeliveryCount: e.deliveries,
	}
	if e.state == locked {
		m.LockedUntil, m.Handle = e.lockedUntil, handle{e, e.deliveries}
	}
	return m
}
