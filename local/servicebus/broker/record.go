package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// The journal's records. A record is its kind and the fields that the functions
// below write; numbers are varints, texts and sections have their length first.
const (
	recEntity    = 1 + iota // id, path: ids stand for paths in what follows
	recQueue                // id, path
	recMessage              // a message was enqueued
	recScheduled            // a message was scheduled
	recCancelled            // a scheduled message is gone
	recRemoved              // a message left a queue
	recChanged              // state, delivery count or properties of one changed
	recDead                 // a message moved to the dead-letter sub-queue
	recEntry                // a message in a queue, in full
	recSequence             // the last sequence number of an entity
	recSeen                 // a message id of the duplicate detection history
	recLocked               // a message was handed to a receiver, which must settle it
)

// record appends to the journal if there is one. The lock of the entity that the
// record is about is held, so records are in the order of what they tell.
func (b *Broker) record(kind byte, fields func(w *writer)) {
	if b.journal != nil {
		b.journal.Append(func(buf []byte) []byte { return encode(buf, kind, fields) })
	}
}

func encode(buf []byte, kind byte, fields func(w *writer)) []byte {
	w := writer{append(buf, kind)}
	fields(&w)
	return w.b
}

// writer appends the fields of a record.
type writer struct{ b []byte }

func (w *writer) uint(v uint64)  { w.b = binary.AppendUvarint(w.b, v) }
func (w *writer) int(v int64)    { w.b = binary.AppendVarint(w.b, v) }
func (w *writer) text(s string)  { w.uint(uint64(len(s))); w.b = append(w.b, s...) }
func (w *writer) bytes(v []byte) { w.uint(uint64(len(v))); w.b = append(w.b, v...) }

// optional tells nil from empty.
func (w *writer) optional(v []byte) {
	if v == nil {
		w.uint(0)
		return
	}
	w.uint(1)
	w.bytes(v)
}

func (w *writer) message(m *Message) {
	w.text(m.id)
	durable := uint64(0)
	if m.header.Durable {
		durable = 1
	}
	w.uint(durable)
	w.uint(uint64(m.header.Priority))
	w.int(m.header.TTL.Milliseconds())
	at := int64(0)
	if m.Scheduled() {
		at = m.scheduledAt.UnixMilli()
	}
	w.int(at)
	w.uint(uint64(m.annotated))
	w.bytes(m.annotations)
	w.bytes(m.properties)
	w.bytes(m.application)
	w.bytes(m.body)
}

// fields reads a record. The first error sticks.
type fields struct {
	b   []byte
	err error
}

var errShort = errors.New("the record is too short")

func (f *fields) fail(err error) {
	if f.err == nil {
		f.err = err
	}
	f.b = nil
}

func (f *fields) uint() uint64 {
	v, n := binary.Uvarint(f.b)
	if n <= 0 {
		f.fail(errShort)
		return 0
	}
	f.b = f.b[n:]
	return v
}

func (f *fields) int() int64 {
	v, n := binary.Varint(f.b)
	if n <= 0 {
		f.fail(errShort)
		return 0
	}
	f.b = f.b[n:]
	return v
}

// bytes returns a copy, nil when there are none.
func (f *fields) bytes() []byte {
	n := f.uint()
	if n > uint64(len(f.b)) {
		f.fail(errShort)
		return nil
	}
	v := append([]byte(nil), f.b[:n]...)
	f.b = f.b[n:]
	return v
}

func (f *fields) text() string { return string(f.bytes()) }

func (f *fields) optional() []byte {
	if f.uint() == 0 {
		return nil
	}
	if v := f.bytes(); v != nil {
		return v
	}
	return []byte{}
}

func (f *fields) message() *Message {
	m := &Message{id: f.text()}
	m.header.Durable = f.uint() == 1
	m.header.Priority = uint8(f.uint())
	m.header.TTL = time.Duration(f.int()) * time.Millisecond
	if at := f.int(); at != 0 {
		m.scheduledAt = time.UnixMilli(at)
	}
	m.annotated = int(f.uint())
	m.annotations, m.properties, m.application, m.body = f.bytes(), f.bytes(), f.bytes(), f.bytes()
	return m
}

func (f *fields) end() error {
	if f.err == nil && len(f.b) > 0 {
		f.err = fmt.Errorf("%d bytes are left over", len(f.b))
	}
	return f.err
}
