package amqp

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// reader takes the fields of one composite value (a described list) in order.
// Fields that the sender left out read as absent. The first error sticks.
type reader struct {
	b    []byte
	left int
	err  error
}

// composite opens the described list at the start of b and returns its descriptor
// code and the number of bytes that it takes.
func composite(b []byte) (code uint64, r reader, n int, err error) {
	if len(b) < 3 || b[0] != 0 {
		return 0, reader{}, 0, errors.New("amqp: not a described list")
	}
	d, dn, err := Decode(b[1:])
	if err != nil {
		return 0, reader{}, 0, err
	}
	code, ok := d.(uint64)
	if !ok {
		if code, ok = codeOf(d); !ok {
			return 0, reader{}, 0, fmt.Errorf("amqp: unknown descriptor %v", d)
		}
	}
	body := b[1+dn:]
	if len(body) == 0 {
		return 0, reader{}, 0, ErrTruncated
	}
	vn, err := Skip(body)
	if err != nil {
		return 0, reader{}, 0, err
	}
	n = 1 + dn + vn
	switch body[0] {
	case 0x45:
		return code, reader{}, n, nil
	case 0xc0, 0xd0:
		count, items, err := compoundHeader(body[0], body[1:vn])
		return code, reader{b: items, left: count}, n, err
	}
	return 0, reader{}, 0, fmt.Errorf("amqp: descriptor %#x on a value that is not a list", code)
}

// codeOf translates the symbolic descriptors, which are as good as the numbers.
func codeOf(d any) (uint64, bool) {
	s, ok := d.(Symbol)
	if !ok {
		return 0, false
	}
	code, ok := descriptorNames[s]
	return code, ok
}

var descriptorNames = map[Symbol]uint64{
	"amqp:open:list": codeOpen, "amqp:begin:list": codeBegin, "amqp:attach:list": codeAttach,
	"amqp:flow:list": codeFlow, "amqp:transfer:list": codeTransfer, "amqp:disposition:list": codeDisposition,
	"amqp:detach:list": codeDetach, "amqp:end:list": codeEnd, "amqp:close:list": codeClose,
	"amqp:error:list": codeError, "amqp:received:list": 0x23, "amqp:accepted:list": StateAccepted,
	"amqp:rejected:list": StateRejected, "amqp:released:list": StateReleased, "amqp:modified:list": StateModified,
	"amqp:source:list": codeSource, "amqp:target:list": codeTarget, "amqp:coordinator:list": codeCoordinator, "amqp:sasl-init:list": codeSASLInit,
}

// next returns the encoding of the next field, nil when it is absent or null.
func (r *reader) next() []byte {
	if r.err != nil || r.left == 0 {
		return nil
	}
	r.left--
	n, err := Skip(r.b)
	if err != nil {
		r.err = err
		return nil
	}
	field := r.b[:n]
	r.b = r.b[n:]
	if field[0] == 0x40 {
		return nil
	}
	return field
}

func (r *reader) fail(what string, field []byte) {
	if r.err == nil {
		r.err = fmt.Errorf("amqp: %s has constructor %#02x", what, field[0])
	}
}

// end checks that no field is left that this codec does not know.
func (r *reader) end(what string) error {
	if r.err == nil && r.left > 0 {
		r.err = fmt.Errorf("amqp: %s has %d unknown fields", what, r.left)
	}
	return r.err
}

func (r *reader) uint(what string, absent uint32) uint32 {
	f := r.next()
	if f == nil {
		return absent
	}
	switch f[0] {
	case 0x43:
		return 0
	case 0x52:
		return uint32(f[1])
	case 0x70:
		return binary.BigEndian.Uint32(f[1:])
	}
	r.fail(what, f)
	return absent
}

func (r *reader) optUint(what string) *uint32 {
	if r.err != nil || r.left == 0 || len(r.b) > 0 && r.b[0] == 0x40 {
		r.next()
		return nil
	}
	v := r.uint(what, 0)
	return &v
}

func (r *reader) ushort(what string, absent uint16) uint16 {
	f := r.next()
	if f == nil {
		return absent
	}
	if f[0] != 0x60 {
		r.fail(what, f)
		return absent
	}
	return binary.BigEndian.Uint16(f[1:])
}

func (r *reader) ubyte(what string, absent uint8) uint8 {
	f := r.next()
	if f == nil {
		return absent
	}
	if f[0] != 0x50 {
		r.fail(what, f)
		return absent
	}
	return f[1]
}

func (r *reader) ulong(what string) uint64 {
	f := r.next()
	if f == nil {
		return 0
	}
	switch f[0] {
	case 0x44:
		return 0
	case 0x53:
		return uint64(f[1])
	case 0x80:
		return binary.BigEndian.Uint64(f[1:])
	}
	r.fail(what, f)
	return 0
}

func (r *reader) bool(what string) bool {
	f := r.next()
	if f == nil {
		return false
	}
	switch f[0] {
	case 0x41:
		return true
	case 0x42:
		return false
	case 0x56:
		return f[1] == 1
	}
	r.fail(what, f)
	return false
}

func (r *reader) string(what string) string {
	f := r.next()
	if f == nil {
		return ""
	}
	switch f[0] {
	case 0xa1, 0xa3:
		return string(f[2:])
	case 0xb1, 0xb3:
		return string(f[5:])
	}
	r.fail(what, f)
	return ""
}

// binary returns a slice of the frame, not a copy.
func (r *reader) binary(what string) []byte {
	f := r.next()
	if f == nil {
		return nil
	}
	switch f[0] {
	case 0xa0:
		return f[2:]
	case 0xb0:
		return f[5:]
	}
	r.fail(what, f)
	return nil
}

func (r *reader) any() any {
	f := r.next()
	if f == nil {
		return nil
	}
	v, _, err := Decode(f)
	if err != nil && r.err == nil {
		r.err = err
	}
	return v
}

func (r *reader) fields(what string) map[any]any {
	f := r.next()
	if f == nil {
		return nil
	}
	v, _, err := Decode(f)
	if err != nil {
		if r.err == nil {
			r.err = err
		}
		return nil
	}
	m, ok := v.(map[any]any)
	if !ok {
		r.fail(what, f)
	}
	return m
}

// begin opens a described list at the end of b; patch closes it.
func begin(b []byte, code byte) ([]byte, int) {
	b = append(b, 0, 0x53, code)
	return append(b, 0xd0, 0, 0, 0, 0, 0, 0, 0, 0), len(b)
}
