package catalog

import "context"

// NoOp answers at once, true unless it is asked for something else. It is offered only to measure how fast jobs pass
// through the system and is no part of a production worker.
var NoOp = Function{
	Name:        "No-Op",
	Description: "Does nothing. For measuring.",
	Params: []Param{
		{Name: "Value", Type: String, Description: "Anything; ignored."},
		{Name: "Answer", Type: String, Description: "failure, incomplete, or anything else for true."},
	},
	Run: func(_ context.Context, p Params) (any, error) {
		switch p.String("Answer") {
		case "failure":
			return nil, &Failure{Type: "AskedTo", Message: "the job asked for a failure"}
		case "incomplete":
			return map[string]any{"complete": false}, nil
		}
		return true, nil
	},
}
