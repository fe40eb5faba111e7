package condition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// operators are the binary operators of the language.
var operators = []string{
	"==", "!=", "<", "<=", ">", ">=", "and", "&&", "or", "||", "in", "contains", "startsWith", "endsWith", "matches",
	"+", "-", "*", "/", "%", "??",
}

// survey walks through a condition: it notes the names, and finds what the language does not have.
type survey struct {
	at    map[string]int // names, with the place of the first use in runes
	fault ast.Node
	why   string
}

func (s *survey) error(text string) *Error {
	return &Error{min(byteOffset(text, s.fault.Location().From), max(0, len(text)-1)), s.why}
}

func (s *survey) refuse(n ast.Node, format string, args ...any) {
	if s.fault == nil {
		s.fault, s.why = n, fmt.Sprintf(format, args...)
	}
}

func (s *survey) name(name string, n ast.Node) {
	at := n.Location().From
	if first, known := s.at[name]; !known || at < first {
		s.at[name] = at
	}
}

func (s *survey) nodes(list ...ast.Node) {
	for _, n := range list {
		s.node(n)
	}
}

func (s *survey) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.NilNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.StringNode, *ast.ConstantNode:
	case *ast.IdentifierNode:
		if n.Value == environment {
			s.refuse(n, `write a name after $env, such as $env["First name"]`)
			return
		}
		s.name(n.Value, n)
	case *ast.UnaryNode:
		s.node(n.Node)
	case *ast.BinaryNode:
		s.binary(n)
	case *ast.ConditionalNode:
		s.nodes(n.Cond, n.Exp1, n.Exp2)
	case *ast.ArrayNode:
		s.nodes(n.Nodes...)
	case *ast.ChainNode:
		s.node(n.Node)
	case *ast.MemberNode:
		s.member(n)
	case *ast.CallNode:
		s.call(n)
	case *ast.BuiltinNode:
		if n.Name != "len" {
			s.refuse(n, "there is no function %q%s", n.Name, humanize.DidYouMean(n.Name, functionNames()))
			return
		}
		s.nodes(n.Arguments...)
	default:
		s.refuse(n, "a condition compares values; it has no loops, variables, ranges and objects")
	}
}

func (s *survey) binary(n *ast.BinaryNode) {
	if !slices.Contains(operators, n.Operator) {
		s.refuse(n, "there is no operator %s; use one of %s", n.Operator, strings.Join(operators, " "))
		return
	}
	if _, fixed := n.Right.(*ast.StringNode); n.Operator == "matches" && !fixed {
		s.refuse(n, `matches needs a pattern in quotes, such as Mail matches "^a"`)
		return
	}
	s.nodes(n.Left, n.Right)
}

// environment is the language's name for all names, in which $env["First name"] looks one up.
const environment = "$env"

func (s *survey) member(n *ast.MemberNode) {
	if from, ok := n.Node.(*ast.IdentifierNode); ok && from.Value == environment {
		if name, fixed := n.Property.(*ast.StringNode); fixed {
			s.name(name.Value, from)
			return
		}
	}
	s.nodes(n.Node, n.Property)
}

func (s *survey) call(n *ast.CallNode) {
	callee, ok := n.Callee.(*ast.IdentifierNode)
	if !ok || !slices.Contains(functionNames(), callee.Value) {
		name := "…"
		if ok {
			name = callee.Value
		}
		s.refuse(n, "there is no function %q; use one of %s%s", humanize.Clip(name, 60), strings.Join(functionNames(), ", "), humanize.DidYouMean(name, functionNames()))
		return
	}
	s.nodes(n.Arguments...)
}
