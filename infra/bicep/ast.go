package bicep

// File is one parsed file. Its lists are in the order of the source.
type File struct {
	// Path is where the file is, as it was given to Parse.
	Path string
	// Comment is the text of the comment at the beginning of the file, "" without one.
	Comment string
	// TargetScope is the value of targetScope, resourceGroup by default.
	TargetScope string

	Parameters []*Parameter
	Variables  []*Variable
	Resources  []*Resource
	Modules    []*Module
	Outputs    []*Output
}

// Name is an identifier and its position.
type Name struct {
	Position
	Text string
}

// Decorator is @name(arguments) before a declaration.
type Decorator struct {
	Name
	Arguments []Expression
}

// Parameter is an input of a file. Default is nil if the parameter is required.
type Parameter struct {
	Name
	Decorators []*Decorator
	Type       Name
	Default    Expression
}

// Variable is a named expression.
type Variable struct {
	Name
	Decorators []*Decorator
	Value      Expression
}

// Output is a result of a file.
type Output struct {
	Name
	Decorators []*Decorator
	Type       Name
	Value      Expression
}

// Resource is a resource that the file creates, or only refers to (Existing).
type Resource struct {
	Name
	Decorators []*Decorator
	// Type and APIVersion are the two parts of the reference, as in
	// Microsoft.ServiceBus/namespaces and 2024-01-01.
	Type, APIVersion string
	// Reference is their position.
	Reference Position
	Existing  bool
	// Loop and Condition are nil where there is none.
	Loop      *Loop
	Condition Expression
	Body      *Object
}

// Module is another file that is deployed with this one.
type Module struct {
	Name
	Decorators []*Decorator
	// Source is the path as it is written: relative to the file.
	Source    string
	Reference Position
	// Loop and Condition are nil where there is none.
	Loop      *Loop
	Condition Expression
	Body      *Object
}

// Loop is the head of [for item in list: …] or [for (item, index) in list: …]. Index has
// no text where there is none.
type Loop struct {
	Position
	Item, Index Name
	List        Expression
}

// Expression is a node of an expression: one of the types below.
type Expression interface{ At() Position }

// At returns the position at which a node begins.
func (p Position) At() Position { return p }

type (
	// String is a string. Segments are the texts around the inserted expressions:
	// always one more than those.
	String struct {
		Position
		Segments []string
		Inserts  []Expression
	}
	// Integer is a whole number.
	Integer struct {
		Position
		Value int64
	}
	// Boolean is true or false.
	Boolean struct {
		Position
		Value bool
	}
	// Null is null.
	Null struct{ Position }
	// Array is [a, b].
	Array struct {
		Position
		Items []Expression
	}
	// Object is {key: value}.
	Object struct {
		Position
		Properties []*Property
	}
	// Property is one entry of an object. Key is nil where the name is written as an
	// identifier or a string without inserts; otherwise Text is empty.
	Property struct {
		Name
		Key   *String
		Value Expression
	}
	// Reference is the use of a symbol.
	Reference struct{ Name }
	// Call is a function call. On is the receiver, as in vault.getSecret('x'), or nil.
	Call struct {
		Name
		On        Expression
		Arguments []Expression
	}
	// Member is on.Member or on.?Member (Safe).
	Member struct {
		Position
		On     Expression
		Member Name
		Safe   bool
	}
	// Index is on[Index] or on[?Index] (Safe).
	Index struct {
		Position
		On, Index Expression
		Safe      bool
	}
	// NotNull is operand!.
	NotNull struct {
		Position
		Operand Expression
	}
	// Unary is ! or - before an operand.
	Unary struct {
		Position
		Operator string
		Operand  Expression
	}
	// Binary is an operator between two operands.
	Binary struct {
		Position
		Operator    string
		Left, Right Expression
	}
	// Ternary is condition ? then : otherwise.
	Ternary struct {
		Position
		Condition, Then, Otherwise Expression
	}
	// Lambda is a => body or (a, b) => body: an argument of filter, map and the like.
	Lambda struct {
		Position
		Parameters []Name
		Body       Expression
	}
	// For is a loop as a value: [for x in list: body].
	For struct {
		*Loop
		Body Expression
	}
)

// Literal gives the text of a string without inserts.
func (s *String) Literal() (string, bool) {
	if len(s.Inserts) > 0 {
		return "", false
	}
	return s.Segments[0], true
}

// Property finds an entry by its name, or gives nil.
func (o *Object) Property(name string) *Property {
	if o == nil {
		return nil
	}
	for _, property := range o.Properties {
		if property.Key == nil && property.Text == name {
			return property
		}
	}
	return nil
}

// Value finds the value of an entry by its name, or gives nil.
func (o *Object) Value(name string) Expression {
	if property := o.Property(name); property != nil {
		return property.Value
	}
	return nil
}

// Literal gives the text of an expression that is a string without inserts.
func Literal(expression Expression) (string, bool) {
	if text, is := expression.(*String); is {
		return text.Literal()
	}
	return "", false
}

// Walk visits an expression and, if visit returns true, its operands.
func Walk(expression Expression, visit func(Expression) bool) {
	if expression == nil || !visit(expression) {
		return
	}
	for _, child := range children(expression) {
		Walk(child, visit)
	}
}

// Walk visits every expression of a file, in the order of its lists: see the function of
// that name.
func (f *File) Walk(visit func(Expression) bool) {
	head := func(l *Loop, condition Expression, body *Object) {
		if l != nil {
			Walk(l.List, visit)
		}
		Walk(condition, visit)
		Walk(body, visit)
	}
	for _, d := range f.Parameters {
		Walk(d.Default, visit)
	}
	for _, d := range f.Variables {
		Walk(d.Value, visit)
	}
	for _, d := range f.Resources {
		head(d.Loop, d.Condition, d.Body)
	}
	for _, d := range f.Modules {
		head(d.Loop, d.Condition, d.Body)
	}
	for _, d := range f.Outputs {
		Walk(d.Value, visit)
	}
}

// children are the operands of a node, without absent ones.
func children(expression Expression) []Expression {
	switch e := expression.(type) {
	case *String:
		return e.Inserts
	case *Array:
		return e.Items
	case *Object:
		var all []Expression
		for _, property := range e.Properties {
			if property.Key != nil {
				all = append(all, property.Key)
			}
			all = append(all, property.Value)
		}
		return all
	case *Call:
		if e.On != nil {
			return append([]Expression{e.On}, e.Arguments...)
		}
		return e.Arguments
	case *Member:
		return []Expression{e.On}
	case *Index:
		return []Expression{e.On, e.Index}
	case *NotNull:
		return []Expression{e.Operand}
	case *Unary:
		return []Expression{e.Operand}
	case *Binary:
		return []Expression{e.Left, e.Right}
	case *Ternary:
		return []Expression{e.Condition, e.Then, e.Otherwise}
	case *Lambda:
		return []Expression{e.Body}
	case *For:
		return []Expression{e.List, e.Body}
	}
	return nil
}
