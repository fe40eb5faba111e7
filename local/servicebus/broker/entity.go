package broker

import (
	"fmt"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/topology"
)

// Entity is the destination of messages: a queue, or a topic with subscriptions.
type Entity struct {
	b    *Broker
	id   uint64 // that stands for path in the journal
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

// take reports whether the queue takes the message as it is, and returns a changed copy
// for each rule with an action that matches.
func (t target) take(v *view) (plain bool, copies []*Message, err error) {
	for _, r := range t.rules {
		switch {
		case r.Action == nil && plain, !r.Filter.Matches(v):
		case r.Action == nil:
			plain = true
		default:
			m, err := v.m.changed(r.Action.Apply(v))
			if err != nil {
				return plain, copies, fmt.Errorf("rule %s: %w", r.Name, err)
			}
			copies = append(copies, m)
		}
	}
	return plain || len(t.rules) == 0, copies, nil
}

// Path is the entity's address.
func (e *Entity) Path() string { return e.path }

// Unsupported names what a queue needs and this module does not do, empty for nothing.
func (e *Entity) Unsupported() string {
	if e.queue == nil {
		return ""
	}
	return e.queue.Unsupported()
}

// Send takes messages in, all or none. Repeats within the duplicate detection
// window are taken and dropped, and scheduled ones wait for their time.
func (e *Entity) Send(messages []*Message) {
	now := e.b.now()
	e.mu.Lock()
	for _, m := range messages {
		if m.scheduledAt.After(now) {
			e.schedule(m, now)
		} else if e.fresh(m, now) {
			e.sent++
			e.enqueue(m, 0, now)
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
	if !e.fresh(m, now) {
		e.sequence++
		return e.sequence
	}
	e.sent++
	en := e.hold(m, e.sequence+1, now)
	e.recordScheduled(e.b.record, en)
	return en.seq
}

func (e *Entity) recordScheduled(record func(byte, func(*writer)), en *entry) {
	record(recScheduled, func(w *writer) { w.uint(e.id); w.int(en.seq); w.int(en.enqueuedAt); w.message(en.m) })
}

// hold keeps a message until it is due.
func (e *Entity) hold(m *Message, seq int64, now time.Time) *entry {
	e.sequence = max(e.sequence, seq)
	en := &entry{
		m: m, seq: seq, enqueuedSeq: seq, enqueuedAt: now.UnixMilli(), state: scheduled,
		dueAt: m.scheduledAt.UnixMilli(), dueIndex: -1, returnedIndex: -1,
	}
	e.scheduled[seq] = en
	e.b.live.Add(m.size())
	if e.due.add(en) {
		e.b.due(en.dueAt)
	}
	return en
}

func (e *Entity) unhold(seq int64) {
	if en := e.scheduled[seq]; en != nil {
		e.due.remove(en)
		delete(e.scheduled, seq)
		e.b.live.Add(-en.m.size())
	}
}

// Cancel removes scheduled messages; it removes none when one is unknown.
func (e *Entity) Cancel(sequences []int64) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range sequences {
		if e.scheduled[s] == nil {
			return refuse("com.microsoft:message-not-found", "there is no scheduled message with sequence number %d", s)
		}
	}
	for _, s := range sequences {
		e.unhold(s)
		e.b.record(recCancelled, func(w *writer) { w.uint(e.id); w.int(s) })
	}
	return nil
}

// fresh reports whether the message is no repeat, and remembers it if so.
func (e *Entity) fresh(m *Message, now time.Time) bool {
	return e.duplicates == nil || e.remember(m.id, now)
}

// remember puts an id into the duplicate detection history, if there is one. It
// reports false when the id is in the window already.
func (e *Entity) remember(id string, now time.Time) bool {
	if e.duplicates == nil {
		return false
	}
	e.trim(now)
	added := e.duplicates.add(id, now)
	if added {
		e.b.live.Add(seenSize(id))
	}
	return added
}

// trim forgets the message ids that are older than the window.
func (e *Entity) trim(now time.Time) { e.b.live.Add(-e.duplicates.trim(now)) }

// enqueue puts the message into each queue whose rules match it. scheduled is its number
// until now, 0 when it had none.
func (e *Entity) enqueue(m *Message, scheduled int64, now time.Time) {
	v := &view{m: m, sequence: e.sequence + 1, enqueued: now}
	matching := make([]*Queue, 0, 4)
	for _, t := range e.targets {
		plain, copies, err := t.take(v)
		if err != nil {
			// The sections were decodable when they came; take the message unchanged.
			e.b.logger.Error("service bus: rule action failed", "queue", t.queue.path, "error", err)
			plain = true
		}
		if plain {
			matching = append(matching, t.queue)
		}
		// The copies come first: a scheduled message stays until the last of its records.
		for _, changed := range copies {
			e.place(changed, changedCopy, now, []*Queue{t.queue})
		}
	}
	e.place(m, scheduled, now, matching)
}

// changedCopy stands for the scheduled number of a copy that an action changed, whose id
// is none of a sender.
const changedCopy = -1

// place gives the message a sequence number and puts it into the queues.
func (e *Entity) place(m *Message, scheduled int64, now time.Time, queues []*Queue) {
	e.sequence++
	e.recordMessage(m, scheduled, now, queues)
	for _, q := range queues {
		q.push(e.newEntry(q, m, e.sequence, now))
		q.pump(now)
	}
}

func (e *Entity) recordMessage(m *Message, scheduled int64, now time.Time, queues []*Queue) {
	if e.b.journal == nil {
		return
	}
	if len(queues) == 0 && scheduled != 0 {
		e.b.record(recCancelled, func(w *writer) { w.uint(e.id); w.int(scheduled) })
		return
	}
	if len(queues) == 0 && e.duplicates != nil {
		e.b.record(recSeen, func(w *writer) { w.uint(e.id); w.text(m.id); w.int(now.UnixMilli()) })
		return
	}
	if len(queues) == 0 {
		return
	}
	e.b.record(recMessage, func(w *writer) {
		w.uint(e.id)
		w.int(e.sequence)
		w.int(scheduled)
		w.int(now.UnixMilli())
		w.uint(uint64(len(queues)))
		for _, q := range queues {
			w.uint(q.id)
		}
		w.message(m)
	})
}

func (e *Entity) newEntry(q *Queue, m *Message, seq int64, now time.Time) *entry {
	return &entry{
		m: m, seq: seq, enqueuedSeq: seq, enqueuedAt: now.UnixMilli(),
		expiresAt: expiry(now, m.header.TTL, e.ttl, q.options.TimeToLive), dueIndex: -1, returnedIndex: -1,
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

func (e *Entity) tick(now, locks time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.duplicates != nil {
		e.trim(now)
	}
	for {
		en := e.due.first()
		if en == nil || en.dueAt > now.UnixMilli() {
			break
		}
		e.unhold(en.seq)
		e.enqueue(en.m, en.seq, now)
	}
	for _, q := range e.queues {
		q.tick(now, locks)
	}
}

// nextDue is when something falls due, by the clock of the locks, or none if that
// is earlier.
func (e *Entity) nextDue(none int64) int64 {
	ahead := e.b.ahead()
	e.mu.Lock()
	defer e.mu.Unlock()
	at := none
	earliest := func(t *timeline, ahead int64) {
		if en := t.first(); en != nil {
			at = min(at, en.dueAt-ahead)
		}
	}
	earliest(&e.due, ahead)
	for _, q := range e.queues {
		earliest(&q.due, ahead)
		earliest(&q.locked, 0)
	}
	return at
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

// seenSize is about what a record of an id takes.
func seenSize(id string) int64 { return int64(len(id)) + 24 }

// add reports whether the id is new, and remembers it if so.
func (h *history) add(id string, now time.Time) bool {
	if _, ok := h.seen[id]; ok {
		return false
	}
	h.seen[id] = struct{}{}
	h.order = append(h.order, seenID{id, now.UnixMilli()})
	return true
}

// trim removes the entries older than the window and returns their size.
func (h *history) trim(now time.Time) (freed int64) {
	limit := now.Add(-h.window).UnixMilli()
	n := 0
	for n < len(h.order) && h.order[n].at <= limit {
		delete(h.seen, h.order[n].id)
		freed += seenSize(h.order[n].id)
		h.order[n] = seenID{}
		n++
	}
	h.order = h.order[n:]
	return freed
}
