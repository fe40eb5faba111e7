package scaler

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
)

// MaxSizeMB is the largest size that a message may name: a petabyte. No container has the memory for
// less than that.
const MaxSizeMB = 1 << 30

// Size is the size that a message names, in megabytes, or why it names none.
type Size struct {
	MB      string  // as the message writes it; empty with a problem
	Problem Verdict // empty, BodyNotJSON, SizeMissing or SizeInvalid
}

const sizeField = "file_size_mb"

// ReadSize reads the size from the body of a message: from file_size_mb, or else from data.file_size_mb.
func ReadSize(body []byte) Size {
	var fields struct{ top, data map[string]json.RawMessage }
	if json.Unmarshal(body, &fields.top) != nil || fields.top == nil {
		return Size{Problem: BodyNotJSON}
	}
	value := given(fields.top[sizeField])
	if value == nil && json.Unmarshal(fields.top["data"], &fields.data) == nil {
		value = given(fields.data[sizeField])
	}
	switch {
	case value == nil:
		return Size{Problem: SizeMissing}
	case sizeOf(string(value)) == nil:
		return Size{Problem: SizeInvalid}
	}
	return Size{MB: string(value)}
}

// given returns a value without the blanks around it, nil for null and for none.
func given(value json.RawMessage) []byte {
	if value = bytes.TrimSpace(value); len(value) == 0 || string(value) == "null" {
		return nil
	}
	return value
}

// maxDigits bounds the text of a size. A tag has room for it, and a number of a few characters cannot
// stand for millions of digits.
const maxDigits = 40

// sizeOf returns the number that a text of JSON is, nil unless it is one of 0 to MaxSizeMB.
func sizeOf(text string) *big.Rat {
	if text == "" || len(text) > maxDigits || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return nil
	}
	approximate, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil, approximate < 0, approximate > MaxSizeMB:
		return nil
	case approximate < 1e-9: // its exponent may be enormous
		return new(big.Rat)
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return exact
}

// memoryFor returns the memory for a size, in tenths of a GB: the size in GB times the multiplier,
// within the bounds, rounded up.
func (m Memory) memoryFor(size Size) int {
	mb := sizeOf(size.MB)
	if mb == nil {
		return m.Min
	}
	tenths := new(big.Rat).Mul(mb, m.Multiplier)
	tenths.Mul(tenths, big.NewRat(10, 1024))
	switch {
	case tenths.Cmp(big.NewRat(int64(m.Min), 1)) <= 0:
		return m.Min
	case tenths.Cmp(big.NewRat(int64(m.Max), 1)) >= 0:
		return m.Max
	}
	whole, rest := new(big.Int).QuoRem(tenths.Num(), tenths.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		return int(whole.Int64()) + 1
	}
	return int(whole.Int64())
}
