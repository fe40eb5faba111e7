package graph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// property is the value of a property of an object, or of one within it. One that is absent is null: Graph leaves out
// some that have no value, and SharePoint all.
func (o object) property(path string) (json.RawMessage, error) {
	name, inner, nested := strings.Cut(path, "/")
	raw, ok := o[name]
	if !ok || !nested {
		return value(raw)
	}
	var within object
	if err := json.Unmarshal(raw, &within); err != nil {
		return nil, errors.New("it has no properties in it")
	}
	return value(within[inner])
}

// value is the JSON of a value in the one form that it has in rows.
func value(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return datasource.Value(nil)
	}
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		return datasource.Value(text)
	case '{', '[':
		return datasource.JSON(string(raw))
	case 'n', 't', 'f':
		return bytes.Clone(raw), nil
	}
	return datasource.Decimal(string(raw))
}

// text is the text of a property; empty for anything else.
func (o object) text(name string) string {
	var s string
	if json.Unmarshal(o[name], &s) != nil {
		return ""
	}
	return s
}

// columnError names the column whose value cannot be used.
func columnError(number int, column string, err error) error {
	return fmt.Errorf("row %d of the result, column %q: %w", number, column, err)
}
