package apiview

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// ETag makes an ETag of what it changes with. It has no quotes.
func ETag(of ...string) string {
	h := sha256.New()
	for _, s := range of {
		h.Write([]byte(s + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Matches tells whether a tag is one of those that are asked for; none is any.
func Matches(wanted []string, tag string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, tag)
}
