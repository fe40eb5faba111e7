// Package signature describes what a step can call: the functions of a worker with their
// parameters and the fields of their answers.
//
// It must not know how functions are carried out, announced, stored or checked.
package signature

import (
	"slices"
	"strings"
)

// Function is one of a worker's functions. Names are case-insensitive.
type Function struct {
	Name        string      `json:"name"`
	Description string      `json:"description,omitempty"`
	Params      []Parameter `json:"params"`
	Result      []Field     `json:"result,omitempty"` // empty: the answer is true
	Permissions []string    `json:"permissions,omitempty"`
	// TimeoutSeconds is how long one call may take; 0 means unknown.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// ReadOnly: the worker declares that the function changes nothing.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Parameter is one parameter of a Function. Values of a Type that is not known are not checked.
type Parameter struct {
	Name        string `json:"name"`
	Type        string `json:"type,omitempty"`
	Required    bool   `json:"required"`
	Description string `json:"description,omitempty"`
	Secret      bool   `json:"secret,omitempty"` // its value is stored encrypted and never shown
}

// AnyField is the name of a Field that stands for fields of every name.
const AnyField = "*"

// Has tells whether the answer of the function can have a field, whose name is compared without case.
func (f Function) Has(field string) bool {
	return slices.ContainsFunc(f.Result, func(r Field) bool { return r.Name == AnyField || strings.EqualFold(r.Name, field) })
}

// Field is a field of the object that a Function answers.
type Field struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}
