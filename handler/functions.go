package main

import (
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// functions are those that every worker of this repository has. Runbooks of workers that
// have not announced theirs are checked against them.
func functions() []lint.Function {
	var known []lint.Function
	for _, f := range catalog.Standard() {
		function := lint.Function{Name: f.Name}
		for _, p := range f.Params {
			function.Params = append(function.Params, lint.Parameter{Name: p.Name, Type: string(p.Type), Required: p.Required, Secret: p.Secret})
		}
		for _, r := range f.Result {
			function.Result = append(function.Result, r.Name)
		}
		known = append(known, function)
	}
	return known
}
