package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
		value, err := param.Type.Read(m.value)
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
