package bicep

import (
	"fmt"
	"slices"
	"strings"
)

// deepest bounds how far expressions are nested: far above any real
// template, and far below the limit of the stack.
const deepest = 200

// Parse reads the source of one file; the path is for findings only. The file holds
// every declaration without a mistake: the parser skips the rest of a declaration after its
// first mistake.
func Parse(path, source string) (*File, []Finding) {
	tokens, comment, findings := lex(path, source)
	p := &parser{file: &File{Path: path, Comment: comment, TargetScope: "resourceGroup"}, tokens: tokens, findings: findings}
	for p.accept(lineBreak); p.peek().kind != endOfFile; p.accept(lineBreak) {
		p.statement()
	}
	return p.file, p.findings
}

type parser struct {
	file   *File
	tokens []token
	depth  int
	// scoped is set once targetScope was read.
	scoped bool
	// closings are, by the place of a parenthesis, how many tokens are left where it is
	// closed.
	closings map[Position]int
	findings []Finding
}

// mistake is the panic value that ends the parsing of a declaration.
type mistake struct{ Finding }

func (p *parser) fail(at Position, format string, values ...any) {
	panic(mistake{Finding{File: p.file.Path, Position: at, Message: fmt.Sprintf(format, values...)}})
}

func (p *parser) peek() token { return p.tokens[0] }

// after is the first token behind the current one that is not a line break.
func (p *parser) after() token {
	for _, t := range p.tokens[min(1, len(p.tokens)-1):] {
		if t.kind != lineBreak {
			return t
		}
	}
	return p.tokens[len(p.tokens)-1]
}

// read goes on to the next token. The end of the file is never left behind.
func (p *parser) read() token {
	t := p.tokens[0]
	if t.kind != endOfFile {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) accept(kind tokenKind) bool {
	if p.peek().kind != kind {
		return false
	}
	p.read()
	return true
}

func (p *parser) is(operators ...string) bool {
	return p.peek().kind == operator && slices.Contains(operators, p.peek().text)
}

func (p *parser) acceptOperator(text string) bool {
	if !p.is(text) {
		return false
	}
	p.read()
	return true
}

// expect reads an operator that has to be there.
func (p *parser) expect(text, where string) token {
	if !p.is(text) {
		p.fail(p.peek().Position, "expected %s %s, not %s", text, where, p.peek())
	}
	return p.read()
}

// name reads an identifier that has to be there.
func (p *parser) name(what string) Name {
	t := p.peek()
	if t.kind != identifier {
		p.fail(t.Position, "expected %s, not %s", what, t)
	}
	p.read()
	return Name{t.Position, t.text}
}

// declared reads the name that a declaration gives.
func (p *parser) declared(what string) Name {
	if t := p.peek(); t.kind == identifier && slices.Contains([]string{"true", "false", "null"}, t.text) {
		p.fail(t.Position, "%s is reserved: use another name", t.text)
	}
	return p.name(what)
}

func (t token) String() string {
	switch t.kind {
	case stringWhole, stringStart:
		return "a string"
	case stringMiddle, stringEnd:
		return "the rest of a string"
	case endOfFile, lineBreak:
		return "the " + strings.Replace(t.text, "line break", "end of the line", 1)
	}
	return t.text
}

// statement reads one declaration with its decorators.
func (p *parser) statement() {
	defer func() {
		caught := recover()
		if caught == nil {
			return
		}
		m, mine := caught.(mistake)
		if !mine {
			panic(caught)
		}
		p.findings = append(p.findings, m.Finding)
		p.recover()
	}()
	p.depth = 0
	p.declaration(p.decorators())
	if t := p.peek(); t.kind != lineBreak && t.kind != endOfFile {
		p.fail(t.Position, "expected the end of the line, not %s", t)
	}
}

// keywords begin a declaration.
var keywords = []string{"targetScope", "param", "var", "resource", "module", "output"}

// recover skips to the likely next declaration: a keyword or @ at the start
// of a line.
func (p *parser) recover() {
	for {
		t := p.read()
		if t.kind == endOfFile {
			return
		}
		next := p.peek()
		begins := next.kind == identifier && slices.Contains(keywords, next.text) || next.kind == operator && next.text == "@"
		if t.kind == lineBreak && begins && next.Column == 1 {
			return
		}
	}
}

func (p *parser) decorators() []*Decorator {
	var all []*Decorator
	for p.acceptOperator("@") {
		d := &Decorator{Name: p.name("the name of a decorator")}
		if d.Text == "sys" && p.acceptOperator(".") {
			d.Name = p.name("the name of a decorator")
		}
		d.Arguments = p.arguments()
		all = append(all, d)
		if !p.accept(lineBreak) {
			p.fail(p.peek().Position, "put a decorator on its own line")
		}
	}
	return all
}

func (p *parser) declaration(decorators []*Decorator) {
	keyword := p.peek()
	if keyword.kind != identifier || !slices.Contains(keywords, keyword.text) {
		p.fail(keyword.Position, "expected a declaration (%s), not %s", strings.Join(keywords, ", "), keyword)
	}
	p.read()
	switch keyword.text {
	case "targetScope":
		p.targetScope(decorators)
	case "param":
		parameter := &Parameter{Decorators: decorators, Name: p.declared("the name of a parameter"), Type: p.kind()}
		if p.acceptOperator("=") {
			parameter.Default = p.expression()
		}
		p.file.Parameters = append(p.file.Parameters, parameter)
	case "var":
		variable := &Variable{Decorators: decorators, Name: p.declared("the name of a variable")}
		p.expect("=", "after the name of a variable")
		variable.Value = p.expression()
		p.file.Variables = append(p.file.Variables, variable)
	case "output":
		output := &Output{Decorators: decorators, Name: p.declared("the name of an output"), Type: p.kind()}
		p.expect("=", "after the type of an output")
		output.Value = p.expression()
		p.file.Outputs = append(p.file.Outputs, output)
	case "resource":
		p.resource(decorators)
	case "module":
		p.module(decorators)
	}
}

func (p *parser) targetScope(decorators []*Decorator) {
	for _, decorator := range decorators {
		p.fail(decorator.Position, "targetScope takes no decorators")
	}
	p.expect("=", "after targetScope")
	at := p.peek().Position
	if p.scoped {
		p.fail(at, "targetScope is declared twice")
	}
	p.scoped = true
	p.file.TargetScope = p.literal("the scope")
	if !slices.Contains(scopes, p.file.TargetScope) {
		p.fail(at, "unknown scope %s: use one of %v", p.file.TargetScope, scopes)
	}
}

// kinds are the types of parameters and outputs.
var kinds = []string{"string", "int", "bool", "array", "object"}

func (p *parser) kind() Name {
	name := p.name("a type (" + strings.Join(kinds, ", ") + ")")
	if !slices.Contains(kinds, name.Text) {
		p.fail(name.Position, "unknown type %s: use one of %s", name.Text, strings.Join(kinds, ", "))
	}
	return name
}

// literal reads a string without inserts.
func (p *parser) literal(what string) string {
	t := p.peek()
	if t.kind != stringWhole {
		p.fail(t.Position, "%s must be a string without interpolation, not %s", what, t)
	}
	return p.read().text
}

func (p *parser) resource(decorators []*Decorator) {
	r := &Resource{Decorators: decorators, Name: p.declared("the name of a resource"), Reference: p.peek().Position}
	reference := p.literal("the type of a resource")
	var versioned bool
	r.Type, r.APIVersion, versioned = strings.Cut(reference, "@")
	if !versioned || !strings.Contains(r.Type, "/") || r.APIVersion == "" {
		p.fail(r.Reference, "invalid resource type %q: use provider/type@version", reference)
	}
	if p.peek().kind == identifier && p.peek().text == "existing" {
		p.read()
		r.Existing = true
	}
	p.expect("=", "after the type of a resource")
	r.Loop, r.Condition, r.Body = p.body()
	p.file.Resources = append(p.file.Resources, r)
}

func (p *parser) module(decorators []*Decorator) {
	m := &Module{Decorators: decorators, Name: p.declared("the name of a module"), Reference: p.peek().Position}
	m.Source = p.literal("the path of a module")
	p.expect("=", "after the path of a module")
	m.Loop, m.Condition, m.Body = p.body()
	p.file.Modules = append(p.file.Modules, m)
}

// body reads the right side of = in a resource or module: an object, with a condition, in a
// loop, or both.
func (p *parser) body() (loop *Loop, condition Expression, body *Object) {
	if p.is("[") {
		loop = p.loop()
	}
	if p.peek().kind == identifier && p.peek().text == "if" {
		p.read()
		if !p.is("(") {
			p.fail(p.peek().Position, "expected ( after if, not %s", p.peek())
		}
		condition = p.parenthesized()
	}
	if !p.is("{") {
		p.fail(p.peek().Position, "expected { or if, not %s", p.peek())
	}
	body = p.object()
	if loop != nil {
		p.accept(lineBreak)
		p.expect("]", "after the body of a loop")
	}
	return loop, condition, body
}
