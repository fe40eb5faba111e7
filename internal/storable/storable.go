// Package storable checks JSON that comes from outside (a worker's result, a member's
// data, an answer given by hand) against what the store keeps of it.
//
// The store, Azure Cosmos DB, refuses a document that nests deeper than 128 levels, has a
// number beyond a double or is not UTF-8. It keeps numbers as doubles and drops the digits
// that a double does not have.
package storable

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects of one value may nest: the store's 128 levels
// without those of the document that has the value.
const MaxDepth = 120

// Error says why a value cannot be stored, and where in it.
type Error struct {
	Path   string // such as users[3].size; empty for the value itself
	Reason string
}

func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// JSON gives a value as it can be stored without loss: a number with more digits than a
// double keeps becomes text. Most values are returned as they are. The error is an *Error.
func JSON(value json.RawMessage) (json.RawMessage, error) {
	if err := checkSyntax(value); err != nil {
		return nil, err
	}
	var out []byte // nil while nothing has changed
	copied, depth := 0, 0
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '"':
			i = endOfString(value, i)
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return nil, &Error{pathTo(value, i), fmt.Sprintf("is nested more than %d levels deep", MaxDepth)}
			}
		case c == '}' || c == ']':
			depth--
		case startsNumber(c):
			end := i + len(number(value[i:]))
			text := string(value[i:end])
			switch fit(text) {
			case outOfRange:
				return nil, &Error{pathTo(value, i), fmt.Sprintf("the number %s is beyond the range of a double", short(text))}
			case tooManyDigits:
				out = append(append(out, value[copied:i]...), '"')
				out = append(append(out, text...), '"')
				copied = end
			}
			i = end - 1
		}
	}
	if out == nil {
		return value, nil
	}
	return append(out, value[copied:]...), nil
}

// checkSyntax returns an *Error if a value is not JSON in UTF-8.
func checkSyntax(value []byte) error {
	if !utf8.Valid(value) {
		return &Error{Reason: fmt.Sprintf("is not UTF-8 from byte %d on", invalidAt(value)+1)}
	}
	if !json.Valid(value) {
		return &Error{Reason: "is not JSON"}
	}
	return nil
}

func invalidAt(value []byte) int {
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRune(value[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(value)
}

// endOfString is the place of the quote that ends the string that begins at i.
func endOfString(value []byte, i int) int {
	for i++; value[i] != '"'; i++ {
		if value[i] == '\\' {
			i++
		}
	}
	return i
}

func startsNumber(c byte) bool { return c == '-' || c >= '0' && c <= '9' }

// number is the number that a text begins with.
func number(text []byte) []byte {
	end := bytes.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("+-.0123456789eE", r) })
	if end < 0 {
		return text
	}
	return text[:end]
}

type fitting int

const (
	fits fitting = iota
	tooManyDigits
	outOfRange
)

// exactDigits is how many digits a double always keeps.
const exactDigits = 15

// fit tells how a double keeps a number.
func fit(text string) fitting {
	if len(text) <= exactDigits && !strings.ContainsAny(text, "eE") {
		return fits
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return outOfRange
	}
	digits, exponent := significant(text)
	kept, keptExponent := significant(strconv.FormatFloat(f, 'e', -1, 64))
	if digits == kept && exponent == keptExponent {
		return fits
	}
	return tooManyDigits
}

// significant gives a number as 0.digits times ten to an exponent, without its sign. Zero
// has no digits.
func significant(text string) (digits string, exponent int) {
	mantissa := strings.TrimLeft(text, "-+")
	if i := strings.IndexAny(mantissa, "eE"); i >= 0 {
		exponent, _ = strconv.Atoi(mantissa[i+1:]) // one that is no int is far below the least double, and so unlike it
		mantissa = mantissa[:i]
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exponent += len(digits) - len(fraction)
	if digits = strings.TrimRight(digits, "0"); digits == "" {
		return "", 0
	}
	return digits, exponent
}

// pathTo names the place of the byte at an offset, where a value begins.
func pathTo(value []byte, offset int) string {
	var at []level
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	for {
		before := d.InputOffset()
		token, err := d.Token()
		if err != nil || len(at) > 0 && int(d.InputOffset()) > offset && int(before) <= offset {
			break
		}
		if len(at) > 0 {
			top := &at[len(at)-1]
			if name, ok := token.(string); ok && !top.array && !top.named {
				top.name, top.named = name, true
				continue
			}
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			at = append(at, level{array: token == json.Delim('['), index: 0})
			continue
		case json.Delim('}'), json.Delim(']'):
			at = at[:len(at)-1]
		}
		if len(at) > 0 { // a value has ended
			top := &at[len(at)-1]
			top.index++
			top.named = false
		}
	}
	return pathOf(at)
}

// level is an object or an array on the way to a value.
type level struct {
	name  string // of the member in hand
	index int    // of the element in hand
	array bool
	named bool // the next token is the member's value
}

// pathOf writes the names and indexes of levels, such as users[3].size.
func pathOf(at []level) string {
	var path strings.Builder
	for i, l := range at {
		switch {
		case l.array:
			fmt.Fprintf(&path, "[%d]", l.index)
		case i == 0:
			path.WriteString(short(l.name))
		default:
			path.WriteString("." + short(l.name))
		}
		if path.Len() > maxPath {
			path.WriteString("…")
			break
		}
	}
	return path.String()
}

// maxPath is about how many bytes of a path an Error names.
const maxPath = 200

// short is at most the first 40 characters of a text.
func short(text string) string {
	if utf8.RuneCountInString(text) <= 40 {
		return text
	}
	return string([]rune(text)[:40]) + "…"
}
