package catalog

import "context"

// NoOp answers true at once. It is offered only to measure how fast jobs pass
// through the system and is no part of a production worker.
var NoOp = Function{
	Name:        "No-Op",
	Description: "Does nothing. For measuring.",
	Params: []Param{
		{"Value", String, false, "Anything; ignored."},
	},
	Run: func(context.Context, Params) (any, error) { return true, nil },
}
