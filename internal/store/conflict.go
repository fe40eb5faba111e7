package store

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Overtaken reports whether a write failed because another one came first.
func Overtaken(err error) bool {
	return errors.Is(err, ErrChanged) || errors.Is(err, ErrExists)
}

// RetryOnConflict calls do again until it is not Overtaken or ctx ends. In each call do reads the
// state that it decides on. The first retry comes at once, because what another process wrote is
// stored by then. Each later one waits longer, as Backoff says, so that processes that write the
// same item do not stop each other.
//
// RetryOnConflict returns any other error of do at once, also a conflict in a backoff.Permanent.
// If ctx ends after a conflict, it returns the cause of that.
func RetryOnConflict(ctx context.Context, do func() error) error {
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := do()
		if err != nil && !Overtaken(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(&onceAtOnce{BackOff: Backoff()}), backoff.WithMaxElapsedTime(0))
	return err
}

// Backoff returns the waits between attempts: from 5 ms to 5 s, each at random up to half shorter or
// longer.
func Backoff() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval = 5*time.Millisecond, 5*time.Second
	return b
}

// onceAtOnce puts one retry without a wait before those of its BackOff.
type onceAtOnce struct {
	backoff.BackOff
	begun bool
}

// NextBackOff returns the wait before the next attempt.
func (b *onceAtOnce) NextBackOff() time.Duration {
	if !b.begun {
		b.begun = true
		return 0
	}
	return b.BackOff.NextBackOff()
}
