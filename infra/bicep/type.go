package bicep

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Kind is what a value is at its outside.
type Kind string

// The kinds of values. KindAny is a value of which nothing is known.
const (
	KindAny    Kind = "any"
	KindString Kind = "string"
	KindInt    Kind = "int"
	KindBool   Kind = "bool"
	KindNull   Kind = "null"
	KindArray  Kind = "array"
	KindObject Kind = "object"
)

// Type is what is known of a value: of an expression, a parameter or a property of a
// resource. A nil type is any value.
type Type struct {
	Kind Kind
	// Name is what Azure calls an object type; empty for others.
	Name string
	// Values are the strings that are possible, or nil for any string.
	Values []string
	// Numbers are the same for whole numbers.
	Numbers []int64
	// Item is the type of an array's items.
	Item *Type
	// Properties of an object. Those that are not among them are of type Additional,
	// or wrong if that is nil and the object is not open.
	Properties map[string]*Field
	Additional *Type
	open       bool
	// optional takes null as well.
	optional bool
	// Discriminator is the property that tells which of Variants an object is.
	Discriminator string
	Variants      map[string]*Type
	Limits
}

// Field is a property of an object type.
type Field struct {
	Type *Type
	// Required has to be given, ReadOnly must not; Constant has to be known before
	// anything is deployed.
	Required, ReadOnly, Constant bool
}

// Limits bound a value; nil and empty are no limit.
type Limits struct {
	MinLength, MaxLength *int
	Min, Max             *int64
	Pattern              string
}

func (t *Type) kind() Kind {
	if t == nil {
		return KindAny
	}
	return t.Kind
}

// String describes a type for a message.
func (t *Type) String() string {
	switch {
	case t == nil:
		return "anything"
	case t.Kind == KindString && len(t.Values) == 1:
		return quote(t.Values[0])
	case t.Kind == KindArray && t.Item.kind() != KindAny:
		return "an array of " + plural(t.Item.kind())
	}
	return indefinite(t.Kind)
}

func indefinite(kind Kind) string {
	switch kind {
	case KindString, KindBool:
		return "a " + string(kind)
	case KindNull:
		return "null"
	case KindAny:
		return "anything"
	}
	return "an " + string(kind)
}

func plural(kind Kind) string { return string(kind) + "s" }

func quote(text string) string { return "'" + text + "'" }

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = quote(text)
	}
	return quoted
}

// names are the properties of an object type, for messages.
func (t *Type) names() []string {
	var all []string
	for name, field := range t.Properties {
		if !field.ReadOnly {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// field finds what a property of an object type is. Known is false if there is no such
// property.
func (t *Type) field(name string) (field *Field, known bool) {
	if field, known = t.Properties[name]; known {
		return field, true
	}
	if t.Additional != nil || t.open {
		return &Field{Type: t.Additional}, true
	}
	return nil, false
}

// merge is the type of a value that is one of two.
func merge(a, b *Type) *Type {
	switch {
	case a == nil || b == nil:
		return nil
	case a == b || b.Kind == KindNull:
		return a
	case a.Kind == KindNull:
		return b
	case a.Kind != b.Kind:
		return nil
	}
	switch a.Kind {
	case KindString:
		if a.Values != nil && b.Values != nil {
			both := append(slices.Clone(a.Values), b.Values...)
			slices.Sort(both)
			return &Type{Kind: KindString, Values: slices.Compact(both)}
		}
		return someString
	case KindArray:
		return &Type{Kind: KindArray, Item: merge(a.Item, b.Item)}
	case KindInt:
		if a.Numbers != nil && b.Numbers != nil {
			return &Type{Kind: KindInt, Numbers: append(slices.Clone(a.Numbers), b.Numbers...)}
		}
		return someInt
	case KindObject:
		return mergeObjects(a, b)
	}
	return a
}

// mergeObjects has the properties of both.
func mergeObjects(a, b *Type) *Type {
	if a.Variants != nil || b.Variants != nil || a.Additional != nil || b.Additional != nil || a.open || b.open {
		return someObject
	}
	both := &Type{Kind: KindObject, Properties: maps.Clone(a.Properties)}
	for name, field := range b.Properties {
		if of, there := both.Properties[name]; there {
			field = &Field{Type: merge(of.Type, field.Type)}
		}
		both.Properties[name] = field
	}
	return both
}

// fits tells why a value of one type is not one of another; empty if it is, or may be.
func fits(value, wanted *Type) string {
	switch {
	case value.kind() == KindAny || wanted.kind() == KindAny:
		return ""
	case value.Kind == KindNull && wanted.optional:
		return ""
	case value.Kind != wanted.Kind:
		return "expected " + wanted.String() + ", not " + value.String()
	}
	switch wanted.Kind {
	case KindArray:
		if why := fits(value.Item, wanted.Item); why != "" {
			return "items: " + why
		}
	case KindString:
		return fitsString(value, wanted)
	case KindInt:
		return fitsNumber(value, wanted)
	}
	return ""
}

func fitsNumber(value, wanted *Type) string {
	for _, number := range value.Numbers {
		if wanted.Numbers != nil && !slices.Contains(wanted.Numbers, number) {
			return fmt.Sprintf("%d is not among the values that are allowed: %s", number, strings.Trim(fmt.Sprint(wanted.Numbers), "[]"))
		}
		if why := wanted.Limits.number(number); why != "" {
			return why
		}
	}
	return ""
}

func fitsString(value, wanted *Type) string {
	for _, text := range value.Values {
		if wanted.Values != nil && !slices.Contains(wanted.Values, text) {
			return quote(text) + " is not among the values that are allowed: " + list(quoteAll(wanted.Values)) + didYouMean(text, wanted.Values)
		}
		if why := wanted.Limits.text(text); why != "" {
			return why
		}
	}
	return ""
}

// didYouMean names the value that is near, if one is.
func didYouMean(text string, values []string) string {
	if hint := nearest(text, values); strings.HasPrefix(hint, "; did") {
		return hint
	}
	return ""
}

// text tells why a string is outside of the limits.
func (l Limits) text(text string) string {
	switch n := len([]rune(text)); {
	case l.MinLength != nil && n < *l.MinLength:
		return quote(text) + " is shorter than " + strconv.Itoa(*l.MinLength)
	case l.MaxLength != nil && n > *l.MaxLength:
		return quote(text) + " is longer than " + strconv.Itoa(*l.MaxLength)
	case !matches(l.Pattern, text):
		return quote(text) + " does not match " + l.Pattern
	}
	return ""
}

// number tells why a number is outside of the limits.
func (l Limits) number(value int64) string {
	switch {
	case l.Min != nil && value < *l.Min:
		return strconv.FormatInt(value, 10) + " is less than " + strconv.FormatInt(*l.Min, 10)
	case l.Max != nil && value > *l.Max:
		return strconv.FormatInt(value, 10) + " is more than " + strconv.FormatInt(*l.Max, 10)
	}
	return ""
}

// items tells why an array is outside of the limits.
func (l Limits) items(n int) string {
	switch {
	case l.MinLength != nil && n < *l.MinLength:
		return strconv.Itoa(n) + " items are fewer than " + strconv.Itoa(*l.MinLength)
	case l.MaxLength != nil && n > *l.MaxLength:
		return strconv.Itoa(n) + " items are more than " + strconv.Itoa(*l.MaxLength)
	}
	return ""
}
