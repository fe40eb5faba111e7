package problem

import (
	"context"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/store"
)

// CodeOf returns the code that Explain gives to an error.
func CodeOf(err error) api.Code { return Explain(err).Code }

// Explain gives the Error that an answer shows for an error of a use case. Use cases return errors of
// the store, the bus and the engine as they are; an error that Explain does not know becomes
// CodeInternal.
func Explain(err error) *Error {
	var known *Error
	var refusal *model.Refusal
	var missing *model.NotFound
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refusal):
		return New(api.CodeConflict, "%s", refusal.Reason)
	case errors.As(err, &missing):
		return &Error{Code: api.CodeNotFound, Message: missing.Error(), Cause: err}
	case errors.Is(err, model.ErrNotYet):
		return New(api.CodeConflict, "a phase is just being begun for the member; try again in a moment or, where the batch is paused, once it is resumed")
	case errors.Is(err, secret.ErrUnavailable):
		return &Error{Code: api.CodeUnavailable, Message: "the key that secrets are encrypted with cannot be read; the handler's log says why", Cause: err}
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, bus.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: api.CodeUnavailable, Message: "the system's store or broker cannot be reached; try again in a moment", Cause: err}
	case errors.Is(err, store.ErrChanged): // 449 for a new document, which no other process has changed
		return &Error{Code: api.CodeUnavailable, Message: "something else was written at the same moment; nothing was changed, try again", Cause: err}
	case errors.Is(err, store.ErrLater):
		return &Error{Code: api.CodeUnavailable, Message: "a later version of the handler has written this, and the version that answers would lose what it does not know of it; nothing was changed. During an upgrade, try again in a moment; where the handler was set back, deploy the later version again", Cause: err}
	case errors.Is(err, store.ErrContinuation):
		return &Error{Code: api.CodeInvalid, Message: "the continuation token is not one of this list; pass on what the page before gave, with the same filters, or none for the first page", Cause: err}
	case errors.Is(err, store.ErrRefused):
		return &Error{Code: api.CodeUnstorable, Message: "the store refuses this; nothing was changed, and sending the request again does not help. The handler's log has the store's reason", Cause: err}
	case errors.Is(err, store.ErrFull):
		return &Error{Code: api.CodeFull, Message: "the store has no room left where this belongs: a batch, the list of batches and the list of runbooks take 20 GB each. Nothing was changed. Put further members into another batch; docs/operate.md says how to find the full partition", Cause: err}
	case errors.Is(err, store.ErrTooLarge):
		return &Error{Code: api.CodeTooLarge, Message: "this is too large to be stored", Cause: err}
	}
	return &Error{Code: api.CodeInternal, Message: "something failed inside; the log says what", Cause: err}
}
