package query

import (
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// expression is a scalar expression over one document. Truth has three
// values: true, false and undefined; only true selects.
type expression interface {
	eval(doc []byte) document.Value
}

func isTrue(v document.Value) bool  { return v.Kind == document.Boolean && v.Bool }
func isFalse(v document.Value) bool { return v.Kind == document.Boolean && !v.Bool }

type literal struct{ value document.Value }

func (l literal) eval([]byte) document.Value { return l.value }

// path is a path into the document; without steps it is the document.
type path struct{ steps []string }

func (p path) eval(doc []byte) document.Value {
	text, ok := document.Lookup(doc, p.steps)
	if !ok {
		return document.Value{}
	}
	v, err := document.Parse(text)
	if err != nil {
		return document.Value{} // no stored document holds such a number
	}
	return v
}

type and struct{ left, right expression }

func (e and) eval(doc []byte) document.Value {
	left := e.left.eval(doc)
	if isFalse(left) {
		return document.False
	}
	right := e.right.eval(doc)
	switch {
	case isFalse(right):
		return document.False
	case isTrue(left) && isTrue(right):
		return document.True
	}
	return document.Value{}
}

type or struct{ left, right expression }

func (e or) eval(doc []byte) document.Value {
	left := e.left.eval(doc)
	if isTrue(left) {
		return document.True
	}
	right := e.right.eval(doc)
	switch {
	case isTrue(right):
		return document.True
	case isFalse(left) && isFalse(right):
		return document.False
	}
	return document.Value{}
}

type not struct{ operand expression }

func (e not) eval(doc []byte) document.Value {
	v := e.operand.eval(doc)
	if v.Kind != document.Boolean {
		return document.Value{}
	}
	return document.Of(!v.Bool)
}

// equality is = and !=: undefined only where an operand is, and otherwise a
// comparison of whole values, so that values of different types differ.
type equality struct {
	left, right expression
	negated     bool
}

func (e equality) eval(doc []byte) document.Value {
	left, right := e.left.eval(doc), e.right.eval(doc)
	if left.Kind == document.Undefined || right.Kind == document.Undefined {
		return document.Value{}
	}
	return document.Of(equal(left, right) != e.negated)
}

// relation is <, <=, > and >=: undefined between types, and for arrays and objects.
type relation struct {
	left, right expression
	holds       func(order int) bool
}

func (e relation) eval(doc []byte) document.Value {
	left, right := e.left.eval(doc), e.right.eval(doc)
	if left.Kind != right.Kind || left.Kind == document.Undefined || left.Kind >= document.Array {
		return document.Value{}
	}
	return document.Of(e.holds(compare(left, right)))
}

// membership is IN.
type membership struct {
	operand expression
	list    []expression
}

func (e membership) eval(doc []byte) document.Value {
	v := e.operand.eval(doc)
	if v.Kind == document.Undefined {
		return v
	}
	result := document.False
	for _, candidate := range e.list {
		c := candidate.eval(doc)
		if c.Kind == document.Undefined {
			result = document.Value{}
		} else if equal(v, c) {
			return document.True
		}
	}
	return result
}

// call is a function: all arguments are evaluated first.
type call struct {
	name      string
	function  func(args []document.Value) document.Value
	arguments []expression
}

func (e call) eval(doc []byte) document.Value {
	args := make([]document.Value, len(e.arguments))
	for i, a := range e.arguments {
		args[i] = a.eval(doc)
	}
	return e.function(args)
}

type arrayLiteral struct{ elements []expression }

func (e arrayLiteral) eval(doc []byte) document.Value {
	v := document.Value{Kind: document.Array}
	for _, element := range e.elements {
		if x := element.eval(doc); x.Kind != document.Undefined {
			v.Elements = append(v.Elements, x)
		}
	}
	return v
}

type objectLiteral struct {
	names  []string
	values []expression
}

func (e objectLiteral) eval(doc []byte) document.Value {
	v := document.Value{Kind: document.Object}
	for i, name := range e.names {
		if x := e.values[i].eval(doc); x.Kind != document.Undefined {
			v.Set(name, x)
		}
	}
	return v
}

// equal compares two defined values, objects without regard to the order of
// their members.
func equal(a, b document.Value) bool {
	if a.Kind != b.Kind {
		return false
	}
	switch a.Kind {
	case document.Array:
		if len(a.Elements) != len(b.Elements) {
			return false
		}
		for i := range a.Elements {
			if !equal(a.Elements[i], b.Elements[i]) {
				return false
			}
		}
		return true
	case document.Object:
		return len(a.Members) == len(b.Members) && contains(a, b)
	default:
		return compare(a, b) == 0
	}
}

// contains says whether every member of part is in whole, with an equal value.
func contains(whole, part document.Value) bool {
	for _, m := range part.Members {
		if v := whole.Get(m.Name); v.Kind == document.Undefined || !equal(v, m.Value) {
			return false
		}
	}
	return true
}

// compare orders two values as ORDER BY does: by type first, then within
// booleans, numbers and strings, the strings by code point.
func compare(a, b document.Value) int {
	if a.Kind != b.Kind {
		return int(a.Kind) - int(b.Kind)
	}
	switch a.Kind {
	case document.Boolean:
		switch {
		case a.Bool == b.Bool:
			return 0
		case b.Bool:
			return -1
		}
		return 1
	case document.Number:
		switch {
		case a.Num < b.Num:
			return -1
		case a.Num > b.Num:
			return 1
		}
		return 0
	case document.String:
		return strings.Compare(a.Text, b.Text)
	case document.Array, document.Object:
		return strings.Compare(string(a.Append(nil)), string(b.Append(nil)))
	}
	return 0
}
