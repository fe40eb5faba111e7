// Package catalog defines what a worker can be asked to do: the functions, the
// parameters that each takes, what it answers and which permissions it needs.
//
// The definitions are data that anybody may read (the CLI lists them, a runbook
// can be checked against them); packages graph and exchange attach what runs.
// This package knows no broker, no tenant and no SDK.
package catalog

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/signature"
)

// Type is the type of a parameter.
type Type = signature.Type

// The types of parameters.
const (
	String     = signature.String
	Boolean    = signature.Boolean
	GUID       = signature.GUID
	Email      = signature.Email
	Domain     = signature.Domain
	StringList = signature.StringList
	Object     = signature.Object
)

// OneOf is the type of a parameter that has one of a few values.
func OneOf(values ...string) Type { return signature.OneOf(values...) }

// Param is one parameter of a function. Names are compared case-insensitively.
type Param struct {
	Name        string `json:"name"`
	Type        Type   `json:"type"`
	Required    bool   `json:"required"`
	Description string `json:"description"`
	Secret      bool   `json:"secret,omitempty"` // its value is stored encrypted and never shown
}

// Field is one field of what a function answers.
type Field struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// RunFunc does the work of a function. It may be called again for a job that it
// has done before, wholly or in part, and must then answer as the first time. A
// function that has nothing to tell answers true; one that has answers a value
// that marshals to a JSON object. It may be called from several goroutines.
type RunFunc func(ctx context.Context, params Params) (any, error)

// Function is one entry of the catalogue.
type Function struct {
	Name        string  `json:"name"`
	Description string  `json:"description"`
	Params      []Param `json:"params"`
	Result      []Field `json:"result,omitempty"` // empty: the answer is true
	// Errors are those that the function documents beside CommonErrors. They are not announced.
	Errors      []Error  `json:"-"`
	Permissions []string `json:"permissions,omitempty"`
	// TimeoutSeconds is the function's own time limit; 0 means that the worker's for a job
	// holds.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
	// ReadOnly: the function changes nothing in the tenant.
	ReadOnly bool `json:"readOnly,omitempty"`
	// Repeated says what happens when a job is carried out again: after it was done, or
	// after a part of it.
	Repeated string `json:"repeated,omitempty"`
	// Rehearse is the result of a call of a custom function in a rehearsal. Empty: it succeeds, and is listed as not
	// rehearsed. Standard functions are carried out.
	Rehearse Rehearsal `json:"rehearse,omitempty"`
	Run      RunFunc   `json:"-"`
}

// Rehearsal is the result of a call in a rehearsal.
type Rehearsal string

// What a custom function can do in a rehearsal.
const (
	RehearseSucceed Rehearsal = "succeed"
	RehearseRun     Rehearsal = "run" // its program is started, as by a worker
	RehearseFail    Rehearsal = "fail"
)

// Rehearsals are all of these.
var Rehearsals = []Rehearsal{RehearseSucceed, RehearseRun, RehearseFail}

// Signature is the function as runbooks are checked against it.
func (f Function) Signature() signature.Function {
	s := signature.Function{Name: f.Name, Description: f.Description, Permissions: f.Permissions, TimeoutSeconds: f.TimeoutSeconds, ReadOnly: f.ReadOnly}
	for _, p := range f.Params {
		s.Params = append(s.Params, signature.Parameter{Name: p.Name, Type: string(p.Type), Required: p.Required, Description: p.Description, Secret: p.Secret})
	}
	for _, r := range f.Result {
		s.Result = append(s.Result, signature.Field(r))
	}
	return s
}

// Signatures are the signatures of several functions.
func Signatures(functions []Function) []signature.Function {
	all := make([]signature.Function, len(functions))
	for i, f := range functions {
		all[i] = f.Signature()
	}
	return all
}

// FromSignature is the function that a signature describes, without an implementation. It
// accepts all values of a parameter whose type is not known.
func FromSignature(s signature.Function) Function {
	f := Function{Name: s.Name, Description: s.Description, Permissions: s.Permissions, TimeoutSeconds: s.TimeoutSeconds, ReadOnly: s.ReadOnly}
	for _, p := range s.Params {
		param := Param{Name: p.Name, Type: signature.TypeOf(p), Required: p.Required, Description: p.Description, Secret: p.Secret}
		f.Params = append(f.Params, param)
	}
	for _, r := range s.Result {
		f.Result = append(f.Result, Field(r))
	}
	return f
}

// With returns the function with its implementation.
func (f Function) With(run RunFunc) Function {
	f.Run = run
	return f
}

// Catalog is the set of functions that one worker offers. It does not change
// once made and is safe for concurrent use.
type Catalog struct {
	functions []Function
	byName    map[string]int
}

// New makes a catalogue. It refuses a function without a name or without
// anything to run, and two functions of the same name.
func New(functions ...Function) (*Catalog, error) {
	c := &Catalog{functions: slices.Clone(functions), byName: make(map[string]int, len(functions))}
	slices.SortFunc(c.functions, func(a, b Function) int { return strings.Compare(a.Name, b.Name) })
	for i, f := range c.functions {
		key := strings.ToLower(f.Name)
		if key == "" {
			return nil, errors.New("catalog: a function has no name")
		}
		if _, taken := c.byName[key]; taken {
			return nil, fmt.Errorf("catalog: function %s is registered twice", f.Name)
		}
		if f.Run == nil {
			return nil, fmt.Errorf("catalog: function %s has no implementation", f.Name)
		}
		c.byName[key] = i
	}
	return c, nil
}

// Functions lists the catalogue by name. The caller must not change it.
func (c *Catalog) Functions() []Function { return c.functions }

// Call checks the parameters, a JSON object, and runs the function. What it
// refuses is a *Failure.
func (c *Catalog) Call(ctx context.Context, name string, parameters []byte) (any, error) {
	i, ok := c.byName[strings.ToLower(name)]
	if !ok {
		return nil, &Failure{Type: FailureUnknownFunction, Message: fmt.Sprintf("this worker has no function %q", name)}
	}
	f := c.functions[i]
	params, err := f.Check(parameters)
	if err != nil {
		return nil, err
	}
	return f.Run(ctx, params)
}
