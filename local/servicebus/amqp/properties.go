package amqp

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"time"
)

// Properties are the immutable properties of a message. Fields that are absent
// are nil.
type Properties struct {
	fields [13]any
}

// Positions of the fields in the properties section.
const (
	propMessageID = iota
	_             // user-id
	propTo
	propSubject
	propReplyTo
	propCorrelationID
	propContentType
	_ // content-encoding
	propAbsoluteExpiry
	_ // creation-time
	propGroupID
	_ // group-sequence
	propReplyToGroupID
)

// ParseProperties reads a properties section, which may be absent.
func ParseProperties(b []byte) (*Properties, error) {
	p := &Properties{}
	if len(b) == 0 {
		return p, nil
	}
	_, r, _, err := composite(b)
	if err != nil {
		return nil, err
	}
	for i := range p.fields {
		p.fields[i] = r.any()
	}
	return p, r.end("properties")
}

// Append encodes the section.
func (p *Properties) Append(b []byte) ([]byte, error) {
	b, at := begin(b, sectionProperties)
	var err error
	for _, v := range p.fields {
		if b, err = Append(b, v); err != nil {
			return nil, err
		}
	}
	return patch(b, at, len(p.fields)), nil
}

// NewReplyProperties are those of an answer: only the correlation id is set.
func NewReplyProperties(correlationID any) *Properties {
	p := &Properties{}
	p.fields[propCorrelationID] = correlationID
	return p
}

// Field is a property that is a text for Service Bus.
type Field int

// The fields that Set can set.
const (
	FieldMessageID      Field = propMessageID
	FieldTo             Field = propTo
	FieldSubject        Field = propSubject
	FieldReplyTo        Field = propReplyTo
	FieldCorrelationID  Field = propCorrelationID
	FieldContentType    Field = propContentType
	FieldGroupID        Field = propGroupID
	FieldReplyToGroupID Field = propReplyToGroupID
)

// Set sets a field, or removes it when the text is empty.
func (p *Properties) Set(f Field, text string) {
	switch {
	case text == "":
		p.fields[f] = nil
	case f == FieldContentType:
		p.fields[f] = Symbol(text)
	default:
		p.fields[f] = text
	}
}

// SetMessageID sets the message id.
func (p *Properties) SetMessageID(id string) { p.fields[propMessageID] = id }

// RawMessageID is the message id in its own type, nil when there is none.
func (p *Properties) RawMessageID() any { return p.fields[propMessageID] }

// MessageID is the message id as text, empty when there is none.
func (p *Properties) MessageID() string { return text(p.fields[propMessageID]) }

// CorrelationID is the correlation id as text.
func (p *Properties) CorrelationID() string { return text(p.fields[propCorrelationID]) }

// To is the address of the node that the message is for.
func (p *Properties) To() string { return text(p.fields[propTo]) }

// Subject is the subject, which Service Bus calls label.
func (p *Properties) Subject() string { return text(p.fields[propSubject]) }

// ReplyTo is the address for answers.
func (p *Properties) ReplyTo() string { return text(p.fields[propReplyTo]) }

// ContentType is the MIME type of the body.
func (p *Properties) ContentType() string { return text(p.fields[propContentType]) }

// GroupID is the group, which Service Bus calls session.
func (p *Properties) GroupID() string { return text(p.fields[propGroupID]) }

// ReplyToGroupID is the group for answers.
func (p *Properties) ReplyToGroupID() string { return text(p.fields[propReplyToGroupID]) }

// AbsoluteExpiry is the time at which the sender wants the message to expire.
func (p *Properties) AbsoluteExpiry() (time.Time, bool) {
	t, ok := p.fields[propAbsoluteExpiry].(time.Time)
	return t, ok
}

func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case Symbol:
		return string(v)
	case uint64:
		return strconv.FormatUint(v, 10)
	case UUID:
		h := hex.EncodeToString(v[:])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	case []byte:
		return hex.EncodeToString(v)
	}
	return fmt.Sprint(v)
}
