package throttle_test

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/worker/throttle"
)

var errRefused = errors.New("refused")

// policy records what it would have slept.
func policy(slept *[]time.Duration) throttle.Policy {
	p := throttle.Default()
	p.Random = func() float64 { return 0 }
	p.Sleep = func(_ context.Context, d time.Duration) error {
		*slept = append(*slept, d)
		return nil
	}
	return p
}

func TestDoRepeatsByTheVerdict(t *testing.T) {
	t.Parallel()
	const s = time.Second
	always := func(v throttle.Verdict) func(int) throttle.Verdict {
		return func(int) throttle.Verdict { return v }
	}
	for _, tc := range []struct {
		note     string
		failures int // before it succeeds
		verdict  func(call int) throttle.Verdict
		attempts int
		fails    bool
		slept    []time.Duration
	}{
		{"success at once", 0, nil, 1, false, nil},
		{"final", 1, always(throttle.Verdict{}), 1, true, nil},
		{"throttled twice", 2, always(throttle.Verdict{Outcome: throttle.Throttled}), 3, false, []time.Duration{2 * s, 4 * s}},
		{"Retry-After comes first", 1, always(throttle.Verdict{Outcome: throttle.Throttled, After: 17 * s}), 2, false, []time.Duration{17 * s}},
		{
			"throttled for ever", 99, always(throttle.Verdict{Outcome: throttle.Throttled}), 6, true,
			[]time.Duration{2 * s, 4 * s, 8 * s, 16 * s, 32 * s},
		},
		{
			"transient for ever", 99, always(throttle.Verdict{Outcome: throttle.Transient}), 5, true,
			[]time.Duration{2 * s, 4 * s, 8 * s, 16 * s},
		},
		{
			"not visible for as long as that is waited for", 99, always(throttle.Verdict{Outcome: throttle.Lagging}), 5, true,
			[]time.Duration{2 * s, 4 * s, 8 * s, 16 * s},
		},
		{
			"not visible, and told to wait longer than that", 99, always(throttle.Verdict{Outcome: throttle.Lagging, After: 20 * s}), 3, true,
			[]time.Duration{20 * s, 10 * s},
		},
		{"one kind does not use up the other's retries", 3, func(call int) throttle.Verdict {
			if call == 2 {
				return throttle.Verdict{Outcome: throttle.Transient}
			}
			return throttle.Verdict{Outcome: throttle.Throttled}
		}, 4, false, []time.Duration{2 * s, 2 * s, 4 * s}},
	} {
		t.Run(tc.note, func(t *testing.T) {
			t.Parallel()
			var slept []time.Duration
			calls := 0
			attempts, err := policy(&slept).Do(t.Context(),
				func(error) throttle.Verdict { return tc.verdict(calls) },
				func(context.Context) error {
					calls++
					if calls <= tc.failures {
						return errRefused
					}
					return nil
				})
			if attempts != tc.attempts || (err != nil) != tc.fails || !reflect.DeepEqual(slept, tc.slept) {
				t.Fatalf("got %d attempts, %v, slept %v; want %d, failure %v, %v", attempts, err, slept, tc.attempts, tc.fails, tc.slept)
			}
		})
	}
}

func TestLagIsBounded(t *testing.T) {
	t.Parallel()
	for lag, want := range map[time.Duration][]time.Duration{
		0:               nil,
		time.Second:     {time.Second},
		5 * time.Second: {2 * time.Second, 3 * time.Second},
	} {
		var slept []time.Duration
		p := policy(&slept)
		p.Lag = lag
		attempts, err := p.Do(t.Context(), func(error) throttle.Verdict { return throttle.Verdict{Outcome: throttle.Lagging} },
			func(context.Context) error { return errRefused })
		if attempts != len(want)+1 || err == nil || !reflect.DeepEqual(slept, want) {
			t.Errorf("%s: got %d attempts, %v, slept %v; want %v", lag, attempts, err, slept, want)
		}
	}
}

func TestDelayIsBoundedAndJittered(t *testing.T) {
	t.Parallel()
	var slept []time.Duration
	p := policy(&slept)
	p.Retries, p.Random = 8, func() float64 { return 0.5 }
	_, _ = p.Do(t.Context(), func(error) throttle.Verdict { return throttle.Verdict{Outcome: throttle.Throttled} },
		func(context.Context) error { return errRefused })
	if first, last := slept[0], slept[len(slept)-1]; first != 2300*time.Millisecond || last != 138*time.Second {
		t.Fatalf("got %s first and %s last; want 2 s and 120 s, each with half of 30 %% more", first, last)
	}
}

func TestDelayGrowsInStepsWhereThatIsAskedFor(t *testing.T) {
	t.Parallel()
	var slept []time.Duration
	p := policy(&slept)
	p.Retries, p.Step, p.Max = 4, 3*time.Second, 10*time.Second
	p.Random = func() float64 { return 0 }
	_, _ = p.Do(t.Context(), func(error) throttle.Verdict { return throttle.Verdict{Outcome: throttle.Throttled} },
		func(context.Context) error { return errRefused })
	if want := []time.Duration{3 * time.Second, 6 * time.Second, 9 * time.Second, 10 * time.Second}; !reflect.DeepEqual(slept, want) {
		t.Fatalf("slept %v, want %v", slept, want)
	}
}

func TestDoDoesNotWaitBeyondTheDeadline(t *testing.T) {
	t.Parallel()
	var slept []time.Duration
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	attempts, err := policy(&slept).Do(ctx,
		func(error) throttle.Verdict { return throttle.Verdict{Outcome: throttle.Throttled, After: time.Minute} },
		func(context.Context) error { return errRefused })
	if attempts != 1 || !errors.Is(err, errRefused) || len(slept) != 0 {
		t.Fatalf("got %d attempts, %v, slept %v", attempts, err, slept)
	}
}

func TestDoStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	p := throttle.Default()
	attempts, err := p.Do(ctx, func(error) throttle.Verdict { return throttle.Verdict{Outcome: throttle.Throttled, After: time.Hour} },
		func(context.Context) error {
			cancel()
			return errRefused
		})
	if attempts != 1 || !errors.Is(err, errRefused) {
		t.Fatalf("got %d attempts, %v", attempts, err)
	}
}

func TestSaid(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"TooManyRequests":                       true,
		"status code 429":                       true,
		"Request was throttled":                 true,
		"Rate limit exceeded":                   true,
		"Server Busy":                           true,
		"ServerBusyException: try later":        true,
		"budget MicroDelay applied":             true,
		"BackoffException":                      true,
		"Too many concurrent connections":       true,
		"user 4291 not found":                   false,
		"0f8fad5b-d9cb-4290-a165-70867728950e":  false,
		"Resource 'a@b.example' does not exist": false,
	} {
		if got := throttle.Said(text); got != want {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"":        0,
		"10":      10 * time.Second,
		"2.5":     2500 * time.Millisecond,
		"-1":      0,
		"NaN":     0,
		"x":       0,
		"1000001": 0,
		now.AddDate(100, 0, 0).Format(http.TimeFormat): 0,
		now.Add(time.Minute).Format(http.TimeFormat):   time.Minute,
		now.Add(-time.Minute).Format(http.TimeFormat):  0,
	} {
		if got := throttle.After(header, now); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}

// A call can tell which attempt it is, and who watches hears of each that failed.
func TestCallsAreCountedAndWatched(t *testing.T) {
	t.Parallel()
	var heard []throttle.Outcome
	policy := throttle.Policy{
		Retries: 2, Base: time.Second, Max: time.Second,
		Sleep:   func(context.Context, time.Duration) error { return nil },
		Observe: func(_ context.Context, v throttle.Verdict) { heard = append(heard, v.Outcome) },
	}
	var counted []int
	_, err := policy.Do(t.Context(), func(error) throttle.Verdict { return throttle.Verdict{Outcome: throttle.Throttled} }, func(ctx context.Context) error {
		counted = append(counted, throttle.Attempt(ctx))
		if len(counted) == 3 {
			return nil
		}
		return errors.New("no")
	})
	if err != nil || !slices.Equal(counted, []int{1, 2, 3}) || !slices.Equal(heard, []throttle.Outcome{throttle.Throttled, throttle.Throttled}) || throttle.Attempt(t.Context()) != 0 {
		t.Errorf("%v: counted %v, heard %v", err, counted, heard)
	}
}
