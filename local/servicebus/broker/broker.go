// Package broker holds the entities of a namespace and what happens to messages in
// them: sending, filters, locks, settlement, scheduling, expiry, dead letters.
//
// It must not know connections or frames: a receiver is a Sink that it hands
// deliveries to. One lock guards a topic with all its subscriptions, or a queue;
// topics do not wait for each other. Time comes from the caller: what falls due
// happens in Tick.
package broker

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/topology"
)

// Config of a broker.
type Config struct {
	Topology topology.Topology
	Now      func() time.Time
	Logger   *slog.Logger
}

// Broker is one namespace.
type Broker struct {
	now      func() time.Time
	logger   *slog.Logger
	entities map[string]*Entity
	queues   map[string]*Queue
	ordered  []*Entity
	wake     chan struct{}
}

// Error is a refusal with the AMQP condition that says why.
type Error struct{ Condition, Description string }

// Error renders condition and description.
func (e *Error) Error() string { return e.Condition + ": " + e.Description }

// ErrLockLost says that a message is not, or no longer, locked by the token given.
var ErrLockLost = &Error{"com.microsoft:message-lock-lost",
	"The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue."}

func refuse(condition, format string, args ...any) error {
	return &Error{condition, fmt.Sprintf(format, args...)}
}

// New makes the entities of the topology.
func New(cfg Config) (*Broker, error) {
	b := &Broker{now: cfg.Now, logger: cfg.Logger, entities: map[string]*Entity{}, queues: map[string]*Queue{},
		wake: make(chan struct{}, 1)}
	for _, t := range cfg.Topology.Queues {
		e := b.addEntity(t.Name, t.DuplicateWindow, 0)
		e.targets = []target{{queue: b.addQueue(e, t.Name, t.Delivery)}}
		e.queue = e.targets[0].queue
	}
	for _, t := range cfg.Topology.Topics {
		e := b.addEntity(t.Name, t.DuplicateWindow, t.TimeToLive)
		for _, s := range t.Subscriptions {
			e.targets = append(e.targets, target{queue: b.addQueue(e, t.Name+"/Subscriptions/"+s.Name, s.Delivery), rules: s.Rules})
		}
	}
	return b, nil
}

func (b *Broker) addEntity(name string, window, ttl time.Duration) *Entity {
	e := &Entity{b: b, path: name, ttl: ttl, scheduled: map[int64]*entry{}}
	if window > 0 {
		e.duplicates = &history{window: window, seen: map[string]struct{}{}}
	}
	b.entities[strings.ToLower(name)] = e
	b.ordered = append(b.ordered, e)
	return e
}

// deadLetterSuffix is what the path of a dead-letter sub-queue ends with.
const deadLetterSuffix = "/$DeadLetterQueue"

func (b *Broker) addQueue(e *Entity, path string, d topology.Delivery) *Queue {
	q := newQueue(e, path, d)
	q.dead = newQueue(e, path+deadLetterSuffix, topology.Delivery{LockDuration: d.LockDuration})
	b.queues[strings.ToLower(q.path)] = q
	b.queues[strings.ToLower(q.dead.path)] = q.dead
	e.queues = append(e.queues, q, q.dead)
	return q
}

// Entity finds the queue or topic to send to by its address.
func (b *Broker) Entity(address string) (*Entity, bool) {
	e, ok := b.entities[strings.ToLower(address)]
	return e, ok
}

// Queue finds the queue, subscription or dead-letter sub-queue to receive from.
func (b *Broker) Queue(address string) (*Queue, bool) {
	q, ok := b.queues[strings.ToLower(address)]
	return q, ok
}

// Committed calls done once everything that was done to the broker before is on
// disk, or with the error that kept it from there. done must not block.
func (b *Broker) Committed(done func(error)) { done(nil) }

// Tick does what is due: locks and messages expire, scheduled messages are enqueued.
func (b *Broker) Tick() {
	now := b.now()
	for _, e := range b.ordered {
		e.tick(now)
	}
}

// Run ticks when something falls due, until stop is closed.
func (b *Broker) Run(stop <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-stop:
			return
		case <-b.wake:
		case <-timer.C:
			b.Tick()
		}
		wait := time.Hour
		now := b.now()
		for _, e := range b.ordered {
			if at, ok := e.nextDue(); ok {
				wait = min(wait, time.UnixMilli(at).Sub(now))
			}
		}
		timer.Reset(max(wait, minTick))
	}
}

// minTick bounds how often Run ticks.
const minTick = 5 * time.Millisecond

// dueSooner tells Run that its next deadline moved forward.
func (b *Broker) dueSooner() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
