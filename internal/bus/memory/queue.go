package memory

import (
	"container/heap"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
)

// state of an entry.
type state int

const (
	active    state = iota // can be delivered
	locked                 // is delivered, and not yet settled
	scheduled              // waits at the topic until it falls due
	dead                   // is in the dead-letter queue
	gone
)

// entry is one message in one subscription, or one that is scheduled at its topic.
type entry struct {
	topic       *topic
	queue       *queue // nil while it is scheduled
	message     bus.Message
	sequence    int64
	enqueuedAt  time.Time
	expiresAt   time.Time // zero means never
	deliveries  int       // so far, the one in hand included
	state       state
	lockedUntil time.Time
	index       int // in the queue's heap of active entries, -1 outside

	reason, description string // of a dead letter
	taken               bool   // of a dead letter: TakeDeadLetters has it in hand
}

// handle is one delivery of an entry: its lock.
type handle struct {
	entry    *entry
	delivery int
}

// queue is a subscription's state.
type queue struct {
	Subscription
	broker  *Broker
	topic   *topic
	filter  filter
	entries []*entry // in the order of their numbers; those that are gone are removed now and then
	removed int      // entries that are gone or dead
	active  ready
	dead    []*entry // in the order in which they came
}

func (q *queue) add(e *entry) {
	q.entries = append(q.entries, e)
	heap.Push(&q.active, e)
}

// next locks the active entry with the lowest number; nil if there is none.
func (q *queue) next(now time.Time) *entry {
	if len(q.active) == 0 {
		return nil
	}
	e := q.active[0]
	q.lock(e, now)
	return e
}

func (q *queue) lock(e *entry, now time.Time) {
	heap.Remove(&q.active, e.index)
	e.state = locked
	e.deliveries++
	q.extend(e, now)
}

// extend begins the time of an entry's lock anew.
func (q *queue) extend(e *entry, now time.Time) {
	e.lockedUntil = now.Add(q.LockDuration)
	q.broker.timers.add(e.lockedUntil, e)
}

// release ends the lock of an entry that was not settled.
func (q *queue) release(e *entry, now time.Time) {
	if q.MaxDeliveryCount > 0 && e.deliveries >= q.MaxDeliveryCount {
		q.bury(e, bus.ReasonDeliveries, "the message was delivered as often as the subscription allows")
		return
	}
	e.state = active
	heap.Push(&q.active, e)
	if e.expiresAt.After(now) {
		q.broker.timers.add(e.expiresAt, e) // the timer may have been dropped while the lock held
	}
	q.expire(e, now)
	q.broker.notify()
}

// expire removes an entry whose time to live has ended, unless a receiver holds its lock.
func (q *queue) expire(e *entry, now time.Time) {
	switch {
	case e.state != active || e.expiresAt.IsZero() || e.expiresAt.After(now):
	case q.DropExpired:
		q.remove(e, gone)
	default:
		q.bury(e, bus.ReasonExpired, "the message's time to live has ended")
	}
}

// bury moves an entry to the dead-letter queue.
func (q *queue) bury(e *entry, reason, description string) {
	e.reason, e.description = reason, description
	q.remove(e, dead)
	q.dead = append(q.dead, e)
}

// remove takes an entry out of the subscription.
func (q *queue) remove(e *entry, to state) {
	if e.index >= 0 {
		heap.Remove(&q.active, e.index)
	}
	e.state = to
	if q.removed++; q.removed > 32 && 2*q.removed > len(q.entries) {
		q.entries = slices.DeleteFunc(q.entries, func(e *entry) bool { return e.state == gone || e.state == dead })
		q.removed = 0
	}
}

// ready is a heap of entries by number.
type ready []*entry

func (h ready) Len() int           { return len(h) }
func (h ready) Less(i, j int) bool { return h[i].sequence < h[j].sequence }
func (h ready) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *ready) Push(x any) {
	e := x.(*entry)
	e.index = len(*h)
	*h = append(*h, e)
}

func (h *ready) Pop() any {
	last := len(*h) - 1
	e := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	e.index = -1
	return e
}

// timer is a time at which an entry is to be looked at: a scheduled one falls due, its lock
// or its time to live ends.
type timer struct {
	at     time.Time
	serial int // orders timers of one moment
	entry  *entry
}

// timers is a heap of timers. Those that nothing depends on any more are dropped when they
// come first.
type timers struct {
	heap   timerHeap
	serial int
}

func (t *timers) add(at time.Time, e *entry) {
	t.serial++
	heap.Push(&t.heap, timer{at, t.serial, e})
}

func (t *timers) pop() { heap.Pop(&t.heap) }

// first returns the first timer that something depends on.
func (t *timers) first() (timer, bool) {
	for len(t.heap) > 0 {
		first := t.heap[0]
		e := first.entry
		switch {
		case e.state == scheduled,
			e.state == locked && first.at.Equal(e.lockedUntil),
			e.state == active && first.at.Equal(e.expiresAt):
			return first, true
		}
		t.pop()
	}
	return timer{}, false
}

type timerHeap []timer

func (h timerHeap) Len() int { return len(h) }
func (h timerHeap) Less(i, j int) bool {
	if c := h[i].at.Compare(h[j].at); c != 0 {
		return c < 0
	}
	return h[i].serial < h[j].serial
}
func (h timerHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *timerHeap) Push(x any)   { *h = append(*h, x.(timer)) }
func (h *timerHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = timer{}
	*h = (*h)[:last]
	return t
}
