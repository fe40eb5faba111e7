package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/store"
)

// retried calls RetryOnConflict with a do that returns err until the given number of calls, and
// returns the pauses before the later calls.
func retried(ctx context.Context, calls int, err error) (pauses []time.Duration, _ error) {
	last, n := time.Time{}, 0
	result := store.RetryOnConflict(ctx, func() error {
		if n++; n > 1 {
			pauses = append(pauses, time.Since(last))
		}
		last = time.Now()
		if n == calls {
			return nil
		}
		return err
	})
	return pauses, result
}

// TestRetryOnConflictPausesGrow: the first retry comes at once, and each later pause is longer on
// average, up to the longest.
func TestRetryOnConflictPausesGrow(t *testing.T) {
	t.Parallel()
	for _, conflict := range []error{store.ErrChanged, store.ErrExists, fmt.Errorf("write: %w", store.ErrChanged)} {
		synctest.Test(t, func(t *testing.T) {
			pauses, err := retried(t.Context(), 30, conflict)
			if err != nil || len(pauses) != 29 {
				t.Fatalf("%d pauses, %v", len(pauses), err)
			}
			if pauses[0] != 0 {
				t.Errorf("the first retry came after %s", pauses[0])
			}
			mean := 5 * time.Millisecond
			for i, pause := range pauses[1:] {
				if pause < mean/2 || pause > mean*3/2+time.Millisecond {
					t.Errorf("pause %d is %s, not about %s", i+1, pause, mean)
				}
				mean = min(mean*3/2, 5*time.Second)
			}
		})
	}
}

// TestRetryOnConflictEndsWithItsContext: a context that ends in a pause ends it, and one that has
// ended before permits one call.
func TestRetryOnConflictEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		_, err := retried(ctx, 0, store.ErrChanged)
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("it returned %v after %s", err, took)
		}
		pauses, err := retried(ctx, 0, store.ErrChanged)
		if !errors.Is(err, context.DeadlineExceeded) || len(pauses) > 0 {
			t.Errorf("with a context that has ended: %v after %d retries", err, len(pauses))
		}
		if _, err := retried(ctx, 1, nil); err != nil {
			t.Errorf("a call that succeeds after the context has ended: %v", err)
		}
	})
}

// TestRetryOnConflictReturnsOtherErrors: it returns an error that is no conflict at once, and a
// conflict that its caller marked as permanent.
func TestRetryOnConflictReturnsOtherErrors(t *testing.T) {
	t.Parallel()
	for _, want := range []error{store.ErrUnavailable, store.ErrNotFound, store.ErrNewer, store.ErrTooLarge, errors.New("other")} {
		if pauses, err := retried(t.Context(), 0, want); err != want || len(pauses) > 0 {
			t.Errorf("%v: %v after %d retries", want, err, len(pauses))
		}
	}
	if pauses, err := retried(t.Context(), 0, backoff.Permanent(store.ErrExists)); err != store.ErrExists || len(pauses) > 0 {
		t.Errorf("permanent: %v after %d retries", err, len(pauses))
	}
}
