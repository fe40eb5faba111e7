package tds

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strings"
)

func integer(t Type, v any) ([]byte, error) {
	n, ok := v.(int)
	if !ok {
		return nil, errType
	}
	low, high := int64(math.MinInt64)>>(64-8*t.size), int64(math.MaxInt64)>>(64-8*t.size)
	if t.size == 1 {
		low, high = 0, 255
	}
	if int64(n) < low || int64(n) > high {
		return nil, fmt.Errorf("%d is not a %s", n, t)
	}
	return binary.LittleEndian.AppendUint64(nil, uint64(n))[:t.size], nil
}

func bit(_ Type, v any) ([]byte, error) {
	b, ok := v.(bool)
	if !ok {
		return nil, errType
	}
	if b {
		return []byte{1}, nil
	}
	return []byte{0}, nil
}

func floating(t Type, v any) ([]byte, error) {
	f, ok := v.(float64)
	switch {
	case !ok:
		return nil, errType
	case t.size == 4:
		return binary.LittleEndian.AppendUint32(nil, math.Float32bits(float32(f))), nil
	default:
		return binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)), nil
	}
}

// scaled is the integer that a string of digits is, with the point moved.
func scaled(v any, scale byte) (*big.Int, error) {
	s, ok := v.(string)
	if !ok {
		return nil, errType
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if len(fraction) > int(scale) {
		return nil, fmt.Errorf("%q has more than %d decimal places", s, scale)
	}
	n, ok := new(big.Int).SetString(whole+fraction+strings.Repeat("0", int(scale)-len(fraction)), 10)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", s)
	}
	return n, nil
}

func decimal(t Type, v any) ([]byte, error) {
	n, err := scaled(v, t.scale)
	if err != nil {
		return nil, err
	}
	digits := new(big.Int).Abs(n)
	if len(digits.String()) > int(t.precision) {
		return nil, fmt.Errorf("%v is not a %s", v, t)
	}
	b := make([]byte, t.size)
	if n.Sign() >= 0 {
		b[0] = 1
	}
	digits.FillBytes(b[1:])
	for i, j := 1, len(b)-1; i < j; i, j = i+1, j-1 { // little-endian
		b[i], b[j] = b[j], b[i]
	}
	return b, nil
}

// money is ten-thousandths; of its eight bytes the upper half comes first.
func money(t Type, v any) ([]byte, error) {
	n, err := scaled(v, 4)
	if err != nil {
		return nil, err
	}
	limit := int64(math.MaxInt64) >> (64 - 8*t.size)
	if !n.IsInt64() || n.Int64() > limit || n.Int64() < -limit-1 {
		return nil, fmt.Errorf("%v is not a %s", v, t)
	}
	if t.size == 4 {
		return binary.LittleEndian.AppendUint32(nil, uint32(n.Int64())), nil
	}
	u := uint64(n.Int64())
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(u>>32)), uint32(u)), nil
}

// variant is an int within a sql_variant: its base type, no properties, its bytes.
func variant(_ Type, v any) ([]byte, error) {
	b, err := integer(Int, v)
	return append([]byte{0x38, 0}, b...), err
}
