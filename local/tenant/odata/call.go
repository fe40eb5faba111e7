// Package odata has the parts that the two services of a tenant share: requests as the
// server passes them on, answers, and errors in the shape of OData.
package odata

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// Errors that a judge of tokens may wrap to tell a good token that lacks something from a
// bad one.
var (
	// ErrMissingPermission: the app permission is not in the token. Graph
	// answers 403 Authorization_RequestDenied, Exchange 401.
	ErrMissingPermission = errors.New("the token lacks the application permission")
	// ErrMissingRole: the service principal has no Entra directory role that
	// Exchange accepts. Exchange answers 403.
	ErrMissingRole = errors.New("the application has no supported directory role")
)

// Call is one request to one of the two services, also one step of a $batch.
type Call struct {
	Method  string
	Path    []string // segments after the version, decoded
	Query   map[string][]string
	Header  http.Header
	Body    []byte
	Beta    bool
	Base    string // scheme and host, for links
	Token   string // bearer token
	Arg     map[string]string
	Service string // "graph" or "exchange"
	Op      string // name for counters and fault rules
	Serve   func() *Reply
	Ctx     context.Context // of the HTTP request
}

// Label is the name of the operation with its service.
func (c *Call) Label() string {
	if c.Op == "" {
		return c.Service + " unknown"
	}
	return c.Service + " " + c.Op
}

// Option is the value of a system query option, with or without its dollar.
func (c *Call) Option(name string) (string, bool) {
	for _, key := range []string{"$" + name, name} {
		if values := c.Query[key]; len(values) > 0 {
			return values[0], true
		}
	}
	return "", false
}

// Bearer is the bearer token of a request, empty for none.
func Bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
