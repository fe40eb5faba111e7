// Package filter decides which messages a subscription takes: SQL and correlation
// filters as Service Bus documents them.
//
// SQL filters follow three-valued logic: a property that the message lacks is
// unknown, and a message matches only when the whole condition is true. The
// package must not know AMQP or entities; it sees a message as Message shows it.
package filter

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Message is the part of a message that filters can read. Values are string, bool, any
// integer or floating type, time.Time, or other types that only IS NULL can test.
// A missing property is nil.
type Message interface {
	// User is an application property. Names differ by case.
	User(name string) any
	// System is a system property by its documented name, such as MessageId.
	System(name string) any
}

// Filter is a rule's condition.
type Filter interface {
	// Matches may be called concurrently.
	Matches(m Message) bool
}

// True matches every message.
type True struct{}

// Matches is always true.
func (True) Matches(Message) bool { return true }

// Correlation matches messages that have all the values given.
type Correlation struct {
	System map[string]string // by documented name
	User   map[string]any
}

// Matches compares every value for equality.
func (c Correlation) Matches(m Message) bool {
	for name, want := range c.System {
		if got, ok := m.System(name).(string); !ok || got != want {
			return false
		}
	}
	for name, want := range c.User {
		if compare("=", normal(m.User(name)), normal(want)) != yes {
			return false
		}
	}
	return true
}

// Matches evaluates the condition.
func (f *SQL) Matches(m Message) bool { return f.root.test(m) == yes }

// truth is a value of three-valued logic. no < unknown < yes makes AND the
// minimum and OR the maximum.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// node is a part of a compiled expression: either a predicate, which can be
// tested, or a value. The parser never calls the wrong one.
type node interface {
	predicate() bool
	test(m Message) truth
	value(m Message) any // nil when unknown
}

// condition and operand give the nodes of either kind what they lack of the other.
type (
	condition struct{}
	operand   struct{}
)

func (condition) predicate() bool   { return true }
func (condition) value(Message) any { return nil }
func (operand) predicate() bool     { return false }
func (operand) test(Message) truth  { return unknown }

type andNode struct {
	condition
	l, r node
}

func (n andNode) test(m Message) truth { return min(n.l.test(m), n.r.test(m)) }

type orNode struct {
	condition
	l, r node
}

func (n orNode) test(m Message) truth { return max(n.l.test(m), n.r.test(m)) }

type notNode struct {
	condition
	n node
}

func (n notNode) test(m Message) truth { return yes - n.n.test(m) }

type compareNode struct {
	condition
	op   string
	l, r node
}

func (n compareNode) test(m Message) truth { return compare(n.op, n.l.value(m), n.r.value(m)) }

type isNullNode struct {
	condition
	n      node
	negate bool
}

func (n isNullNode) test(m Message) truth { return truthOf((n.n.value(m) == nil) != n.negate) }

type inNode struct {
	condition
	left node
	list []node
}

func (n inNode) test(m Message) truth {
	left, result := n.left.value(m), no
	if left == nil {
		return unknown
	}
	for _, v := range n.list {
		result = max(result, compare("=", left, v.value(m)))
	}
	return result
}

type likeNode struct {
	condition
	left, pattern node
	escape        rune
}

func (n likeNode) test(m Message) truth {
	s, ok1 := n.left.value(m).(string)
	p, ok2 := n.pattern.value(m).(string)
	if !ok1 || !ok2 {
		return unknown
	}
	pattern, err := compilePattern(p, n.escape)
	if err != nil {
		return unknown
	}
	return truthOf(like([]rune(s), pattern))
}

type constant struct {
	operand
	v any
}

func (n constant) value(Message) any { return n.v }

type propertyNode struct {
	operand
	name   string
	system bool
}

func (n propertyNode) value(m Message) any {
	if n.system {
		return normal(m.System(n.name))
	}
	return normal(m.User(n.name))
}

type arithmeticNode struct {
	operand
	op   byte
	l, r node
}

func (n arithmeticNode) value(m Message) any {
	l, r := n.l.value(m), n.r.value(m)
	if ls, ok := l.(string); ok && n.op == '+' {
		if rs, ok := r.(string); ok {
			return ls + rs
		}
		return nil
	}
	li, ok1 := l.(int64)
	ri, ok2 := r.(int64)
	if ok1 && ok2 {
		return integers(n.op, li, ri)
	}
	lf, ok1 := float(l)
	rf, ok2 := float(r)
	if !ok1 || !ok2 {
		return nil
	}
	switch n.op {
	case '+':
		return lf + rf
	case '-':
		return lf - rf
	case '*':
		return lf * rf
	case '/':
		return lf / rf
	}
	return math.Mod(lf, rf)
}

// integers computes with whole numbers; a division by zero is unknown.
func integers(op byte, l, r int64) any {
	switch op {
	case '+':
		return l + r
	case '-':
		return l - r
	case '*':
		return l * r
	}
	if r == 0 || l == math.MinInt64 && r == -1 {
		return nil
	}
	if op == '/' {
		return l / r
	}
	return l % r
}

// compare is unknown when an operand is, or when the types have no order or
// equality with each other.
func compare(op string, l, r any) truth {
	if l == nil || r == nil {
		return unknown
	}
	order, ok := 0, true
	switch lv := l.(type) {
	case string:
		var rv string
		if rv, ok = r.(string); ok {
			order = strings.Compare(lv, rv)
		}
	case bool:
		rv, isBool := r.(bool)
		if !isBool || op != "=" && op != "<>" && op != "!=" {
			return unknown
		}
		order = int(truthOf(lv) - truthOf(rv))
	case time.Time:
		var rv time.Time
		if rv, ok = r.(time.Time); ok {
			order = lv.Compare(rv)
		}
	default:
		order, ok = numbers(l, r)
	}
	if !ok {
		return unknown
	}
	switch op {
	case "=":
		return truthOf(order == 0)
	case "<>", "!=":
		return truthOf(order != 0)
	case "<":
		return truthOf(order < 0)
	case "<=":
		return truthOf(order <= 0)
	case ">":
		return truthOf(order > 0)
	}
	return truthOf(order >= 0)
}

func numbers(l, r any) (int, bool) {
	li, ok1 := l.(int64)
	ri, ok2 := r.(int64)
	if ok1 && ok2 {
		switch {
		case li < ri:
			return -1, true
		case li > ri:
			return 1, true
		}
		return 0, true
	}
	lf, ok1 := float(l)
	rf, ok2 := float(r)
	switch {
	case !ok1 || !ok2 || math.IsNaN(lf) || math.IsNaN(rf):
		return 0, false
	case lf < rf:
		return -1, true
	case lf > rf:
		return 1, true
	}
	return 0, true
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// normal brings the numbers of a message to the two types that expressions know.
func normal(v any) any {
	switch v := v.(type) {
	case int8:
		return int64(v)
	case int16:
		return int64(v)
	case int32:
		return int64(v)
	case int:
		return int64(v)
	case uint8:
		return int64(v)
	case uint16:
		return int64(v)
	case uint32:
		return int64(v)
	case uint64:
		if v <= math.MaxInt64 {
			return int64(v)
		}
		return float64(v)
	case float32:
		return float64(v)
	}
	return v
}

// patternItem is one character of a LIKE pattern: a literal, or a wildcard when
// any is '%' or '_'.
type patternItem struct{ literal, any rune }

func compilePattern(s string, escape rune) ([]patternItem, error) {
	var out []patternItem
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		switch c := runes[i]; {
		case escape != 0 && c == escape:
			if i++; i == len(runes) {
				return nil, fmt.Errorf("LIKE pattern %q ends with its escape character", s)
			}
			out = append(out, patternItem{literal: runes[i]})
		case c == '%' || c == '_':
			out = append(out, patternItem{any: c})
		default:
			out = append(out, patternItem{literal: c})
		}
	}
	return out, nil
}

// like matches any pattern in time proportional to the product of the lengths:
// on a mismatch it retries the last % only.
func like(s []rune, p []patternItem) bool {
	i, j, star, mark := 0, 0, -1, 0
	for i < len(s) {
		switch {
		case j < len(p) && p[j].any == '%':
			star, mark = j, i
			j++
		case j < len(p) && (p[j].any == '_' || p[j].any == 0 && p[j].literal == s[i]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	for j < len(p) && p[j].any == '%' {
		j++
	}
	return j == len(p)
}
