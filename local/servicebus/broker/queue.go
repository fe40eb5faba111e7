package broker

import (
	"container/heap"
	"encoding/binary"
	"math/rand/v2"
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
	"github.com/matoolkit/matoolkit/local/servicebus/topology"
)

// Token is the token of a message's lock, in the byte order of RFC 4122.
type Token = amqp.UUID

// state of a message in a queue. The numbers are those of x-opt-message-state,
// except locked, which clients see as active.
type state uint8

const (
	active    state = 0
	deferred  state = 1
	scheduled state = 2
	locked    state = 3
)

// entry is one message in one queue. The lock of its entity guards it.
type entry struct {
	m                *Message
	seq, enqueuedSeq int64
	enqueuedAt       int64 // ms since 1970, as are the other times
	expiresAt        int64 // 0 for never
	lockedUntil      int64
	dueAt            int64 // when the state ends by itself, by the clock of its timeline
	token            Token
	state            state
	wasDeferred      bool // its lock came from receiving by sequence number
	deliveryCount    uint32
	properties       []byte // application properties, when they differ from the message's
	source           string // of a dead letter: the queue that it was in
	prev, next       *entry // of all in the queue, by sequence number
	prevNew, nextNew *entry // of those never delivered
	isNew            bool
	dueIndex         int
	returnedIndex    int
}

// Queue is the source of messages: a queue, a subscription, or the
// dead-letter sub-queue of either.
type Queue struct {
	e       *Entity
	id      uint64 // that stands for path in the journal
	path    string
	options topology.Delivery
	dead    *Queue // nil of a dead-letter sub-queue

	head, tail       *entry
	newHead, newTail *entry
	returned         returnedHeap // active after having been locked
	tokens           map[Token]*entry
	deferred         map[int64]*entry
	due              timeline    // of what expires
	locked           timeline    // of locks
	waiting          []*Receiver // with credit, in turn
	count            int
	stats            Stats
}

// Stats count what happened to the messages of an entity or queue since the start.
type Stats struct {
	Messages                                               int // there now, in any state; of a topic: scheduled
	Sent                                                   int64
	Delivered, Completed, Abandoned, DeadLettered, Expired int64
	Renewed                                                int64 // locks
	Peeked                                                 int64 // requests to peek
}

func newQueue(e *Entity, path string, d topology.Delivery) *Queue {
	return &Queue{e: e, path: path, options: d, tokens: map[Token]*entry{}, deferred: map[int64]*entry{}}
}

// Path is the queue's address.
func (q *Queue) Path() string { return q.path }

// Unsupported names what the queue needs and this module does not do, empty for nothing.
func (q *Queue) Unsupported() string { return q.options.Unsupported }

// Entity is the queue or topic that the queue belongs to.
func (q *Queue) Entity() *Entity { return q.e }

// push adds an entry with the highest sequence number so far.
func (q *Queue) push(en *entry) {
	en.prev = q.tail
	if q.tail != nil {
		q.tail.next = en
	} else {
		q.head = en
	}
	q.tail = en
	q.count++
	q.e.b.live.Add(en.m.size())
	en.state, en.isNew = active, true
	en.prevNew = q.newTail
	if q.newTail != nil {
		q.newTail.nextNew = en
	} else {
		q.newHead = en
	}
	q.newTail = en
	q.expect(en, en.expiresAt)
}

// expect sets when the entry expires, 0 for never.
func (q *Queue) expect(en *entry, at int64) {
	q.forget(en)
	if en.dueAt = at; at != 0 && q.due.add(en) {
		q.e.b.due(at)
	}
}

// hold sets when the entry's lock ends.
func (q *Queue) hold(en *entry, until time.Time) {
	q.forget(en)
	en.lockedUntil = until.UnixMilli()
	if en.dueAt = en.lockedUntil; q.locked.add(en) {
		q.e.b.ends(en.dueAt)
	}
}

// forget takes the entry out of the timeline that it is in, if any.
func (q *Queue) forget(en *entry) {
	q.due.remove(en)
	q.locked.remove(en)
}

// unready takes an active entry out of what can be delivered.
func (q *Queue) unready(en *entry) {
	if !en.isNew {
		heap.Remove(&q.returned, en.returnedIndex)
		return
	}
	en.isNew = false
	if en.prevNew != nil {
		en.prevNew.nextNew = en.nextNew
	} else {
		q.newHead = en.nextNew
	}
	if en.nextNew != nil {
		en.nextNew.prevNew = en.prevNew
	} else {
		q.newTail = en.prevNew
	}
	en.prevNew, en.nextNew = nil, nil
}

// remove takes the entry out of the queue in any state.
func (q *Queue) remove(en *entry) {
	switch en.state {
	case active:
		q.unready(en)
	case locked:
		delete(q.tokens, en.token)
	case deferred:
		delete(q.deferred, en.seq)
	}
	q.forget(en)
	if en.prev != nil {
		en.prev.next = en.next
	} else {
		q.head = en.next
	}
	if en.next != nil {
		en.next.prev = en.prev
	} else {
		q.tail = en.prev
	}
	en.prev, en.next = nil, nil
	q.count--
	q.e.b.live.Add(-en.m.size())
}

// drop removes the entry for good.
func (q *Queue) drop(en *entry) {
	q.remove(en)
	q.e.b.record(recRemoved, func(w *writer) { w.uint(q.id); w.int(en.seq) })
}

// changed records what of an entry that is active or deferred may change.
func (q *Queue) changed(en *entry) {
	q.e.b.record(recChanged, func(w *writer) {
		w.uint(q.id)
		w.int(en.seq)
		w.uint(uint64(en.state))
		w.uint(uint64(en.deliveryCount))
		w.optional(en.properties)
	})
}

// nextReady is the active entry with the lowest sequence number.
func (q *Queue) nextReady() *entry {
	if len(q.returned) > 0 && (q.newHead == nil || q.returned[0].seq < q.newHead.seq) {
		return q.returned[0]
	}
	return q.newHead
}

// lock gives an active or deferred entry to a receiver, and records it: after a restart
// the delivery counts.
func (q *Queue) lock(en *entry) {
	if en.state == deferred {
		delete(q.deferred, en.seq)
		en.wasDeferred = true
	} else {
		q.unready(en)
		en.wasDeferred = false
	}
	en.state, en.token = locked, newToken()
	q.tokens[en.token] = en
	q.hold(en, q.e.b.locks().Add(q.options.LockDuration))
	q.recordLocked(q.e.b.record, en)
}

func (q *Queue) recordLocked(record func(byte, func(*writer)), en *entry) {
	record(recLocked, func(w *writer) { w.uint(q.id); w.int(en.seq) })
}

// unlock ends the lock and puts the entry back among the active or, when it came
// from there, the deferred ones.
func (q *Queue) unlock(en *entry) {
	delete(q.tokens, en.token)
	if en.wasDeferred {
		en.state = deferred
		q.deferred[en.seq] = en
		q.expect(en, 0) // deferred messages do not expire by themselves
		return
	}
	en.state = active
	heap.Push(&q.returned, en)
	q.expect(en, en.expiresAt)
}

// pump delivers while there are messages and receivers with credit.
func (q *Queue) pump(now time.Time) {
	for len(q.waiting) > 0 {
		en := q.nextReady()
		if en == nil {
			return
		}
		if en.expiresAt != 0 && en.expiresAt <= now.UnixMilli() {
			q.expire(en, now)
			continue
		}
		r := q.waiting[0]
		copy(q.waiting, q.waiting[1:])
		q.waiting = q.waiting[:len(q.waiting)-1]
		r.credit--
		r.deliveryCount++
		if r.credit > 0 {
			q.waiting = append(q.waiting, r)
		}
		q.stats.Delivered++
		if r.deletes {
			q.drop(en)
			q.stats.Completed++
		} else {
			q.lock(en)
		}
		r.sink.Deliver(Delivery{entry: en, Token: en.token, Settled: r.deletes})
	}
}

// expire ends a message whose time to live is over.
func (q *Queue) expire(en *entry, now time.Time) {
	q.stats.Expired++
	if q.dead != nil && q.options.DeadLetterOnExpiration {
		q.deadLetter(en, map[string]any{
			"DeadLetterReason":           "TTLExpiredException",
			"DeadLetterErrorDescription": "The message expired and was dead lettered.",
		}, now)
		return
	}
	q.drop(en)
}

// deadLetter moves the entry to the dead-letter sub-queue.
func (q *Queue) deadLetter(en *entry, set map[string]any, now time.Time) {
	section, err := withProperties(en.application(), set)
	if err != nil {
		// The section was decodable when it came; keep the message over the reason.
		q.e.b.logger.Error("service bus: dead letter without a reason", "queue", q.path, "error", err)
		section = en.application()
	}
	q.remove(en)
	q.stats.DeadLettered++
	q.e.sequence++
	dead := q.buried(en, q.e.sequence, section)
	q.dead.push(dead)
	q.e.b.record(recDead, func(w *writer) { w.uint(q.id); w.int(en.seq); w.int(dead.seq); w.optional(section) })
	if dead.deliveryCount > 0 {
		q.dead.changed(dead)
	}
	q.dead.pump(now)
}

// buried is the entry that stands for another one among the dead letters.
func (q *Queue) buried(en *entry, seq int64, section []byte) *entry {
	return &entry{
		m: en.m, seq: seq, enqueuedSeq: en.enqueuedSeq, enqueuedAt: en.enqueuedAt, deliveryCount: en.deliveryCount,
		properties: section, source: q.path, dueIndex: -1, returnedIndex: -1,
	}
}

// failed counts a delivery that did not end in a settlement, and puts the message
// back or, when that happened too often, among the dead letters.
func (q *Queue) failed(en *entry, now time.Time) {
	en.deliveryCount++
	if q.dead != nil && en.deliveryCount >= q.options.MaxDeliveryCount {
		q.deadLetter(en, map[string]any{
			"DeadLetterReason":           "MaxDeliveryCountExceeded",
			"DeadLetterErrorDescription": "Message could not be consumed after " + decimal(q.options.MaxDeliveryCount) + " delivery attempts.",
		}, now)
		return
	}
	q.unlock(en)
	q.changed(en)
}

func (q *Queue) tick(now, locks time.Time) {
	for en := q.locked.before(locks); en != nil; en = q.locked.before(locks) {
		q.failed(en, now)
	}
	for en := q.due.before(now); en != nil; en = q.due.before(now) {
		q.expire(en, now)
	}
	q.pump(now)
}

func (en *entry) application() []byte {
	if en.properties != nil {
		return en.properties
	}
	return en.m.application
}

func newToken() Token {
	var t Token
	binary.LittleEndian.PutUint64(t[:], rand.Uint64())
	binary.LittleEndian.PutUint64(t[8:], rand.Uint64())
	t[6], t[8] = t[6]&0x0f|0x40, t[8]&0x3f|0x80
	return t
}
