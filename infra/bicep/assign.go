package bicep

import (
	"slices"
)

// assign checks that a value may stand where a type is wanted. It looks into objects,
// arrays, the branches of ?, loops and variables, and reports at the place that is wrong.
func (u *unit) assign(e Expression, wanted *Type, known *locals) {
	if wanted.kind() == KindAny {
		return
	}
	switch e := e.(type) {
	case *Object:
		if wanted.Kind == KindObject {
			u.assignObject(e, wanted, known)
			return
		}
	case *Array:
		if wanted.Kind == KindArray {
			if why := wanted.Limits.items(len(e.Items)); why != "" {
				u.find(e.At(), "value", "%s", why)
			}
			for _, item := range e.Items {
				u.assign(item, wanted.Item, known)
			}
			return
		}
	case *For:
		if wanted.Kind == KindArray {
			u.assign(e.Body, wanted.Item, u.quietly(e.Loop, known))
			return
		}
	case *Ternary:
		u.assign(e.Then, wanted, known)
		u.assign(e.Otherwise, wanted, known)
		return
	case *Call:
		if u.assignCall(e, wanted, known) {
			return
		}
	case *Binary:
		if e.Operator == "??" {
			u.assign(e.Left, wanted.orNull(), known)
			u.assign(e.Right, wanted, known)
			return
		}
	case *Reference:
		if u.assignVariable(e, wanted, known) {
			return
		}
	}
	value := u.typeOf(e, known)
	why := fits(value, wanted)
	if why == "" {
		return
	}
	code := "value"
	if value.kind() != wanted.Kind {
		code = "kind"
	}
	u.find(e.At(), code, "%s", why)
}

// assignVariable looks at an object or array that a variable holds. It answers false if
// the name is something else.
func (u *unit) assignVariable(e *Reference, wanted *Type, known *locals) bool {
	s := u.symbols[e.Text]
	if s == nil || known.find(e.Text) != nil || s.typing {
		return false
	}
	variable, is := s.declaration.(*Variable)
	if !is || wanted.Name == "" && wanted.Item.kind() == KindAny {
		return false
	}
	switch variable.Value.(type) {
	case *Object, *Array, *For, *Ternary, *Call:
		s.typing = true
		u.assign(variable.Value, wanted, nil)
		s.typing = false
		return true
	}
	return false
}

// assignCall looks at what a function puts together. It answers false if the function is
// another one.
func (u *unit) assignCall(e *Call, wanted *Type, known *locals) bool {
	part := &Type{Kind: KindArray, Item: wanted.Item}
	switch {
	case e.On != nil || len(e.Arguments) == 0:
		return false
	case e.Text == "union" && wanted.Kind == KindObject:
		part = wanted.part()
	case e.Text == "map" && wanted.Kind == KindArray && len(e.Arguments) == 2:
		lambda, is := e.Arguments[1].(*Lambda)
		if is && len(lambda.Parameters) <= 2 {
			u.assign(lambda.Body, wanted.Item, u.lambda(e, lambda, known))
		}
		return is
	case e.Text != "union" && e.Text != "concat" || wanted.Kind != KindArray:
		return false
	}
	for _, argument := range e.Arguments {
		u.assign(argument, part, known)
	}
	return true
}

// assignObject holds the properties that are written against those of a type.
func (u *unit) assignObject(o *Object, wanted *Type, known *locals) {
	if wanted.Variants != nil {
		if wanted = u.variant(o, wanted, known); wanted == nil {
			return
		}
	}
	u.assignProperties(o, wanted, known, nil)
}

// variant finds which type an object is of, by its discriminator.
func (u *unit) variant(o *Object, wanted *Type, known *locals) *Type {
	var values []string
	for value := range wanted.Variants {
		values = append(values, value)
	}
	slices.Sort(values)
	property := o.Property(wanted.Discriminator)
	if property == nil {
		u.find(o.At(), "missing-property", "%s needs %s, which is one of %s", wanted.Name, wanted.Discriminator, list(quoteAll(values)))
		return nil
	}
	t := u.typeOf(property.Value, known)
	if t.kind() == KindAny || t.Kind == KindString && len(t.Values) != 1 {
		return nil
	}
	if t.Kind != KindString || wanted.Variants[t.Values[0]] == nil {
		u.find(property.Value.At(), "value", "%s of %s is one of %s, not %s", wanted.Discriminator, wanted.Name, list(quoteAll(values)), t)
		return nil
	}
	return wanted.Variants[t.Values[0]]
}

// assignProperties checks the properties of an object apart from those that are not the
// type's.
func (u *unit) assignProperties(o *Object, wanted *Type, known *locals, apart []string) {
	computed := false
	for _, property := range o.Properties {
		switch field, is := wanted.field(property.Text); {
		case property.Key != nil:
			computed = true
			if wanted.Additional != nil {
				u.assign(property.Value, wanted.Additional, known)
			}
		case slices.Contains(apart, property.Text):
		case !is:
			u.find(property.Position, "unknown-property", "%s has no property %s%s", wanted.called(), property.Text, nearest(property.Text, wanted.names()))
		case field.ReadOnly:
			u.find(property.Position, "read-only", "%s of %s is given by Azure and cannot be set", property.Text, wanted.called())
		default:
			if _, null := property.Value.(*Null); null && !field.Required {
				continue
			}
			if field.Constant {
				u.early(property.Value, property.Text)
			}
			u.assign(property.Value, withNull(field), known)
		}
	}
	if computed {
		return
	}
	var missing []string
	for name, field := range wanted.Properties {
		if field.Required && !field.ReadOnly && o.Property(name) == nil && !slices.Contains(apart, name) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		u.find(o.At(), "missing-property", "%s needs %s", wanted.called(), list(missing))
	}
}

// part is the type of a part of an object: the others may hold what is required.
func (t *Type) part() *Type {
	part := *t
	if t.Variants != nil {
		return someObject
	}
	part.Properties = map[string]*Field{}
	for name, field := range t.Properties {
		optional := *field
		optional.Required = false
		part.Properties[name] = &optional
	}
	return &part
}

// withNull is the type of a property; one that is not required takes null as well, which
// leaves it out.
func withNull(field *Field) *Type {
	if field.Required {
		return field.Type
	}
	return field.Type.orNull()
}

func (t *Type) orNull() *Type {
	if t == nil {
		return nil
	}
	null := *t
	null.optional = true
	return &null
}

// called is the name of an object type for a message.
func (t *Type) called() string {
	if t.Name == "" {
		return "the object"
	}
	return t.Name
}

// early checks that a value is known before anything is deployed: it must not come from
// what Azure gives a resource, nor from an output of a module. A resource's id, name,
// type and apiVersion are known.
func (u *unit) early(e Expression, what string) {
	u.earlyWithin(e, what, e.At(), map[*symbol]bool{})
}

func (u *unit) earlyWithin(e Expression, what string, at Position, seen map[*symbol]bool) {
	Walk(e, func(e Expression) bool {
		if call, is := e.(*Call); is && call.On != nil && u.deployed(call.On) != nil {
			u.find(at, "too-late", "%s has to be known before anything is deployed, but %s() asks Azure", what, call.Text)
			return false
		}
		if member, is := e.(*Member); is {
			s := u.deployed(member.On)
			if s == nil {
				return true
			}
			_, module := s.declaration.(*Module)
			if module && member.Member.Text != "name" || !module && !slices.Contains([]string{"id", "name", "type", "apiVersion"}, member.Member.Text) {
				u.find(at, "too-late", "%s has to be known before anything is deployed, but %s.%s is known only afterwards", what, s.Text, member.Member.Text)
			}
			return false
		}
		if reference, is := e.(*Reference); is {
			s := u.symbols[reference.Text]
			if s == nil || seen[s] {
				return false
			}
			if variable, is := s.declaration.(*Variable); is {
				seen[s] = true
				u.earlyWithin(variable.Value, what, at, seen)
			}
		}
		return true
	})
}

// deployed is the resource or module that an expression refers to, or one of a loop's.
func (u *unit) deployed(e Expression) *symbol {
	if index, is := e.(*Index); is {
		e = index.On
	}
	if sure, is := e.(*NotNull); is {
		e = sure.Operand
	}
	reference, is := e.(*Reference)
	if !is {
		return nil
	}
	s := u.symbols[reference.Text]
	if s == nil {
		return nil
	}
	switch s.declaration.(type) {
	case *Resource, *Module:
		return s
	}
	return nil
}

// absent reports what is read of a resource or module that a condition may leave out:
// only what is known without it is there then. Where it is sure to be there, ! says so.
func (u *unit) absent(e *Member) {
	_, sure := e.On.(*NotNull)
	s := u.deployed(e.On)
	if s == nil || sure || e.Safe || slices.Contains([]string{"id", "name", "type", "apiVersion"}, e.Member.Text) {
		return
	}
	resource, _ := s.declaration.(*Resource)
	module, _ := s.declaration.(*Module)
	if resource != nil && resource.Condition != nil || module != nil && module.Condition != nil {
		u.find(e.Member.Position, "may-be-absent", "%s has a condition and may be left out: write %s.?%s, or %s!.%s where it is sure to be there",
			s.Text, s.Text, e.Member.Text, s.Text, e.Member.Text)
	}
}

// member checks that a property that is read is there.
func (u *unit) member(e *Member, known *locals) {
	on := u.typeOf(e.On, known)
	u.absent(e)
	switch on.kind() {
	case KindAny, KindNull:
		return
	case KindObject:
	case KindArray:
		if s := u.deployed(e.On); s != nil {
			u.find(e.Member.Position, "kind", "%s is made in a loop: say which one, as in %s[0].%s", s.Text, s.Text, e.Member.Text)
			return
		}
		u.find(e.Member.Position, "kind", "%s is read of an array", e.Member.Text)
		return
	default:
		u.find(e.Member.Position, "kind", "%s is read of %s", e.Member.Text, on)
		return
	}
	if on.Variants != nil || e.Safe {
		return
	}
	if _, is := on.field(e.Member.Text); !is {
		var names []string
		for name := range on.Properties {
			names = append(names, name)
		}
		u.find(e.Member.Position, "unknown-property", "%s has no property %s%s", on.called(), e.Member.Text, nearest(e.Member.Text, names))
	}
}
