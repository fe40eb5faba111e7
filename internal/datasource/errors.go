package datasource

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/humanize"
)

// maxText limits the text of a cause in bytes: some servers answer with a stack
// trace.
const maxText = 2000

// Error is the error of reading a runbook's members. Neither its text nor any error
// that it wraps contains the connection or a secret part of it: the text has ***
// instead.
//
// errors.Is finds what a cause wraps. errors.As does too, but only gives out what
// holds no secret itself: a *url.Error that quotes a URL with its signature is not
// found.
type Error struct {
	Runbook    string
	Source     string // the type of the source
	Connection string // the environment variable that its connection is in
	Cause      error
	// Away: the source did not answer, or is busy. The same query may succeed
	// later; any other error stays until an administrator changes the query or the source.
	Away bool
	// NotBefore is the time before which the source asks not to be queried; zero: it names none.
	NotBefore time.Time
}

// ErrAway is in the chain of what [Away] marks.
var ErrAway = errors.New("the data source is not available")

// Away marks the error of a source that does not answer, or answers that it is busy.
// Its text stays as it is. Errors of the network need no mark.
func Away(err error) error { return away{error: err} }

// maxPause bounds the wait that a source can ask for: a header with a wrong time must not stop a
// runbook for ever.
const maxPause = 24 * time.Hour

// AwayAs marks the error of a source whose answer says that it is busy. If the answer has a
// Retry-After, the text ends with the time that it names.
func AwayAs(resp *http.Response, err error) error {
	wait := RetryAfter(resp)
	if wait == 0 {
		return Away(err)
	}
	return AwayUntil(err, time.Now().Add(min(wait, maxPause)))
}

// AwayUntil marks the error of a source that asks for no query before a time. The text ends with it.
func AwayUntil(err error, at time.Time) error {
	at = at.Add(time.Second - 1).UTC().Truncate(time.Second)
	return away{fmt.Errorf("%w; it asks for no request before %s", err, at.Format(time.RFC3339)), at}
}

// RetryAfter returns the wait that an answer asks for; 0 for none.
func RetryAfter(resp *http.Response) time.Duration {
	text := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 && seconds < 1e9 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

type away struct {
	error
	notBefore time.Time
}

func (a away) Unwrap() []error { return []error{a.error, ErrAway} }

// isAway tells whether a cause is one of a source that is away. A query that took too
// long is not: it would again.
func isAway(cause error) bool {
	var network net.Error
	switch {
	case errors.Is(cause, ErrAway):
		return true
	case errors.Is(cause, context.DeadlineExceeded), errors.Is(cause, context.Canceled):
		return false
	}
	return errors.As(cause, &network) || errors.Is(cause, driver.ErrBadConn)
}

// QueryError is a query that a source refuses on every connection.
type QueryError struct{ Reason string }

func (e *QueryError) Error() string { return "data_source.query: " + e.Reason }

// newError makes the Error of a cause that may quote any of secrets.
func newError(runbook, source, connection string, cause error, s secrets) *Error {
	text := strings.ToValidUTF8(humanize.ClipBytes(s.scrub(cause.Error()), maxText), "\uFFFD")
	var busy away
	_ = errors.As(cause, &busy)
	return &Error{
		Runbook: runbook, Source: source, Connection: connection, Cause: &scrubbed{text: text, cause: cause, secrets: s},
		Away: isAway(cause), NotBefore: busy.notBefore,
	}
}

// Error names the runbook, the source and the cause.
func (e *Error) Error() string {
	return fmt.Sprintf("the members of the runbook %s cannot be read from its data source (%s, connection %s): %v", e.Runbook, e.Source, e.Connection, e.Cause)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Cause }

// scrubbed stands for a cause in a chain of errors. It does not unwrap to the cause,
// which may quote a secret.
type scrubbed struct {
	text    string
	cause   error
	secrets secrets
}

func (s *scrubbed) Error() string { return s.text }

// Format prints the text for every verb: some, as %d and %#v, would print the fields.
func (s *scrubbed) Format(f fmt.State, verb rune) {
	fmt.Fprintf(f, fmt.FormatString(f, verb), s.text)
}

func (s *scrubbed) Is(target error) bool { return errors.Is(s.cause, target) }

func (s *scrubbed) As(target any) bool {
	if !errors.As(s.cause, target) {
		return false
	}
	found := reflect.ValueOf(target).Elem()
	if err, ok := found.Interface().(error); ok && s.secrets.absent(err) {
		return true
	}
	found.SetZero()
	return false
}

// absent tells whether no secret is in the text of err, of what it wraps, or of its
// fields.
func (s secrets) absent(err error) bool {
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		if s.scrub(text) != text {
			return false
		}
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		next := e.Unwrap()
		return next == nil || s.absent(next)
	case interface{ Unwrap() []error }:
		for _, next := range e.Unwrap() {
			if next != nil && !s.absent(next) {
				return false
			}
		}
	}
	return true
}
