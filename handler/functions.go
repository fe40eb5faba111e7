package main

import (
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// functions are those that every worker of this repository has. Runbooks of workers that
// have not announced theirs are checked against them.
func functions() []runbook.Function {
	var known []runbook.Function
	for _, f := range catalog.Standard() {
		function := runbook.Function{Name: f.Name}
		for _, p := range f.Params {
			function.Params = append(function.Params, runbook.Parameter{Name: p.Name, Type: string(p.Type), Required: p.Required, Secret: p.Secret})
		}
		for _, r := range f.Result {
			function.Result = append(function.Result, r.Name)
		}
		known = append(known, function)
	}
	return known
}
