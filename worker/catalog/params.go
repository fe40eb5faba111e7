package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// Params are a call's parameters after Check: each has the type that it was
// declared with, under the name that it was declared with. A parameter that was
// not given, was null or was empty is not there.
type Params map[string]any

// String returns a String or GUID parameter, "" when it was not given.
func (p Params) String(name string) string {
	s, _ := p[name].(string)
	return s
}

// Bool returns a Boolean parameter, or otherwise when it was not given.
func (p Params) Bool(name string, otherwise bool) bool {
	if b, ok := p[name].(bool); ok {
		return b
	}
	return otherwise
}

// List returns a StringList parameter, nil when it was not given.
func (p Params) List(name string) []string {
	l, _ := p[name].([]string)
	return l
}

// Has tells whether the parameter was given.
func (p Params) Has(name string) bool {
	_, ok := p[name]
	return ok
}

// Check reads a JSON object as the parameters of f. The *Failure that it returns
// names every missing, unknown or mistyped parameter. It never repeats a value,
// which may be a password.
func (f Function) Check(raw []byte) (Params, error) {
	members, err := readObject(raw)
	if err != nil {
		return nil, f.refuse([]string{err.Error()})
	}
	params := make(Params, len(members))
	given := make(map[string]bool, len(members))
	var faults []string
	for _, m := range members {
		i := slices.IndexFunc(f.Params, func(p Param) bool { return strings.EqualFold(p.Name, m.name) })
		if i < 0 {
			faults = append(faults, fmt.Sprintf("unknown parameter %q", m.name))
			continue
		}
		param := f.Params[i]
		if given[param.Name] {
			faults = append(faults, fmt.Sprintf("parameter %s is given twice", param.Name))
			continue
		}
		given[param.Name] = true
		value, err := param.Type.read(m.value)
		if err != nil {
			faults = append(faults, fmt.Sprintf("parameter %s %s", param.Name, err))
			continue
		}
		if value != nil {
			params[param.Name] = value
			continue
		}
		if param.Required {
			faults = append(faults, fmt.Sprintf("required parameter %s is empty", param.Name))
		}
	}
	for _, p := range f.Params {
		if p.Required && !given[p.Name] {
			faults = append(faults, fmt.Sprintf("required parameter %s is missing", p.Name))
		}
	}
	if len(faults) > 0 {
		return nil, f.refuse(faults)
	}
	return params, nil
}

func (f Function) refuse(faults []string) error {
	return &Failure{Type: FailureParameters, Message: f.Name + ": " + strings.Join(faults, "; ")}
}

type member struct {
	name  string
	value any
}

// readObject keeps members in their order and keeps repeats, so that faults are
// listed in the order of the job and none is lost.
func readObject(raw []byte) ([]member, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	open, err := dec.Token()
	if err != nil || open != json.Delim('{') {
		return nil, errors.New("the parameters are not a JSON object")
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, errors.New("the parameters are not a JSON object")
		}
		var value any
		if err := dec.Decode(&value); err != nil {
			return nil, errors.New("the parameters are not a JSON object")
		}
		members = append(members, member{name.(string), value})
	}
	if _, err := dec.Token(); err != nil {
		return nil, errors.New("the parameters are not a JSON object")
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("the parameters are more than one JSON object")
	}
	return members, nil
}

var guid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// read converts a JSON value to the type, or to nil when it is empty. The error
// completes a sentence that begins with the parameter's name.
func (t Type) read(v any) (any, error) {
	if v == nil || v == "" {
		return nil, nil
	}
	switch t {
	case anything:
		return v, nil
	case String:
		switch v := v.(type) {
		case string:
			return v, nil
		case json.Number: // a column of numbers, such as an employee id
			return v.String(), nil
		}
		return nil, fmt.Errorf("must be text, not %s", kind(v))
	case Boolean:
		switch v := v.(type) {
		case bool:
			return v, nil
		case string:
			if strings.EqualFold(v, "true") {
				return true, nil
			}
			if strings.EqualFold(v, "false") {
				return false, nil
			}
		}
		return nil, fmt.Errorf("must be true or false, not %s", kind(v))
	case GUID:
		if s, ok := v.(string); ok && guid.MatchString(s) {
			return strings.ToLower(s), nil
		}
		return nil, fmt.Errorf("must be a GUID, not %s", kind(v))
	case StringList:
		return readList(v)
	}
	if values := t.values(); values != nil {
		for _, value := range values {
			if s, ok := v.(string); ok && strings.EqualFold(s, value) {
				return value, nil
			}
		}
		return nil, fmt.Errorf("must be one of %s, not %s", strings.Join(values, ", "), kind(v))
	}
	return nil, fmt.Errorf("is declared with the unknown type %q", string(t))
}

func readList(v any) (any, error) {
	if s, ok := v.(string); ok {
		if !strings.HasPrefix(strings.TrimSpace(s), "[") {
			return []string{s}, nil
		}
		// A template turns a column that holds a list into the list's JSON text.
		if err := json.Unmarshal([]byte(s), &v); err != nil {
			return nil, errors.New("begins with [ but is not a JSON array")
		}
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("must be an array of strings, not %s", kind(v))
	}
	list := make([]string, 0, len(items))
	for i, item := range items {
		s, ok := item.(string)
		if !ok {
			return nil, fmt.Errorf("must be an array of strings, but item %d is %s", i+1, kind(item))
		}
		list = append(list, s)
	}
	if len(list) == 0 {
		return nil, nil
	}
	return list, nil
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "this text"
	case bool:
		return "a boolean"
	case json.Number, float64:
		return "a number"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "null"
}
