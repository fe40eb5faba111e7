// Package authentication carries out the functions for passes, passwords and authentication methods of users. It makes
// requests through the client of package graph.
//
// Passes and passwords leave the worker by mail only. They are in no result, and failures are cleaned of them.
package authentication

import (
	"errors"
	"strings"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/graph"
)

// Config configures the functions.
type Config struct {
	Graph *graph.Client
	// PasswordKey derives the password of a job, so that all its deliveries set the same. Nil: each has a random one.
	PasswordKey []byte
}

// service is the users of Graph.
type service struct {
	graph       *graph.Client
	passwordKey []byte
}

// Functions are the catalogue's functions that this package carries out.
func Functions(c Config) []catalog.Function {
	s := service{c.Graph, c.PasswordKey}
	return []catalog.Function{
		catalog.NewEntraUserTemporaryAccessPass.With(s.newPass),
		catalog.ResetEntraUserPassword.With(s.resetPassword),
		catalog.RemoveEntraUserAuthenticationMethods.With(s.removeMethods),
		catalog.TestEntraUserAuthenticationMethods.With(s.testMethods),
	}
}

func wrong(text string) error {
	return &catalog.Failure{Type: catalog.FailureParameters, Message: text}
}

func conflict(text string) error {
	return &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: text}
}

// says tells whether an error is a failure whose message has the text.
func says(err error, text string) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && strings.Contains(strings.ToLower(f.Message), strings.ToLower(text))
}

// withRemedy adds what to do to the message of a failure.
func withRemedy(err error, remedy string) error {
	var f *catalog.Failure
	if errors.As(err, &f) {
		f.Message += ": " + remedy
	}
	return err
}

// withoutSecret takes a secret out of the message of a failure.
func withoutSecret(err error, secret string) error {
	var f *catalog.Failure
	if errors.As(err, &f) && secret != "" {
		f.Message = strings.ReplaceAll(f.Message, secret, "(secret)")
	}
	return err
}
