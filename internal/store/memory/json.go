package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep the service lets a document nest, the document itself included.
const maxDepth = 128

// malformed says why the service refuses a document; empty if it does not.
func malformed(body []byte) string {
	if !utf8.Valid(body) {
		return "the document is not UTF-8"
	}
	depth := 1 // the envelope
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '"':
			i = endOfString(body, i)
		case c == '[' || c == '{':
			if depth++; depth > maxDepth {
				return fmt.Sprintf("the document nests deeper than %d", maxDepth)
			}
		case c == ']' || c == '}':
			depth--
		case c == '-' || c >= '0' && c <= '9':
			number := numberAt(body, i)
			if outOfRange(number) {
				return fmt.Sprintf("the number %s is out of range", number[:min(len(number), 20)])
			}
			i += len(number) - 1
		}
	}
	return ""
}

// endOfString is the place of the quote that ends the string that begins at i.
func endOfString(body []byte, i int) int {
	for i++; body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i
}

// numberAt is the number that begins at i.
func numberAt(body []byte, i int) []byte {
	end := i
	for end < len(body) && strings.IndexByte("+-.eE0123456789", body[end]) >= 0 {
		end++
	}
	return body[i:end]
}

// outOfRange reports whether a number is beyond the range of a double.
func outOfRange(number []byte) bool {
	if len(number) < 300 && !bytes.ContainsAny(number, "eE") {
		return false
	}
	_, err := strconv.ParseFloat(string(number), 64)
	return err != nil
}

// revision returns the number in a field of a document; less than any other where it has none.
func revision(body []byte, field string) int {
	var object map[string]json.RawMessage
	n := math.MinInt
	if json.Unmarshal(body, &object) == nil && object[field] != nil {
		_ = json.Unmarshal(object[field], &n) // a value that is not a number is older
	}
	return n
}
