package broker

import (
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/topology"
)

// Entity is what messages are sent to: a queue, or a topic with subscriptions.
type Entity struct {
	b    *Broker
	path string
	ttl  time.Duration // of a topic

	mu         sync.Mutex
	sequence   int64 // the last sequence number given
	targets    []target
	queues     []*Queue // every queue under mu, dead-letter sub-queues included
	queue      *Queue   // of a queue entity
	duplicates *history // nil when there is no duplicate detection
	scheduled  map[int64]*entry
	due        timeline // of scheduled messages
	sent       int64
}

// target is a queue that messages go to when a rule matches; no rules match all.
type target struct {
	queue *Queue
	rules []topology.Rule
}

func (t target) takes(v *view) bool {
	for _, r := range t.rules {
		if r.Filter.Matches(v) {
			return true
		}
	}
	return len(t.rules) == 0
}

// Path is the entity's address.
func (e *Entity) Path() string { return e.path }

// Send takes messages in, all or none. Repeats within the duplicate detection
// window are taken and dropped, and scheduled ones wait for their time.
func (e *Entity) Send(messages []*Message) {
	now := e.b.now()
	e.mu.Lock()
	for _, m := range messages {
		if m.scheduledAt.After(now) {
			e.schedule(m, now)
		} else if !e.repeated(m, now) {
			e.enqueue(m, now)
		}
	}
	e.mu.Unlock()
}

// Schedule takes messages in that have a scheduled time, and returns the sequence
// numbers by which they can be cancelled. A repeat gets a number of its own that
// stands for no message.
func (e *Entity) Schedule(messages []*Message) []int64 {
	now := e.b.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	out := make([]int64, len(messages))
	for i, m := range messages {
		out[i] = e.schedule(m, now)
	}
	return out
}

func (e *Entity) schedule(m *Message, now time.Time) int64 {
	e.sequence++
	if e.repeated(m, now) {
		return e.sequence
	}
	en := &entry{m: m, seq: e.sequence, enqueuedSeq: e.sequence, enqueuedAt: now.UnixMilli(), state: scheduled, dueAt: m.scheduledAt.UnixMilli(), dueIndex: -1}
	e.scheduled[en.seq] = en
	e.sent++
	if e.due.add(en) {
		e.b.dueSooner()
	}
	return en.seq
}

// Cancel removes scheduled messages; it removes none when one is unknown.
func (e *Entity) Cancel(sequences []int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range sequences {
		if e.scheduled[s] == nil {
			return refuse("amqp:not-found", "there is no scheduled message with sequence number %d", s)
		}
	}
	for _, s := range sequences {
		if en := e.scheduled[s]; en != nil { // a number may be given twice
			e.due.remove(en)
			delete(e.scheduled, s)
		}
	}
	return nil
}

func (e *Entity) repeated(m *Message, now time.Time) bool {
	return e.duplicates != nil && !e.duplicates.add(m.id, now)
}

// enqueue gives the message a sequence number and puts it into each queue whose
// rules match it.
func (e *Entity) enqueue(m *Message, now time.Time) {
	e.sequence++
	e.sent++
	v := &view{m: m, sequence: e.sequence, enqueued: now}
	for _, t := range e.targets {
		if !t.takes(v) {
			continue
		}
		q := t.queue
		q.push(&entry{m: m, seq: e.sequence, enqueuedSeq: e.sequence, enqueuedAt: now.UnixMilli(),
			expiresAt: expiry(now, m.header.TTL, e.ttl, q.options.TimeToLive), dueIndex: -1, returnedIndex: -1})
		q.pump(now)
	}
}

// expiry is the earliest end of the times to live, 0 when there is none.
func expiry(now time.Time, ttls ...time.Duration) int64 {
	least := time.Duration(0)
	for _, ttl := range ttls {
		if ttl > 0 && (least == 0 || ttl < least) {
			least = ttl
		}
	}
	if least == 0 {
		return 0
	}
	return now.Add(least).UnixMilli()
}

func (e *Entity) tick(now time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.duplicates != nil {
		e.duplicates.trim(now)
	}
	for {
		en := e.due.first()
		if en == nil || en.dueAt > now.UnixMilli() {
			break
		}
		e.due.remove(en)
		delete(e.scheduled, en.seq)
		e.sent-- // it was counted when it was scheduled
		e.enqueue(en.m, now)
	}
	for _, q := range e.queues {
		q.tick(now)
	}
}

func (e *Entity) nextDue() (int64, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	at, ok := int64(0), false
	earliest := func(en *entry) {
		if en != nil && (!ok || en.dueAt < at) {
			at, ok = en.dueAt, true
		}
	}
	earliest(e.due.first())
	for _, q := range e.queues {
		earliest(q.due.first())
	}
	return at, ok
}

// history is the message ids of the duplicate detection window, in order of arrival.
type history struct {
	window time.Duration
	seen   map[string]struct{}
	order  []seenID
}

type seenID struct {
	id string
	at int64
}

// add reports whether the id is new, and remembers it if so.
func (h *history) add(id string, now time.Time) bool {
	h.trim(now)
	if _, ok := h.seen[id]; ok {
		return false
	}
	h.seen[id] = struct{}{}
	h.order = append(h.order, seenID{id, now.UnixMilli()})
	return true
}

func (h *history) trim(now time.Time) {
	limit := now.Add(-h.window).UnixMilli()
	n := 0
	for n < len(h.order) && h.order[n].at <= limit {
		delete(h.seen, h.order[n].id)
		h.order[n] = seenID{}
		n++
	}
	h.order = h.order[n:]
}
