// Package errorgroup gives errors that differ only in what they are about, such as the id of a user,
// one text.
//
// It is pure, and knows neither members nor steps.
package errorgroup

import (
	"regexp"
	"slices"
	"strings"
)

// Mark stands in a group for the parts in which its errors differ.
const Mark = "…"

// variable matches the parts of an error that are about one object: quoted texts, URLs, addresses,
// GUIDs, times, and words with a digit. A type such as (Request_ResourceNotFound) stays.
var variable = regexp.MustCompile(strings.Join([]string{
	`"[^"]*"`, `“[^”]*”`, `(?:^|\B)'[^']*'`, `‘[^’]*’`,
	`https?://[^\s"')]+`,
	`[\w.+%#-]+@[\w.-]*\w`,
	`\b[\w:.+/\\-]*\d[\w:.+/\\-]*\b%?`,
	Mark, `\.\.\.`,
}, "|"))

// repeated matches several marks in a row, as in a list.
var repeated = regexp.MustCompile(Mark + `(?:[\s,;/]*` + Mark + `)+`)

// Of returns the group of an error. It replaces ids, numbers, times, addresses, quoted texts and the
// given names by a mark. The group of a group is the group itself.
func Of(text string, names ...string) string {
	names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return len(strings.TrimSpace(n)) < 2 })
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // a shorter one can be a part of a longer
	for _, name := range names {
		text = strings.ReplaceAll(text, name, Mark)
	}
	text = strings.Join(strings.Fields(text), " ")
	// A mark ends a word, so that it can make a quotation of what stood inside a word before.
	for {
		shorter := repeated.ReplaceAllString(variable.ReplaceAllString(text, Mark), Mark)
		if shorter == text {
			return text
		}
		text = shorter
	}
}

// Same reports whether an error is of a group. The group may be any error of it, in any case.
func Same(group, text string, names ...string) bool {
	return strings.EqualFold(Of(group, names...), Of(text, names...))
}
