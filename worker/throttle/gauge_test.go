package throttle_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Heartbeats report the throttling that the limiters know of.
func TestGaugeKnowsUntilWhenTheTenantTakesNoCalls(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	gauge := throttle.NewGauge()
	pace := throttle.Policy{
		Retries: 1, Base: time.Second, Max: time.Minute, Gauge: gauge,
		Now: func() time.Time { return now }, Random: func() float64 { return 0 },
		Sleep: func(_ context.Context, d time.Duration) error { now = now.Add(d); return nil },
	}
	one, other := pace.Through(throttle.NewLimiter(pace, throttle.Limits{})), pace.Through(throttle.NewLimiter(pace, throttle.Limits{}))
	refused := errors.New("refused")
	call := func(p throttle.Policy, after time.Duration) {
		t.Helper()
		calls := 0
		_, _ = p.Do(t.Context(), func(error) throttle.Verdict { return throttle.Verdict{Outcome: throttle.Throttled, After: after} }, func(context.Context) error {
			if calls++; after > 0 {
				return refused
			}
			return nil
		})
	}
	changed := func() bool {
		select {
		case <-gauge.Changed():
			return true
		default:
			return false
		}
	}
	if !gauge.Until().IsZero() || changed() {
		t.Fatal("it is closed at the start")
	}
	// One call and its retry are refused, and each closes the limiter.
	call(one, 20*time.Second)
	if got := gauge.Until(); !got.Equal(now.Add(20*time.Second)) || !changed() {
		t.Fatalf("closed until %s, and it is %s", got, now)
	}
	call(other, 2*time.Second)
	if got := gauge.Until(); !got.After(now) || changed() {
		t.Fatalf("closed until %s, and it is %s: the second limiter is no change", got, now)
	}
	call(one, 0)
	if gauge.Until().IsZero() || changed() {
		t.Fatal("one limiter is still closed")
	}
	call(other, 0)
	if !gauge.Until().IsZero() || !changed() {
		t.Fatal("all limiters are open")
	}
}
