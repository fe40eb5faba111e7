package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// envelope is about how many bytes a document takes besides its content and its key.
const envelope = 200

// Size is about what a document counts of the limits, in bytes.
func (d *Document) Size() int { return len(d.Doc) + len(d.PK) + len(d.ID) + envelope }

// Next returns the content that the write gives the stored document, nil for one that does not exist; none
// for an OpGet and an OpDelete. It fails as Apply does. Drivers use it whose service does not evaluate writes itself.
func (w Write) Next(stored *Document) (json.RawMessage, error) {
	if err := w.guard(stored); err != nil {
		return nil, err
	}
	var next json.RawMessage
	var err error
	switch w.Op {
	case OpGet, OpDelete:
		return nil, nil
	case OpPatch:
		next, err = ApplyChanges(stored.Doc, w.Changes)
	default:
		if next, err = Encode(w.Doc); err != nil {
			err = fmt.Errorf("store: it cannot be written as JSON: %w", err)
		}
	}
	if err != nil {
		return nil, err
	}
	if n := (&Document{Key: w.Key, Doc: next}).Size(); n > MaxBytes {
		return nil, &SizeError{Bytes: n}
	}
	if reason := malformed(next); reason != "" {
		return nil, fmt.Errorf("%w: %s", ErrRefused, reason)
	}
	return next, nil
}

// guard refuses a write that the stored document, nil for none, does not allow.
func (w Write) guard(stored *Document) error {
	switch {
	case w.Op == OpCreate && stored != nil:
		return ErrExists
	case w.Op == OpCreate, w.Op == OpUpsert:
	case stored == nil:
		return ErrNotFound
	case w.Version.ETag != "" && w.Version.ETag != stored.ETag:
		return ErrChanged
	case w.Op == OpReplaceUnlessNewer && revision(stored.Doc, w.Field) > w.Revision:
		return ErrNewer
	}
	return nil
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
