package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// SecretField is the field of an object that stands for a secret value in resolved
// parameters: {"$secret": "Password"} for the value itself, or a list of texts and such
// objects for a text with secret parts. No other object has a field of that name.
const SecretField = "$secret"

// Secret is the value of a secret variable for [ResolveParams], which writes a reference
// to the variable in its place. [FillSecrets] replaces the references by the values.
type Secret string

// MarshalJSON writes a reference to the variable.
func (s Secret) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]string{SecretField: string(s)})
}

// secretText is a text with secret parts: strings and Secrets.
type secretText []any

func (t secretText) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string][]any{SecretField: t})
}

// secret tells whether a segment is a secret variable. One with filters is not: they refuse it.
func (r *resolver) secret(s Segment) bool {
	if !s.Variable || len(s.Filters) > 0 {
		return false
	}
	_, ok := r.vars[s.Text].(Secret)
	return ok
}

// secretText resolves a text with secret parts, and leaves these as references.
func (r *resolver) secretText(segments []Segment, path string) any {
	var text secretText
	for _, seg := range segments {
		if r.secret(seg) {
			text = append(text, r.vars[seg.Text])
			continue
		}
		part := seg.Text
		if seg.Variable {
			part = r.textOf(seg, path)
		}
		text = append(text, part)
	}
	return text
}

// Reserved tells whether a value, as encoding/json gives it, has a field anywhere whose
// name is reserved for secrets.
func Reserved(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if Reserved(e) {
				return true
			}
		}
	case map[string]any:
		for name, e := range v {
			if strings.HasPrefix(name, SecretField) || strings.HasPrefix(name, "$sealed") || Reserved(e) {
				return true
			}
		}
	}
	return false
}

// FillSecrets replaces the references to secrets in resolved parameters by the values
// that lookup gives as JSON. An error names the variable and no value.
func FillSecrets(params json.RawMessage, lookup func(name string) (json.RawMessage, error)) (json.RawMessage, error) {
	value, err := decode(params)
	if err != nil {
		return nil, err
	}
	f := filler{lookup: lookup}
	if value, err = f.fill(value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func decode(raw json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}

type filler struct {
	lookup func(name string) (json.RawMessage, error)
}

func (f filler) fill(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case []any:
		for i := range v {
			if v[i], err = f.fill(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		switch of := v[SecretField].(type) {
		case string:
			return f.value(of)
		case []any:
			return f.text(of)
		}
		for name := range v {
			if v[name], err = f.fill(v[name]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func (f filler) value(name string) (any, error) {
	raw, err := f.lookup(name)
	if err != nil {
		return nil, err
	}
	value, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("the value of the secret {{%s}} is not JSON", name)
	}
	return value, nil
}

func (f filler) text(parts []any) (any, error) {
	var b strings.Builder
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			b.WriteString(part)
		case map[string]any:
			name, _ := part[SecretField].(string)
			value, err := f.value(name)
			if err != nil {
				return nil, err
			}
			text, fault := scalarText(value)
			if fault != "" {
				return nil, fmt.Errorf("the secret {{%s}} %s", name, fault)
			}
			b.WriteString(text)
		}
	}
	return b.String(), nil
}

// HasSecrets tells whether resolved parameters may refer to secrets: they do where it is
// true and no text among them is "$secret".
func HasSecrets(params json.RawMessage) bool {
	return bytes.Contains(params, []byte(`"`+SecretField+`"`))
}
