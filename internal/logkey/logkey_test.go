package logkey_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// logging are the methods of slog.Logger that take keys, with where those begin.
var logging = map[string]int{
	"Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "DebugContext": 2, "InfoContext": 2, "WarnContext": 2, "ErrorContext": 2, "With": 0,
}

// TestKeysAreConstants finds records of the programs whose keys are not constants of this
// package, and records of the handler that lack the trace id of their context. The worker's
// loggers have the trace id of their job.
func TestKeysAreConstants(t *testing.T) {
	t.Parallel()
	found := 0
	for _, dir := range []string{"handler", "functions", "worker", "internal"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, 0)
			if err != nil {
				return err
			}
			var around []ast.Node
			ast.Inspect(file, func(n ast.Node) bool {
				if n == nil {
					around = around[:len(around)-1]
					return true
				}
				around = append(around, n)
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				if dir != "worker" && dropsContext(call, around) {
					t.Errorf("%s: a log record without the trace id of ctx: call the method with Context", files.Position(call.Pos()))
				}
				for _, key := range keys(call) {
					if found++; !constant(key) {
						t.Errorf("%s: a key of a log record is not a constant of logkey", files.Position(key.Pos()))
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 200 {
		t.Errorf("only %d keys were found", found)
	}
}

// keys returns the keys of a call that logs, and none of another call.
func keys(call *ast.CallExpr) (all []ast.Expr) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !logger(method.X) {
		return nil
	}
	first, ok := logging[method.Sel.Name]
	if !ok || call.Ellipsis.IsValid() {
		return nil
	}
	for i := first; i < len(call.Args); i += 2 {
		all = append(all, call.Args[i])
	}
	return all
}

// dropsContext reports whether a call logs without the context that a function around it has.
func dropsContext(call *ast.CallExpr, around []ast.Node) bool {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || !logger(method.X) || logging[method.Sel.Name] != 1 {
		return false
	}
	for _, n := range around {
		var of *ast.FuncType
		switch n := n.(type) {
		case *ast.FuncDecl:
			of = n.Type
		case *ast.FuncLit:
			of = n.Type
		default:
			continue
		}
		for _, parameter := range of.Params.List {
			if slices.ContainsFunc(parameter.Names, func(name *ast.Ident) bool { return name.Name == "ctx" }) {
				return true
			}
		}
	}
	return false
}

// logger reports whether an expression is a logger by its name.
func logger(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.Ident:
		return strings.EqualFold(e.Name, "log") || e.Name == "slog" || e.Name == "anonymous"
	case *ast.SelectorExpr:
		return strings.EqualFold(e.Sel.Name, "log")
	case *ast.CallExpr:
		method, ok := e.Fun.(*ast.SelectorExpr)
		return ok && (method.Sel.Name == "Logger" || method.Sel.Name == "With" && logger(method.X))
	}
	return false
}

func constant(e ast.Expr) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := s.X.(*ast.Ident)
	return ok && of.Name == "logkey"
}

// TestKeysAreUnique checks the form of the keys, which is that of the messages on the bus.
func TestKeysAreUnique(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "logkey.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok {
			key, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(`^([A-Z][a-z]*)+$`).MatchString(key) || slices.Contains(all, key) {
				t.Errorf("the key %s is not in PascalCase, or is there twice", key)
			}
			all = append(all, key)
		}
		return true
	})
	if len(all) < 50 {
		t.Errorf("only %d keys were found", len(all))
	}
}
