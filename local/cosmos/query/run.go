package query

import (
	"errors"
	"slices"
	"sort"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// Matches says whether WHERE selects a document.
func (q *Query) Matches(doc []byte) bool { return q.where == nil || isTrue(q.where.eval(doc)) }

// SelectsValue reports whether the query is SELECT VALUE: its rows need not be objects.
func (q *Query) SelectsValue() bool { return q.value != nil || q.count != nil }

// Counts says whether the query is SELECT VALUE COUNT(expr).
func (q *Query) Counts() bool { return q.count != nil }

// Counted says whether a selected document adds to the count.
func (q *Query) Counted(doc []byte) bool { return q.count.eval(doc).Kind != document.Undefined }

// Project appends what SELECT makes of a document, or reports false when that
// is undefined and the document yields no row.
func (q *Query) Project(dst, doc []byte) ([]byte, bool) {
	switch {
	case q.star:
		return append(dst, doc...), true
	case q.value != nil:
		v := q.value.eval(doc)
		return v.Append(dst), v.Kind != document.Undefined
	}
	return objectLiteral{q.names, q.fields}.eval(doc).Append(dst), true
}

// Window is how many rows OFFSET skips and how many TOP or LIMIT lets through,
// -1 for all.
func (q *Query) Window() (skip, take int) {
	if q.top >= 0 {
		return 0, q.top
	}
	return q.offset, q.limit
}

// Order is the ORDER BY clause, nil when there is none.
func (q *Query) Order() []Order { return q.order }

// SortKeys are a document's values under ORDER BY.
func (q *Query) SortKeys(doc []byte) []document.Value {
	keys := make([]document.Value, len(q.order))
	for i, by := range q.order {
		keys[i] = path{by.Path}.eval(doc)
	}
	return keys
}

// CompareKeys orders two documents by their sort keys: undefined first, then
// null, booleans, numbers, strings, arrays and objects, or the reverse.
func (q *Query) CompareKeys(a, b []document.Value) int {
	for i, by := range q.order {
		if c := compare(a[i], b[i]); c != 0 {
			if by.Descending {
				return -c
			}
			return c
		}
	}
	return 0
}

// CrossPartition names the clause for which the gateway refuses the query
// over more than one partition, or is "" when it serves it.
func (q *Query) CrossPartition() string {
	switch {
	case len(q.order) > 0:
		return "ORDER BY"
	case q.count != nil:
		return "an aggregate"
	case q.top >= 0:
		return "TOP"
	case q.limit >= 0:
		return "OFFSET LIMIT"
	}
	return ""
}

// Equality is a value that a path must equal for WHERE to be true.
type Equality struct {
	Path  []string
	Value document.Value
}

// Equalities are the comparisons of a path with a constant that WHERE makes
// outside of any OR or NOT.
func (q *Query) Equalities() []Equality {
	var all []Equality
	for _, e := range conjuncts(q.where, nil) {
		if eq, ok := e.(equality); ok && !eq.negated {
			for _, side := range [][2]expression{{eq.left, eq.right}, {eq.right, eq.left}} {
				l, constant := side[1].(literal)
				if p, ok := side[0].(path); ok && constant {
					all = append(all, Equality{p.steps, l.value})
				}
			}
		}
	}
	return all
}

// EqualTo returns the value that a path must equal for WHERE to be true.
func (q *Query) EqualTo(steps []string) (document.Value, bool) {
	for _, e := range q.Equalities() {
		if slices.Equal(e.Path, steps) {
			return e.Value, true
		}
	}
	return document.Value{}, false
}

// OneOf returns the constants of which a path must equal one for WHERE to be true: those of
// the shortest list that WHERE compares the path with outside of any OR or NOT. It reports
// false if there is no such list.
func (q *Query) OneOf(steps []string) (values []document.Value, ok bool) {
	if v, found := q.EqualTo(steps); found {
		return []document.Value{v}, true
	}
	for _, e := range conjuncts(q.where, nil) {
		list, found := listFor(e, steps)
		if found && (!ok || len(list) < len(values)) {
			values, ok = list, true
		}
	}
	return values, ok
}

// Listed returns the paths that WHERE compares with lists, outside of any OR or NOT.
func (q *Query) Listed() (paths [][]string) {
	for _, e := range conjuncts(q.where, nil) {
		operand := expression(nil)
		switch e := e.(type) {
		case membership:
			operand = e.operand
		case call:
			if e.name == "ARRAY_CONTAINS" && len(e.arguments) == 2 {
				operand = e.arguments[1]
			}
		}
		if p, ok := operand.(path); ok {
			paths = append(paths, p.steps)
		}
	}
	return paths
}

// listFor returns the constants with which IN or ARRAY_CONTAINS compares a path.
func listFor(e expression, steps []string) ([]document.Value, bool) {
	switch e := e.(type) {
	case membership:
		if isPath(e.operand, steps) {
			return constants(e.list)
		}
	case call:
		if e.name != "ARRAY_CONTAINS" || len(e.arguments) != 2 || !isPath(e.arguments[1], steps) {
			break
		}
		switch list := e.arguments[0].(type) {
		case literal:
			return list.value.Elements, true
		case arrayLiteral:
			return constants(list.elements)
		}
	}
	return nil, false
}

// constants returns the values of expressions, if all of them are constants.
func constants(list []expression) (values []document.Value, ok bool) {
	for _, e := range list {
		l, ok := e.(literal)
		if !ok {
			return nil, false
		}
		values = append(values, l.value)
	}
	return values, true
}

// Prefix returns a prefix that a path's string must have for WHERE to be
// true, "" when none is known.
func (q *Query) Prefix(steps []string) string {
	for _, e := range conjuncts(q.where, nil) {
		c, ok := e.(call)
		if !ok || c.name != "STARTSWITH" || len(c.arguments) != 2 || !isPath(c.arguments[0], steps) {
			continue
		}
		if l, ok := c.arguments[1].(literal); ok && l.value.Kind == document.String {
			return l.value.Text
		}
	}
	return ""
}

// Above returns a constant that a path must be greater than for WHERE to be true, or equal to where
// orEqual is set. The path has a value of the same type then.
func (q *Query) Above(steps []string) (bound document.Value, orEqual, ok bool) {
	for _, e := range conjuncts(q.where, nil) {
		r, related := e.(relation)
		if !related || !isPath(r.left, steps) || r.holds(-1) {
			continue
		}
		if l, constant := r.right.(literal); constant {
			return l.value, r.holds(0), true
		}
	}
	return document.Value{}, false, false
}

// Prefixes are the paths whose string must have a prefix for WHERE to be true.
func (q *Query) Prefixes() [][]string {
	var all [][]string
	for _, e := range conjuncts(q.where, nil) {
		if c, ok := e.(call); ok && c.name == "STARTSWITH" && len(c.arguments) == 2 {
			if p, ok := c.arguments[0].(path); ok && q.Prefix(p.steps) != "" {
				all = append(all, p.steps)
			}
		}
	}
	return all
}

func conjuncts(e expression, list []expression) []expression {
	switch e := e.(type) {
	case nil:
		return list
	case and:
		return conjuncts(e.right, conjuncts(e.left, list))
	default:
		return append(list, e)
	}
}

func isPath(e expression, steps []string) bool {
	p, ok := e.(path)
	return ok && slices.Equal(p.steps, steps)
}

// All answers the query over a complete list of documents in one go.
func (q *Query) All(docs [][]byte) ([][]byte, error) {
	if q.Counts() {
		return nil, errors.New("aggregates are not supported here")
	}
	var selected [][]byte
	for _, doc := range docs {
		if q.Matches(doc) {
			selected = append(selected, doc)
		}
	}
	sort.SliceStable(selected, func(i, j int) bool {
		return q.CompareKeys(q.SortKeys(selected[i]), q.SortKeys(selected[j])) < 0
	})
	skip, take := q.Window()
	selected = selected[min(skip, len(selected)):]
	if take >= 0 {
		selected = selected[:min(take, len(selected))]
	}
	var rows [][]byte
	for _, doc := range selected {
		if row, ok := q.Project(nil, doc); ok {
			rows = append(rows, row)
		}
	}
	return rows, nil
}
