package model

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// The limits, in bytes, of the text by which a member is found, and of what one column adds to it.
const (
	maxSearch   = 1000
	maxSearched = 100
)

// NoteSearch sets Search: a line for the key, one for the display column, and one for each other
// column by its name, while there is room. Encrypted values are left out. It belongs to each change of
// Data.
func (m *Member) NoteSearch(display string) {
	lines := []string{FoldText(m.Key)}
	size := len(lines[0])
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(m.Data)), func(name string) bool { return name == display })
	for _, name := range append([]string{display}, names...) {
		line := searchLine(m.Data[name])
		if line == "" || size+1+len(line) > maxSearch || slices.Contains(lines, line) {
			continue
		}
		lines = append(lines, line)
		size += 1 + len(line)
	}
	m.Search = strings.Join(lines, "\n")
}

// forgetSearched removes the line of a value from Search.
func (m *Member) forgetSearched(value json.RawMessage) {
	if line := searchLine(value); line != "" {
		lines := strings.Split(m.Search, "\n")
		m.Search = strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == line && line != FoldText(m.Key) }), "\n")
	}
}

// searchLine gives what a value adds to Search.
func searchLine(value json.RawMessage) string {
	text := FoldText(Text(value))
	if len(text) > maxSearched {
		text = strings.ToValidUTF8(text[:maxSearched], "")
	}
	return text
}

// FoldText gives a text as Search has it: in lower case, with one space between words.
func FoldText(text string) string {
	return strings.ToLower(strings.Join(strings.Fields(text), " "))
}

// Text gives a value as people read it: a text, a number, true or false. It is empty for any other
// value, and for one that is encrypted.
func Text(value json.RawMessage) string {
	switch {
	case len(value) == 0:
		return ""
	case value[0] == '"':
		var text string
		if json.Unmarshal(value, &text) != nil {
			return ""
		}
		return text
	case value[0] == '-' || value[0] >= '0' && value[0] <= '9', value[0] == 't', value[0] == 'f':
		return string(value)
	}
	return ""
}
