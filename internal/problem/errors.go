package problem

import (
	"fmt"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Error is a failure that the caller is told about. Message is for people and
// holds no internal detail; Problems, where present, lists everything that is
// wrong with the input.
type Error struct {
	Code     api.Code
	Message  string
	Problems []api.InputProblem
	Cause    error // not shown to the caller

	// Of an advance that is refused: the phase that was started last and the one that
	// comes next; empty where there is none.
	CurrentPhase, NextPhase string
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return e.Message + ": " + e.Cause.Error()
	}
	return e.Message
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf is the code that Explain gives to an error.
func CodeOf(err error) api.Code { return Explain(err).Code }

func New(code api.Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
