package bicep

import (
	"slices"
	"strconv"
)

// expression reads an expression with its ternaries. A line may break before ? and :.
func (p *parser) expression() Expression {
	p.depth++
	defer func() { p.depth-- }()
	p.bounded(p.depth)
	condition := p.binary(0)
	p.breakBefore("?")
	if !p.is("?") {
		return condition
	}
	p.read()
	t := &Ternary{Position: condition.At(), Condition: condition, Then: p.expression()}
	p.breakBefore(":")
	p.expect(":", "between the two values of ?")
	t.Otherwise = p.expression()
	return t
}

// bounded gives up an expression whose tree is too deep for the stack: what is nested,
// and chains such as a.b.c or a + b + c.
func (p *parser) bounded(depth int) {
	if depth > deepest {
		p.fail(p.peek().Position, "expressions are nested more than %d deep", deepest)
	}
}

// breakBefore passes a line break over if an operator follows.
func (p *parser) breakBefore(text string) {
	if next := p.after(); p.peek().kind == lineBreak && next.kind == operator && next.text == text {
		p.read()
	}
}

// precedences are Bicep's own: operators of a higher one bind first.
var precedences = map[string]int{
	"??": 1, "||": 2, "&&": 3,
	"==": 4, "!=": 4, "=~": 4, "!~": 4,
	"<": 5, "<=": 5, ">": 5, ">=": 5,
	"+": 6, "-": 6,
	"*": 7, "/": 7, "%": 7,
}

// binary reads operators that bind more tightly than a precedence, from left to right.
func (p *parser) binary(precedence int) Expression {
	left := p.unary()
	for n := 0; ; n++ {
		t := p.peek()
		if t.kind != operator || precedences[t.text] <= precedence {
			return left
		}
		p.bounded(n)
		p.read()
		left = &Binary{Position: left.At(), Operator: t.text, Left: left, Right: p.binary(precedences[t.text])}
	}
}

func (p *parser) unary() Expression {
	if t := p.peek(); p.is("!", "-") {
		p.depth++
		defer func() { p.depth-- }()
		p.bounded(p.depth)
		p.read()
		return &Unary{Position: t.Position, Operator: t.text, Operand: p.unary()}
	}
	return p.member()
}

// member reads the suffixes of an operand: properties, items, calls and !.
func (p *parser) member() Expression {
	operand := p.primary()
	for n := 0; ; n++ {
		p.bounded(n)
		switch {
		case p.acceptOperator("."):
			safe := p.acceptOperator("?")
			name := p.name("the name of a property or function")
			if !p.is("(") {
				operand = &Member{Position: operand.At(), On: operand, Member: name, Safe: safe}
				continue
			}
			if safe {
				p.fail(name.Position, "a function cannot be called with .?")
			}
			operand = &Call{Name: name, On: operand, Arguments: p.arguments()}
		case p.acceptOperator("["):
			index := &Index{Position: operand.At(), On: operand, Safe: p.acceptOperator("?"), Index: p.expression()}
			p.expect("]", "after an index")
			operand = index
		case p.acceptOperator("!"):
			operand = &NotNull{Position: operand.At(), Operand: operand}
		case p.is("::"):
			p.fail(p.peek().Position, "nested resources are not supported: declare them with parent:")
		default:
			return operand
		}
	}
}

func (p *parser) primary() Expression {
	t := p.peek()
	switch {
	case t.kind == stringWhole || t.kind == stringStart:
		return p.string()
	case t.kind == number:
		return p.integer()
	case t.kind == identifier:
		return p.identifier()
	case p.is("("):
		return p.parenthesizedOrLambda()
	case p.is("["):
		if next := p.after(); next.kind == identifier && next.text == "for" {
			return p.forValue()
		}
		return p.array()
	case p.is("{"):
		return p.object()
	case p.is("..."):
		p.fail(t.Position, "spread is not supported: list the items, or use union() or concat()")
	}
	p.fail(t.Position, "expected an expression, not %s", t)
	return nil
}

func (p *parser) integer() Expression {
	t := p.read()
	value, err := strconv.ParseInt(t.text, 10, 64)
	if err != nil {
		p.fail(t.Position, "%s is too large", t.text)
	}
	if p.is(".") && p.after().kind == number {
		p.fail(t.Position, "Bicep has no fractions: use a whole number, or json('0.5') for a property")
	}
	return &Integer{t.Position, value}
}

func (p *parser) identifier() Expression {
	t := p.read()
	switch {
	case t.text == "true" || t.text == "false":
		return &Boolean{t.Position, t.text == "true"}
	case t.text == "null":
		return &Null{t.Position}
	case p.is("("):
		return &Call{Name: Name{t.Position, t.text}, Arguments: p.arguments()}
	case p.is("=>"):
		return p.lambda(t.Position, []Name{{t.Position, t.text}})
	}
	return &Reference{Name{t.Position, t.text}}
}

func (p *parser) lambda(at Position, parameters []Name) Expression {
	p.expect("=>", "after the parameters of a lambda")
	p.accept(lineBreak)
	return &Lambda{Position: at, Parameters: parameters, Body: p.expression()}
}

// string reads a string with its inserts. An insert stays on its line and holds neither
// an array nor an object.
func (p *parser) string() *String {
	t := p.read()
	s := &String{Position: t.Position, Segments: []string{t.text}}
	for t.kind == stringStart || t.kind == stringMiddle {
		insert := p.expression()
		Walk(insert, func(e Expression) bool {
			switch e.(type) {
			case *Array, *Object, *For:
				p.fail(e.At(), "a string cannot interpolate an array or object")
			}
			return true
		})
		t = p.peek()
		if t.kind != stringMiddle && t.kind != stringEnd {
			p.fail(t.Position, "expected } after the interpolated expression, not %s", t)
		}
		p.read()
		s.Inserts = append(s.Inserts, insert)
		s.Segments = append(s.Segments, t.text)
	}
	return s
}

// arguments reads (a, b). Lines may break after the opening parenthesis, after a comma
// and before the closing one.
func (p *parser) arguments() []Expression {
	p.expect("(", "before arguments")
	p.accept(lineBreak)
	var all []Expression
	for !p.is(")") {
		if len(all) > 0 {
			p.expect(",", "or ) after an argument")
			p.accept(lineBreak)
		}
		all = append(all, p.expression())
		p.breakBefore(")")
	}
	p.read()
	return all
}

// parenthesized reads (expression), which may stand on lines of its own.
func (p *parser) parenthesized() Expression {
	p.expect("(", "before an expression")
	p.accept(lineBreak)
	inner := p.expression()
	p.accept(lineBreak)
	p.expect(")", "after an expression")
	return inner
}

// parenthesizedOrLambda distinguishes the two by the arrow behind the closing parenthesis.
func (p *parser) parenthesizedOrLambda() Expression {
	at := p.peek().Position
	end := p.closing()
	if end+1 >= len(p.tokens) || p.tokens[end+1].kind != operator || p.tokens[end+1].text != "=>" {
		return p.parenthesized()
	}
	return p.lambda(at, p.names(")"))
}

// closing is where the parenthesis that the current token opens is closed. All of them
// are looked for at once.
func (p *parser) closing() int {
	if p.closings == nil {
		p.closings = map[Position]int{}
		var open []Position
		for i, t := range p.tokens {
			switch {
			case t.kind != operator:
			case t.text == "(":
				open = append(open, t.Position)
			case t.text == ")" && len(open) > 0:
				p.closings[open[len(open)-1]] = len(p.tokens) - i
				open = open[:len(open)-1]
			}
		}
	}
	if left, closed := p.closings[p.peek().Position]; closed {
		return len(p.tokens) - left
	}
	return len(p.tokens)
}

// names reads (a, b).
func (p *parser) names(closing string) []Name {
	p.expect("(", "before names")
	var all []Name
	for !p.is(closing) {
		if len(all) > 0 {
			p.expect(",", "between names")
		}
		name := p.name("a name")
		if slices.ContainsFunc(all, func(other Name) bool { return other.Text == name.Text }) {
			p.fail(name.Position, "%s is declared twice", name.Text)
		}
		all = append(all, name)
	}
	p.read()
	return all
}

// loop reads the head of a loop, up to the colon.
func (p *parser) loop() *Loop {
	l := &Loop{Position: p.expect("[", "before for").Position}
	p.accept(lineBreak)
	if keyword := p.name("for"); keyword.Text != "for" {
		p.fail(keyword.Position, "expected for, not %s", keyword.Text)
	}
	if p.is("(") {
		at := p.peek().Position
		names := p.names(")")
		if len(names) != 2 {
			p.fail(at, "expected one loop variable or (item, index)")
		}
		l.Item, l.Index = names[0], names[1]
	} else {
		l.Item = p.name("the variable of a loop")
	}
	if keyword := p.name("in"); keyword.Text != "in" {
		p.fail(keyword.Position, "expected in, not %s", keyword.Text)
	}
	l.List = p.expression()
	p.expect(":", "after the list of a loop")
	return l
}

func (p *parser) forValue() Expression {
	f := &For{Loop: p.loop()}
	if t := p.peek(); t.kind == identifier && t.text == "if" && p.tokens[1].kind == operator && p.tokens[1].text == "(" {
		p.fail(t.Position, "a loop value cannot have an if: use filter()")
	}
	f.Body = p.expression()
	p.accept(lineBreak)
	p.expect("]", "after the body of a loop")
	return f
}

// items reads the items between brackets: separated by commas on one line, by line
// breaks otherwise.
func (p *parser) items(closing string, item func()) {
	p.accept(lineBreak)
	for !p.is(closing) {
		item()
		switch {
		case p.is(closing):
		case p.is(","):
			p.read()
			if p.peek().kind == lineBreak || p.is(closing) {
				p.fail(p.peek().Position, "expected a comma between two items on one line")
			}
		case p.accept(lineBreak):
		default:
			p.fail(p.peek().Position, "expected a comma, a line break or %s, not %s", closing, p.peek())
		}
	}
	p.read()
}

func (p *parser) array() Expression {
	a := &Array{Position: p.read().Position}
	p.items("]", func() { a.Items = append(a.Items, p.expression()) })
	return a
}

func (p *parser) object() *Object {
	o := &Object{Position: p.expect("{", "before properties").Position}
	p.items("}", func() { o.Properties = append(o.Properties, p.property()) })
	return o
}

func (p *parser) property() *Property {
	property := &Property{}
	switch t := p.peek(); {
	case t.kind == identifier && t.text == "resource" && p.tokens[1].kind == identifier:
		p.fail(t.Position, "nested resources are not supported: declare them with parent:")
	case t.kind == identifier:
		property.Name = p.name("the name of a property")
	case slices.Contains([]tokenKind{stringWhole, stringStart}, t.kind):
		key := p.string()
		property.Name = Name{Position: key.Position}
		if text, literal := key.Literal(); literal {
			property.Text = text
		} else {
			property.Key = key
		}
	case p.is("..."):
		p.fail(t.Position, "spread is not supported: list the properties, or use union()")
	default:
		p.fail(t.Position, "expected the name of a property, not %s", t)
	}
	p.expect(":", "after the name of a property")
	property.Value = p.expression()
	return property
}
