package broker

import (
	"strconv"
	"time"

	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
)

// Sink takes deliveries. Deliver is called with the lock of the entity held: it
// must not block and not call the broker.
type Sink interface{ Deliver(d Delivery) }

// Delivery is a message on its way to a receiver. It is valid within the call
// that hands it over.
type Delivery struct {
	entry   *entry
	Token   Token
	Settled bool
}

// Append encodes the message with what the broker adds to it.
func (d Delivery) Append(b []byte) []byte { return d.entry.append(b, nil) }

// append encodes the message. A token given is put in as an annotation, where the
// clients look for it on messages that did not come as a transfer.
func (en *entry) append(b []byte, token *Token) []byte {
	h := en.m.header
	if en.expiresAt != 0 {
		h.TTL = time.Duration(en.expiresAt-en.enqueuedAt) * time.Millisecond
	}
	b = amqp.AppendHeader(b, h, en.deliveryCount)
	if token != nil {
		b = amqp.AppendDeliveryAnnotation(b, "x-opt-lock-token", *token)
	}
	a := amqp.BeginAnnotations(b)
	a.Raw(en.m.annotations, en.m.annotated)
	long := func(key string, v int64) {
		a.Key(key, func(b []byte) []byte { return amqp.AppendLong(b, v) })
	}
	timestamp := func(key string, ms int64) {
		a.Key(key, func(b []byte) []byte { return amqp.AppendTimestamp(b, time.UnixMilli(ms)) })
	}
	long(annSequence, en.seq)
	long(annEnqueuedSequence, en.enqueuedSeq)
	timestamp(annEnqueuedTime, en.enqueuedAt)
	if en.state == locked {
		timestamp(annLockedUntil, en.lockedUntil)
	}
	if !en.m.scheduledAt.IsZero() {
		timestamp(annScheduled, en.m.scheduledAt.UnixMilli())
	}
	if en.source != "" {
		a.Key(annSource, func(b []byte) []byte { return amqp.AppendString(b, en.source) })
	}
	shown := en.state
	if shown == locked {
		if shown = active; en.wasDeferred {
			shown = deferred
		}
	}
	a.Key(annState, func(b []byte) []byte { b, _ = amqp.Append(b, int32(shown)); return b })
	b = a.End()
	b = append(b, en.m.properties...)
	b = append(b, en.application()...)
	return append(b, en.m.body...)
}

// Receiver is a link that takes messages from a queue.
type Receiver struct {
	q             *Queue
	sink          Sink
	deletes       bool
	credit        uint32
	deliveryCount uint32
}

// Receive opens a receiver. With deletes, messages are settled as they are handed
// over; else they are locked.
func (q *Queue) Receive(sink Sink, deletes bool) *Receiver {
	return &Receiver{q: q, sink: sink, deletes: deletes}
}

// Flow sets the credit from the receiving end's view of it, and delivers. With
// drain, credit that is left is used up. It returns count and credit afterwards.
func (r *Receiver) Flow(deliveryCount, credit uint32, drain bool) (uint32, uint32) {
	now := r.q.e.b.now()
	r.q.e.mu.Lock()
	defer r.q.e.mu.Unlock()
	r.stop()
	if r.credit = amqp.Remaining(credit, deliveryCount, r.deliveryCount); r.credit > 0 {
		r.q.waiting = append(r.q.waiting, r)
	}
	r.q.pump(now)
	if drain {
		r.stop()
		r.deliveryCount += r.credit
		r.credit = 0
	}
	return r.deliveryCount, r.credit
}

// Close stops deliveries. Messages that are locked stay so until their time is up.
func (r *Receiver) Close() {
	r.q.e.mu.Lock()
	defer r.q.e.mu.Unlock()
	r.stop()
	r.credit = 0
}

func (r *Receiver) stop() {
	for i, w := range r.q.waiting {
		if w == r {
			r.q.waiting = append(r.q.waiting[:i], r.q.waiting[i+1:]...)
			return
		}
	}
}

func decimal(v uint32) string { return strconv.FormatUint(uint64(v), 10) }
