package graph

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// match tells whether a filter selects an object.
type match struct {
	holds func(map[string]any) bool
	// keys are those of which each selected object has one, by kind, if narrow is true.
	keys   []lookup
	narrow bool
}

// lookup is a key of an index of the directory.
type lookup struct{ kind, value string }

// filterable are the properties that a resource can be filtered by.
type filterable struct {
	resource    string
	properties  []string
	collections []string
	indexes     map[string]string // kinds of keys of the directory by property
}

// candidates are the ids of the objects that a filter can select in a replica that has seen all writes up to asOf. narrow is
// false where these are all.
func (m match) candidates(d *directory.Directory, asOf time.Time) (ids []string, narrow bool) {
	if !m.narrow {
		return nil, false
	}
	ids = d.Recent(asOf)
	for _, k := range m.keys {
		ids = append(ids, d.Owners(k.kind, k.value)...)
	}
	return ids, true
}

// advanced tells whether a request asks for the advanced queries of directory objects.
func (c *call) advanced() bool {
	count, _ := c.Option("count")
	return strings.EqualFold(c.Header.Get("ConsistencyLevel"), "eventual") && count == "true"
}

// checkCount refuses $count=true without the header that directory objects need for it.
func (c *call) checkCount() *reply {
	count, present := c.Option("count")
	switch {
	case present && count != "true" && count != "false":
		return odata.Error(http.StatusBadRequest, "BadRequest", "Invalid value '%s' for $count query option found. Valid values are 'true' and 'false'.", count)
	case count == "true" && !c.advanced():
		return odata.Error(http.StatusBadRequest, "Request_BadRequest", "$count is not currently supported.")
	}
	return nil
}

// filter understands eq, ne, in, startswith, endswith and any, joined by and, or, not and brackets, and refuses all else.
// It compares texts without case. ne, not and endswith belong to advanced queries.
func (c *call) filter(f filterable) (match, *reply) {
	expression, present := c.Option("filter")
	if !present {
		return match{holds: func(map[string]any) bool { return true }}, nil
	}
	p := &filterParser{filterable: f, advanced: c.advanced(), tokens: filterTokens(expression)}
	m := p.either()
	if p.refusal == nil && len(p.tokens) > 0 {
		p.refuse("BadRequest", "Invalid filter clause: %s", expression)
	}
	if p.refusal != nil {
		return match{}, p.refusal
	}
	return m, nil
}

var filterToken = regexp.MustCompile(`^\s*('(?:[^']|'')*'|[A-Za-z_][A-Za-z0-9_]*(?:/[A-Za-z_][A-Za-z0-9_]*)*|[(),:])`)

// filterTokens are the tokens of an expression; the rest of an expression that has an unknown token is the last.
func filterTokens(expression string) []string {
	var tokens []string
	for strings.TrimSpace(expression) != "" {
		m := filterToken.FindStringSubmatch(expression)
		if m == nil {
			return append(tokens, strings.TrimSpace(expression))
		}
		tokens, expression = append(tokens, m[1]), expression[len(m[0]):]
	}
	return tokens
}

type filterParser struct {
	filterable
	advanced bool
	tokens   []string
	refusal  *reply
}

func (p *filterParser) refuse(code, format string, args ...any) match {
	if p.refusal == nil {
		p.refusal = odata.Error(http.StatusBadRequest, code, format, args...)
	}
	return match{holds: func(map[string]any) bool { return false }}
}

func (p *filterParser) needsAdvanced() {
	if !p.advanced {
		p.refuse("Request_UnsupportedQuery", "Operator is not supported for this query without the ConsistencyLevel header with the value 'eventual' and $count=true.")
	}
}

// next takes the next token, empty after the last.
func (p *filterParser) next() string {
	if len(p.tokens) == 0 {
		return ""
	}
	first := p.tokens[0]
	p.tokens = p.tokens[1:]
	return first
}

// took takes the next token if it is the one.
func (p *filterParser) took(token string) bool {
	if len(p.tokens) > 0 && strings.EqualFold(p.tokens[0], token) {
		p.tokens = p.tokens[1:]
		return true
	}
	return false
}

func (p *filterParser) expect(token string) {
	if got := p.next(); !strings.EqualFold(got, token) {
		p.refuse("BadRequest", "Invalid filter clause: '%s' where '%s' is expected", got, token)
	}
}

func (p *filterParser) either() match {
	m := p.both()
	for p.refusal == nil && p.took("or") {
		left, right := m, p.both()
		m = match{
			holds: func(o map[string]any) bool { return left.holds(o) || right.holds(o) },
			keys:  slices.Concat(left.keys, right.keys), narrow: left.narrow && right.narrow,
		}
	}
	return m
}

func (p *filterParser) both() match {
	m := p.one()
	for p.refusal == nil && p.took("and") {
		left, right := m, p.one()
		m = left
		if !left.narrow {
			m = right
		}
		m.holds = func(o map[string]any) bool { return left.holds(o) && right.holds(o) }
	}
	return m
}

func (p *filterParser) one() match {
	switch {
	case p.took("not"):
		p.needsAdvanced()
		inner := p.one()
		return match{holds: func(o map[string]any) bool { return !inner.holds(o) }}
	case p.took("("):
		m := p.either()
		p.expect(")")
		return m
	case p.took("startswith"):
		return p.function(strings.HasPrefix)
	case p.took("endswith"):
		p.needsAdvanced()
		return p.function(strings.HasSuffix)
	}
	name := p.next()
	if collection, any := strings.CutSuffix(name, "/any"); any {
		return p.member(collection)
	}
	return p.comparison(name)
}

func (p *filterParser) function(holds func(text, part string) bool) match {
	p.expect("(")
	get := p.property(p.next())
	p.expect(",")
	want, _ := p.literal().(string)
	p.expect(")")
	return match{holds: func(o map[string]any) bool { text, ok := get(o).(string); return ok && holds(text, want) }}
}

// member is any(x:x eq 'text').
func (p *filterParser) member(collection string) match {
	name := p.known(collection, p.collections)
	p.expect("(")
	variable := p.next()
	p.expect(":")
	p.expect(variable)
	p.expect("eq")
	want, _ := p.literal().(string)
	p.expect(")")
	return p.found(func(o map[string]any) bool {
		return slices.ContainsFunc(directory.Texts(o[name]), func(item string) bool { return directory.Fold(item) == want })
	}, name, want)
}

func (p *filterParser) comparison(name string) match {
	switch operator := p.next(); strings.ToLower(operator) {
	case "eq":
		get, want := p.property(name), p.literal()
		return p.found(func(o map[string]any) bool { return get(o) == want }, name, want)
	case "ne":
		p.needsAdvanced()
		get, want := p.property(name), p.literal()
		return match{holds: func(o map[string]any) bool { return get(o) != want }}
	case "in":
		get := p.property(name)
		p.expect("(")
		wanted := []any{p.literal()}
		for p.took(",") {
			wanted = append(wanted, p.literal())
		}
		p.expect(")")
		return p.found(func(o map[string]any) bool { return slices.Contains(wanted, get(o)) }, name, wanted...)
	default:
		return p.refuse("BadRequest", "Invalid filter clause: '%s %s'", name, operator)
	}
}

// found is a match of the objects with one of some values, which has keys if the property has an index.
func (p *filterParser) found(holds func(map[string]any) bool, property string, values ...any) match {
	m := match{holds: holds}
	for name, kind := range p.indexes {
		m.narrow = m.narrow || strings.EqualFold(name, property)
		for _, value := range values {
			if text, isText := value.(string); isText && strings.EqualFold(name, property) {
				m.keys = append(m.keys, lookup{kind, text})
			}
		}
	}
	m.narrow = m.narrow && len(m.keys) == len(values)
	return m
}

// literal is a text, folded, a boolean or null.
func (p *filterParser) literal() any {
	switch token := p.next(); {
	case len(token) > 1 && strings.HasPrefix(token, "'") && strings.HasSuffix(token, "'"):
		return directory.Fold(unquote(token[1 : len(token)-1]))
	case token == "true", token == "false":
		return token == "true"
	case token == "null":
		return nil
	default:
		p.refuse("BadRequest", "Invalid filter clause: '%s' is not a value", token)
		return nil
	}
}

// property gives the folded value of a property, or of one within it.
func (p *filterParser) property(name string) func(map[string]any) any {
	outer, inner, nested := strings.Cut(p.known(name, p.properties), "/")
	return func(o map[string]any) any {
		value := o[outer]
		if nested {
			within, _ := value.(map[string]any)
			value = within[inner]
		}
		if text, ok := value.(string); ok {
			return directory.Fold(text)
		}
		return value
	}
}

// known is the name of a property that the resource can be filtered by.
func (p *filterParser) known(name string, properties []string) string {
	at := slices.IndexFunc(properties, func(known string) bool { return strings.EqualFold(known, name) })
	if at >= 0 {
		return properties[at]
	}
	if inner, ok := strings.CutPrefix(name, "onPremisesExtensionAttributes/"); ok && slices.Contains(properties, "onPremisesExtensionAttributes") && isExtensionAttribute(inner) {
		return name
	}
	p.refuse("Request_UnsupportedQuery", "Unsupported or invalid query filter clause specified for property '%s' of resource '%s'.", name, p.resource)
	return name
}

func unquote(s string) string { return strings.ReplaceAll(s, "''", "'") }
