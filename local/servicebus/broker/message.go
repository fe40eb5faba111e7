package broker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/servicebus/amqp"
	"github.com/matoolkit/matoolkit/local/servicebus/filter"
)

// Message is a message as its sender wrote it, kept in encoded form: what does not
// change is never decoded and encoded again. It is immutable once it is sent, and
// shared by the subscriptions that hold it.
type Message struct {
	id          string
	header      amqp.Header
	scheduledAt time.Time // zero when not scheduled
	annotations []byte    // entries of the sender's message annotations, encoded
	annotated   int       // count of keys and values in annotations
	properties  []byte    // section
	application []byte    // section
	body        []byte    // body sections and footer
}

// Limit is the largest message or batch, in bytes, as in the standard tier.
const Limit = 256 << 10

// Parse reads an encoded message. It keeps encoded: the caller must not reuse it.
func Parse(encoded []byte) (*Message, error) {
	s, err := amqp.Split(encoded)
	if err != nil {
		return nil, err
	}
	m := &Message{properties: s.Properties, application: s.ApplicationProperties, body: s.Body}
	if len(s.Body) == 0 {
		return nil, errors.New("the message has no body section")
	}
	if m.header, err = amqp.ParseHeader(s.Header); err != nil {
		return nil, err
	}
	if err := m.parseAnnotations(s.MessageAnnotations); err != nil {
		return nil, err
	}
	p, err := amqp.ParseProperties(s.Properties)
	if err != nil {
		return nil, err
	}
	if p.RawMessageID() == nil || p.MessageID() == "" {
		p.SetMessageID(uuid.NewString())
		if m.properties, err = p.Append(nil); err != nil {
			return nil, err
		}
	}
	m.id = p.MessageID()
	return m, nil
}

// owned are the annotations that the broker writes: a sender's are left out.
var owned = []amqp.Symbol{annScheduled, annSequence, annEnqueuedSequence, annEnqueuedTime, annLockedUntil, annState, annSource}

const (
	annScheduled        = "x-opt-scheduled-enqueue-time"
	annSequence         = "x-opt-sequence-number"
	annEnqueuedSequence = "x-opt-enqueue-sequence-number"
	annEnqueuedTime     = "x-opt-enqueued-time"
	annLockedUntil      = "x-opt-locked-until"
	annState            = "x-opt-message-state"
	annSource           = "x-opt-deadletter-source"
)

func (m *Message) parseAnnotations(section []byte) error {
	all, err := amqp.ParseMap(section)
	if err != nil {
		return err
	}
	for k, v := range all {
		// The standard asks for symbols; the Go client writes strings.
		name, ok := k.(amqp.Symbol)
		if s, isString := k.(string); isString {
			name, ok = amqp.Symbol(s), true
		}
		if !ok {
			return fmt.Errorf("message annotation with a key of type %T", k)
		}
		if name == annScheduled && v != nil {
			if m.scheduledAt, ok = v.(time.Time); !ok {
				return fmt.Errorf("%s is a %T, not a timestamp", annScheduled, v)
			}
		}
		if slices.Contains(owned, name) {
			continue
		}
		if m.annotations, err = amqp.Append(amqp.AppendSymbol(m.annotations, string(name)), v); err != nil {
			return err
		}
		m.annotated += 2
	}
	return nil
}

// size is roughly what the message takes in memory and on disk.
func (m *Message) size() int64 {
	return int64(len(m.annotations)+len(m.properties)+len(m.application)+len(m.body)) + 64
}

// view presents a message to the filters. It decodes on first use.
type view struct {
	m          *Message
	sequence   int64
	enqueued   time.Time
	properties *amqp.Properties
	user       map[any]any
	decoded    bool
}

// User is an application property.
func (v *view) User(name string) any {
	if !v.decoded {
		v.decoded = true
		// Parse checked the section's bounds; what cannot be decoded is unknown.
		v.user, _ = amqp.ParseMap(v.m.application)
	}
	return v.user[name]
}

// System is a system property by its documented name.
func (v *view) System(name string) any {
	switch name {
	case "EnqueuedTimeUtc":
		return v.enqueued
	case "SequenceNumber", "EnqueuedSequenceNumber":
		return v.sequence
	case "DeliveryCount":
		return int64(0)
	case "ScheduledEnqueueTimeUtc":
		if v.m.scheduledAt.IsZero() {
			return nil
		}
		return v.m.scheduledAt
	}
	if v.properties == nil {
		var err error
		if v.properties, err = amqp.ParseProperties(v.m.properties); err != nil {
			return nil
		}
	}
	p := v.properties
	text := map[string]func() string{
		"ContentType": p.ContentType, "CorrelationId": p.CorrelationID, "Label": p.Subject,
		"MessageId": p.MessageID, "ReplyTo": p.ReplyTo, "ReplyToSessionId": p.ReplyToGroupID, "SessionId": p.GroupID, "To": p.To,
	}[name]
	if text == nil || text() == "" {
		return nil
	}
	return text()
}

// textFields are the properties that a rule's action may set, by documented name.
var textFields = map[string]amqp.Field{
	"ContentType": amqp.FieldContentType, "CorrelationId": amqp.FieldCorrelationID, "Label": amqp.FieldSubject, "MessageId": amqp.FieldMessageID,
	"ReplyTo": amqp.FieldReplyTo, "ReplyToSessionId": amqp.FieldReplyToGroupID, "SessionId": amqp.FieldGroupID, "To": amqp.FieldTo,
}

// changed is a copy of the message with the changes of a rule's action.
func (m *Message) changed(c filter.Changes) (*Message, error) {
	out := *m
	if len(c.System) > 0 {
		p, err := amqp.ParseProperties(m.properties)
		if err != nil {
			return nil, err
		}
		for name, text := range c.System {
			p.Set(textFields[name], text)
		}
		if out.properties, err = p.Append(nil); err != nil {
			return nil, err
		}
		out.id = p.MessageID()
	}
	if len(c.User) == 0 {
		return &out, nil
	}
	all, err := amqp.ParseMap(m.application)
	if err != nil {
		return nil, err
	}
	all = maps.Clone(all)
	if all == nil {
		all = map[any]any{}
	}
	for name, v := range c.User {
		if all[name] = v; v == nil {
			delete(all, name)
		}
	}
	out.application, err = amqp.AppendApplicationProperties(nil, all)
	return &out, err
}

// withProperties returns the application properties section with some set.
func withProperties(section []byte, set map[string]any) ([]byte, error) {
	m, err := amqp.ParseMap(section)
	if err != nil {
		return nil, err
	}
	if m == nil {
		m = make(map[any]any, len(set))
	}
	for k, v := range set {
		m[k] = v
	}
	return amqp.AppendApplicationProperties(nil, m)
}

// Scheduled reports whether the sender set a time at which it is to be enqueued.
func (m *Message) Scheduled() bool { return !m.scheduledAt.IsZero() }
