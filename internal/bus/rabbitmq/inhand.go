package rabbitmq

import (
	"sync"
	"time"
)

// inHand has the deliveries that the receivers of a client hold. The broker says how many messages wait in a queue, and
// nothing of those in hand.
type inHand struct {
	mu    sync.Mutex
	since map[string]map[*delivery]time.Time // by queue: when the message was enqueued
}

func (h *inHand) add(d *delivery, enqueued time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.since == nil {
		h.since = map[string]map[*delivery]time.Time{}
	}
	queue := d.receiver.queue
	if h.since[queue] == nil {
		h.since[queue] = map[*delivery]time.Time{}
	}
	h.since[queue][d] = enqueued
}

func (h *inHand) remove(d *delivery) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.since[d.receiver.queue], d)
}

// oldest returns when the oldest message in hand of a queue was enqueued. What a closed channel held is in the queue again.
func (h *inHand) oldest(queue string) (at time.Time, found bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for d, enqueued := range h.since[queue] {
		if !d.ch.closed() && (!found || enqueued.Before(at)) {
			at, found = enqueued, true
		}
	}
	return at, found
}

// lookInterval is how long the result of a look at the first message that waits is used again. Each look counts as a
// delivery, and a subscription allows some thousand: a message that waits for hours must not use them up.
const lookInterval = 10 * time.Second

// looks has the last looks at queues in which messages wait.
type looks struct {
	mu   sync.Mutex
	last map[string]look
}

type look struct {
	enqueued time.Time // of the first message
	at       time.Time
}

// recent returns the last look at a queue, unless it is too old.
func (l *looks) recent(queue string, now time.Time) (enqueued time.Time, found bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, found := l.last[queue]
	if !found || now.Sub(last.at) >= lookInterval {
		return time.Time{}, false
	}
	return last.enqueued, true
}

func (l *looks) note(queue string, enqueued, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = map[string]look{}
	}
	l.last[queue] = look{enqueued, now}
}
