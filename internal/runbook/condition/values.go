package condition

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// The functions of conditions are the filters of templates, and len.
var filterTypes = map[string]any{
	"default": new(func(any, any) any),
	"lower":   new(func(string) string),
	"upper":   new(func(string) string),
	"trim":    new(func(string) string),
	"replace": new(func(string, string, string) string),
	"split":   new(func(string, string) []any),
	"join":    new(func([]any, string) string),
	"domain":  new(func(string) string),
	"html":    new(func(string) string),
}

// functionNames are the names of the functions, in the order of the reference.
func functionNames() []string {
	var names []string
	for _, f := range template.Filters() {
		names = append(names, f.Name)
	}
	return append(names, "len")
}

// The functions that strict puts in the place of operators. No condition can call them: survey
// refuses functions with these names.
const (
	equal  = "_equal"
	within = "_in"
)

// functions are the options that declare the functions of the language.
func functions() []expr.Option {
	options := []expr.Option{
		expr.DisableAllBuiltins(), expr.EnableBuiltin("len"),
		expr.Function(equal, func(args ...any) (any, error) { return equals(args[0], args[1]) }, new(func(any, any) bool)),
		expr.Function(within, func(args ...any) (any, error) { return contains(args[1], args[0]) }, new(func(any, any) bool)),
	}
	for _, f := range template.Filters() {
		options = append(options, expr.Function(f.Name, func(args ...any) (any, error) {
			if len(args) == 0 {
				return nil, fmt.Errorf("%s needs a value", f.Name)
			}
			value, fault := template.Apply(f.Name, args[0], args[1:])
			if fault != "" {
				return nil, errors.New("a value " + fault)
			}
			return value, nil
		}, filterTypes[f.Name]))
	}
	return options
}

// strict replaces == != and in by functions where the type of a value is known only when the
// condition is evaluated. The operators of the language find a text and a number merely different:
// a step would be skipped because a function answers "3" and not 3.
type strict struct{}

// Visit replaces one node.
func (strict) Visit(node *ast.Node) {
	n, ok := (*node).(*ast.BinaryNode)
	if !ok {
		return
	}
	if known(n.Left) && known(n.Right) {
		return
	}
	call := func(function string) ast.Node {
		c := &ast.CallNode{Callee: &ast.IdentifierNode{Value: function}, Arguments: []ast.Node{n.Left, n.Right}}
		c.SetLocation(n.Location())
		return c
	}
	switch n.Operator {
	case "==":
		*node = call(equal)
	case "!=":
		not := &ast.UnaryNode{Operator: "!", Node: call(equal)}
		not.SetLocation(n.Location())
		*node = not
	case "in":
		*node = call(within)
	}
}

// known reports whether the type of a node is known before the condition is evaluated.
func known(n ast.Node) bool {
	if list, ok := n.(*ast.ArrayNode); ok {
		for _, e := range list.Nodes {
			if !known(e) {
				return false
			}
		}
		return true
	}
	if _, null := n.(*ast.NilNode); null {
		return true
	}
	t := n.Type()
	return t != nil && t.Kind() != reflect.Interface
}

// equals compares two values of the same type, or a value with null.
func equals(a, b any) (bool, error) {
	if a == nil || b == nil {
		return a == nil && b == nil, nil
	}
	if x, ok := number(a); ok {
		if y, ok := number(b); ok {
			return x == y, nil
		}
	}
	if reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false, fmt.Errorf("cannot compare %s with %s", describe(a), describe(b))
	}
	return reflect.DeepEqual(a, b), nil
}

// contains reports whether a list has an element.
func contains(list, element any) (bool, error) {
	if list == nil {
		return false, nil
	}
	v := reflect.ValueOf(list)
	if v.Kind() != reflect.Slice {
		return false, fmt.Errorf("cannot look for a value in %s; use contains for text", describe(list))
	}
	for i := range v.Len() {
		if same, err := equals(v.Index(i).Interface(), element); err != nil || same {
			return same, err
		}
	}
	return false, nil
}

func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func describe(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "text"
	case bool:
		return "true or false"
	case int, float64:
		return "a number"
	case map[string]any:
		return "an object"
	}
	return "a list"
}

// normalize gives the numbers of a value as int, where they are whole, or float64.
func normalize(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(string(v)); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = normalize(e)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for name, e := range v {
			object[name] = normalize(e)
		}
		return object
	}
	return v
}
