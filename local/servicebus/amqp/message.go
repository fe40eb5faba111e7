package amqp

import (
	"fmt"
	"time"
)

// Descriptor codes of a message's sections.
const (
	sectionHeader                = 0x70
	sectionDeliveryAnnotations   = 0x71
	sectionMessageAnnotations    = 0x72
	sectionProperties            = 0x73
	sectionApplicationProperties = 0x74
	sectionData                  = 0x75
	sectionSequence              = 0x76
	sectionValue                 = 0x77
	sectionFooter                = 0x78
)

// Sections are the encoded sections of a message, descriptors included, as slices
// of the message's bytes. Body holds the body's sections and the footer.
type Sections struct {
	Header, DeliveryAnnotations, MessageAnnotations, Properties, ApplicationProperties, Body []byte
}

// Split finds the sections of an encoded message.
func Split(b []byte) (Sections, error) {
	var s Sections
	last := uint64(0)
	for at := 0; at < len(b); {
		code, n, err := section(b[at:])
		if err != nil {
			return s, err
		}
		if code <= last {
			return s, fmt.Errorf("amqp: message section %#x after %#x", code, last)
		}
		last = code
		raw := b[at : at+n]
		switch code {
		case sectionHeader:
			s.Header = raw
		case sectionDeliveryAnnotations:
			s.DeliveryAnnotations = raw
		case sectionMessageAnnotations:
			s.MessageAnnotations = raw
		case sectionProperties:
			s.Properties = raw
		case sectionApplicationProperties:
			s.ApplicationProperties = raw
		default:
			s.Body = b[at:]
			return s, checkBody(s.Body)
		}
		at += n
	}
	return s, nil
}

// checkBody checks that a body is of one kind of section, which only data and
// sequences repeat, and that at most a footer follows.
func checkBody(b []byte) error {
	for last := uint64(0); len(b) > 0; {
		code, n, err := section(b)
		if err != nil {
			return err
		}
		repeats := code == last && (code == sectionData || code == sectionSequence)
		footer := code == sectionFooter && last != sectionFooter
		if code < sectionData || last != 0 && !repeats && !footer {
			return fmt.Errorf("amqp: message section %#x after %#x", code, last)
		}
		last, b = code, b[n:]
	}
	return nil
}

func section(b []byte) (uint64, int, error) {
	if len(b) < 3 || b[0] != 0 {
		return 0, 0, fmt.Errorf("amqp: message section without a descriptor")
	}
	d, dn, err := Decode(b[1:])
	if err != nil {
		return 0, 0, err
	}
	code, ok := d.(uint64)
	if !ok || code < sectionHeader || code > sectionFooter {
		return 0, 0, fmt.Errorf("amqp: unknown message section %v", d)
	}
	n, err := Skip(b[1+dn:])
	return code, 1 + dn + n, err
}

// Header is the part of a message's header that a sender sets.
type Header struct {
	Durable  bool
	Priority uint8
	TTL      time.Duration // 0 for none
}

// ParseHeader reads a header section; an absent one has the default values.
func ParseHeader(b []byte) (Header, error) {
	h := Header{Priority: 4}
	if len(b) == 0 {
		return h, nil
	}
	_, r, _, err := composite(b)
	if err != nil {
		return h, err
	}
	h.Durable, h.Priority = r.bool("durable"), r.ubyte("priority", 4)
	h.TTL = time.Duration(r.uint("ttl", 0)) * time.Millisecond
	r.bool("first-acquirer")
	r.uint("delivery-count", 0)
	return h, r.end("header")
}

// AppendHeader encodes a header section. The delivery count is written even when
// it is 0: there are clients that show an absent one as undefined.
func AppendHeader(b []byte, h Header, deliveryCount uint32) []byte {
	b, at := begin(b, sectionHeader)
	b = appendBool(b, h.Durable)
	b = append(b, 0x50, h.Priority)
	ms := h.TTL.Milliseconds()
	if ms > 1<<32-1 {
		ms = 1<<32 - 1
	}
	b = optUintOrNull(b, uint32(ms))
	b = append(b, 0x42) // first-acquirer
	b = appendUint(b, deliveryCount)
	return patch(b, at, 5)
}

// ParseMap reads a section that is a map: annotations, application properties.
func ParseMap(b []byte) (map[any]any, error) {
	if len(b) == 0 {
		return nil, nil
	}
	v, _, err := Decode(b)
	if err != nil {
		return nil, err
	}
	d, _ := v.(Described)
	m, ok := d.Value.(map[any]any)
	if !ok {
		return nil, fmt.Errorf("amqp: message section holds %T, not a map", d.Value)
	}
	return m, nil
}

// AppendApplicationProperties encodes the section of that name.
func AppendApplicationProperties(b []byte, m map[any]any) ([]byte, error) {
	return Append(append(b, 0, 0x53, sectionApplicationProperties), m)
}

// AppendValue encodes a body of one AMQP value.
func AppendValue(b []byte, v any) ([]byte, error) {
	return Append(append(b, 0, 0x53, sectionValue), v)
}

// BodyValue reads a body of one AMQP value.
func BodyValue(b []byte) (any, error) {
	v, _, err := Decode(b)
	if err != nil {
		return nil, err
	}
	d, ok := v.(Described)
	if !ok || d.Descriptor != uint64(sectionValue) {
		return nil, fmt.Errorf("amqp: message body is not an AMQP value")
	}
	return d.Value, nil
}

// Data returns the data sections of a body, not copied.
func Data(b []byte) ([][]byte, error) {
	var out [][]byte
	for len(b) > 0 {
		code, n, err := section(b)
		if err != nil {
			return nil, err
		}
		if code == sectionFooter {
			break
		}
		if code != sectionData {
			return nil, fmt.Errorf("amqp: message body has section %#x where data is expected", code)
		}
		value := b[len(b[:n])-(n-3):] // after 0x00 0x53 code
		if b[1] != 0x53 {
			return nil, fmt.Errorf("amqp: data section with an unusual descriptor")
		}
		r := reader{b: value[:n-3], left: 1}
		out = append(out, r.binary("data"))
		if r.err != nil {
			return nil, r.err
		}
		b = b[n:]
	}
	return out, nil
}

// Annotations writes a message-annotations section entry by entry.
type Annotations struct {
	b     []byte
	at    int
	count int
}

// BeginAnnotations opens a message-annotations section at the end of b.
func BeginAnnotations(b []byte) Annotations {
	b = append(b, 0, 0x53, sectionMessageAnnotations)
	at := len(b)
	return Annotations{b: append(b, 0xd1, 0, 0, 0, 0, 0, 0, 0, 0), at: at}
}

// Key starts an entry; the function given appends its value.
func (a *Annotations) Key(key string, value func(b []byte) []byte) {
	a.b = value(AppendSymbol(a.b, key))
	a.count += 2
}

// Raw adds entries that are already encoded, key and value in turn.
func (a *Annotations) Raw(entries []byte, count int) {
	a.b = append(a.b, entries...)
	a.count += count
}

// End closes the section and returns the buffer.
func (a *Annotations) End() []byte { return patch(a.b, a.at, a.count) }

// AppendDeliveryAnnotation encodes a delivery-annotations section of one entry.
func AppendDeliveryAnnotation(b []byte, key string, id UUID) []byte {
	b = append(b, 0, 0x53, sectionDeliveryAnnotations)
	at := len(b)
	b = append(b, 0xd1, 0, 0, 0, 0, 0, 0, 0, 0)
	b = AppendSymbol(b, key)
	return patch(append(append(b, 0x98), id[:]...), at, 2)
}
