package amqp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"time"
)

// The AMQP types that Go has none for. A list is []any, a map is map[any]any, a
// binary is []byte and a timestamp is time.Time.
type (
	// Symbol is a string of a constrained domain.
	Symbol string
	// UUID is in the byte order of RFC 4122.
	UUID [16]byte
	// Char is a UTF-32 character.
	Char rune
	// Array holds values of one type.
	Array []any
	// Described is a value with its descriptor.
	Described struct{ Descriptor, Value any }
	// Decimal is a decimal32, 64 or 128, carried as it came.
	Decimal []byte
)

// ErrTruncated says that the bytes end within a value.
var ErrTruncated = errors.New("amqp: value is truncated")

// maxDepth bounds how deep values may nest, so that no frame can exhaust the stack.
const maxDepth = 32

// Decode reads one value from the start of b and returns it with the number of
// bytes that it took. Byte slices in the value are copies.
func Decode(b []byte) (any, int, error) { return decode(b, 0) }

func decode(b []byte, depth int) (any, int, error) {
	if len(b) == 0 {
		return nil, 0, ErrTruncated
	}
	if depth > maxDepth {
		return nil, 0, errors.New("amqp: values nest too deep")
	}
	if b[0] == 0 {
		descriptor, n, err := decode(b[1:], depth+1)
		if err != nil {
			return nil, 0, err
		}
		value, m, err := decode(b[1+n:], depth+1)
		if err != nil {
			return nil, 0, err
		}
		return Described{descriptor, value}, 1 + n + m, nil
	}
	v, n, err := decodeBody(b[0], b[1:], depth)
	return v, 1 + n, err
}

// decodeBody reads what follows the constructor, which for the items of an array
// stands apart from them.
func decodeBody(code byte, b []byte, depth int) (any, int, error) {
	n, err := bodyLen(code, b)
	if err != nil {
		return nil, 0, err
	}
	p := b[:n]
	switch code {
	case 0x40:
		return nil, 0, nil
	case 0x41:
		return true, 0, nil
	case 0x42:
		return false, 0, nil
	case 0x56:
		if p[0] > 1 {
			return nil, 0, fmt.Errorf("amqp: boolean of value %d", p[0])
		}
		return p[0] == 1, n, nil
	case 0x50:
		return p[0], n, nil
	case 0x51:
		return int8(p[0]), n, nil
	case 0x60:
		return binary.BigEndian.Uint16(p), n, nil
	case 0x61:
		return int16(binary.BigEndian.Uint16(p)), n, nil
	case 0x43:
		return uint32(0), n, nil
	case 0x52:
		return uint32(p[0]), n, nil
	case 0x70:
		return binary.BigEndian.Uint32(p), n, nil
	case 0x54:
		return int32(int8(p[0])), n, nil
	case 0x71:
		return int32(binary.BigEndian.Uint32(p)), n, nil
	case 0x44:
		return uint64(0), n, nil
	case 0x53:
		return uint64(p[0]), n, nil
	case 0x80:
		return binary.BigEndian.Uint64(p), n, nil
	case 0x55:
		return int64(int8(p[0])), n, nil
	case 0x81:
		return int64(binary.BigEndian.Uint64(p)), n, nil
	case 0x72:
		return math.Float32frombits(binary.BigEndian.Uint32(p)), n, nil
	case 0x82:
		return math.Float64frombits(binary.BigEndian.Uint64(p)), n, nil
	case 0x73:
		return Char(binary.BigEndian.Uint32(p)), n, nil
	case 0x83:
		return time.UnixMilli(int64(binary.BigEndian.Uint64(p))).UTC(), n, nil
	case 0x98:
		return UUID(p), n, nil
	case 0x74, 0x84, 0x94:
		return Decimal(append([]byte{code}, p...)), n, nil
	case 0xa0:
		return append([]byte{}, p[1:]...), n, nil
	case 0xb0:
		return append([]byte{}, p[4:]...), n, nil
	case 0xa1:
		return string(p[1:]), n, nil
	case 0xb1:
		return string(p[4:]), n, nil
	case 0xa3:
		return Symbol(p[1:]), n, nil
	case 0xb3:
		return Symbol(p[4:]), n, nil
	case 0x45:
		return []any{}, n, nil
	}
	count, items, err := compoundHeader(code, p)
	if err != nil {
		return nil, 0, err
	}
	switch code {
	case 0xc0, 0xd0:
		v, err := decodeItems(items, count, depth)
		return v, n, err
	case 0xc1, 0xd1:
		v, err := decodeItems(items, count, depth)
		if err != nil {
			return nil, 0, err
		}
		m, err := pairs(v)
		return m, n, err
	default: // 0xe0, 0xf0
		v, err := decodeArray(items, count, depth)
		return v, n, err
	}
}

func decodeItems(b []byte, count, depth int) ([]any, error) {
	if count > len(b) { // each item takes a byte at least
		return nil, ErrTruncated
	}
	out := make([]any, 0, count)
	for range count {
		v, n, err := decode(b, depth+1)
		if err != nil {
			return nil, err
		}
		out, b = append(out, v), b[n:]
	}
	if len(b) > 0 {
		return nil, errors.New("amqp: bytes left over in a compound value")
	}
	return out, nil
}

func decodeArray(b []byte, count, depth int) (Array, error) {
	if len(b) == 0 {
		return nil, ErrTruncated
	}
	if b[0] == 0 {
		return nil, errors.New("amqp: arrays of described values are not supported")
	}
	code, b := b[0], b[1:]
	if count > len(b) && count > 0 && code != 0x40 && code != 0x41 && code != 0x42 && code != 0x43 && code != 0x44 && code != 0x45 {
		return nil, ErrTruncated
	}
	if count > 1<<16 {
		return nil, errors.New("amqp: array is too long")
	}
	out := make(Array, 0, count)
	for range count {
		v, n, err := decodeBody(code, b, depth+1)
		if err != nil {
			return nil, err
		}
		out, b = append(out, v), b[n:]
	}
	if len(b) > 0 {
		return nil, errors.New("amqp: bytes left over in an array")
	}
	return out, nil
}

func pairs(items []any) (map[any]any, error) {
	if len(items)%2 != 0 {
		return nil, errors.New("amqp: map with an odd number of items")
	}
	m := make(map[any]any, len(items)/2)
	for i := 0; i < len(items); i += 2 {
		switch items[i].(type) {
		case []byte, []any, map[any]any, Array, Described, Decimal:
			return nil, fmt.Errorf("amqp: map key of type %T is not supported", items[i])
		}
		m[items[i]] = items[i+1]
	}
	return m, nil
}

// Skip returns the length of the value at the start of b without decoding it.
func Skip(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, ErrTruncated
	}
	if b[0] != 0 {
		n, err := bodyLen(b[0], b[1:])
		return 1 + n, err
	}
	if len(b) > 1 && b[1] == 0 {
		return 0, errors.New("amqp: described descriptor")
	}
	d, err := Skip(b[1:])
	if err != nil {
		return 0, err
	}
	if len(b) > 1+d && b[1+d] == 0 {
		return 0, errors.New("amqp: described value within a described value")
	}
	v, err := Skip(b[1+d:])
	return 1 + d + v, err
}

// bodyLen is the length of what follows constructor code, length prefix included.
func bodyLen(code byte, b []byte) (int, error) {
	n := 0
	switch code >> 4 {
	case 0x4:
		if code > 0x45 {
			return 0, unknownCode(code)
		}
	case 0x5:
		n = 1
	case 0x6:
		n = 2
	case 0x7:
		n = 4
	case 0x8:
		n = 8
	case 0x9:
		n = 16
	case 0xa, 0xc, 0xe:
		if len(b) < 1 {
			return 0, ErrTruncated
		}
		n = 1 + int(b[0])
	case 0xb, 0xd, 0xf:
		if len(b) < 4 {
			return 0, ErrTruncated
		}
		n = 4 + int(binary.BigEndian.Uint32(b))
	}
	if !knownCode[code] {
		return 0, unknownCode(code)
	}
	if n > len(b) {
		return 0, ErrTruncated
	}
	return n, nil
}

var knownCode = func() (known [256]bool) {
	for _, c := range []byte{
		0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56,
		0x60, 0x61, 0x70, 0x71, 0x72, 0x73, 0x74, 0x80, 0x81, 0x82, 0x83, 0x84, 0x94, 0x98,
		0xa0, 0xa1, 0xa3, 0xb0, 0xb1, 0xb3, 0xc0, 0xc1, 0xd0, 0xd1, 0xe0, 0xf0,
	} {
		known[c] = true
	}
	return known
}()

func unknownCode(code byte) error { return fmt.Errorf("amqp: unknown constructor %#02x", code) }

// compoundHeader splits the body of a list, map or array into its count and items.
func compoundHeader(code byte, p []byte) (int, []byte, error) {
	if code < 0xd0 || code == 0xe0 {
		if len(p) < 2 {
			return 0, nil, ErrTruncated
		}
		return int(p[1]), p[2:], nil
	}
	if len(p) < 8 {
		return 0, nil, ErrTruncated
	}
	return int(binary.BigEndian.Uint32(p[4:])), p[8:], nil
}
