package main

import (
	"github.com/matoolkit/matoolkit/internal/app"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// functions are those that every worker has, for runbooks to be checked against.
func functions() []app.Function {
	var known []app.Function
	for _, f := range catalog.Standard() {
		function := app.Function{Name: f.Name}
		for _, p := range f.Params {
			function.Params = append(function.Params, app.Parameter{Name: p.Name, Required: p.Required})
		}
		known = append(known, function)
	}
	return known
}
