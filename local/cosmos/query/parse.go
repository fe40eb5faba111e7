package query

import (
	"math"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

type queryParser struct {
	tokens     []token
	at         int
	alias      string // the name of the document, from FROM
	parameters map[string]document.Value
	depth      int
}

// maxNesting bounds how deep parentheses and lists may nest.
const maxNesting = 64

func (p *queryParser) peek() token { return p.tokens[p.at] }

func (p *queryParser) next() token {
	t := p.tokens[p.at]
	if t.kind != tokenEnd {
		p.at++
	}
	return t
}

func (p *queryParser) isKeyword(word string) bool {
	t := p.peek()
	return t.kind == tokenName && strings.EqualFold(t.text, word)
}

func (p *queryParser) keyword(word string) bool {
	if p.isKeyword(word) {
		p.at++
		return true
	}
	return false
}

func (p *queryParser) isSymbol(symbol string) bool {
	t := p.peek()
	return t.kind == tokenSymbol && t.text == symbol
}

func (p *queryParser) symbol(symbol string) bool {
	if p.isSymbol(symbol) {
		p.at++
		return true
	}
	return false
}

func (p *queryParser) expect(symbol string) error {
	if !p.symbol(symbol) {
		return fail(p.peek().at, "expected %q, not %s", symbol, p.peek())
	}
	return nil
}

func (p *queryParser) expectKeyword(word string) error {
	if !p.keyword(word) {
		return fail(p.peek().at, "expected %s, not %s", word, p.peek())
	}
	return nil
}

var reserved = map[string]bool{}

func init() {
	for _, word := range strings.Fields("SELECT VALUE TOP DISTINCT FROM AS IN JOIN WHERE AND OR NOT BETWEEN LIKE ESCAPE ORDER GROUP BY ASC DESC OFFSET LIMIT TRUE FALSE NULL UNDEFINED EXISTS ARRAY UDF") {
		reserved[word] = true
	}
}

func (p *queryParser) identifier(what string) (string, error) {
	t := p.next()
	if t.kind != tokenName || reserved[strings.ToUpper(t.text)] {
		return "", fail(t.at, "expected %s, not %s", what, t)
	}
	return t.text, nil
}

// expression parses: or, which holds and, which holds predicates.
func (p *queryParser) expression() (expression, error) {
	if p.depth++; p.depth > maxNesting {
		return nil, fail(p.peek().at, "the expression nests deeper than %d levels", maxNesting)
	}
	defer func() { p.depth-- }()
	left, err := p.conjunction()
	for err == nil && p.keyword("OR") {
		var right expression
		right, err = p.conjunction()
		left = or{left, right}
	}
	return left, err
}

func (p *queryParser) conjunction() (expression, error) {
	left, err := p.predicate()
	for err == nil && p.keyword("AND") {
		var right expression
		right, err = p.predicate()
		left = and{left, right}
	}
	return left, err
}

func (p *queryParser) isComparison() bool {
	for _, symbol := range []string{"=", "!=", "<", "<=", ">", ">="} {
		if p.isSymbol(symbol) {
			return true
		}
	}
	return p.isKeyword("IN") || p.isKeyword("BETWEEN") || p.isKeyword("LIKE") || p.isKeyword("NOT")
}

func (p *queryParser) predicate() (expression, error) {
	if start := p.peek(); p.keyword("NOT") {
		operand, err := p.operand()
		if err != nil {
			return nil, err
		}
		if p.isComparison() {
			return nil, fail(start.at, "NOT binds tighter than a comparison: put the comparison in parentheses")
		}
		return not{operand}, nil
	}
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	if !p.isComparison() {
		return left, nil
	}
	compared, err := p.comparison(left)
	if err == nil && p.isComparison() {
		return nil, fail(p.peek().at, "a comparison of a comparison needs parentheses")
	}
	return compared, err
}

func (p *queryParser) comparison(left expression) (expression, error) {
	negated := p.keyword("NOT")
	negate := func(e expression) expression {
		if negated {
			return not{e}
		}
		return e
	}
	t := p.next()
	switch {
	case strings.EqualFold(t.text, "IN") && t.kind == tokenName:
		if err := p.expect("("); err != nil {
			return nil, err
		}
		list, err := p.list(")")
		if err == nil && len(list) == 0 {
			err = fail(t.at, "the list of IN is empty")
		}
		return negate(membership{left, list}), err
	case strings.EqualFold(t.text, "BETWEEN") && t.kind == tokenName:
		low, err := p.operand()
		if err != nil {
			return nil, err
		}
		if err := p.expectKeyword("AND"); err != nil {
			return nil, err
		}
		high, err := p.operand()
		return negate(and{
			relation{left, low, func(order int) bool { return order >= 0 }},
			relation{left, high, func(order int) bool { return order <= 0 }},
		}), err
	case negated || t.kind != tokenSymbol:
		return nil, fail(t.at, "%s is not supported here", t)
	}
	right, err := p.operand()
	switch t.text {
	case "=":
		return equality{left, right, false}, err
	case "!=":
		return equality{left, right, true}, err
	case "<":
		return relation{left, right, func(order int) bool { return order < 0 }}, err
	case "<=":
		return relation{left, right, func(order int) bool { return order <= 0 }}, err
	case ">":
		return relation{left, right, func(order int) bool { return order > 0 }}, err
	default:
		return relation{left, right, func(order int) bool { return order >= 0 }}, err
	}
}

// list parses expressions up to a closing symbol.
func (p *queryParser) list(end string) ([]expression, error) {
	var list []expression
	if p.symbol(end) {
		return nil, nil
	}
	for {
		e, err := p.expression()
		if err != nil {
			return nil, err
		}
		list = append(list, e)
		if !p.symbol(",") {
			return list, p.expect(end)
		}
	}
}

func (p *queryParser) operand() (expression, error) {
	t := p.next()
	switch t.kind {
	case tokenString:
		return literal{document.StringValue(t.text)}, nil
	case tokenNumber:
		return number(t, "")
	case tokenParameter:
		v, ok := p.parameters[t.text]
		if !ok {
			return nil, fail(t.at, "the parameter %s has no value", t.text)
		}
		return literal{v}, nil
	case tokenName:
		return p.named(t)
	case tokenSymbol:
		switch t.text {
		case "(":
			if p.isKeyword("SELECT") {
				return nil, fail(t.at, "subqueries are not supported")
			}
			e, err := p.expression()
			if err != nil {
				return nil, err
			}
			return e, p.expect(")")
		case "-":
			if digits := p.next(); digits.kind == tokenNumber {
				return number(digits, "-")
			}
			return nil, fail(t.at, "arithmetic is not supported")
		case "[":
			elements, err := p.list("]")
			return arrayLiteral{elements}, err
		case "{":
			return p.object()
		}
	}
	return nil, fail(t.at, "expected an expression, not %s", t)
}

func number(t token, sign string) (expression, error) {
	f, err := strconv.ParseFloat(sign+t.text, 64)
	if err != nil || math.IsInf(f, 0) {
		return nil, fail(t.at, "%q is not a number in range", t.text)
	}
	if n, err := strconv.ParseInt(sign+t.text, 10, 64); err == nil {
		return literal{document.IntValue(n)}, nil
	}
	return literal{document.FloatValue(f)}, nil
}

func (p *queryParser) named(t token) (expression, error) {
	switch word := strings.ToUpper(t.text); word {
	case "TRUE":
		return literal{document.True}, nil
	case "FALSE":
		return literal{document.False}, nil
	case "NULL":
		return literal{document.NullValue}, nil
	case "UNDEFINED":
		return literal{}, nil
	default:
		if p.isSymbol("(") {
			return p.call(t, word)
		}
		if reserved[word] {
			return nil, fail(t.at, "%s is not supported here", word)
		}
	}
	if t.text != p.alias {
		return nil, fail(t.at, "unknown name %s: paths start with %s", t.text, p.alias)
	}
	return p.path()
}

func (p *queryParser) call(t token, name string) (expression, error) {
	f, ok := functions[name]
	if !ok {
		return nil, fail(t.at, "the function %s is not supported", name)
	}
	p.at++ // the parenthesis
	arguments, err := p.list(")")
	if err != nil {
		return nil, err
	}
	if len(arguments) < f.least || len(arguments) > f.most {
		return nil, fail(t.at, "%s takes %d to %d arguments, not %d", name, f.least, f.most, len(arguments))
	}
	return call{name, f.apply, arguments}, nil
}

// path parses what follows the document's name: .name, ["name"] and [0].
func (p *queryParser) path() (expression, error) {
	var steps []string
	for {
		switch {
		case p.symbol("."):
			t := p.next()
			if t.kind != tokenName {
				return nil, fail(t.at, "expected a member name, not %s", t)
			}
			steps = append(steps, t.text)
		case p.symbol("["):
			t := p.next()
			if t.kind == tokenNumber && !strings.ContainsAny(t.text, ".eE") || t.kind == tokenString {
				steps = append(steps, t.text)
			} else {
				return nil, fail(t.at, "expected a member name in quotes or an array index, not %s", t)
			}
			if err := p.expect("]"); err != nil {
				return nil, err
			}
		default:
			return path{steps}, nil
		}
	}
}

func (p *queryParser) object() (expression, error) {
	var e objectLiteral
	if p.symbol("}") {
		return e, nil
	}
	for {
		t := p.next()
		if t.kind != tokenString && t.kind != tokenName {
			return nil, fail(t.at, "expected a member name, not %s", t)
		}
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		e.names, e.values = append(e.names, t.text), append(e.values, v)
		if !p.symbol(",") {
			return e, p.expect("}")
		}
	}
}
