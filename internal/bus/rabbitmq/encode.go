package rabbitmq

import (
	"context"
	"fmt"
	"maps"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// Headers of a message beside its properties. The broker's own begin with "x-", too.
const (
	headerReserved    = "x-"
	headerSequence    = "x-matoolkit-sequence"    // int64
	headerEnqueued    = "x-matoolkit-enqueued"    // int64, in microseconds since 1970
	headerExpires     = "x-matoolkit-expires"     // likewise
	headerDeliveries  = "x-matoolkit-deliveries"  // int64, of earlier copies of the message
	headerReason      = "x-matoolkit-reason"      // of a dead letter
	headerDescription = "x-matoolkit-description" // likewise
	headerMark        = "x-matoolkit-mark"        // of a record that is no message
	headerReturned    = "x-delivery-count"        // int64: the deliveries that came back, counted by a quorum queue
	headerDeaths      = "x-death"
	headerOffset      = "x-stream-offset" // int64, within a log
)

const contentType = "application/json"

// numbers gives the messages of one process their numbers: microseconds since 1970, which the
// receivers of several senders can order as exactly as the senders' clocks agree.
type numbers struct {
	mu   sync.Mutex
	last int64
}

func (n *numbers) next(now, at time.Time) int64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last = max(n.last+1, now.UnixMicro())
	if at.After(now) { // several messages can be due in one millisecond
		return at.Truncate(time.Millisecond).UnixMicro() + n.last%1000
	}
	return n.last
}

// encode returns the form in which a message is published, and after how long it has to arrive.
func (c *Client) encode(ctx context.Context, t topic, m bus.Message, now time.Time) (out amqp.Publishing, after time.Duration, err error) {
	headers := amqp.Table{}
	properties := maps.Clone(m.Properties) // the caller's stay as they are
	if properties == nil {
		properties = map[string]any{}
	}
	tracecontext.Inject(ctx, properties)
	if err := setProperties(headers, properties); err != nil {
		return out, 0, err
	}
	enqueued := now
	if m.At.After(now) {
		enqueued, after = m.At, m.At.Sub(now)
	}
	if after > maxDelay {
		return out, 0, fmt.Errorf("bus: the message %s is scheduled for %s: it can be at most %d days ahead", m.ID, m.At.UTC().Format(time.RFC3339), maxDelay/(24*time.Hour))
	}
	life := t.ttl
	if m.TimeToLive > 0 && (life == 0 || m.TimeToLive < life) {
		life = m.TimeToLive
	}
	headers[headerSequence] = c.numbers.next(now, m.At)
	headers[headerEnqueued] = enqueued.UnixMicro()
	out = amqp.Publishing{
		MessageId: m.ID, CorrelationId: m.CorrelationID, Body: m.Body, ContentType: contentType,
		DeliveryMode: amqp.Persistent, Timestamp: enqueued, Headers: headers,
	}
	if life > 0 {
		headers[headerExpires] = enqueued.Add(life).UnixMicro()
		if after == 0 { // in the ladder it would end the message's delay
			out.Expiration = expiration(life)
		}
	}
	return out, after, nil
}

// expiration is a time to live as the broker reads it, which takes no fractions.
func expiration(life time.Duration) string {
	return strconv.FormatInt(max(life.Milliseconds(), 1), 10)
}

// setProperties adds properties to the headers of a message.
func setProperties(headers amqp.Table, properties map[string]any) error {
	for name, value := range properties {
		if strings.HasPrefix(strings.ToLower(name), headerReserved) {
			return fmt.Errorf("bus: invalid property %q: names that begin with %q are the broker's", name, headerReserved)
		}
		switch v := value.(type) {
		case string, bool, int64, float64:
			headers[name] = v
		case int:
			headers[name] = int64(v)
		case int32:
			headers[name] = int64(v)
		case uint32:
			headers[name] = int64(v)
		default:
			return fmt.Errorf("bus: property %q is a %T: use a string, a boolean, an int64 or a float64", name, value)
		}
	}
	return nil
}

// decode returns a delivery as a message. Lock and handle are the receiver's.
func decode(d amqp.Delivery) *bus.Received {
	m := &bus.Received{
		ID: d.MessageId, CorrelationID: d.CorrelationId, ContentType: d.ContentType, Body: d.Body,
		Properties: map[string]any{}, Sequence: number(d.Headers, headerSequence),
		EnqueuedAt: instant(d.Headers, headerEnqueued), ExpiresAt: instant(d.Headers, headerExpires),
		DeliveryCount: int(min(number(d.Headers, headerDeliveries)+number(d.Headers, headerReturned)+1, math.MaxInt32)),
	}
	if m.EnqueuedAt.IsZero() { // another program sent it
		m.EnqueuedAt = d.Timestamp
	}
	for name, value := range d.Headers {
		if !strings.HasPrefix(name, headerReserved) {
			m.Properties[name] = value
		}
	}
	return m
}

// copyOf returns a message in hand for another publication, to the
// end of a queue. What the broker added to it is left out.
func copyOf(d amqp.Delivery) amqp.Publishing {
	headers := amqp.Table{}
	for name, value := range d.Headers {
		if !strings.HasPrefix(name, headerReserved) || strings.HasPrefix(name, headerReserved+"matoolkit-") {
			headers[name] = value
		}
	}
	return amqp.Publishing{
		MessageId: d.MessageId, CorrelationId: d.CorrelationId, Body: d.Body, ContentType: d.ContentType,
		DeliveryMode: amqp.Persistent, Timestamp: d.Timestamp, Headers: headers,
	}
}

func number(headers amqp.Table, name string) int64 {
	switch n := headers[name].(type) {
	case int64:
		return n
	case int32:
		return int64(n)
	case int16:
		return int64(n)
	case int8:
		return int64(n)
	}
	return 0
}

func instant(headers amqp.Table, name string) time.Time {
	n := number(headers, name)
	if n == 0 {
		return time.Time{}
	}
	return time.UnixMicro(n).UTC()
}
