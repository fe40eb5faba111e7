package main

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Delays double for Graph and grow evenly for Exchange Online, up to the longest, as often as the settings say.
func TestPacesFollowTheSettings(t *testing.T) {
	t.Parallel()
	l := limits{Retries: 4, TransientRetries: 2, GraphBackoff: 4 * time.Second, ExchangeBackoff: 5 * time.Second, MaxBackoff: 12 * time.Second}
	s := time.Second
	for _, tc := range []struct {
		note    string
		pace    throttle.Policy
		outcome throttle.Outcome
		want    []time.Duration
	}{
		{"Graph throttles", l.graphPace(0, nil), throttle.Throttled, []time.Duration{4 * s, 8 * s, 12 * s, 12 * s}},
		{"Graph gives no answer", l.graphPace(0, nil), throttle.Transient, []time.Duration{4 * s, 8 * s}},
		{"Graph shows no user yet", l.graphPace(15*s, nil), throttle.Lagging, []time.Duration{4 * s, 8 * s, 3 * s}},
		{"Exchange Online throttles", l.exchangePace(0, nil), throttle.Throttled, []time.Duration{5 * s, 10 * s, 12 * s, 12 * s}},
		{"Exchange Online gives no answer", l.exchangePace(0, nil), throttle.Transient, []time.Duration{5 * s, 10 * s}},
	} {
		var slept []time.Duration
		tc.pace.Random = func() float64 { return 0 }
		tc.pace.Sleep = func(_ context.Context, d time.Duration) error { slept = append(slept, d); return nil }
		_, _ = tc.pace.Do(t.Context(), func(error) throttle.Verdict { return throttle.Verdict{Outcome: tc.outcome} }, func(context.Context) error { return errors.New("refused") })
		if !slices.Equal(slept, tc.want) {
			t.Errorf("%s: slept %v, want %v", tc.note, slept, tc.want)
		}
	}
}
