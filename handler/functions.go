package main

import (
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// functions are those that every worker of this repository has, for runbooks of workers
// that have not announced theirs to be checked against.
func functions() []api.Function {
	var known []api.Function
	for _, f := range catalog.Standard() {
		function := api.Function{Name: f.Name}
		for _, p := range f.Params {
			function.Params = append(function.Params, api.Parameter{Name: p.Name, Type: string(p.Type), Required: p.Required, Secret: p.Secret})
		}
		for _, r := range f.Result {
			function.Result = append(function.Result, api.Field{Name: r.Name})
		}
		known = append(known, function)
	}
	return known
}
