package catalog

import "context"

// NoOp returns its parameter at once, or true. It measures the throughput of the system; a production worker does not
// offer it.
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
			return nil, &Failure{Type: "AskedTo", Message: "the parameter Answer is failure"}
		case "incomplete":
			return map[string]any{"complete": false}, nil
		}
		return true, nil
	},
}
