package catalog

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// SameValues compares an attribute, as JSON was decoded, with the expected
// values: as sets and without regard to case. An attribute that is null or an
// empty text is an empty set.
func SameValues(expected []string, actual any) bool {
	return slices.Equal(set(expected), set(values(actual)))
}

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
