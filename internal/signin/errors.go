package signin

import (
	"errors"
	"fmt"
	"strings"
)

// The ways in which a caller is turned away. Every error of Verify is one of
// them by errors.Is.
var (
	// ErrMissing: the request carries no bearer token. 401.
	ErrMissing = errors.New("no bearer token")
	// ErrInvalid: the token is not one of ours, or no longer. 401.
	ErrInvalid = errors.New("invalid token")
	// ErrForbidden: the token is good and entitles to nothing here. 403.
	ErrForbidden = errors.New("not permitted")
	// ErrUnavailable: the token cannot be judged, because the identity
	// provider's keys cannot be had. 503, worth repeating.
	ErrUnavailable = errors.New("identity provider unavailable")
)

// Error is the error type of Verify. Error() includes the cause and is for
// the log; Reason is for the caller.
type Error struct {
	// Kind is one of the errors above.
	Kind error
	// Reason is a short sentence that is safe to send to the caller.
	Reason string
	cause  error
}

func (e *Error) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("%v: %s", e.Kind, e.Reason)
	}
	return fmt.Sprintf("%v: %s: %v", e.Kind, e.Reason, e.cause)
}

// Unwrap yields the kind and the cause.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}

// Challenge is the WWW-Authenticate header of the answer to a 401 or 403
// (RFC 6750, section 3). It is empty for an outage.
func (e *Error) Challenge() string {
	reason := strings.NewReplacer(`\`, "", `"`, "'").Replace(e.Reason)
	switch {
	case errors.Is(e.Kind, ErrMissing):
		return "Bearer"
	case errors.Is(e.Kind, ErrInvalid):
		return `Bearer error="invalid_token", error_description="` + reason + `"`
	case errors.Is(e.Kind, ErrForbidden):
		return `Bearer error="insufficient_scope", error_description="` + reason + `"`
	}
	return ""
}

func invalid(reason string, cause error) *Error {
	return &Error{Kind: ErrInvalid, Reason: reason, cause: cause}
}
