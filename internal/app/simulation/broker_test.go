package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/message"
)

// broker is Service Bus as the product relies on it: scheduled messages, locks, a
// delivery count, and duplicate detection by message id.
type broker struct {
	w          *world
	messages   []*held
	seen       map[string]time.Time // topic and message id, and when it came
	deliveries map[string]int       // of all messages of a family
	oddities   map[string]int       // by family: failures that counted as attempts
	sent       map[string]*sending  // jobs that were taken, by message id
	controls   []control            // in the order in which they came
	accepted   int
	requeued   bool // some result was, in an outage
}

// sending is which job was sent first, when, and how often.
type sending struct {
	number, times int
	at            time.Time
}

// control is a message of the topic worker-control, which every replica looks at.
type control struct {
	message.Control
	at time.Time
}

// held is one message in the broker.
type held struct {
	topic, id  string
	body       []byte
	properties map[string]any
	visibleAt  time.Time
	enqueuedAt time.Time // since when the broker has it, or an earlier heartbeat of which this is the last
	arrivedAt  time.Time
	deliveries int
	inHand     int // handlers that have it at this moment
	gone       bool
}

const (
	duplicateWindow = 10 * time.Minute
	lastDelivery    = 10 // then the broker dead-letters
	gentle          = 6  // deliveries of one message that faults may bring about
)

func newBroker(w *world) *broker {
	return &broker{w: w, seen: map[string]time.Time{}, sent: map[string]*sending{}, deliveries: map[string]int{}, oddities: map[string]int{}}
}

// sender is a process's way to the broker.
type sender struct {
	w       *world
	process *process // nil for the test itself
}

func (s sender) Ping(context.Context) error { return nil }

// Send takes messages in, or as many of them as the verdict says.
func (s sender) Send(ctx context.Context, topic string, messages ...bus.Message) error {
	v := verdict{carriedOut: len(messages)}
	if on, ok := ctx.Value(taskKey{}).(*task); ok && s.process != nil {
		ids := ""
		for _, m := range messages {
			ids += " " + m.ID
		}
		var err error
		if v, err = s.w.park(ctx, &operation{task: on, text: fmt.Sprintf("SEND %s%s", topic, ids), sends: len(messages)}); err != nil {
			if s.process.dead.Load() {
				return err
			}
			return fmt.Errorf("%w: %w", bus.ErrUnavailable, err)
		}
	}
	for _, m := range messages[:v.carriedOut] {
		s.w.broker.take(topic, m, s.w.now())
	}
	if v.lost {
		return fmt.Errorf("%w: the connection broke", bus.ErrUnavailable)
	}
	return nil
}

// take lets a message in, unless its id came within the duplicate window; false where it
// does not.
func (b *broker) take(topic string, m bus.Message, at time.Time) bool {
	key := topic + "/" + m.ID
	switch last, known := b.seen[key]; {
	case m.ID == "" || len(m.ID) > 128:
		b.w.problem("the message id %q is not possible", m.ID)
		return false
	case len(m.Body) > message.Limit:
		b.w.problem("the message %s is too large", m.ID)
		return false
	case known && at.Sub(last) < duplicateWindow:
		b.w.trace("    the broker drops %s: a duplicate", m.ID)
		return false
	}
	b.seen[key] = at
	b.accepted++
	if topic == message.TopicWorkerJobs {
		if b.sent[m.ID] == nil {
			b.sent[m.ID] = &sending{number: len(b.sent) + 1, at: b.w.now()}
		}
		b.sent[m.ID].times++
		b.w.verifyDispatch(m.Body)
	}
	if topic == message.TopicWorkerControl {
		b.control(m, at)
		return true
	}
	b.requeued = b.requeued || topic == message.TopicWorkerResults && strings.Contains(m.ID, "-again-")
	if strings.Contains(m.ID, "-again-") || b.announcedAgain(topic, m.ID) {
		b.w.repeated = true
	}
	if b.losable(topic, m) && b.w.chance(b.w.plan.chaos.lose) {
		b.w.trace("    the broker LOSES %s", m.ID)
		return true
	}
	arrived := b.w.now()
	if m.At.After(at) {
		at, arrived = m.At, m.At
	}
	b.messages = append(b.messages, &held{topic: topic, id: m.ID, body: m.Body, properties: m.Properties, visibleAt: at, enqueuedAt: at, arrivedAt: arrived})
	return true
}

// announcedAgain reports whether a tick announces once more what a message that came before is
// about: both may be handled, late ones too, and what the first asked for is asked for again.
func (b *broker) announcedAgain(topic, id string) bool {
	first, _, byTick := strings.Cut(id, "-tick-")
	_, before := b.seen[topic+"/"+first]
	return byTick && before
}

func (b *broker) control(m bus.Message, at time.Time) {
	var c message.Control
	if err := json.Unmarshal(m.Body, &c); err != nil || c.ID() != m.ID || b.w.batch != 0 && c.BatchID != b.w.batch {
		b.w.problem("the control %s is not as it must be: %s, %v", m.ID, m.Body, err)
		return
	}
	b.w.trace("    what was dispatched of batch %d until %s is revoked", c.BatchID, c.RevokedThrough.Sub(epoch))
	b.controls = append(b.controls, control{c, at})
}

// revokes tells whether a job is revoked, as far as a replica knows that looked at a
// moment.
func (b *broker) revokes(j message.Job, at time.Time) bool {
	return slices.ContainsFunc(b.controls, func(c control) bool { return c.BatchID == j.BatchID && !c.at.After(at) && c.Revokes(j) })
}

// losable tells whether the scheduler's tick would make up for a message.
func (b *broker) losable(topic string, m bus.Message) bool {
	if topic != message.TopicOrchestratorEvents || strings.Contains(m.ID, "-again-") { // put back, it may stand for a send that is owed
		return false
	}
	switch m.Properties[message.PropertyMessageType] {
	case message.TypePollCheck, message.TypeRetryCheck, message.TypePhaseDue, message.TypeDeadlineCheck, message.TypeMemberAdded, message.TypeMemberRemoved:
		return true
	case message.TypeBatchInit:
		return b.w.plan.manual
	case message.TypeBatchWork:
		var work message.BatchWork
		return json.Unmarshal(m.Body, &work) == nil && work.Work != message.WorkRetry
	}
	return false
}

// again puts a message back after a delivery that came to nothing.
func (b *broker) again(m *held) {
	b.w.repeated = true
	if m.gone {
		return
	}
	if b.w.rng.IntN(4) == 0 { // its lock expires first
		m.visibleAt = b.w.now().Add(time.Duration(b.w.rng.IntN(300)) * time.Second)
	}
}

func (b *broker) settle(m *held) {
	m.gone = true
	b.messages = slices.DeleteFunc(b.messages, func(h *held) bool { return h == m })
}

// visible are the messages that can be delivered now. One whose handler takes
// long is delivered to a second one now and then.
func (b *broker) visible(twice bool) []*held {
	now := b.w.now()
	var out []*held
	for _, m := range b.messages {
		if m.visibleAt.After(now) || m.inHand > 1 || m.inHand == 1 && (!twice || m.deliveries >= gentle || m.topic == message.TopicWorkerJobs) {
			continue
		}
		out = append(out, m)
	}
	return out
}

// holds reports whether a topic has a message, locked ones among them.
func (b *broker) holds(topic string) bool {
	return slices.ContainsFunc(b.messages, func(m *held) bool { return m.topic == topic })
}

// Oldest is a Watcher's: when the message came that is in a subscription longest.
func (s sender) Oldest(_ context.Context, topic, _ string) (time.Time, bool, error) {
	var oldest time.Time
	for _, m := range s.w.broker.messages {
		if m.topic == topic && !m.enqueuedAt.After(s.w.now()) && (oldest.IsZero() || m.enqueuedAt.Before(oldest)) {
			oldest = m.enqueuedAt // also of a message that is locked: the broker's peek gives those too
		}
	}
	return oldest, !oldest.IsZero(), nil
}

// Exists is a Watcher's: there is each subscription.
func (s sender) Exists(context.Context, string, string) error { return nil }

// next is when the first message falls due that is not yet visible.
func (b *broker) next() (time.Time, bool) {
	var first time.Time
	for _, m := range b.messages {
		if m.visibleAt.After(b.w.now()) && (first.IsZero() || m.visibleAt.Before(first)) {
			first = m.visibleAt
		}
	}
	return first, !first.IsZero()
}
