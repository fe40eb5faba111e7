// Package humanize writes values into messages that people read.
package humanize

import (
	"fmt"
	"strconv"
	"strings"
)

// Clip returns s, or its first characters and an ellipsis if it has more than most. A byte
// that is not UTF-8 stays as it is and counts as a character.
func Clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// ClipBytes returns s, or an ellipsis after those of its first bytes that are whole
// characters if it has more bytes than most.
func ClipBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// plurals are the irregular plurals of the nouns that Count gets.
var plurals = map[string]string{"person": "people", "batch": "batches", "retry": "retries"}

// Count returns a number with its noun: 1 member, 2 members, 3 people.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if plural, ok := plurals[noun]; ok {
		return fmt.Sprintf("%d %s", n, plural)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Percent returns a share in percent with as many digits as it has: 20%, 97.5%.
func Percent(share float64) string { return strconv.FormatFloat(share, 'f', -1, 64) + "%" }
