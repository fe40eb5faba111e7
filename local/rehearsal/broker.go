package rehearsal

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// broker is Service Bus as far as a system without faults relies on it: scheduled
// messages and duplicate detection by message id. It is a bus.Sender; the use cases
// send from several goroutines at once.
type broker struct {
	now func() time.Time

	mu       sync.Mutex
	messages queue
	seen     map[string]time.Time // topic and message id, and when it came
	accepted int                  // messages that were no duplicates
}

// held is one message in the broker.
type held struct {
	topic string
	at    time.Time // when it can be delivered
	bus.Message
	serial int
}

// duplicateWindow is for how long the topics remember the id of a message.
const duplicateWindow = 10 * time.Minute

func newBroker(now func() time.Time) *broker {
	return &broker{now: now, seen: map[string]time.Time{}}
}

// Ping says that the broker is there.
func (b *broker) Ping(context.Context) error { return nil }

// Send takes messages in, those that came before within the window left out.
func (b *broker) Send(_ context.Context, topic string, messages ...bus.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	for _, m := range messages {
		if m.ID == "" || len(m.ID) > 128 || len(m.Body) > message.Limit {
			return fmt.Errorf("the broker does not take the message %q of %d bytes", m.ID, len(m.Body))
		}
		key := topic + "/" + m.ID
		if last, known := b.seen[key]; known && now.Sub(last) < duplicateWindow {
			continue
		}
		b.seen[key] = now
		b.accepted++
		at := now
		if m.At.After(at) {
			at = m.At
		}
		heap.Push(&b.messages, &held{topic: topic, at: at, Message: m, serial: b.accepted})
	}
	return nil
}

// take gives the next message that can be delivered now; nil for none.
func (b *broker) take() *held {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.messages) == 0 || b.messages[0].at.After(b.now()) {
		return nil
	}
	return heap.Pop(&b.messages).(*held)
}

// next is when the next message can be delivered.
func (b *broker) next() (time.Time, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.messages) == 0 {
		return time.Time{}, false
	}
	return b.messages[0].at, true
}

func (m *held) delivery() app.Message {
	kind, _ := m.Properties[message.PropertyMessageType].(string)
	return app.Message{ID: m.ID, Type: kind, Body: m.Body, Properties: m.Properties, DeliveryCount: 1, EnqueuedAt: m.at}
}

// queue orders messages by when they can be delivered. Those of one moment are in the
// order of their ids: which of several goroutines sent first must decide nothing.
type queue []*held

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return cmp.Or(q[i].at.Compare(q[j].at), cmp.Compare(q[i].ID, q[j].ID), cmp.Compare(q[i].serial, q[j].serial)) < 0
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(*held)) }
func (q *queue) Pop() any {
	old := *q
	last := old[len(old)-1]
	old[len(old)-1] = nil
	*q = old[:len(old)-1]
	return last
}
