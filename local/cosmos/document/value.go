package document

import (
	"errors"
	"strconv"
	"unicode/utf8"
)

// Kind is a value's JSON type. The order of the constants is the order in
// which the service sorts values of different types.
type Kind uint8

// The kinds. The zero Value is Undefined: what a path yields that is not there.
const (
	Undefined Kind = iota
	Null
	Boolean
	Number
	String
	Array
	Object
)

var kindNames = [...]string{"undefined", "null", "boolean", "number", "string", "array", "object"}

func (k Kind) String() string { return kindNames[k] }

// Value is a decoded JSON value. Members keep their order and numbers their text.
type Value struct {
	Kind     Kind
	Bool     bool
	Num      float64
	Text     string // a string's content, or a number as it was written
	Elements []Value
	Members  []Field
}

// Field is a member of an object.
type Field struct {
	Name  string
	Value Value
}

// Constructors for values that do not come from a document.
var (
	NullValue = Value{Kind: Null}
	True      = Value{Kind: Boolean, Bool: true}
	False     = Value{Kind: Boolean}
)

// Of returns the boolean as a value.
func Of(b bool) Value {
	if b {
		return True
	}
	return False
}

// StringValue returns s as a value.
func StringValue(s string) Value { return Value{Kind: String, Text: s} }

// IntValue returns n as a number.
func IntValue(n int64) Value {
	return Value{Kind: Number, Num: float64(n), Text: strconv.FormatInt(n, 10)}
}

// FloatValue returns f, which must be finite, as a number.
func FloatValue(f float64) Value {
	return Value{Kind: Number, Num: f, Text: strconv.FormatFloat(f, 'g', -1, 64)}
}

// Parse decodes one JSON value that is known to be valid. It fails only on a
// number beyond the range of a double, which the service refuses too.
func Parse(text []byte) (Value, error) {
	p := parser{text: text}
	v := p.value()
	return v, p.err
}

var errNumberRange = errors.New("a number is outside the range of a double")

type parser struct {
	text []byte
	at   int
	err  error
}

func (p *parser) value() Value {
	p.at = skipSpace(p.text, p.at)
	if p.at >= len(p.text) {
		p.err = errors.New("the value ends too early")
		return Value{}
	}
	start := p.at
	switch p.text[p.at] {
	case '"':
		p.at = skipString(p.text, p.at)
		return StringValue(unquote(p.text[start:p.at]))
	case '{':
		return p.object()
	case '[':
		return p.array()
	case 't':
		p.at += 4
		return True
	case 'f':
		p.at += 5
		return False
	case 'n':
		p.at += 4
		return NullValue
	default:
		p.at = skipValue(p.text, p.at)
		text := string(p.text[start:p.at])
		num, err := strconv.ParseFloat(text, 64)
		if err != nil {
			p.err = errNumberRange
			p.at = len(p.text)
		}
		return Value{Kind: Number, Num: num, Text: text}
	}
}

func (p *parser) object() Value {
	v := Value{Kind: Object}
	p.at = skipSpace(p.text, p.at+1)
	for p.at < len(p.text) && p.text[p.at] == '"' {
		start := p.at
		p.at = skipString(p.text, p.at)
		name := unquote(p.text[start:p.at])
		p.at = skipSpace(p.text, p.at) + 1
		if member := p.value(); v.Get(name).Kind == Undefined {
			v.Members = append(v.Members, Field{Name: name, Value: member})
		}
		if p.at = skipSpace(p.text, p.at); p.at >= len(p.text) || p.text[p.at] != ',' {
			break
		}
		p.at = skipSpace(p.text, p.at+1)
	}
	p.at++
	return v
}

func (p *parser) array() Value {
	v := Value{Kind: Array}
	p.at = skipSpace(p.text, p.at+1)
	for p.at < len(p.text) && p.text[p.at] != ']' {
		v.Elements = append(v.Elements, p.value())
		if p.at = skipSpace(p.text, p.at); p.at < len(p.text) && p.text[p.at] == ',' {
			p.at = skipSpace(p.text, p.at+1)
		}
	}
	p.at++
	return v
}

// Get returns the member of an object, Undefined when there is none.
func (v Value) Get(name string) Value {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value
		}
	}
	return Value{}
}

// Set replaces or adds a member of an object.
func (v *Value) Set(name string, member Value) {
	for i := range v.Members {
		if v.Members[i].Name == name {
			v.Members[i].Value = member
			return
		}
	}
	v.Members = append(v.Members, Field{Name: name, Value: member})
}

// Append appends the value's JSON text. An undefined value appends nothing,
// and inside an array or object it is left out.
func (v Value) Append(dst []byte) []byte {
	switch v.Kind {
	case Undefined:
		return dst
	case Null:
		return append(dst, "null"...)
	case Boolean:
		return strconv.AppendBool(dst, v.Bool)
	case Number:
		return append(dst, v.Text...)
	case String:
		return AppendString(dst, v.Text)
	case Array:
		dst = append(dst, '[')
		first := true
		for _, e := range v.Elements {
			if e.Kind == Undefined {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = e.Append(dst)
		}
		return append(dst, ']')
	default:
		dst = append(dst, '{')
		first := true
		for _, m := range v.Members {
			if m.Value.Kind == Undefined {
				continue
			}
			if !first {
				dst = append(dst, ',')
			}
			first = false
			dst = AppendString(dst, m.Name)
			dst = append(dst, ':')
			dst = m.Value.Append(dst)
		}
		return append(dst, '}')
	}
}

const hexDigits = "0123456789abcdef"

// AppendString appends s as a JSON string, escaping only what JSON demands.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, '\\', 'n')
		case c == '\r':
			dst = append(dst, '\\', 'r')
		case c == '\t':
			dst = append(dst, '\\', 't')
		case c < 0x20:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		case c < utf8.RuneSelf:
			dst = append(dst, c)
		default:
			r, size := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
			continue
		}
		i++
	}
	return append(dst, '"')
}
