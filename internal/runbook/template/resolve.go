package template

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// Variables are the values that templates are resolved from, as encoding/json
// gives them: nil, bool, string, json.Number or another number, []any,
// map[string]any. Names match exactly, case included.
type Variables map[string]any

// Unresolved is one place where a template could not be resolved. It holds no
// value of any variable: those are a person's data.
type Unresolved struct {
	Variable string
	Path     string // within the parameters, such as Manager.Mail or Groups[0]; empty in ResolveString
	Reason   string
}

// UnresolvedError lists every place that could not be resolved, sorted by path.
type UnresolvedError struct {
	Missing []Unresolved
}

func (e *UnresolvedError) Error() string {
	parts := make([]string, len(e.Missing))
	for i, m := range e.Missing {
		parts[i] = fmt.Sprintf("{{%s}} %s", m.Variable, m.Reason)
		if m.Path != "" {
			parts[i] = fmt.Sprintf("%s: %s", m.Path, parts[i])
		}
	}
	return "cannot resolve " + strings.Join(parts, "; ")
}

// ResolveParams replaces the templates in params, at any depth, and leaves params
// itself as it is. A string that is one template and nothing else takes the
// variable's value with its type; amid other text the value must be a string, a
// number or a bool, and null is empty text. Keys are not templates. The error is an *UnresolvedError
// that lists every place at fault, or wraps an *Error.
func ResolveParams(params map[string]any, vars Variables) (map[string]any, error) {
	r := resolver{vars: vars, reasons: map[string]string{}}
	resolved, _ := r.value(params, "").(map[string]any)
	if err := r.err(); err != nil {
		return nil, err
	}
	if resolved == nil {
		resolved = map[string]any{}
	}
	return resolved, nil
}

// ResolveString replaces the templates in a text that must end up as text, such
// as a function's name.
func ResolveString(tmpl string, vars Variables) (string, error) {
	r := resolver{vars: vars, reasons: map[string]string{}}
	s := r.text(tmpl, "")
	if err := r.err(); err != nil {
		return "", err
	}
	return s, nil
}

// resolver collects the errors of the values.
type resolver struct {
	vars    Variables
	missing []Unresolved
	faults  []error           // malformed templates
	names   []string          // of vars, sorted; nil until the first unknown variable
	reasons map[string]string // of unknown variables, by name
}

// maxSuggestions is the number of unknown variables for which a resolver looks for a
// similar name. A text can hold tens of thousands of them, and vars have hundreds of names.
const maxSuggestions = 20

func (r *resolver) err() error {
	if r.faults != nil {
		return errors.Join(r.faults...)
	}
	if r.missing != nil {
		return &UnresolvedError{Missing: r.missing}
	}
	return nil
}

func (r *resolver) value(v any, path string) any {
	switch v := v.(type) {
	case string:
		segments, err := Parse(v)
		if err == nil && len(segments) == 1 && segments[0].Variable {
			return r.lookup(segments[0], path)
		}
		if err == nil && slices.ContainsFunc(segments, r.secret) {
			return r.secretText(segments, path)
		}
		return r.text(v, path)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = r.value(e, fmt.Sprintf("%s[%d]", path, i))
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			inner := key
			if path != "" {
				inner = path + "." + key
			}
			m[key] = r.value(v[key], inner)
		}
		return m
	}
	return v
}

func (r *resolver) text(tmpl, path string) string {
	segments, err := Parse(tmpl)
	if err != nil {
		if path != "" {
			err = fmt.Errorf("%s: %w", path, err)
		}
		r.faults = append(r.faults, err)
		return ""
	}
	var b strings.Builder
	for _, seg := range segments {
		if !seg.Variable {
			b.WriteString(seg.Text)
			continue
		}
		b.WriteString(r.textOf(seg, path))
	}
	return b.String()
}

// Escape writes a text as a template of itself.
func Escape(text string) string {
	return strings.NewReplacer("{{", "{{{{", "}}", "}}}}").Replace(text)
}

// Resolve gives a variable's value after its filters; as text, if it stands amid other text. The
// error is an *[UnresolvedError].
func Resolve(v Segment, value any, amidText bool) (any, error) {
	r := resolver{vars: Variables{v.Text: value}, reasons: map[string]string{}}
	if amidText {
		value = r.textOf(v, "")
	} else {
		value = r.lookup(v, "")
	}
	return value, r.err()
}

// textOf is the value of a variable amid text.
func (r *resolver) textOf(seg Segment, path string) string {
	before := len(r.missing)
	value := r.lookup(seg, path)
	if len(r.missing) > before {
		return ""
	}
	text, fault := scalarText(value)
	if fault != "" {
		r.missing = append(r.missing, Unresolved{seg.Text, path, fault})
	}
	return text
}

// lookup is the value of a variable after its filters.
func (r *resolver) lookup(seg Segment, path string) any {
	value, ok := r.vars[seg.Text]
	if !ok && !seg.MayLack() {
		r.missing = append(r.missing, Unresolved{seg.Text, path, r.unknown(seg.Text)})
		return nil
	}
	for _, f := range seg.Filters {
		var fault string
		if value, fault = f.apply(value); fault != "" {
			r.missing = append(r.missing, Unresolved{seg.Text, path, fault})
			return nil
		}
	}
	return value
}

// unknown is the reason why an unknown variable has no value.
func (r *resolver) unknown(name string) string {
	reason, ok := r.reasons[name]
	if ok {
		return reason
	}
	reason = "is not known"
	if len(r.reasons) < maxSuggestions {
		if r.names == nil {
			r.names = slices.Sorted(maps.Keys(r.vars))
		}
		if near := humanize.Nearest(name, r.names); near != "" {
			reason += fmt.Sprintf("; did you mean {{%s}}?", near)
		}
	}
	r.reasons[name] = reason
	return reason
}

// scalarText writes a value amid text, or says why it cannot be.
func scalarText(v any) (text, fault string) {
	switch v := v.(type) {
	case nil:
		return "", ""
	case string:
		return v, ""
	case bool:
		return strconv.FormatBool(v), ""
	case json.Number:
		return numberText(string(v))
	case float64:
		return floatText(v, 64)
	case float32:
		return floatText(float64(v), 32)
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64:
		return fmt.Sprint(v), ""
	case []any, []string:
		return "", "is a list, which has no text"
	case map[string]any:
		return "", "is an object, which has no text"
	case Secret:
		return "", "is secret, and can only be used in parameters"
	}
	return "", fmt.Sprintf("has a value of type %T, which has no text", v)
}

func floatText(f float64, bits int) (text, fault string) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "", "is not a finite number"
	}
	return strconv.FormatFloat(f, 'f', -1, bits), ""
}

var number = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// IsNumber reports whether a text is a number as JSON writes it.
func IsNumber(s string) bool { return number.MatchString(s) }

// numberText writes a JSON number without an exponent and with every digit.
func numberText(s string) (text, fault string) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(s), "e")
	if !IsNumber(s) {
		return "", "is not a number"
	}
	if !scientific {
		return s, ""
	}
	// Beyond what a float64 holds, writing the number out is no longer sensible.
	exp, err := strconv.Atoi(exponent)
	if err != nil || exp > 308 || exp < -324 {
		return "", "is a number too large or too small to write as text"
	}
	n, ok := new(big.Rat).SetString(s)
	if !ok {
		return "", "is not a number"
	}
	_, fraction, _ := strings.Cut(mantissa, ".")
	text = n.FloatString(max(0, len(fraction)-exp))
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text, ""
}
