package signature

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Type is the type of a parameter. Values come from templates, which are text, so each type is
// also read from its text form.
type Type string

// The types of parameters, beside those of OneOf.
const (
	String     Type = "string"
	Boolean    Type = "boolean"     // true, false, or either as text
	GUID       Type = "guid"        // 8-4-4-4-12 hexadecimal digits
	Email      Type = "email"       // an address or a sign-in name: name@domain
	Domain     Type = "domain"      // a DNS name of two labels or more
	StringList Type = "string list" // an array of strings, its JSON text, or one string
	Object     Type = "object"      // a JSON object, or its text

	Any Type = "" // any value, for types that are not known here
)

// Types are the types of parameters, beside those of OneOf.
var Types = []Type{String, Boolean, GUID, Email, Domain, StringList, Object}

// OneOf is the type of a parameter that has one of a few values, which are compared
// case-insensitively and read as they are written here.
func OneOf(values ...string) Type { return Type(strings.Join(values, "|")) }

// values are those of a OneOf, nil for other types.
func (t Type) values() []string {
	if !strings.Contains(string(t), "|") {
		return nil
	}
	return strings.Split(string(t), "|")
}

// TypeOf is the type of a parameter, or Any if it is not known.
func TypeOf(p Parameter) Type {
	if t := Type(p.Type); slices.Contains(Types, t) || t.values() != nil {
		return t
	}
	return Any
}

// Read converts a JSON value to the type, or to nil if it is empty. The error completes a sentence
// that begins with the name of the value, and does not repeat the value, which may be a password.
func (t Type) Read(v any) (any, error) {
	if v == nil || v == "" {
		return nil, nil
	}
	switch t {
	case Any:
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
		return readBoolean(v)
	case GUID:
		if s, ok := v.(string); ok && guid.MatchString(s) {
			return strings.ToLower(s), nil
		}
		return nil, fmt.Errorf("must be a GUID, not %s", kind(v))
	case Email:
		if s, ok := v.(string); ok && isEmail(s) {
			return s, nil
		}
		return nil, fmt.Errorf("must be an address such as ada@contoso.com, not %s", kind(v))
	case Domain:
		if s, ok := v.(string); ok && isDomain(s) {
			return s, nil
		}
		return nil, fmt.Errorf("must be a domain such as contoso.com, not %s", kind(v))
	case StringList:
		return readList(v)
	case Object:
		return readObject(v)
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

func readBoolean(v any) (any, error) {
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

func readObject(v any) (any, error) {
	if s, ok := v.(string); ok {
		// A template turns a column that holds an object into the object's JSON text.
		decoder := json.NewDecoder(strings.NewReader(s))
		decoder.UseNumber()
		var object map[string]any
		if err := decoder.Decode(&object); err != nil || object == nil || decoder.More() {
			return nil, errors.New("must be an object, not this text")
		}
		return object, nil
	}
	if object, ok := v.(map[string]any); ok {
		return object, nil
	}
	return nil, fmt.Errorf("must be an object, not %s", kind(v))
}

var guid = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// isEmail reports whether a text has the form of an address. It accepts what some tenant may
// accept: the tenant decides which names it allows.
func isEmail(s string) bool {
	name, domain, ok := strings.Cut(s, "@")
	strange := func(r rune) bool {
		return r == utf8.RuneError || unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune(`<>()[]",;:\`, r)
	}
	return ok && name != "" && !strings.ContainsFunc(name, strange) && isDomain(domain)
}

// isDomain reports whether a text is a DNS name of two labels or more. Letters of any script are
// allowed.
func isDomain(s string) bool {
	labels := strings.Split(s, ".")
	if len(labels) < 2 || len(s) > 253 {
		return false
	}
	return !slices.ContainsFunc(labels, func(label string) bool {
		foreign := func(r rune) bool {
			return r == utf8.RuneError || r != '-' && !unicode.In(r, unicode.L, unicode.M, unicode.Nd)
		}
		return label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.ContainsFunc(label, foreign)
	})
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
