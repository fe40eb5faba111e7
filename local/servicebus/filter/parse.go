package filter

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// SQL is a compiled SQL filter expression.
type SQL struct {
	root node
	text string
}

// ErrUnsupported says that Service Bus knows an expression and this package does not.
var ErrUnsupported = errors.New("is not supported by the local Service Bus")

// Parse compiles an expression of the grammar documented as "Subscription rule
// SQL filter syntax". The error names the position, counted in bytes from 1.
func Parse(text string) (*SQL, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &parser{tokens: tokens}
	root, err := p.or()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokenEnd {
		return nil, t.unexpected("the end of the expression")
	}
	if !root.predicate() {
		return nil, fmt.Errorf("position 1: the expression is a value, not a condition")
	}
	return &SQL{root: root, text: text}, nil
}

// String is the text that was compiled.
func (f *SQL) String() string { return f.text }

type parser struct {
	tokens []token
	at     int
	depth  int
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) take() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

// accept takes the next token when it is the operator or keyword given.
func (p *parser) accept(text string) bool {
	if p.peek().is(text) {
		p.at++
		return true
	}
	return false
}

func (p *parser) expect(text string) error {
	if t := p.take(); !t.is(text) {
		return t.unexpected(text)
	}
	return nil
}

func (p *parser) or() (node, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("position %d: nested deeper than %d", p.peek().pos, maxNesting)
	}
	defer func() { p.depth-- }()
	return p.connective("OR", p.and, func(l, r node) node { return orNode{l: l, r: r} })
}

// maxNesting bounds the recursion of the parser and of the evaluation.
const maxNesting = 100

func (p *parser) and() (node, error) {
	return p.connective("AND", p.not, func(l, r node) node { return andNode{l: l, r: r} })
}

func (p *parser) connective(word string, operand func() (node, error), join func(l, r node) node) (node, error) {
	at := p.peek()
	left, err := operand()
	for err == nil && p.peek().is(word) {
		if !left.predicate() {
			return nil, at.mustBeCondition(word)
		}
		p.take()
		at = p.peek()
		var right node
		if right, err = operand(); err == nil {
			if !right.predicate() {
				return nil, at.mustBeCondition(word)
			}
			left = join(left, right)
		}
	}
	return left, err
}

func (p *parser) not() (node, error) {
	nots := 0
	for p.accept("NOT") {
		nots++
	}
	at := p.peek()
	n, err := p.condition()
	if err != nil || nots == 0 {
		return n, err
	}
	if !n.predicate() {
		return nil, at.mustBeCondition("NOT")
	}
	if nots%2 == 0 {
		return n, nil
	}
	return notNode{n: n}, nil
}

// condition is a comparison or a value that stands alone, which the caller refuses
// unless it is in parentheses as the operand of another one.
func (p *parser) condition() (node, error) {
	at := p.peek()
	left, err := p.sum()
	if err != nil {
		return nil, err
	}
	op := p.peek()
	negate := op.is("NOT")
	if negate {
		p.take()
		if op = p.peek(); !op.is("IN") && !op.is("LIKE") {
			return nil, op.unexpected("IN or LIKE")
		}
	}
	operator := op.kind == tokenOperator && comparisons[op.text]
	if !operator && !op.is("IS") && !op.is("IN") && !op.is("LIKE") {
		return left, nil
	}
	if left.predicate() {
		return nil, at.mustBeValue(op.text)
	}
	p.take()
	var n node
	switch {
	case op.is("IS"):
		return p.isNull(left, at)
	case op.is("IN"):
		n, err = p.in(left)
	case op.is("LIKE"):
		n, err = p.like(left)
	default:
		var right node
		if right, err = p.value(op.text); err == nil {
			n = compareNode{op: op.text, l: left, r: right}
		}
	}
	if err == nil && negate {
		n = notNode{n: n}
	}
	return n, err
}

var comparisons = map[string]bool{"=": true, "<>": true, "!=": true, "<": true, "<=": true, ">": true, ">=": true}

func (p *parser) isNull(left node, at token) (node, error) {
	if _, ok := left.(propertyNode); !ok {
		return nil, fmt.Errorf("position %d: IS NULL takes a property", at.pos)
	}
	negate := p.accept("NOT")
	if err := p.expect("NULL"); err != nil {
		return nil, err
	}
	return isNullNode{n: left, negate: negate}, nil
}

func (p *parser) in(left node) (node, error) {
	if err := p.expect("("); err != nil {
		return nil, err
	}
	n := inNode{left: left}
	for {
		v, err := p.value("IN")
		if err != nil {
			return nil, err
		}
		n.list = append(n.list, v)
		if !p.accept(",") {
			return n, p.expect(")")
		}
	}
}

func (p *parser) like(left node) (node, error) {
	pattern, err := p.value("LIKE")
	if err != nil {
		return nil, err
	}
	n := likeNode{left: left, pattern: pattern}
	if p.accept("ESCAPE") {
		t := p.take()
		if t.kind != tokenString || len([]rune(t.text)) != 1 {
			return nil, t.unexpected("a string of one character after ESCAPE")
		}
		n.escape = []rune(t.text)[0]
	}
	if c, ok := pattern.(constant); ok {
		s, ok := c.v.(string)
		if !ok {
			return nil, fmt.Errorf("LIKE takes a string as its pattern, not %v", c.v)
		}
		if _, err := compilePattern(s, n.escape); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// value is an operand of an operator that takes values.
func (p *parser) value(operator string) (node, error) {
	at := p.peek()
	n, err := p.sum()
	if err == nil && n.predicate() {
		return nil, at.mustBeValue(operator)
	}
	return n, err
}

func (p *parser) sum() (node, error)     { return p.arithmetic("+-", p.product) }
func (p *parser) product() (node, error) { return p.arithmetic("*/%", p.signed) }

func (p *parser) arithmetic(operators string, operand func() (node, error)) (node, error) {
	at := p.peek()
	left, err := operand()
	for err == nil {
		op := p.peek()
		if op.kind != tokenOperator || len(op.text) != 1 || !strings.Contains(operators, op.text) {
			return left, nil
		}
		if left.predicate() {
			return nil, at.mustBeValue(op.text)
		}
		p.take()
		at = p.peek()
		var right node
		if right, err = operand(); err == nil {
			if right.predicate() {
				return nil, at.mustBeValue(op.text)
			}
			left = arithmeticNode{op: op.text[0], l: left, r: right}
		}
	}
	return nil, err
}

func (p *parser) signed() (node, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fmt.Errorf("position %d: nested deeper than %d", p.peek().pos, maxNesting)
	}
	defer func() { p.depth-- }()
	t := p.peek()
	if !p.accept("-") && !p.accept("+") {
		return p.primary()
	}
	at := p.peek()
	n, err := p.signed()
	if err != nil {
		return nil, err
	}
	if n.predicate() {
		return nil, at.mustBeValue(t.text)
	}
	if t.text == "+" {
		return n, nil
	}
	return arithmeticNode{op: '-', l: constant{v: int64(0)}, r: n}, nil
}

func (p *parser) primary() (node, error) {
	t := p.take()
	switch t.kind {
	case tokenString:
		return constant{v: t.text}, nil
	case tokenNumber:
		if i, err := strconv.ParseInt(t.text, 10, 64); err == nil {
			return constant{v: i}, nil
		}
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, fmt.Errorf("position %d: %q is not a number", t.pos, t.text)
		}
		return constant{v: f}, nil
	case tokenDelimited:
		p.at--
		return p.property()
	case tokenOperator:
		if t.text == "(" {
			n, err := p.or()
			if err != nil {
				return nil, err
			}
			return n, p.expect(")")
		}
	case tokenWord:
		switch strings.ToUpper(t.text) {
		case "TRUE":
			return constant{v: true}, nil
		case "FALSE":
			return constant{v: false}, nil
		case "EXISTS":
			if err := p.expect("("); err != nil {
				return nil, err
			}
			n, err := p.property()
			if err != nil {
				return nil, err
			}
			return isNullNode{n: n, negate: true}, p.expect(")")
		case "AND", "OR", "NOT", "IN", "IS", "LIKE", "ESCAPE", "NULL":
			return nil, t.unexpected("a value")
		}
		if p.peek().is("(") {
			return p.function(t)
		}
		p.at--
		return p.property()
	}
	return nil, t.unexpected("a value")
}

// function is property(name) or p(name), the two that have a meaning in a filter.
func (p *parser) function(name token) (node, error) {
	if !strings.EqualFold(name.text, "property") && !strings.EqualFold(name.text, "p") {
		return nil, fmt.Errorf("position %d: the function %s %w", name.pos, name.text, ErrUnsupported)
	}
	p.take()
	t := p.take()
	if t.kind != tokenString {
		return nil, t.unexpected("the property's name as a string")
	}
	return propertyNode{name: t.text}, p.expect(")")
}

func (p *parser) property() (node, error) {
	t := p.take()
	if t.kind != tokenWord && t.kind != tokenDelimited {
		return nil, t.unexpected("a property")
	}
	if !p.accept(".") {
		return propertyNode{name: t.text}, nil
	}
	name := p.take()
	if name.kind != tokenWord && name.kind != tokenDelimited {
		return nil, name.unexpected("a property")
	}
	switch {
	case t.kind == tokenWord && strings.EqualFold(t.text, "user"):
		return propertyNode{name: name.text}, nil
	case t.kind == tokenWord && strings.EqualFold(t.text, "sys"):
		canonical, ok := systemProperties[strings.ToLower(name.text)]
		if strings.EqualFold(name.text, "TimeToLive") {
			return nil, fmt.Errorf("position %d: sys.TimeToLive %w", name.pos, ErrUnsupported)
		}
		if !ok {
			return nil, fmt.Errorf("position %d: there is no system property sys.%s", name.pos, name.text)
		}
		return propertyNode{name: canonical, system: true}, nil
	}
	return nil, fmt.Errorf("position %d: scope %q is neither sys nor user", t.pos, t.text)
}

// systemProperties are the names that sys. may be followed by, in any case.
var systemProperties = map[string]string{
	"contenttype": "ContentType", "correlationid": "CorrelationId", "label": "Label", "subject": "Label",
	"messageid": "MessageId", "replyto": "ReplyTo", "replytosessionid": "ReplyToSessionId",
	"sessionid": "SessionId", "to": "To", "scheduledenqueuetimeutc": "ScheduledEnqueueTimeUtc",
	"enqueuedtimeutc": "EnqueuedTimeUtc", "sequencenumber": "SequenceNumber",
	"deliverycount": "DeliveryCount", "enqueuedsequencenumber": "EnqueuedSequenceNumber",
}
