package query

import (
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

// Filters are the paths that WHERE looks at, each once and in the notation of an indexing
// policy: /a/b/? for a value, /list/[]/? for the elements of a list, /list/[]/name/? for a
// member of each of them.
func (q *Query) Filters() []string {
	var found []string
	if q.where != nil {
		found = filters(q.where, nil)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func filters(e expression, found []string) []string {
	switch e := e.(type) {
	case path:
		return append(found, pattern(e.steps))
	case and:
		return filters(e.right, filters(e.left, found))
	case or:
		return filters(e.right, filters(e.left, found))
	case not:
		return filters(e.operand, found)
	case equality:
		return filters(e.right, filters(e.left, found))
	case relation:
		return filters(e.right, filters(e.left, found))
	case membership:
		return all(e.list, filters(e.operand, found))
	case arrayLiteral:
		return all(e.elements, found)
	case objectLiteral:
		return all(e.values, found)
	case call:
		if list, ok := e.arguments[0].(path); ok && e.name == "ARRAY_CONTAINS" {
			return all(e.arguments[1:], append(found, elements(list.steps, e.arguments[1])...))
		}
		return all(e.arguments, found)
	}
	return found
}

func all(list []expression, found []string) []string {
	for _, e := range list {
		found = filters(e, found)
	}
	return found
}

// elements are the paths by which an index finds an element in a list.
func elements(list []string, wanted expression) []string {
	var names []string
	switch w := wanted.(type) {
	case objectLiteral:
		names = w.names
	case literal:
		if w.value.Kind == document.Object {
			for _, m := range w.value.Members {
				names = append(names, m.Name)
			}
		}
	}
	if len(names) == 0 {
		return []string{pattern(append(slices.Clone(list), "[]"))}
	}
	var found []string
	for _, name := range names {
		found = append(found, pattern(append(slices.Clone(list), "[]", name)))
	}
	return found
}

func pattern(steps []string) string { return "/" + strings.Join(append(slices.Clone(steps), "?"), "/") }
