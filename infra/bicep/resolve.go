package bicep

import (
	"maps"
	"slices"
)

// place is where an expression stands, which decides what it may hold.
type place int

const (
	// asValue is the value of a variable or output: it may be a loop.
	asValue place = iota
	// asDefault is the default of a parameter: it refers to other parameters only.
	asDefault
	// asProperty is in the body of a resource or module: a value of a property may be
	// a loop.
	asProperty
	// asNested is in the body of a resource or module, but not a value of a property.
	asNested
	// inLoop is in a loop that is a value, which holds no other.
	inLoop
	// inside is any other place.
	inside
)

// locals are the names that loops and lambdas declare, from the inside to the outside.
type locals struct {
	name  string
	typ   *Type
	outer *locals
	// lambda is a name that a lambda declares, not a loop.
	lambda bool
}

func (l *locals) find(name string) *locals {
	for ; l != nil; l = l.outer {
		if l.name == name {
			return l
		}
	}
	return nil
}

func (l *locals) with(name string, t *Type) *locals {
	if name == "" {
		return l
	}
	return &locals{name: name, typ: t, outer: l}
}

func (l *locals) withLambda(name string, t *Type) *locals {
	return &locals{name: name, typ: t, outer: l, lambda: true}
}

// loop enters the variables of a loop, after its list was looked at.
func (u *unit) loop(l *Loop, known *locals) *locals {
	if l == nil {
		return known
	}
	u.expression(l.List, known, inside)
	t := u.typeOf(l.List, known)
	if kind := t.kind(); kind != KindArray && kind != KindAny {
		u.find(l.List.At(), "kind", "a loop goes through an array, not %s", t)
	}
	var item *Type
	if t != nil {
		item = t.Item
	}
	return known.with(l.Item.Text, item).with(l.Index.Text, someInt)
}

// expression resolves the names in an expression and checks its calls.
func (u *unit) expression(e Expression, known *locals, at place) {
	switch e := e.(type) {
	case nil:
	case *Reference:
		u.reference(e, known, at)
	case *Call:
		u.call(e, known, at)
	case *Lambda:
		u.find(e.At(), "lambda", "a lambda is an argument of a function such as map() or filter()")
	case *For:
		if at != asValue && at != asProperty {
			u.find(e.At(), "loop", "a loop is not possible here: it is a whole variable or output, or a property of a resource or module, and not in another such loop")
		}
		u.expression(e.Body, u.loop(e.Loop, known), inLoop)
	case *Object:
		u.object(e, known, at)
	case *Member:
		u.placedIn[e.On] = true
		u.expression(e.On, known, inner(at))
		u.typeOf(e, known)
		u.member(e, known)
	case *Index:
		u.placedIn[e.On] = true
		u.chosen(e, known)
		u.indexed(e, known)
		u.expression(e.On, known, inner(at))
		u.expression(e.Index, known, inner(at))
	default:
		u.operands(e, known)
		for _, child := range children(e) {
			u.expression(child, known, inner(at))
		}
	}
}

// inner is the place of what an expression is made of.
func inner(at place) place {
	switch at {
	case asDefault, inLoop:
		return at
	case asProperty, asNested:
		return asNested
	}
	return inside
}

// chosen reports that a lambda chooses one of a loop's resources, which a template cannot
// say.
func (u *unit) chosen(e *Index, known *locals) {
	s := u.deployed(e.On)
	if s == nil {
		return
	}
	Walk(e.Index, func(index Expression) bool {
		if name, is := index.(*Reference); is {
			if local := known.find(name.Text); local != nil && local.lambda {
				u.find(name.Position, "lambda", "which of %s is meant cannot depend on %s, a name of a lambda: use a loop", s.Text, name.Text)
			}
		}
		return true
	})
}

func (u *unit) object(o *Object, known *locals, at place) {
	seen := map[string]bool{}
	for _, property := range o.Properties {
		if property.Key != nil {
			u.expression(property.Key, known, inside)
		} else if seen[property.Text] {
			u.find(property.Position, "duplicate", "property %s is there twice", property.Text)
		}
		seen[property.Text] = property.Key == nil
		if of := inner(at); of == asNested {
			u.expression(property.Value, known, asProperty)
		} else {
			u.expression(property.Value, known, of)
		}
	}
}

func (u *unit) reference(e *Reference, known *locals, at place) {
	if known.find(e.Text) != nil {
		return
	}
	if s := u.deployed(e); s != nil && !u.placedIn[e] && s.loop() != nil {
		u.find(e.Position, "kind", "%s is made in a loop: say which one, as in %s[0]", e.Text, e.Text)
	}
	s := u.symbols[e.Text]
	if s == nil {
		u.undefined(e, known)
		return
	}
	s.used = true
	if u.user != nil {
		u.user.uses = append(u.user.uses, s)
	}
	if _, parameter := s.declaration.(*Parameter); at == asDefault && !parameter {
		u.find(e.Position, "default", "the default of a parameter may refer to other parameters, not to %s", e.Text)
	}
}

func (u *unit) undefined(e *Reference, known *locals) {
	if u.broken {
		return
	}
	names := slices.Collect(maps.Keys(u.symbols))
	for l := known; l != nil; l = l.outer {
		names = append(names, l.name)
	}
	if _, is := functions[e.Text]; is {
		u.find(e.Position, "undefined", "%s is a function: write %s(…)", e.Text, e.Text)
		return
	}
	u.find(e.Position, "undefined", "nothing is called %s here%s", e.Text, didYouMean(e.Text, names))
}

// call checks the name of a function and the number of its arguments.
func (u *unit) call(e *Call, known *locals, at place) {
	from, where := functions, ""
	if e.On != nil {
		if namespace, is := e.On.(*Reference); is && (namespace.Text == "az" || namespace.Text == "sys") && u.symbols[namespace.Text] == nil {
			where = namespace.Text + "."
		} else {
			u.expression(e.On, known, inside)
			from, where = methods, "."
		}
	}
	f, is := from[e.Text]
	switch {
	case !is:
		u.find(e.Position, "function", "there is no function %s%s%s", where, e.Text, didYouMean(e.Text, slices.Collect(maps.Keys(from))))
	case len(e.Arguments) < f.least || f.most >= 0 && len(e.Arguments) > f.most:
		u.find(e.Position, "arguments", "%s%s takes %s, not %d", where, e.Text, count(f.least, f.most), len(e.Arguments))
	case onlyInDefaults[e.Text] && at != asDefault:
		u.find(e.Position, "function", "%s gives something else each time: it is possible in the default of a parameter only", e.Text)
	}
	if is && e.On == nil || where == "sys." || where == "az." {
		u.argumentKinds(e, known)
	}
	for i, argument := range e.Arguments {
		lambda, is := argument.(*Lambda)
		bounds, takes := lambdas[e.Text][i]
		switch {
		case is && !takes:
			u.find(lambda.At(), "lambda", "argument %d of %s is not a lambda", i+1, e.Text)
		case !is && takes:
			u.find(argument.At(), "lambda", "argument %d of %s is a lambda: name => expression", i+1, e.Text)
			u.expression(argument, known, inner(at))
		case is && (len(lambda.Parameters) < bounds[0] || len(lambda.Parameters) > bounds[1]):
			u.find(lambda.At(), "lambda", "the lambda of %s has %d to %d names, not %d", e.Text, bounds[0], bounds[1], len(lambda.Parameters))
		case is:
			u.expression(lambda.Body, u.lambda(e, lambda, known), inner(at))
		default:
			u.expression(argument, known, inner(at))
		}
	}
	u.loads(e)
}

// lambda enters the names of a lambda. They are of the type of the items that the
// function goes through, and a number for the place of an item.
func (u *unit) lambda(e *Call, lambda *Lambda, known *locals) *locals {
	var item *Type
	if t := u.typeOf(e.Arguments[0], known); t.kind() == KindArray {
		item = t.Item
	}
	for i, name := range lambda.Parameters {
		var t *Type
		switch e.Text {
		case "map", "filter":
			t = []*Type{item, someInt}[i]
		case "toObject", "groupBy", "sort":
			t = item
		}
		known = known.withLambda(name.Text, t)
	}
	return known
}

// operands checks that operators are used on what they are made for.
func (u *unit) operands(e Expression, known *locals) {
	want := func(operand Expression, kind Kind, what string) {
		if t := u.typeOf(operand, known); t.kind() != KindAny && t.kind() != kind {
			u.find(operand.At(), "kind", "%s takes %s, not %s", what, indefinite(kind), t)
		}
	}
	switch e := e.(type) {
	case *Unary:
		want(e.Operand, map[string]Kind{"!": KindBool, "-": KindInt}[e.Operator], e.Operator)
	case *Ternary:
		want(e.Condition, KindBool, "the condition of ?")
	case *Binary:
		u.comparison(e, known)
		switch e.Operator {
		case "&&", "||":
			want(e.Left, KindBool, e.Operator)
			want(e.Right, KindBool, e.Operator)
		case "+", "-", "*", "/", "%":
			want(e.Left, KindInt, e.Operator)
			want(e.Right, KindInt, e.Operator)
			if n, is := integer(e.Right); is && n == 0 && (e.Operator == "/" || e.Operator == "%") {
				u.find(e.Right.At(), "value", "nothing can be divided by 0")
			}
		case "=~", "!~":
			want(e.Left, KindString, e.Operator)
			want(e.Right, KindString, e.Operator)
		}
	case *String:
		for _, insert := range e.Inserts {
			if t := u.typeOf(insert, known); t.kind() == KindArray || t.kind() == KindObject {
				u.find(insert.At(), "kind", "%s is inserted into a string: use string() if that is meant", t)
			}
		}
	}
}

// comparison checks that what is compared can be compared, and can be equal.
func (u *unit) comparison(e *Binary, known *locals) {
	a, b := u.typeOf(e.Left, known), u.typeOf(e.Right, known)
	if a.kind() == KindAny || b.kind() == KindAny {
		return
	}
	switch e.Operator {
	case "<", "<=", ">", ">=":
		if a.Kind != b.Kind || a.Kind != KindInt && a.Kind != KindString {
			u.find(e.Right.At(), "kind", "%s compares two numbers or two strings, not %s and %s", e.Operator, a, b)
		}
	case "==", "!=":
		switch {
		case a.Kind == KindNull || b.Kind == KindNull:
		case a.Kind != b.Kind:
			u.find(e.Right.At(), "kind", "%s and %s are never equal", a, b)
		case a.Kind == KindString && a.Values != nil && b.Values != nil && !slices.ContainsFunc(a.Values, func(text string) bool { return slices.Contains(b.Values, text) }):
			u.find(e.Right.At(), "value", "%s is never equal to %s%s", list(quoteAll(b.Values)), list(quoteAll(a.Values)), didYouMean(b.Values[0], a.Values))
		}
	}
}

// indexed checks that what an item is taken of has items, and that the index is of the
// right kind.
func (u *unit) indexed(e *Index, known *locals) {
	on, index := u.typeOf(e.On, known), u.typeOf(e.Index, known)
	wanted := map[Kind]Kind{KindArray: KindInt, KindObject: KindString}[on.kind()]
	switch {
	case on.kind() == KindAny || on.Kind == KindNull:
		return
	case wanted == "":
		u.find(e.Index.At(), "kind", "an item is taken of an array or object, not of %s", on)
		return
	case index.kind() != KindAny && index.Kind != wanted:
		u.find(e.Index.At(), "kind", "the index of %s is %s, not %s", indefinite(on.Kind), indefinite(wanted), index)
		return
	}
	if n, is := integer(e.Index); is && n < 0 {
		u.find(e.Index.At(), "value", "the first item has the index 0")
	}
	if name, literal := Literal(e.Index); literal {
		u.member(&Member{Position: e.Position, On: e.On, Member: Name{e.Index.At(), name}, Safe: e.Safe}, known)
	}
}
