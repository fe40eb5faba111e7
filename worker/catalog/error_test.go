package catalog_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Each type of failure that the worker itself gives is in the table of the common ones.
func TestEveryFailureOfTheWorkerIsDocumented(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "failure.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Failure") {
			declared++
		}
		return true
	})
	own := 0
	seen := map[string]bool{}
	for _, e := range catalog.CommonErrors() {
		if seen[e.Type] {
			t.Errorf("%s is documented twice", e.Type)
		}
		seen[e.Type] = true
		if !strings.HasPrefix(e.Type, "HTTP ") && !strings.HasPrefix(e.Type, "Microsoft.") && e.Type != "Authorization_RequestDenied" {
			own++
		}
		checkError(t, "every function", e)
	}
	if own != declared {
		t.Errorf("%d failures of the worker are documented, and %d declared", own, declared)
	}
}

// Each function documents an error of its own, each type once.
func TestErrorsAreDescribed(t *testing.T) {
	t.Parallel()
	for _, f := range catalog.Standard() {
		if len(f.Errors) == 0 {
			t.Errorf("%s documents no error", f.Name)
		}
		for i, e := range f.Errors {
			checkError(t, f.Name, e)
			if slices.ContainsFunc(f.Errors[:i], func(other catalog.Error) bool { return other.Type == e.Type }) {
				t.Errorf("%s documents %s twice", f.Name, e.Type)
			}
		}
	}
}

func checkError(t *testing.T, of string, e catalog.Error) {
	t.Helper()
	if e.Type == "" || !strings.HasSuffix(e.When, ".") || !strings.HasSuffix(e.Do, ".") {
		t.Errorf("%s: error %q needs a type, and sentences of when it happens and what to do", of, e.Type)
	}
}
