package datasource

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// The functions of this file make the JSON of one value. The same value is always the
// same bytes, since a member counts as changed when its bytes change: values that
// a source can write in several ways (1.50 and 1.5, -0 and 0, one moment in two
// zones) get one form. They are safe for concurrent use.

// maxDigits is how many digits a decimal may have, on both sides of the point
// together: more than any database keeps exactly. It bounds what an exponent can
// unfold to.
const maxDigits = 400

// Value is the JSON of nil, bool, int…, uint…, float… or string. A float is written in
// as few digits as bring it back; NaN and the infinities are refused, as is text that
// is not UTF-8. What can be meant in several ways has a function of its own: bytes
// (see [Bytes]), times ([Instant], [LocalTime], [Date], [Clock]), decimals
// ([Decimal]) and JSON ([JSON]). Every other type is refused.
func Value(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return json.RawMessage("null"), nil
	case bool:
		return strconv.AppendBool(nil, v), nil
	case string:
		return text(v)
	case float64:
		return float(v, 64)
	case float32:
		return float(float64(v), 32)
	case int, int8, int16, int32, int64:
		return strconv.AppendInt(nil, reflect.ValueOf(v).Int(), 10), nil
	case uint, uint8, uint16, uint32, uint64:
		return strconv.AppendUint(nil, reflect.ValueOf(v).Uint(), 10), nil
	default:
		return nil, fmt.Errorf("unsupported value type %T", v)
	}
}

// text is a JSON string; the characters <, > and & stay as they are.
func text(s string) (json.RawMessage, error) {
	if plain(s) { // nearly every text of a large result
		return slices.Concat([]byte{'"'}, []byte(s), []byte{'"'}), nil
	}
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("the text is not UTF-8, from byte %d on", validUpTo(s)+1)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// plain tells whether s stands in JSON as it is: as ASCII without anything to escape.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func validUpTo(s string) int {
	for i, r := range s {
		if r != utf8.RuneError {
			continue
		}
		if _, n := utf8.DecodeRuneInString(s[i:]); n <= 1 {
			return i
		}
	}
	return len(s)
}

func float(f float64, bits int) (json.RawMessage, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("JSON cannot represent the number %v", f)
	}
	if f == 0 {
		return json.RawMessage("0"), nil // also -0
	}
	if abs := math.Abs(f); abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(nil, f, 'f', -1, bits), nil
	}
	return strconv.AppendFloat(nil, f, 'e', -1, bits), nil
}

// Decimal is the JSON number with exactly the digits of text, which is a sign, digits
// with or without a point, and an exponent, of which only some digits have to be
// there. It is written without an exponent, without zeros that say nothing and without
// the sign of zero: "+01.50E1" is 15.
func Decimal(text string) (json.RawMessage, error) {
	whole, fraction, exponent, negative, ok := splitDecimal(text)
	if !ok {
		return nil, fmt.Errorf("%q is not a decimal number", short(text))
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	// The point stands this many digits before the end.
	scale := len(fraction) - exponent
	for scale > 0 && strings.HasSuffix(digits, "0") {
		digits, scale = digits[:len(digits)-1], scale-1
	}
	if digits == "" {
		return json.RawMessage("0"), nil
	}
	if max(len(digits), scale, len(digits)-scale) > maxDigits {
		return nil, fmt.Errorf("%q has more than %d digits", short(text), maxDigits)
	}
	var b strings.Builder
	if negative {
		b.WriteByte('-')
	}
	switch {
	case scale <= 0:
		b.WriteString(digits + strings.Repeat("0", -scale))
	case scale >= len(digits):
		b.WriteString("0." + strings.Repeat("0", scale-len(digits)) + digits)
	default:
		b.WriteString(digits[:len(digits)-scale] + "." + digits[len(digits)-scale:])
	}
	return json.RawMessage(b.String()), nil
}

func splitDecimal(text string) (whole, fraction string, exponent int, negative, ok bool) {
	mantissa := text
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		n, err := strconv.ParseInt(text[i+1:], 10, 32)
		if err != nil {
			return "", "", 0, false, false
		}
		mantissa, exponent = text[:i], int(n)
	}
	if mantissa != "" && (mantissa[0] == '-' || mantissa[0] == '+') {
		negative, mantissa = mantissa[0] == '-', mantissa[1:]
	}
	whole, fraction, _ = strings.Cut(mantissa, ".")
	notDigit := func(r rune) bool { return r < '0' || r > '9' }
	if whole+fraction == "" || strings.ContainsFunc(whole+fraction, notDigit) {
		return "", "", 0, false, false
	}
	return whole, fraction, exponent, negative, true
}

// JSON is text that is JSON already. It is written anew with the names of its members in
// order, since a map may come in another order each time; numbers keep their digits.
func JSON(text string) (json.RawMessage, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errors.New("it is not JSON")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("it is more than one JSON value")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Bytes is a string of base64 (the standard alphabet, padded), or null for nil.
func Bytes(b []byte) (json.RawMessage, error) {
	if b == nil {
		return Value(nil)
	}
	return Value(base64.StdEncoding.EncodeToString(b))
}

// Instant is a moment: a string of RFC 3339 in UTC, with a fraction of a second only
// where there is one.
func Instant(t time.Time) (json.RawMessage, error) {
	return moment(t.UTC(), "2006-01-02T15:04:05.999999999Z07:00")
}

// LocalTime is a time that carries no zone, as "2006-01-02T15:04:05", with a fraction
// of a second only where there is one. The zone of t is left out.
func LocalTime(t time.Time) (json.RawMessage, error) {
	return moment(t, "2006-01-02T15:04:05.999999999")
}

// Date is the day of t in the zone of t, as "2006-01-02".
func Date(t time.Time) (json.RawMessage, error) {
	return moment(t, time.DateOnly)
}

// Clock is the time of day of t in the zone of t, as "15:04:05", with a fraction of a
// second only where there is one.
func Clock(t time.Time) (json.RawMessage, error) {
	return Value(t.Format("15:04:05.999999999"))
}

func moment(t time.Time, layout string) (json.RawMessage, error) {
	if year := t.Year(); year < 0 || year > 9999 {
		return nil, fmt.Errorf("the year %d is outside 0 to 9999", year)
	}
	return Value(t.Format(layout))
}

// short is at most the first 60 characters of s.
func short(s string) string {
	if utf8.RuneCountInString(s) <= 60 {
		return s
	}
	return string([]rune(s)[:60]) + "…"
}
