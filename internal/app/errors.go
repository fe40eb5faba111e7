package app

import (
	"errors"
	"fmt"
)

// Code says what kind of failure an Error is; whoever talks HTTP maps it once.
type Code string

// The codes.
const (
	CodeInvalid     Code = "invalid"     // the request is wrong: 400 (422 where it is well-formed but breaks a rule)
	CodeNotFound    Code = "not_found"   // 404
	CodeConflict    Code = "conflict"    // the state does not allow it: 409
	CodeChanged     Code = "changed"     // it is no longer as the caller wanted it to be: 412
	CodeKeyReused   Code = "key_reused"  // the caller's key belongs to a request with other content: 422
	CodeTooLarge    Code = "too_large"   // 413
	CodeUnstorable  Code = "unstorable"  // the store refuses it for good: 422
	CodeFull        Code = "full"        // the store has no room left for it: 507
	CodeUnavailable Code = "unavailable" // the store or the bus is away: 503, try again
	CodeSourceAway  Code = "source_away" // a runbook's data source does not answer: 503, try again
	CodeInternal    Code = "internal"    // 500
)

// Problem is one thing wrong with an input, with its place.
type Problem struct {
	Severity string `json:"severity,omitempty"` // error or warning; empty is an error
	Line     int    `json:"line,omitempty"`     // in the file, from 1
	Column   int    `json:"column,omitempty"`   // in the line, from 1
	Field    string `json:"field,omitempty"`    // a CSV column, a YAML path
	Code     string `json:"code,omitempty"`
	Message  string `json:"message"`
}

// Error is a failure that the caller is told about. Message is for people and
// holds no internal detail; Problems, where present, lists everything that is
// wrong with the input.
type Error struct {
	Code     Code
	Message  string
	Problems []Problem
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

// CodeOf is the code of the first Error in err's chain, CodeInternal for any other.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return CodeInternal
}

func fail(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}
