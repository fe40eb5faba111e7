// Package document reads and rewrites JSON documents as bytes: it finds
// members without decoding the rest, and keeps the text of every number that a
// double keeps, so that a stored document comes back as it was sent.
//
// It must not know what the documents mean, where they are stored, or who
// asks for them.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxDepth is how deep arrays and objects may nest, the service's own limit.
const MaxDepth = 128

// ErrNotAnObject is returned when a document is not a JSON object.
var ErrNotAnObject = errors.New("the document is not a JSON object")

// Check refuses bytes that are not one JSON object in UTF-8.
func Check(doc []byte) error {
	if !utf8.Valid(doc) {
		return errors.New("the document is not valid UTF-8")
	}
	if !Valid(doc) {
		var sink any
		return fmt.Errorf("the document is not valid JSON: %w", json.Unmarshal(doc, &sink))
	}
	return checkObject(doc)
}

// CheckValue is Check for a value that was found in valid JSON.
func CheckValue(value []byte) error {
	if !utf8.Valid(value) {
		return errors.New("the document is not valid UTF-8")
	}
	return checkObject(value)
}

func checkObject(doc []byte) error {
	if i := skipSpace(doc, 0); i == len(doc) || doc[i] != '{' {
		return ErrNotAnObject
	}
	return checkLimits(doc)
}

// Doubles gives a checked document with its numbers as the service keeps them, which are
// doubles: one with more digits than a double has comes back with fewer.
func Doubles(doc []byte) []byte {
	var out []byte // nil while nothing has changed
	copied := 0
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '"':
			i = skipString(doc, i) - 1
		case c == '-' || c >= '0' && c <= '9':
			end := skipValue(doc, i)
			if end-i > exactDigits || bytes.ContainsAny(doc[i:end], "eE") {
				if kept := double(string(doc[i:end])); kept != "" {
					out = append(append(out, doc[copied:i]...), kept...)
					copied = end
				}
			}
			i = end - 1
		}
	}
	if out == nil {
		return doc
	}
	return append(out, doc[copied:]...)
}

// exactDigits is how many digits a double always keeps.
const exactDigits = 15

// double is a number as a double has it; empty where that is the same number.
func double(text string) string {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return ""
	}
	exact, ok := new(big.Rat).SetString(text)
	format := byte('f')
	if abs := math.Abs(f); abs >= 1e21 || abs < 1e-6 && abs > 0 {
		format = 'e'
	}
	kept := strconv.FormatFloat(f, format, -1, 64)
	if short, _ := new(big.Rat).SetString(kept); ok && short != nil && exact.Cmp(short) == 0 {
		return ""
	}
	return kept
}

// CheckLimits refuses a document that a change made too deep.
func CheckLimits(doc []byte) error { return checkLimits(doc) }

// checkLimits refuses valid JSON that cannot be stored: nesting beyond
// the limit and numbers beyond the range of a double.
func checkLimits(doc []byte) error {
	depth := 0
	for i := 0; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '"':
			i = skipString(doc, i) - 1
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("the document nests deeper than %d levels", MaxDepth)
			}
		case c == '}' || c == ']':
			depth--
		case c == '-' || c >= '0' && c <= '9':
			end := skipValue(doc, i)
			// Up to 300 digits without an exponent are always in range.
			if end-i > 300 || bytes.ContainsAny(doc[i:end], "eE") {
				if _, err := strconv.ParseFloat(string(doc[i:end]), 64); err != nil {
					return errNumberRange
				}
			}
			i = end - 1
		}
	}
	return nil
}

// Member is one member of an object, still as text.
type Member struct {
	Name  string
	Value []byte // the value's text, without surrounding space
	Start int    // offset of the name's opening quote in the document
	End   int    // offset just behind the value
}

// EachMember calls visit for every member of a checked object, in order,
// until visit returns false. The slices point into the document.
func EachMember(doc []byte, visit func(Member) bool) {
	eachMember(doc, func(start, afterName, value, end int) bool {
		return visit(Member{Name: unquote(doc[start:afterName]), Value: doc[value:end], Start: start, End: end})
	})
}

// EachNamed is EachMember without the positions. The name is valid until visit returns.
func EachNamed(doc []byte, visit func(name, value []byte) bool) {
	eachMember(doc, func(start, afterName, value, end int) bool {
		return visit(unquoted(doc[start:afterName]), doc[value:end])
	})
}

// eachMember calls visit with the offsets of each member.
func eachMember(doc []byte, visit func(start, afterName, value, end int) bool) {
	i := skipSpace(doc, 0)
	if i >= len(doc) || doc[i] != '{' {
		return
	}
	i = skipSpace(doc, i+1)
	for i < len(doc) && doc[i] == '"' {
		start := i
		i = skipString(doc, i)
		afterName := i
		i = skipSpace(doc, i) + 1 // the colon
		i = skipSpace(doc, i)
		value := i
		i = skipValue(doc, i)
		if !visit(start, afterName, value, i) {
			return
		}
		if i = skipSpace(doc, i); i >= len(doc) || doc[i] != ',' {
			return
		}
		i = skipSpace(doc, i+1)
	}
}

// Lookup returns the text of the value at a path of member names and array
// indexes in a checked value, or false when there is none. Where a name
// occurs twice the first one counts, as in Parse.
func Lookup(value []byte, path []string) ([]byte, bool) {
	for _, step := range path {
		i := skipSpace(value, 0)
		if i >= len(value) {
			return nil, false
		}
		var found []byte
		switch value[i] {
		case '{':
			EachNamed(value, func(name, v []byte) bool {
				if string(name) == step {
					found = v
				}
				return found == nil
			})
		case '[':
			index, err := strconv.Atoi(step)
			if err != nil || index < 0 {
				return nil, false
			}
			found = element(value, index)
		}
		if found == nil {
			return nil, false
		}
		value = found
	}
	return value, true
}

// EachElement calls visit for every element of a checked array, in order. The slices
// point into the array.
func EachElement(array []byte, visit func(value []byte)) {
	i := skipSpace(array, skipSpace(array, 0)+1)
	for i < len(array) && array[i] != ']' {
		start := i
		i = skipValue(array, i)
		visit(array[start:i])
		if i = skipSpace(array, i); i < len(array) && array[i] == ',' {
			i = skipSpace(array, i+1)
		}
	}
}

func element(array []byte, index int) []byte {
	i := skipSpace(array, skipSpace(array, 0)+1)
	for at := 0; i < len(array) && array[i] != ']'; at++ {
		start := i
		i = skipValue(array, i)
		if at == index {
			return array[start:i]
		}
		if i = skipSpace(array, i); i < len(array) && array[i] == ',' {
			i = skipSpace(array, i+1)
		}
	}
	return nil
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}

// skipString returns the offset behind the string that opens at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b)
		}
		n += i
		if n == i || b[n-1] != '\\' {
			return n + 1
		}
		escaped := false
		for ; i < n; i++ {
			escaped = b[i] == '\\' && !escaped
		}
		if i = n + 1; !escaped {
			return i
		}
	}
	return i
}

// skipValue returns the offset behind the value that starts at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return i
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		for depth := 0; i < len(b); i++ {
			switch b[i] {
			case '"':
				i = skipString(b, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
		return i
	default:
		for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
			i++
		}
		return i
	}
}

// unquote decodes a checked JSON string, quotes included.
func unquote(quoted []byte) string { return string(unquoted(quoted)) }

// unquoted is unquote into bytes, those of the string where nothing is escaped.
func unquoted(quoted []byte) []byte {
	inner := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	out := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			out = append(out, inner[i])
			continue
		}
		i++
		switch inner[i] {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r := hex4(inner[i+1:])
			i += 4
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if i+6 < len(inner) && inner[i+1] == '\\' && inner[i+2] == 'u' {
					low = hex4(inner[i+3:])
				}
				if r = utf16.DecodeRune(r, low); r != utf8.RuneError {
					i += 6
				}
			}
			out = utf8.AppendRune(out, r)
		default:
			out = append(out, inner[i])
		}
	}
	return out
}

func hex4(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return utf8.RuneError
	}
	return rune(n)
}
