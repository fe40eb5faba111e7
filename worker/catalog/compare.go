package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Mismatch compares an attribute, as JSON was decoded, with the expected values: as
// sets and without regard to case. An attribute that is null or an empty text is an
// empty set. It says how they differ, and is empty if they do not.
func Mismatch(name string, expected []string, actual any) string {
	have := values(actual)
	if slices.Equal(set(expected), set(have)) {
		return ""
	}
	return fmt.Sprintf("%s is %s, expected %s", name, quoted(have), quoted(expected))
}

// MembershipMismatch says how a membership differs from the expected one, and is empty if it
// does not.
func MembershipMismatch(expected, actual bool) string {
	switch {
	case expected == actual:
		return ""
	case expected:
		return "the user is not a member of the group, expected a member"
	}
	return "the user is a member of the group, expected no member"
}

// quoted writes values as a text. It shows none in part and escapes nothing: the handler finds the
// secrets in the text by their whole values.
func quoted(values []string) string {
	if len(values) == 0 {
		return "empty"
	}
	texts := make([]string, 0, len(values))
	for _, v := range values {
		text := `"` + v + `"`
		if len(v) > maxShown {
			text = fmt.Sprintf("a value of %d bytes", len(v))
		}
		texts = append(texts, text)
	}
	if n := len(texts) - maxValues; n > 0 {
		texts = append(texts[:maxValues], fmt.Sprintf("%d more", n))
	}
	return strings.Join(texts, ", ")
}

// maxShown is the size in bytes up to which a mismatch shows a value, and maxValues how many values
// it shows.
const maxShown, maxValues = 200, 10

func values(v any) []string {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		if v == "" {
			return nil
		}
		return []string{v}
	case []any:
		var all []string
		for _, item := range v {
			all = append(all, values(item)...)
		}
		return all
	case map[string]any:
		raw, _ := json.Marshal(v) // keys in order; what was decoded can be encoded
		return []string{string(raw)}
	}
	return []string{fmt.Sprint(v)}
}

func set(values []string) []string {
	s := make([]string, 0, len(values))
	for _, v := range values {
		s = append(s, strings.ToLower(v))
	}
	slices.Sort(s)
	return slices.Compact(s)
}

// Lack says which expected values are not among the actual ones.
func Lack(name string, expected, actual []string) string {
	return fmt.Sprintf("%s is %s, expected also %s", name, quoted(actual), quoted(expected))
}
