// Package query parses and evaluates the part of Cosmos DB's SQL that is
// supported here, over one container's documents as JSON text:
//
//	SELECT [TOP n] * | VALUE expr | VALUE COUNT(expr) | expr [AS name], …
//	FROM name [[AS] alias]
//	[WHERE expr] [ORDER BY path [ASC|DESC], …] [OFFSET n LIMIT m]
//
// An expr is made of paths (c.a.b, c["a"], c.list[0]), parameters (@p),
// literals (strings, numbers, true, false, null, undefined, arrays, objects),
// =, !=, <, <=, >, >=, [NOT] IN, [NOT] BETWEEN, AND, OR, NOT, parentheses, and
// the functions IS_DEFINED, IS_NULL, IS_BOOL, IS_NUMBER, IS_STRING, IS_ARRAY,
// IS_OBJECT, STARTSWITH, ENDSWITH, CONTAINS and ARRAY_CONTAINS.
//
// Everything else is refused with an error that names it and its place:
// joins, subqueries, LIKE, DISTINCT, GROUP BY, other aggregates, arithmetic.
//
// A path to nothing is undefined, and so is a comparison with it; = and !=
// between types are false and true, <, <=, > and >= between types, arrays or
// objects are undefined; AND, OR and NOT have three values, and WHERE selects
// the documents for which the condition is true. (The public documentation's table has = and != between types
// undefined; the service's own offline engine, in the .NET SDK's tests, has
// them as here. Only != can show the difference.)
//
// It must not know where documents are stored, nor about HTTP.
package query

import (
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// Query is a parsed query with its parameters. It is immutable.
type Query struct {
	star   bool
	value  expression   // of SELECT VALUE
	count  expression   // of SELECT VALUE COUNT
	names  []string     // of a projection
	fields []expression // of a projection
	where  expression   // nil selects all
	order  []Order
	top    int // -1 for none
	offset int
	limit  int // -1 for none
}

// Order is one path of ORDER BY.
type Order struct {
	Path       []string
	Descending bool
}

// Condition is the filter of a conditional patch: from c where expr.
type Condition struct{ where expression }

// Holds says whether the condition is true for a document.
func (c *Condition) Holds(doc []byte) bool { return isTrue(c.where.eval(doc)) }

// ParseCondition parses the condition of a patch.
func ParseCondition(text string) (*Condition, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &queryParser{tokens: tokens}
	if err := p.from(); err != nil {
		return nil, err
	}
	if err := p.expectKeyword("WHERE"); err != nil {
		return nil, err
	}
	where, err := p.expression()
	if err != nil {
		return nil, err
	}
	return &Condition{where}, p.end()
}

// Parse parses a query; parameters are keyed by their name with the @.
func Parse(text string, parameters map[string]document.Value) (*Query, error) {
	tokens, err := scan(text)
	if err != nil {
		return nil, err
	}
	p := &queryParser{tokens: tokens, parameters: parameters}
	if err := p.expectKeyword("SELECT"); err != nil {
		return nil, err
	}
	// The document's name comes after the SELECT list that uses it.
	list := p.at
	if err := p.skipToFrom(); err != nil {
		return nil, err
	}
	if err := p.from(); err != nil {
		return nil, err
	}
	rest := p.at
	q := &Query{top: -1, limit: -1}
	p.at = list
	if err := p.selection(q); err != nil {
		return nil, err
	}
	if !p.isKeyword("FROM") {
		return nil, fail(p.peek().at, "expected FROM, not %s", p.peek())
	}
	p.at = rest
	if p.keyword("WHERE") {
		if q.where, err = p.expression(); err != nil {
			return nil, err
		}
	}
	if err := p.orderBy(q); err != nil {
		return nil, err
	}
	if err := p.offsetLimit(q); err != nil {
		return nil, err
	}
	if q.count != nil && (len(q.order) > 0 || q.top >= 0 || q.limit >= 0) {
		return nil, fail(0, "COUNT with ORDER BY, TOP or OFFSET is not supported")
	}
	if q.top >= 0 && q.limit >= 0 {
		return nil, fail(0, "TOP together with OFFSET LIMIT is not supported")
	}
	return q, p.end()
}

func (p *queryParser) skipToFrom() error {
	for !p.isKeyword("FROM") || p.at > 0 && p.tokens[p.at-1].text == "." && p.tokens[p.at-1].kind == tokenSymbol {
		if p.next().kind == tokenEnd {
			return fail(p.peek().at, "FROM is missing")
		}
	}
	return nil
}

func (p *queryParser) end() error {
	if t := p.peek(); t.kind != tokenEnd {
		return fail(t.at, "%s is not supported here", t)
	}
	return nil
}

func (p *queryParser) from() error {
	if err := p.expectKeyword("FROM"); err != nil {
		return err
	}
	name, err := p.identifier("the container's name")
	if err != nil {
		return err
	}
	p.alias = name
	if as := p.keyword("AS"); as || p.peek().kind == tokenName && !reserved[strings.ToUpper(p.peek().text)] {
		if p.alias, err = p.identifier("an alias"); err != nil {
			return err
		}
	}
	if t := p.peek(); p.isKeyword("IN") || p.isKeyword("JOIN") || p.isSymbol(".") || p.isSymbol(",") || p.isSymbol("[") {
		return fail(t.at, "%s in FROM is not supported", t)
	}
	return nil
}

func (p *queryParser) selection(q *Query) error {
	if t := p.peek(); p.keyword("DISTINCT") {
		return fail(t.at, "DISTINCT is not supported")
	}
	if p.keyword("TOP") {
		n, err := p.amount("TOP")
		if err != nil {
			return err
		}
		q.top = n
	}
	if p.symbol("*") {
		q.star = true
		return nil
	}
	var err error
	if p.keyword("VALUE") {
		if p.isKeyword("COUNT") && p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == "(" {
			p.at += 2
			if q.count, err = p.expression(); err != nil {
				return err
			}
			return p.expect(")")
		}
		q.value, err = p.expression()
		return err
	}
	for {
		start := p.peek()
		field, err := p.expression()
		if err != nil {
			return err
		}
		name := ""
		if p.keyword("AS") {
			if name, err = p.identifier("an alias"); err != nil {
				return err
			}
		} else if pa, ok := field.(path); ok && len(pa.steps) > 0 {
			name = pa.steps[len(pa.steps)-1]
			if _, err := strconv.Atoi(name); err == nil {
				name = ""
			}
		} else if ok {
			name = p.alias
		}
		if name == "" {
			return fail(start.at, "this column needs a name: add AS")
		}
		for _, taken := range q.names {
			if taken == name {
				return fail(start.at, "two columns have the name %s", name)
			}
		}
		q.names, q.fields = append(q.names, name), append(q.fields, field)
		if !p.symbol(",") {
			return nil
		}
	}
}

func (p *queryParser) amount(what string) (int, error) {
	t := p.next()
	text := t.text
	if t.kind == tokenParameter {
		v, ok := p.parameters[t.text]
		if !ok || v.Kind != document.Number {
			return 0, fail(t.at, "the parameter %s is not a number", t.text)
		}
		text = v.Text
	} else if t.kind != tokenNumber {
		return 0, fail(t.at, "expected a number after %s, not %s", what, t)
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, fail(t.at, "%s after %s is not a whole number", text, what)
	}
	return int(n), nil
}

func (p *queryParser) orderBy(q *Query) error {
	if !p.keyword("ORDER") {
		return nil
	}
	if err := p.expectKeyword("BY"); err != nil {
		return err
	}
	for {
		t := p.next()
		if t.kind != tokenName || t.text != p.alias {
			return fail(t.at, "ORDER BY takes paths that start with %s, not %s", p.alias, t)
		}
		e, err := p.path()
		if err != nil {
			return err
		}
		steps := e.(path).steps
		if len(steps) == 0 {
			return fail(t.at, "ORDER BY takes a path into the document")
		}
		by := Order{Path: steps}
		if p.keyword("DESC") {
			by.Descending = true
		} else {
			p.keyword("ASC")
		}
		q.order = append(q.order, by)
		if !p.symbol(",") {
			return nil
		}
	}
}

func (p *queryParser) offsetLimit(q *Query) error {
	if !p.keyword("OFFSET") {
		return nil
	}
	var err error
	if q.offset, err = p.amount("OFFSET"); err != nil {
		return err
	}
	if err := p.expectKeyword("LIMIT"); err != nil {
		return err
	}
	q.limit, err = p.amount("LIMIT")
	return err
}
