package engine

import (
	"time"

	"github.com/matoolkit/matoolkit/internal/model"
)

// dispatchLag is how long after a pause or a cancellation is stored a process may still
// dispatch jobs of the batch: it remembers for a second that the batch was open, and its
// clock may be ahead.
const dispatchLag = 5 * time.Second

// ExtendRevocation extends a revocation to all that was dispatched before its batch was stored as
// paused or cancelled, at the latest now.
func ExtendRevocation(r model.Revoke, now time.Time) model.Revoke {
	if through := now.UTC().Add(dispatchLag); through.After(r.Through) {
		r.Through = through
	}
	return r
}

// Revocation returns the message that leads to the workers' notification of a paused
// or cancelled batch; nil for any other batch.
func Revocation(b *model.Batch) []model.Message {
	switch {
	case b.Cancelled != nil && b.HasEnded():
		return []model.Message{model.Revoke{Through: b.Cancelled.At.Add(dispatchLag)}}
	case b.Paused != nil:
		return []model.Message{model.Revoke{Through: b.Paused.At.Add(dispatchLag)}}
	}
	return nil
}
