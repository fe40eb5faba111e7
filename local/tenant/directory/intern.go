package directory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// Interner decodes users, and gives equal values of a property one place in memory: the service plans of 100,000 people with
// one product are many gigabytes. Values are never changed in place. It is not safe for concurrent use.
type Interner map[string]map[string]any // by property and JSON

// distinct is how many values a property may have before it is taken for one whose values differ by person.
const distinct = 4096

// User decodes a user in valid JSON. nameOf gives the name under which a property is kept; a user with an unknown one is refused.
func (in Interner) User(raw []byte, nameOf func(property string) (name string, known bool)) (User, error) {
	if text := bytes.TrimSpace(raw); len(text) == 0 || text[0] != '{' {
		return nil, errors.New("not an object")
	}
	u := make(User, 32)
	var err error
	document.EachNamed(raw, func(field, value []byte) bool {
		name, known := nameOf(string(field))
		if !known {
			err = fmt.Errorf("unknown property %q", field)
			return false
		}
		if u[name], err = in.value(name, value); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
		return err == nil
	})
	return u, err
}

func (in Interner) value(property string, raw []byte) (value any, err error) {
	values, shared := in[property]
	if known, has := values[string(raw)]; has {
		return known, nil
	}
	if bytes.HasPrefix(raw, []byte(`["`)) { // Texts reads it without a copy
		var texts []string
		if json.Unmarshal(raw, &texts) == nil {
			value = texts
		}
	}
	if value == nil {
		if err := json.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
	}
	switch {
	case !shared:
		in[property] = map[string]any{string(raw): value}
	case values != nil && len(values) < distinct:
		values[string(raw)] = value
	case values != nil:
		in[property] = nil
	}
	return value, nil
}
