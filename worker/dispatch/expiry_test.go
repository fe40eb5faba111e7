package dispatch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// tenant counts the calls that reach it.
func tenant(t *testing.T) (url string, calls *atomic.Int64) {
	t.Helper()
	calls = &atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { calls.Add(1) }))
	t.Cleanup(server.Close)
	return server.URL, calls
}

// change is a call that changes something in the tenant.
func change(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	return err
}

// standstill is a clock that stands still. By it a job does not expire before it is begun, and has the time until its
// expiry from then on, however long it takes to come.
func standstill() time.Time { return time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC) }

// The orchestrator gives up a step when its job expires: later effects of the job
// would be lost or done twice.
func TestAJobEndsAtItsExpiry(t *testing.T) {
	t.Parallel()
	for _, note := range []string{"by a clock that stands still", "by one that is set while it runs"} {
		t.Run(note, func(t *testing.T) {
			t.Parallel()
			var runs atomic.Bool
			now := map[string]func() time.Time{
				"by a clock that stands still": standstill,
				"by one that is set while it runs": func() time.Time {
					if runs.Load() {
						return standstill().Add(-time.Hour)
					}
					return standstill()
				},
			}[note]
			url, calls := tenant(t)
			ended := make(chan error, 1)
			f := &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) {
				runs.Store(true)
				<-ctx.Done()
				ended <- change(ctx, url)
				return nil, ctx.Err()
			}}
			b := start(t, f, options{config: dispatch.Config{Now: now}})
			j := job(1)
			expires := standstill().Add(400 * time.Millisecond)
			j.ExpiresAt = &expires
			b.send(t, j)
			got := b.result(t)
			if got.Status != message.StatusFailure || got.Error == nil || got.Error.Type != catalog.FailureTimeout {
				t.Fatalf("got %+v with %+v", got, got.Error)
			}
			for _, want := range []string{"Do did not finish before the step's timeout", expires.UTC().Format(time.RFC3339), "job expired", "stopped"} {
				if !strings.Contains(got.Error.Message, want) {
					t.Errorf("%q does not say %q", got.Error.Message, want)
				}
			}
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) || calls.Load() != 0 {
				t.Errorf("%d calls to the tenant after the expiry: %v", calls.Load(), err)
			}
		})
	}
}

// The time limit of the worker holds where it is the earlier one.
func TestTheWorkersTimeLimitHoldsBeforeTheExpiry(t *testing.T) {
	t.Parallel()
	b := start(t, until(nil), options{config: dispatch.Config{JobTimeout: 100 * time.Millisecond}})
	j := job(1)
	expires := time.Now().Add(time.Hour)
	j.ExpiresAt = &expires
	b.send(t, j)
	if got := b.result(t); got.Error == nil || got.Error.Type != catalog.FailureTimeout || got.Error.Message != "Do did not finish within 100ms" {
		t.Fatalf("got %+v", got.Error)
	}
}

// The result tells what the function did in the end, not that its time was over.
func TestAFunctionThatSucceedsAtTheLastMomentSucceeds(t *testing.T) {
	t.Parallel()
	f := &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) {
		<-ctx.Done()
		return true, nil
	}}
	b := start(t, f, options{config: dispatch.Config{Now: standstill}})
	j := job(1)
	expires := standstill().Add(300 * time.Millisecond)
	j.ExpiresAt = &expires
	b.send(t, j)
	if got := b.result(t); got.Status != message.StatusSuccess {
		t.Fatalf("got %+v", got.Error)
	}
}

// A call to a tenant that throttles for longer than the job lasts does not wait: the job
// fails at once as throttled, and the call is never made.
func TestAJobDoesNotWaitAtTheLimiterBeyondItsExpiry(t *testing.T) {
	t.Parallel()
	url, calls := tenant(t)
	pace := throttle.Default().Through(throttle.NewLimiter(throttle.Default(), throttle.Limits{}))
	refused := errors.New("refused for an hour")
	judge := func(err error) throttle.Verdict {
		var closed *throttle.ClosedError
		switch {
		case errors.As(err, &closed):
			return closed.Verdict()
		case errors.Is(err, refused):
			return throttle.Verdict{Outcome: throttle.Throttled, After: time.Hour}
		}
		return throttle.Verdict{Outcome: throttle.Final}
	}
	closing, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := pace.Do(closing, judge, func(context.Context) error { return refused }); !errors.Is(err, refused) {
		t.Fatal(err)
	}
	f := &function{run: func(ctx context.Context, _ string, _ []byte) (any, error) {
		attempts, err := pace.Do(ctx, judge, func(ctx context.Context) error { return change(ctx, url) })
		if err != nil {
			v := judge(err)
			return nil, &catalog.Failure{Type: "Throttled", Message: err.Error(), Throttled: v.Outcome == throttle.Throttled, Attempts: attempts, RetryAfter: v.After}
		}
		return true, nil
	}}
	b := start(t, f, options{config: dispatch.Config{JobTimeout: 3 * time.Hour}})
	j := job(1)
	expires := time.Now().Add(30 * time.Minute)
	j.ExpiresAt = &expires
	b.send(t, j)
	if got := b.result(t); got.Error == nil || !got.Error.IsThrottled || got.Error.Type != "Throttled" {
		t.Errorf("got %+v", got.Error)
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls to the tenant", n)
	}
}
