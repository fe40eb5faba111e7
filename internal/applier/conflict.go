package applier

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// errOutdated: a decision on a run that this process recalled writes nothing. Only a write checks
// that the run is current, so the decision is taken again on the stored run.
var errOutdated = errors.New("app: the recalled run is out of date")

// isConflict reports whether the decision must be taken again on the state as it is now.
func isConflict(err error) bool {
	return errors.Is(err, store.ErrChanged) || errors.Is(err, model.ErrOutdated)
}

// retryOnConflict calls do until it loses no race, or ctx ends. It waits longer after each call.
func retryOnConflict(ctx context.Context, do func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := do()
		if err == nil || isConflict(err) {
			return struct{}{}, err
		}
		return struct{}{}, backoff.Permanent(err)
	}, backoff.WithBackOff(Backoff()), backoff.WithMaxElapsedTime(0))
	return err
}

// Backoff returns the waits between attempts: from 5 ms to 5 s.
func Backoff() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 5*time.Millisecond, 5*time.Second
	return b
}
