package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// Key is the name of an artifact: parts with slashes between them. Parts are escaped, so that a name from outside,
// such as that of a repository, is one part with any content, and keys of different parts differ, also for a store
// that ignores the case of letters. The zero value is the root: it has no artifact, and all are below it.
type Key struct{ name string }

const (
	maxParts = 5
	maxPart  = 190 // characters of an escaped part: a key has fewer than the 1,024 of a blob
	shown    = 100 // characters of a longer part that its key begins with
)

// NewKey returns the key of parts, at most 5. Lower-case letters, digits and '-' stand for themselves, every other byte
// is '_' with two hexadecimal digits, an empty part is '_'. A longer part than 190 characters is
// its beginning with "_x" and the SHA-256 of all of it. More parts are a mistake of the program: NewKey panics.
func NewKey(parts ...string) Key {
	if len(parts) > maxParts {
		panic(fmt.Sprintf("artifact: a key of %d parts: at most %d", len(parts), maxParts))
	}
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = escape(part)
	}
	return Key{strings.Join(escaped, "/")}
}

func escape(part string) string {
	if part == "" {
		return "_"
	}
	var b strings.Builder
	begin := 0 // length of the longest whole beginning of at most shown characters
	for i := range len(part) {
		switch c := part[i]; {
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c == '-':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
		if b.Len() <= shown {
			begin = b.Len()
		}
	}
	if b.Len() <= maxPart {
		return b.String()
	}
	sum := sha256.Sum256([]byte(part))
	return b.String()[:begin] + "_x" + hex.EncodeToString(sum[:])
}

// escapedPart is a part as NewKey makes it.
var escapedPart = regexp.MustCompile(`^(_|([a-z0-9-]|_[0-9a-f]{2})+(_x[0-9a-f]{64})?)$`)

// ParseKey reads a key as String writes it, such as a reference in a message. The error wraps ErrInvalid.
func ParseKey(text string) (Key, error) {
	parts := strings.Split(text, "/")
	for _, part := range parts {
		if len(parts) > maxParts || len(part) > maxPart || !escapedPart.MatchString(part) {
			return Key{}, fmt.Errorf("%w: %q is not a key", ErrInvalid, text)
		}
	}
	return Key{text}, nil
}

// String returns the key as stores have it.
func (k Key) String() string { return k.name }

// Prefix begins the keys below k, and no others.
func (k Key) Prefix() string {
	if k.name == "" {
		return ""
	}
	return k.name + "/"
}
