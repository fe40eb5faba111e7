package query

import (
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/document"
)

type function struct {
	least, most int // number of arguments
	apply       func(args []document.Value) document.Value
}

var functions = map[string]function{
	"IS_DEFINED":     {1, 1, func(a []document.Value) document.Value { return document.Of(a[0].Kind != document.Undefined) }},
	"IS_NULL":        isKind(document.Null),
	"IS_BOOL":        isKind(document.Boolean),
	"IS_NUMBER":      isKind(document.Number),
	"IS_STRING":      isKind(document.String),
	"IS_ARRAY":       isKind(document.Array),
	"IS_OBJECT":      isKind(document.Object),
	"STARTSWITH":     ofStrings(strings.HasPrefix),
	"ENDSWITH":       ofStrings(strings.HasSuffix),
	"CONTAINS":       ofStrings(strings.Contains),
	"STRINGEQUALS":   ofStrings(func(s, other string) bool { return s == other }),
	"ARRAY_CONTAINS": {2, 3, arrayContains},
}

// isKind is false, not undefined, for an undefined argument.
func isKind(k document.Kind) function {
	return function{1, 1, func(a []document.Value) document.Value { return document.Of(a[0].Kind == k) }}
}

// ofStrings compares two strings; a third argument that is true ignores case.
func ofStrings(compare func(s, part string) bool) function {
	return function{2, 3, func(a []document.Value) document.Value {
		if a[0].Kind != document.String || a[1].Kind != document.String {
			return document.Value{}
		}
		if len(a) == 3 {
			if a[2].Kind != document.Boolean {
				return document.Value{}
			}
			if a[2].Bool {
				return document.Of(compare(strings.ToLower(a[0].Text), strings.ToLower(a[1].Text)))
			}
		}
		return document.Of(compare(a[0].Text, a[1].Text))
	}}
}

// arrayContains looks for an equal element; with a third argument that is
// true, for an object that has the members of the given one.
func arrayContains(a []document.Value) document.Value {
	partial := len(a) == 3 && isTrue(a[2])
	if a[0].Kind != document.Array || a[1].Kind == document.Undefined || len(a) == 3 && a[2].Kind != document.Boolean {
		return document.Value{}
	}
	for _, e := range a[0].Elements {
		if equal(e, a[1]) || partial && e.Kind == document.Object && a[1].Kind == document.Object && contains(e, a[1]) {
			return document.True
		}
	}
	return document.False
}
