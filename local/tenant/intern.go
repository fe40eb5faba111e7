package tenant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/graph"
)

// interner decodes users, and gives equal values of a property one place in memory: the service plans of 100,000 people with
// one product are many gigabytes. Values are never changed in place.
type interner map[string]map[string]any // by property and JSON

// distinct is how many values a property may have before it is taken for one whose values differ by person.
const distinct = 4096

// user decodes a user, and refuses unknown properties.
func (in interner) user(raw json.RawMessage) (directory.User, error) {
	u := make(directory.User, 32)
	err := eachField(raw, func(field string, value []byte) error {
		name, known := graph.UserProperty(field)
		if !known {
			return fmt.Errorf("unknown property %q", field)
		}
		decoded, err := in.value(name, value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		u[name] = decoded
		return nil
	})
	return u, err
}

// eachField gives the fields of a JSON object, which is valid, without decoding their values.
func eachField(raw []byte, do func(name string, value []byte) error) error {
	space := func(i int) int {
		for i < len(raw) && (raw[i] <= ' ' || raw[i] == ',' || raw[i] == ':') {
			i++
		}
		return i
	}
	i := space(0)
	if i >= len(raw) || raw[i] != '{' {
		return errors.New("not an object")
	}
	for i = space(i + 1); i < len(raw) && raw[i] != '}'; i = space(i) {
		end := endOf(raw, i)
		name := string(raw[i+1 : end-1])
		if strings.Contains(name, `\`) {
			if err := json.Unmarshal(raw[i:end], &name); err != nil {
				return err
			}
		}
		i = space(end)
		end = endOf(raw, i)
		if err := do(name, raw[i:end]); err != nil {
			return err
		}
		i = end
	}
	return nil
}

// endOf is where a JSON value ends that begins at i.
func endOf(raw []byte, i int) int {
	depth := 0
	for ; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return min(i+1, len(raw))
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i // of the object around a number or a name
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
	}
	return len(raw)
}

func (in interner) value(property string, raw json.RawMessage) (value any, err error) {
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
