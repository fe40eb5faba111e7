package broker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/journal"
)

// restorer brings the broker to the state that a journal tells. What belongs to an
// entity that the topology no longer has is left out, as deleting it would.
type restorer struct {
	b        *Broker
	entities map[uint64]*Entity
	queues   map[uint64]*Queue
	entries  map[*Queue]map[int64]*entry
	locked   map[*entry]*Queue
	left     map[string]bool // paths that were left out
}

// open restores the state in dir and keeps it there from now on.
func (b *Broker) open(dir string, compactAbove int64) error {
	r := &restorer{
		b: b, entities: map[uint64]*Entity{}, queues: map[uint64]*Queue{},
		entries: map[*Queue]map[int64]*entry{}, locked: map[*entry]*Queue{}, left: map[string]bool{},
	}
	j, cut, err := journal.Open(dir, r.apply)
	if err != nil {
		return err
	}
	if cut > 0 {
		b.logger.Warn("service bus: removed an incomplete record from the journal", "bytes", cut)
	}
	for path := range r.left {
		b.logger.Warn("service bus: the journal has messages of an entity that the topology no longer has", "path", path)
	}
	b.journal = j
	j.Start(journal.Options{Compactor: compactor{b}, CompactAbove: compactAbove})
	for _, e := range b.ordered {
		b.define(func(kind byte, f func(*writer)) { b.record(kind, f) }, e)
	}
	r.unlock()
	return nil
}

// unlock takes the locks away that messages had when the journal ended. Each such
// delivery counts as one that failed.
func (r *restorer) unlock() {
	now := r.b.now()
	bySequence := func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) } // dead letters keep the order
	for _, en := range slices.SortedFunc(maps.Keys(r.locked), bySequence) {
		q := r.locked[en]
		q.e.mu.Lock()
		q.lock(en)
		q.failed(en, now)
		q.e.mu.Unlock()
	}
}

// define writes the ids of an entity and its queues.
func (b *Broker) define(record func(byte, func(*writer)), e *Entity) {
	record(recEntity, func(w *writer) { w.uint(e.id); w.text(e.path) })
	for _, q := range e.queues {
		record(recQueue, func(w *writer) { w.uint(q.id); w.text(q.path) })
	}
}

func (r *restorer) apply(record []byte) error {
	f := &fields{b: record[1:]}
	switch record[0] {
	case recEntity:
		id, path := f.uint(), f.text()
		if r.entities[id], _ = r.b.Entity(path); r.entities[id] == nil {
			r.left[path] = true
		}
	case recQueue:
		id, path := f.uint(), f.text()
		if r.queues[id], _ = r.b.Queue(path); r.queues[id] == nil {
			r.left[path] = true
		}
	case recMessage:
		return r.message(f)
	case recScheduled:
		e, seq, now := r.entities[f.uint()], f.int(), f.int()
		m := f.message()
		if f.err == nil && e != nil {
			e.hold(m, seq, time.UnixMilli(now))
			e.remember(m.id, time.UnixMilli(now))
		}
	case recCancelled:
		e, seq := r.entities[f.uint()], f.int()
		if e != nil {
			e.unhold(seq)
		}
	case recRemoved:
		if q, en := r.entry(f); en != nil {
			r.remove(q, en)
		}
	case recChanged:
		q, en := r.entry(f)
		st, count, properties := state(f.uint()), uint32(f.uint()), f.optional()
		if f.err == nil && en != nil {
			en.deliveryCount, en.properties = count, properties
			q.restore(en, st)
			delete(r.locked, en)
		}
	case recLocked:
		if q, en := r.entry(f); en != nil {
			r.locked[en] = q
		}
	case recDead:
		q, en := r.entry(f)
		seq, section := f.int(), f.optional()
		if f.err == nil && en != nil {
			r.remove(q, en)
			r.push(q.dead, q.buried(en, seq, section))
		}
	case recEntry:
		r.full(f)
	case recSequence:
		e, seq := r.entities[f.uint()], f.int()
		if e != nil {
			e.sequence = max(e.sequence, seq)
		}
	case recSeen:
		e, id, at := r.entities[f.uint()], f.text(), f.int()
		if f.err == nil && e != nil {
			e.remember(id, time.UnixMilli(at))
		}
	default:
		return fmt.Errorf("record of unknown kind %d", record[0])
	}
	return f.end()
}

func (r *restorer) message(f *fields) error {
	e, seq, from, at := r.entities[f.uint()], f.int(), f.int(), f.int()
	targets := make([]*Queue, 0, 4)
	for range min(f.uint(), uint64(len(f.b))) {
		if q := r.queues[f.uint()]; q != nil {
			targets = append(targets, q)
		}
	}
	m := f.message()
	if err := f.end(); err != nil || e == nil {
		return err
	}
	now := time.UnixMilli(at)
	e.sequence = max(e.sequence, seq)
	if from != 0 {
		e.unhold(from)
	} else {
		e.remember(m.id, now)
	}
	for _, q := range targets {
		r.push(q, e.newEntry(q, m, seq, now))
	}
	return nil
}

func (r *restorer) full(f *fields) {
	q := r.queues[f.uint()]
	en := &entry{seq: f.int(), enqueuedSeq: f.int(), enqueuedAt: f.int(), expiresAt: f.int(), dueIndex: -1, returnedIndex: -1}
	st := state(f.uint())
	en.deliveryCount, en.source, en.properties = uint32(f.uint()), f.text(), f.optional()
	en.m = f.message()
	if f.err == nil && q != nil {
		r.push(q, en)
		q.restore(en, st)
	}
}

func (r *restorer) entry(f *fields) (*Queue, *entry) {
	q, seq := r.queues[f.uint()], f.int()
	if q == nil {
		return nil, nil
	}
	return q, r.entries[q][seq]
}

func (r *restorer) push(q *Queue, en *entry) {
	if r.entries[q] == nil {
		r.entries[q] = map[int64]*entry{}
	}
	r.entries[q][en.seq] = en
	q.e.sequence = max(q.e.sequence, en.seq)
	q.push(en)
}

func (r *restorer) remove(q *Queue, en *entry) {
	delete(r.entries[q], en.seq)
	delete(r.locked, en)
	q.remove(en)
}

// restore puts an entry that is active or deferred into one of the two states.
func (q *Queue) restore(en *entry, st state) {
	if st == en.state {
		return
	}
	if en.state == deferred {
		delete(q.deferred, en.seq)
	} else {
		q.unready(en)
	}
	en.wasDeferred = st == deferred
	q.unlock(en)
}

// compactor rewrites the journal as the state that it leads to.
type compactor struct{ b *Broker }

// Live is about how large a snapshot would be.
func (c compactor) Live() int64 { return c.b.live.Load() }

// Snapshot encodes the state. It holds every entity's lock meanwhile.
func (c compactor) Snapshot(seal func()) []byte {
	for _, e := range c.b.ordered {
		e.mu.Lock()
		defer e.mu.Unlock()
	}
	out := make([]byte, 0, c.b.live.Load()+4096)
	record := func(kind byte, f func(*writer)) {
		out = journal.AppendRecord(out, func(b []byte) []byte { return encode(b, kind, f) })
	}
	for _, e := range c.b.ordered {
		c.b.define(record, e)
	}
	for _, e := range c.b.ordered {
		e.snapshot(record)
	}
	seal()
	return out
}

func (e *Entity) snapshot(record func(byte, func(*writer))) {
	record(recSequence, func(w *writer) { w.uint(e.id); w.int(e.sequence) })
	if e.duplicates != nil {
		for _, s := range e.duplicates.order {
			record(recSeen, func(w *writer) { w.uint(e.id); w.text(s.id); w.int(s.at) })
		}
	}
	held := slices.SortedFunc(slices.Values(e.due.h), func(a, b *entry) int { return cmp.Compare(a.seq, b.seq) })
	for _, en := range held {
		e.recordScheduled(record, en)
	}
	for _, q := range e.queues {
		for en := q.head; en != nil; en = en.next {
			st := en.state
			if st == locked {
				if st = active; en.wasDeferred {
					st = deferred
				}
			}
			record(recEntry, func(w *writer) {
				w.uint(q.id)
				w.int(en.seq)
				w.int(en.enqueuedSeq)
				w.int(en.enqueuedAt)
				w.int(en.expiresAt)
				w.uint(uint64(st))
				w.uint(uint64(en.deliveryCount))
				w.text(en.source)
				w.optional(en.properties)
				w.message(en.m)
			})
			if en.state == locked {
				q.recordLocked(record, en)
			}
		}
	}
}
