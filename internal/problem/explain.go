package problem

import (
	"context"
	"errors"
	"fmt"

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
	var tooLarge *store.SizeError
	var refusal *model.Refusal
	var missing *model.NotFound
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &refusal) && refusal.ThisCaller:
		return New(api.CodeForbidden, "%s", refusal.Reason)
	case errors.As(err, &refusal):
		return New(api.CodeConflict, "%s", refusal.Reason)
	case errors.As(err, &missing):
		return &Error{Code: api.CodeNotFound, Message: missing.Error(), Cause: err}
	case errors.Is(err, model.ErrNotYet):
		return New(api.CodeConflict, "a phase is starting for the member; try again in a moment, or after the batch is resumed if it is paused")
	case errors.Is(err, secret.ErrUnavailable):
		return &Error{Code: api.CodeUnavailable, Message: "the encryption key of secrets cannot be read; see the handler's log", Cause: err}
	case errors.Is(err, store.ErrUnavailable), errors.Is(err, bus.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: api.CodeUnavailable, Message: "the system's store or broker cannot be reached; try again in a moment", Cause: err}
	case errors.Is(err, store.ErrChanged): // 449 for a new document, which no other process has changed
		return &Error{Code: api.CodeUnavailable, Message: "another write changed the item at the same time; nothing was changed, try again", Cause: err}
	case errors.Is(err, store.ErrLater):
		return &Error{Code: api.CodeUnavailable, Message: "a later version of the handler wrote this item, and this version does not know all its fields; nothing was changed. During an upgrade, try again in a moment; after a rollback of the handler, deploy the later version again", Cause: err}
	case errors.Is(err, store.ErrContinuation):
		return &Error{Code: api.CodeInvalid, Message: "the continuation token does not belong to this list; use the token of the previous page with the same filters, or none for the first page", Cause: err}
	case errors.Is(err, store.ErrRefused):
		return &Error{Code: api.CodeUnstorable, Message: "the store refuses the item; nothing was changed, and repeating the request does not help. The handler's log has the store's reason", Cause: err}
	case errors.Is(err, store.ErrFull):
		return &Error{Code: api.CodeFull, Message: "the partition is full: a batch, the list of batches and the list of runbooks can have 20 GB each. Nothing was changed. Put further members into another batch; docs/operate.md says how to find the full partition", Cause: err}
	case errors.As(err, &tooLarge):
		return &Error{Code: api.CodeTooLarge, Message: fmt.Sprintf("the item is too large for the store: it has %d bytes; at most %d are allowed", tooLarge.Bytes, store.MaxBytes), Cause: err}
	case errors.Is(err, store.ErrTooLarge):
		return &Error{Code: api.CodeTooLarge, Message: "the item is too large for the store", Cause: err}
	}
	return &Error{Code: api.CodeInternal, Message: "internal error; find the trace id in the handler's log", Cause: err}
}
