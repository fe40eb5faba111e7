package memory

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/store"
)

// patch applies changes to a document.
func patch(body []byte, changes []store.Change) ([]byte, error) {
	next := json.RawMessage(body)
	var err error
	for _, c := range changes {
		path := strings.Split(strings.TrimPrefix(c.Path, "/"), "/")
		if next, err = change(next, path, c); err != nil {
			return nil, fmt.Errorf("%w: %s: %w", store.ErrRefused, c.Path, err)
		}
	}
	return next, nil
}

// change changes the value at a path of an object or an array. The last part of the path may be
// missing, no other.
func change(value json.RawMessage, path []string, c store.Change) (json.RawMessage, error) {
	if len(path) == 0 {
		if c.Set != nil {
			return store.Encode(c.Set)
		}
		return increment(value, c.By)
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil && object != nil {
		inner, ok := object[path[0]]
		if !ok && len(path) > 1 {
			return nil, fmt.Errorf("there is no %s", path[0])
		}
		next, err := change(inner, path[1:], c)
		if err != nil {
			return nil, err
		}
		object[path[0]] = next
		return store.Encode(object)
	}
	var array []json.RawMessage
	if err := json.Unmarshal(value, &array); err != nil {
		return nil, fmt.Errorf("%s is in neither an object nor an array", path[0])
	}
	i, err := strconv.Atoi(path[0])
	if err != nil || i < 0 || i >= len(array) {
		return nil, fmt.Errorf("the array has no element %s", path[0])
	}
	if array[i], err = change(array[i], path[1:], c); err != nil {
		return nil, err
	}
	return store.Encode(array)
}

func increment(value json.RawMessage, by int) (json.RawMessage, error) {
	if value == nil {
		return json.RawMessage(strconv.Itoa(by)), nil
	}
	if n, err := strconv.ParseInt(string(value), 10, 64); err == nil {
		return json.RawMessage(strconv.FormatInt(n+int64(by), 10)), nil
	}
	f, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return nil, fmt.Errorf("%s is not a number", value)
	}
	return json.Marshal(f + float64(by))
}

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
