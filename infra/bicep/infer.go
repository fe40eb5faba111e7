package bicep

import (
	"encoding/json"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// typeOf is what can be told of the value of an expression; nil if nothing. It reports
// nothing. Each expression stands in one place, and so has one type, which is kept:
// otherwise calls in calls would be looked at again and again.
func (u *unit) typeOf(e Expression, known *locals) *Type {
	if t, told := u.told[e]; told {
		return t
	}
	t := u.tell(e, known)
	u.told[e] = t
	return t
}

func (u *unit) tell(e Expression, known *locals) *Type {
	switch e := e.(type) {
	case *String:
		if text, literal := e.Literal(); literal {
			return &Type{Kind: KindString, Values: []string{text}}
		}
		return someString
	case *Integer:
		return &Type{Kind: KindInt, Numbers: []int64{e.Value}}
	case *Boolean:
		return someBool
	case *Null:
		return &Type{Kind: KindNull}
	case *Array:
		return u.typeOfArray(e, known)
	case *Object:
		return u.typeOfObject(e, known)
	case *For:
		return &Type{Kind: KindArray, Item: u.typeOf(e.Body, u.quietly(e.Loop, known))}
	case *Reference:
		return u.typeOfReference(e, known)
	case *Member:
		return u.typeOfMember(e, known)
	case *Index:
		return u.typeOfIndex(e, known)
	case *Call:
		return u.typeOfCall(e, known)
	case *NotNull:
		return u.typeOf(e.Operand, known)
	case *Unary:
		return map[string]*Type{"!": someBool, "-": someInt}[e.Operator]
	case *Binary:
		return u.typeOfBinary(e, known)
	case *Ternary:
		return merge(u.typeOf(e.Then, known), u.typeOf(e.Otherwise, known))
	}
	return nil
}

// quietly enters the variables of a loop without a look at its list.
func (u *unit) quietly(l *Loop, known *locals) *locals {
	var item *Type
	if t := u.typeOf(l.List, known); t != nil {
		item = t.Item
	}
	return known.with(l.Item.Text, item).with(l.Index.Text, someInt)
}

func (u *unit) typeOfArray(e *Array, known *locals) *Type {
	t := &Type{Kind: KindArray}
	for i, item := range e.Items {
		of := u.typeOf(item, known)
		if i == 0 {
			t.Item = of
		} else {
			t.Item = merge(t.Item, of)
		}
	}
	return t
}

func (u *unit) typeOfObject(e *Object, known *locals) *Type {
	t := &Type{Kind: KindObject, Properties: map[string]*Field{}}
	for _, property := range e.Properties {
		if property.Key != nil {
			t.open = true
			continue
		}
		t.Properties[property.Text] = &Field{Type: u.typeOf(property.Value, known)}
	}
	return t
}

func (u *unit) typeOfReference(e *Reference, known *locals) *Type {
	if local := known.find(e.Text); local != nil {
		return local.typ
	}
	s := u.symbols[e.Text]
	if s == nil {
		return nil
	}
	switch d := s.declaration.(type) {
	case *Parameter:
		return d.declared()
	case *Variable:
		if !s.typed && !s.typing {
			s.typing = true
			s.typ, s.typed = u.typeOf(d.Value, nil), true
		}
		return s.typ
	case *Resource:
		return looped(d.Loop, u.typeOfResource(d))
	case *Module:
		return looped(d.Loop, u.typeOfModule(d))
	}
	return nil
}

func looped(l *Loop, t *Type) *Type {
	if l == nil {
		return t
	}
	return &Type{Kind: KindArray, Item: t}
}

func (u *unit) typeOfResource(d *Resource) *Type {
	resource := u.types.find(d.Type, d.APIVersion)
	if resource == nil {
		return nil
	}
	return resource.Body
}

// typeOfModule has the name and the outputs of a module.
func (u *unit) typeOfModule(d *Module) *Type {
	target := u.units[u.beside(d.Source)]
	if target == nil || target.broken {
		return nil
	}
	outputs := &Type{Kind: KindObject, Name: "outputs of " + d.Text, Properties: map[string]*Field{}}
	for _, output := range target.Outputs {
		outputs.Properties[output.Text] = &Field{Type: declaredAs(output.Type.Text)}
	}
	return &Type{Kind: KindObject, Name: "module " + d.Text, Properties: map[string]*Field{
		"name": {Type: someString}, "outputs": {Type: outputs},
	}}
}

func (u *unit) typeOfMember(e *Member, known *locals) *Type {
	on := u.typeOf(e.On, known)
	if on.kind() != KindObject || on.Variants != nil {
		return nil
	}
	if field, is := on.field(e.Member.Text); is {
		return field.Type
	}
	return nil
}

func (u *unit) typeOfIndex(e *Index, known *locals) *Type {
	on := u.typeOf(e.On, known)
	switch on.kind() {
	case KindArray:
		return on.Item
	case KindObject:
		name, literal := Literal(e.Index)
		if !literal || on.Variants != nil {
			return on.Additional
		}
		if field, is := on.field(name); is {
			return field.Type
		}
	}
	return nil
}

func (u *unit) typeOfBinary(e *Binary, known *locals) *Type {
	switch e.Operator {
	case "+", "-", "*", "/", "%":
		return someInt
	case "??":
		return merge(u.typeOf(e.Left, known), u.typeOf(e.Right, known))
	}
	return someBool
}

// typeOfCall knows some functions better than by their kind.
func (u *unit) typeOfCall(e *Call, known *locals) *Type {
	if e.On != nil {
		if f, is := methods[e.Text]; is {
			return f.gives
		}
	}
	arguments := make([]*Type, len(e.Arguments))
	for i, argument := range e.Arguments {
		arguments[i] = u.typeOf(argument, known)
	}
	switch {
	case len(arguments) == 0:
	case e.Text == "concat" && arguments[0].kind() == KindString:
		return someString
	case e.Text == "concat":
		return merged(arguments)
	case slices.Contains([]string{"filter", "sort"}, e.Text):
		return ifArray(arguments[0])
	case slices.Contains([]string{"skip", "take"}, e.Text):
		if arguments[0].kind() == KindString {
			return someString
		}
		return ifArray(arguments[0])
	case slices.Contains([]string{"first", "last"}, e.Text):
		if arguments[0].kind() == KindArray {
			return arguments[0].Item
		}
		return nil
	case e.Text == "flatten" && arguments[0].kind() == KindArray:
		if inner := arguments[0].Item; inner.kind() == KindArray {
			return inner
		}
	case e.Text == "map":
		if lambda, is := last(e.Arguments).(*Lambda); is && len(e.Arguments) == 2 && len(lambda.Parameters) <= 2 {
			return &Type{Kind: KindArray, Item: u.typeOf(lambda.Body, u.lambda(e, lambda, known))}
		}
	case e.Text == "union" && arguments[0].kind() == KindArray:
		return merged(arguments)
	case e.Text == "union" && arguments[0].kind() == KindObject:
		return someObject
	case e.Text == "loadJsonContent":
		return u.loaded(e)
	}
	return functions[e.Text].gives
}

func last(all []Expression) Expression { return all[len(all)-1] }

func ifArray(t *Type) *Type {
	if t.kind() == KindArray {
		return t
	}
	return someArray
}

// merged is the type of arrays put together: an empty one adds nothing.
func merged(all []*Type) *Type {
	var t *Type
	for _, next := range all {
		switch {
		case next.kind() != KindArray:
			return nil
		case t == nil || t.Item == nil:
			t = next
		case next.Item != nil:
			t = merge(t, next)
		}
	}
	return t
}

// beside is the path of a file that is named relative to this one.
func (u *unit) beside(name string) string { return path.Join(path.Dir(u.Path), name) }

// loads checks that a file that is loaded is there.
func (u *unit) loads(e *Call) {
	if !strings.HasPrefix(e.Text, "load") || e.On != nil || len(e.Arguments) == 0 {
		return
	}
	name, literal := Literal(e.Arguments[0])
	if !literal {
		u.find(e.Arguments[0].At(), "load", "the path that %s loads is a string without inserts", e.Text)
		return
	}
	data, err := fs.ReadFile(u.fsys, u.beside(name))
	if err != nil {
		u.find(e.Arguments[0].At(), "load", "%s cannot be read: there is no file %s", name, u.beside(name))
		return
	}
	if e.Text == "loadJsonContent" && !json.Valid(data) {
		u.find(e.Arguments[0].At(), "load", "%s is not JSON", name)
	}
}

// loaded is the type of the JSON that is loaded.
func (u *unit) loaded(e *Call) *Type {
	name, literal := Literal(e.Arguments[0])
	if !literal || len(e.Arguments) != 1 {
		return nil
	}
	data, err := fs.ReadFile(u.fsys, u.beside(name))
	if err != nil {
		return nil
	}
	var value any
	if json.Unmarshal(data, &value) != nil {
		return nil
	}
	return typeOfJSON(value)
}

// typeOfJSON is the type of a JSON value. What is different among the items of an array
// is told by their merged type.
func typeOfJSON(value any) *Type {
	switch value := value.(type) {
	case string:
		return &Type{Kind: KindString, Values: []string{value}}
	case float64:
		return someInt
	case bool:
		return someBool
	case []any:
		t := &Type{Kind: KindArray}
		for i, item := range value {
			if of := typeOfJSON(item); i == 0 {
				t.Item = of
			} else {
				t.Item = merge(t.Item, of)
			}
		}
		return t
	case map[string]any:
		t := &Type{Kind: KindObject, Properties: map[string]*Field{}}
		for name, property := range value {
			t.Properties[name] = &Field{Type: typeOfJSON(property)}
		}
		return t
	}
	return &Type{Kind: KindNull}
}
