package bicep

import "slices"

// parameter checks a declaration of a parameter.
func (u *unit) parameter(d *Parameter) {
	u.decorated("param", d.Decorators)
	u.described("parameter", d.Name, d.Decorators)
	declared := d.declared()
	for _, decorator := range d.Decorators {
		u.limit(d, decorator)
	}
	u.bounds(d, declared)
	if d.Default == nil {
		return
	}
	u.expression(d.Default, nil, asDefault)
	u.assign(d.Default, declared, nil)
	u.secureDefault(d)
}

// limit checks that a decorator suits the type of its parameter.
func (u *unit) limit(d *Parameter, decorator *Decorator) {
	kind := Kind(d.Type.Text)
	suits := map[string][]Kind{
		"minLength": {KindString, KindArray}, "maxLength": {KindString, KindArray},
		"minValue": {KindInt}, "maxValue": {KindInt},
		"secure": {KindString, KindObject},
	}[decorator.Text]
	if suits != nil && kind != suits[0] && kind != suits[len(suits)-1] {
		u.find(decorator.Position, "decorator", "@%s does not go with %s", decorator.Text, indefinite(kind))
		return
	}
	if len(decorator.Arguments) != 1 {
		return
	}
	switch decorator.Text {
	case "minLength", "maxLength", "minValue", "maxValue":
		if _, is := integer(decorator.Arguments[0]); !is {
			u.find(decorator.Arguments[0].At(), "decorator", "the argument of @%s is a whole number", decorator.Text)
		}
	case "allowed":
		values, is := decorator.Arguments[0].(*Array)
		if !is || len(values.Items) == 0 {
			u.find(decorator.Arguments[0].At(), "decorator", "the argument of @allowed is an array of values")
			return
		}
		for i, item := range values.Items {
			u.assign(item, &Type{Kind: kind}, nil)
			if slices.ContainsFunc(values.Items[:i], func(earlier Expression) bool { return same(earlier) == same(item) }) {
				u.find(item.At(), "duplicate", "this value is allowed already")
			}
		}
	}
}

// bounds checks that the limits of a parameter leave something.
func (u *unit) bounds(d *Parameter, t *Type) {
	switch {
	case t.MinLength != nil && *t.MinLength < 0 || t.MaxLength != nil && *t.MaxLength < 0:
		u.find(d.Position, "decorator", "no length is below 0")
	case t.MinLength != nil && t.MaxLength != nil && *t.MinLength > *t.MaxLength, t.Min != nil && t.Max != nil && *t.Min > *t.Max:
		u.find(d.Position, "decorator", "the least that is allowed is more than the most: no value of %s is allowed", d.Text)
	}
}

// batched checks @batchSize, which is for what is made in a loop.
func (u *unit) batched(decorators []*Decorator, l *Loop) {
	for _, d := range decorators {
		if d.Text != "batchSize" || len(d.Arguments) != 1 {
			continue
		}
		if n, is := integer(d.Arguments[0]); !is || n < 1 {
			u.find(d.Arguments[0].At(), "decorator", "the argument of @batchSize is a whole number from 1")
		}
		if l == nil {
			u.find(d.Position, "decorator", "@batchSize goes with a loop")
		}
	}
}

// declared is the type of a parameter with its limits.
func (d *Parameter) declared() *Type {
	t := declaredAs(d.Type.Text)
	for _, decorator := range d.Decorators {
		if len(decorator.Arguments) != 1 {
			continue
		}
		n, is := integer(decorator.Arguments[0])
		length := int(n)
		switch {
		case decorator.Text == "allowed":
			t.allow(decorator.Arguments[0])
		case !is:
		case decorator.Text == "minLength":
			t.MinLength = &length
		case decorator.Text == "maxLength":
			t.MaxLength = &length
		case decorator.Text == "minValue":
			t.Min = &n
		case decorator.Text == "maxValue":
			t.Max = &n
		}
	}
	return t
}

// declaredAs is the type that a parameter or output is declared with: of an object
// nothing more is said.
func declaredAs(kind string) *Type {
	return &Type{Kind: Kind(kind), open: Kind(kind) == KindObject}
}

// allow takes the values of @allowed.
func (t *Type) allow(values Expression) {
	array, is := values.(*Array)
	if !is {
		return
	}
	for _, item := range array.Items {
		if text, literal := Literal(item); literal {
			t.Values = append(t.Values, text)
		}
		if n, literal := integer(item); literal {
			t.Numbers = append(t.Numbers, n)
		}
	}
}

// integer gives the value of a number, which may be negative.
func integer(e Expression) (int64, bool) {
	switch e := e.(type) {
	case *Integer:
		return e.Value, true
	case *Unary:
		n, is := e.Operand.(*Integer)
		if is && e.Operator == "-" {
			return -n.Value, true
		}
	}
	return 0, false
}
