// Package broker holds the entities of a namespace and what happens to messages in
// them: sending, filters, locks, settlement, scheduling, expiry, dead letters.
//
// It must not know connections or frames: a receiver is a Sink that it hands
// deliveries to. One lock guards a topic with all its subscriptions, or a queue;
// topics do not wait for each other. Time comes from the caller: what falls due
// happens in Tick.
//
// There are two clocks. Messages are scheduled, expire and are known as repeats by
// the one that may be moved; locks end by one of their own, so that moving the other
// clock does not deliver a locked message a second time.
package broker

import (
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/journal"
	"github.com/matoolkit/matoolkit/local/servicebus/topology"
)

// Config of a broker.
type Config struct {
	Topology topology.Topology
	// DataDir is where the journal is; empty means that there is none.
	DataDir string
	// CompactAbove is the size in bytes from which on a journal of mostly dead
	// records is rewritten. 0 means 16 MB.
	CompactAbove int64
	// Now is the clock of the messages: when they are enqueued, when they expire.
	Now func() time.Time
	// Locks is the clock by which locks end; nil means Now.
	Locks  func() time.Time
	Logger *slog.Logger
}

// Broker is one namespace.
type Broker struct {
	now      func() time.Time
	locks    func() time.Time
	logger   *slog.Logger
	entities map[string]*Entity
	queues   map[string]*Queue
	ordered  []*Entity
	wake     chan struct{}
	wakesAt  atomic.Int64     // ms since 1970 by the clock of locks; Run sleeps until then
	journal  *journal.Journal // nil when messages are in memory only
	live     atomic.Int64     // about how many bytes of journal are not dead
	ids      uint64           // the last id that stands for a path in the journal
}

// Error is a refusal with the AMQP condition that says why.
type Error struct{ Condition, Description string }

// Error renders condition and description.
func (e *Error) Error() string { return e.Condition + ": " + e.Description }

// ErrLockLost says that a message is not, or no longer, locked by the token given.
var ErrLockLost = &Error{
	"com.microsoft:message-lock-lost",
	"The lock supplied is invalid. Either the lock expired, or the message has already been removed from the queue.",
}

func refuse(condition, format string, args ...any) error {
	return &Error{condition, fmt.Sprintf(format, args...)}
}

// Open makes the entities of the topology and restores what DataDir holds of them.
// Messages that were locked are available again, with that delivery counted.
func Open(cfg Config) (*Broker, error) {
	if cfg.Locks == nil {
		cfg.Locks = cfg.Now
	}
	b := &Broker{
		now: cfg.Now, locks: cfg.Locks, logger: cfg.Logger, entities: map[string]*Entity{}, queues: map[string]*Queue{},
		wake: make(chan struct{}, 1),
	}
	for _, t := range cfg.Topology.Queues {
		e := b.addEntity(t.Name, t.DuplicateWindow, 0)
		e.targets = []target{{queue: b.addQueue(e, t.Name, t.Delivery)}}
		e.queue = e.targets[0].queue
	}
	for _, t := range cfg.Topology.Topics {
		e := b.addEntity(t.Name, t.DuplicateWindow, t.TimeToLive)
		for _, s := range t.Subscriptions {
			q := b.addQueue(e, t.Name+"/Subscriptions/"+s.Name, s.Delivery)
			if q.Unsupported() == "" { // else no one could receive its messages
				e.targets = append(e.targets, target{queue: q, rules: s.Rules})
			}
		}
	}
	if cfg.DataDir == "" {
		return b, nil
	}
	if cfg.CompactAbove == 0 {
		cfg.CompactAbove = 16 << 20
	}
	return b, b.open(cfg.DataDir, cfg.CompactAbove)
}

// Close returns when everything is on disk.
func (b *Broker) Close() error {
	if b.journal == nil {
		return nil
	}
	return b.journal.Close()
}

// Written is the number of bytes written to disk since Open.
func (b *Broker) Written() int64 {
	if b.journal == nil {
		return 0
	}
	return b.journal.Written()
}

func (b *Broker) addEntity(name string, window, ttl time.Duration) *Entity {
	b.ids++
	e := &Entity{b: b, id: b.ids, path: name, ttl: ttl, scheduled: map[int64]*entry{}}
	if window > 0 {
		e.duplicates = &history{window: window, seen: map[string]struct{}{}}
	}
	b.entities[strings.ToLower(name)] = e
	b.ordered = append(b.ordered, e)
	return e
}

// deadLetterSuffix ends the path of a dead-letter sub-queue.
const deadLetterSuffix = "/$DeadLetterQueue"

func (b *Broker) addQueue(e *Entity, path string, d topology.Delivery) *Queue {
	q := newQueue(e, path, d)
	q.dead = newQueue(e, path+deadLetterSuffix, topology.Delivery{LockDuration: d.LockDuration})
	q.id, q.dead.id = b.ids+1, b.ids+2
	b.ids += 2
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
func (b *Broker) Committed(done func(error)) {
	if b.journal == nil {
		done(nil)
		return
	}
	b.journal.Committed(done)
}

// Tick expires locks and messages and enqueues scheduled messages that are due.
// Call it when a clock was moved: Run sleeps as long as it thought right before.
func (b *Broker) Tick() {
	b.tick()
	b.rouse()
}

func (b *Broker) tick() {
	now, locks := b.now(), b.locks()
	for _, e := range b.ordered {
		e.tick(now, locks)
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
			b.tick()
		}
		timer.Reset(max(b.untilDue(), minTick))
	}
}

// minTick bounds how often Run ticks.
const minTick = 5 * time.Millisecond

// untilDue is how long Run may sleep. What falls due sooner while it looks wakes it.
func (b *Broker) untilDue() time.Duration {
	b.wakesAt.Store(math.MaxInt64)
	now := b.locks()
	next := now.Add(time.Hour).UnixMilli()
	for _, e := range b.ordered {
		next = min(next, e.nextDue(next))
	}
	b.wakesAt.Store(next)
	return time.UnixMilli(next).Sub(now)
}

// ahead is by how many ms the clock of the messages is ahead of that of the locks.
func (b *Broker) ahead() int64 { return b.now().Sub(b.locks()).Milliseconds() }

// due tells Run that something falls due at a time of the messages' clock.
func (b *Broker) due(at int64) { b.ends(at - b.ahead()) }

// ends tells Run that something falls due at a time of the locks' clock.
func (b *Broker) ends(at int64) {
	if at < b.wakesAt.Load() {
		b.rouse()
	}
}

func (b *Broker) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// Stats returns the counters by path.
func (b *Broker) Stats() map[string]Stats {
	out := map[string]Stats{}
	for _, e := range b.ordered {
		e.mu.Lock()
		for _, q := range e.queues {
			st := q.stats
			st.Messages = q.count
			out[q.path] = st
		}
		st := out[e.path] // a queue's own, else empty
		st.Sent, st.Messages = e.sent, st.Messages+len(e.scheduled)
		out[e.path] = st
		e.mu.Unlock()
	}
	return out
}
