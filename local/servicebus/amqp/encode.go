package amqp

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Append encodes v at the end of b. It takes the types that Decode returns, and
// map[string]any, []int64, []time.Time and []UUID (the last three as arrays).
func Append(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, 0x40), nil
	case bool:
		return appendBool(b, v), nil
	case uint8:
		return append(b, 0x50, v), nil
	case int8:
		return append(b, 0x51, byte(v)), nil
	case uint16:
		return binary.BigEndian.AppendUint16(append(b, 0x60), v), nil
	case int16:
		return binary.BigEndian.AppendUint16(append(b, 0x61), uint16(v)), nil
	case uint32:
		return appendUint(b, v), nil
	case int32:
		return binary.BigEndian.AppendUint32(append(b, 0x71), uint32(v)), nil
	case uint64:
		return appendUlong(b, v), nil
	case int64:
		return binary.BigEndian.AppendUint64(append(b, 0x81), uint64(v)), nil
	case float32:
		return binary.BigEndian.AppendUint32(append(b, 0x72), math.Float32bits(v)), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(b, 0x82), math.Float64bits(v)), nil
	case Char:
		return binary.BigEndian.AppendUint32(append(b, 0x73), uint32(v)), nil
	case time.Time:
		return AppendTimestamp(b, v), nil
	case UUID:
		return append(append(b, 0x98), v[:]...), nil
	case Decimal:
		return append(b, v...), nil
	case []byte:
		return AppendBinary(b, v), nil
	case string:
		return AppendString(b, v), nil
	case Symbol:
		return AppendSymbol(b, string(v)), nil
	case []any:
		return appendItems(b, 0xd0, len(v), v)
	case map[any]any:
		items := make([]any, 0, 2*len(v))
		for k, e := range v {
			items = append(items, k, e)
		}
		return appendItems(b, 0xd1, len(items), items)
	case map[string]any:
		items := make([]any, 0, 2*len(v))
		for k, e := range v {
			items = append(items, k, e)
		}
		return appendItems(b, 0xd1, len(items), items)
	case Array:
		return appendArray(b, v)
	case []int64:
		at := len(b)
		b = append(b, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0x81)
		for _, e := range v {
			b = binary.BigEndian.AppendUint64(b, uint64(e))
		}
		return patch(b, at, len(v)), nil
	case []time.Time:
		at := len(b)
		b = append(b, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0x83)
		for _, e := range v {
			b = binary.BigEndian.AppendUint64(b, uint64(e.UnixMilli()))
		}
		return patch(b, at, len(v)), nil
	case []UUID:
		at := len(b)
		b = append(b, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0, 0x98)
		for _, e := range v {
			b = append(b, e[:]...)
		}
		return patch(b, at, len(v)), nil
	case Described:
		b, err := Append(append(b, 0), v.Descriptor)
		if err != nil {
			return nil, err
		}
		return Append(b, v.Value)
	}
	return nil, fmt.Errorf("amqp: cannot encode %T", v)
}

// AppendString encodes a string.
func AppendString(b []byte, s string) []byte {
	if len(s) < 256 {
		return append(append(b, 0xa1, byte(len(s))), s...)
	}
	return append(binary.BigEndian.AppendUint32(append(b, 0xb1), uint32(len(s))), s...)
}

// AppendSymbol encodes a symbol.
func AppendSymbol(b []byte, s string) []byte {
	if len(s) < 256 {
		return append(append(b, 0xa3, byte(len(s))), s...)
	}
	return append(binary.BigEndian.AppendUint32(append(b, 0xb3), uint32(len(s))), s...)
}

// AppendBinary encodes a binary.
func AppendBinary(b, v []byte) []byte {
	if len(v) < 256 {
		return append(append(b, 0xa0, byte(len(v))), v...)
	}
	return append(binary.BigEndian.AppendUint32(append(b, 0xb0), uint32(len(v))), v...)
}

// AppendTimestamp encodes a timestamp, which has the resolution of a millisecond.
func AppendTimestamp(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0x83), uint64(t.UnixMilli()))
}

// AppendLong encodes a long in its full width, which some clients insist on.
func AppendLong(b []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0x81), uint64(v))
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0x41)
	}
	return append(b, 0x42)
}

func appendUint(b []byte, v uint32) []byte {
	switch {
	case v == 0:
		return append(b, 0x43)
	case v < 256:
		return append(b, 0x52, byte(v))
	}
	return binary.BigEndian.AppendUint32(append(b, 0x70), v)
}

func appendUlong(b []byte, v uint64) []byte {
	switch {
	case v == 0:
		return append(b, 0x44)
	case v < 256:
		return append(b, 0x53, byte(v))
	}
	return binary.BigEndian.AppendUint64(append(b, 0x80), v)
}

func appendItems(b []byte, code byte, count int, items []any) ([]byte, error) {
	at := len(b)
	b = append(b, code, 0, 0, 0, 0, 0, 0, 0, 0)
	var err error
	for _, v := range items {
		if b, err = Append(b, v); err != nil {
			return nil, err
		}
	}
	return patch(b, at, count), nil
}

// appendArray encodes the items without their constructors. Items are encoded
// one by one and must agree in their constructor, so only types of one width can
// be told apart from a mixed array; the rest is refused.
func appendArray(b []byte, v Array) ([]byte, error) {
	at := len(b)
	b = append(b, 0xf0, 0, 0, 0, 0, 0, 0, 0, 0)
	if len(v) == 0 {
		return patch(append(b, 0x40), at, 0), nil
	}
	code := byte(0)
	for i, item := range v {
		enc, err := Append(nil, wide(item))
		if err != nil {
			return nil, err
		}
		enc = widen(enc)
		if i == 0 {
			code = enc[0]
			b = append(b, code)
		} else if enc[0] != code {
			return nil, fmt.Errorf("amqp: array of mixed types")
		}
		b = append(b, enc[1:]...)
	}
	return patch(b, at, len(v)), nil
}

// wide makes booleans, which have two constructors of no width, into one octet.
func wide(v any) any {
	if t, ok := v.(bool); ok {
		if t {
			return Decimal{0x56, 1}
		}
		return Decimal{0x56, 0}
	}
	return v
}

// widen turns the short forms of a value into its long form.
func widen(enc []byte) []byte {
	switch enc[0] {
	case 0x43:
		return []byte{0x70, 0, 0, 0, 0}
	case 0x52:
		return []byte{0x70, 0, 0, 0, enc[1]}
	case 0x44:
		return []byte{0x80, 0, 0, 0, 0, 0, 0, 0, 0}
	case 0x53:
		return []byte{0x80, 0, 0, 0, 0, 0, 0, 0, enc[1]}
	case 0xa0, 0xa1, 0xa3:
		return append([]byte{enc[0] + 0x10, 0, 0, 0, enc[1]}, enc[2:]...)
	}
	return enc
}

// patch fills in size and count of the compound value that starts at b[at].
func patch(b []byte, at, count int) []byte {
	binary.BigEndian.PutUint32(b[at+1:], uint32(len(b)-at-5))
	binary.BigEndian.PutUint32(b[at+5:], uint32(count))
	return b
}
