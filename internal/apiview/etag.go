package apiview

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
)

// ETag gives an ETag, without quotes, that changes with each of the values.
func ETag(of ...string) string {
	h := sha256.New()
	for _, s := range of {
		h.Write([]byte(s + "\n"))
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Matches reports whether a tag is one of the wanted ones. Any tag matches an empty list.
func Matches(wanted []string, tag string) bool {
	return len(wanted) == 0 || slices.Contains(wanted, tag)
}
