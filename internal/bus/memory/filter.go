package memory

import (
	"fmt"
	"regexp"
	"strings"
)

// filter selects the messages of a subscription; the zero value selects all.
type filter struct{ property, text string }

var equality = regexp.MustCompile(`^\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*'((?:[^']|'')*)'\s*$`)

func parseFilter(sql string) (filter, error) {
	if sql == "" {
		return filter{}, nil
	}
	parts := equality.FindStringSubmatch(sql)
	if parts == nil {
		return filter{}, fmt.Errorf("unsupported filter %q: write Property = 'text'", sql)
	}
	return filter{property: parts[1], text: strings.ReplaceAll(parts[2], "''", "'")}, nil
}

func (f filter) matches(properties map[string]any) bool {
	if f.property == "" {
		return true
	}
	text, ok := properties[f.property].(string)
	return ok && text == f.text
}
