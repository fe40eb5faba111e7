// Package problem has the errors that use cases return to callers: a code of the admin API, a message
// for people and, for bad input, every problem with its place. Explain makes one of any error, of the
// store, the bus and the engine too; an edge calls it once for each answer.
package problem

import (
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Error is an error that an answer shows to its caller. Message is for people and has no internal
// details; Problems, where present, lists every problem of the input.
type Error struct {
	Code     api.Code
	Message  string
	Problems []api.InputProblem
	Cause    error // for the log; no answer shows it

	// CurrentPhase and NextPhase are set for an advance that is refused: the phase that was started
	// last and the one after it; empty where there is none.
	CurrentPhase, NextPhase string
}

// Error gives the message with the cause.
func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// New returns an Error with a formatted message.
func New(code api.Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
