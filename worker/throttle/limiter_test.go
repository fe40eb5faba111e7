package throttle_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matoolkit/matoolkit/worker/throttle"
)

// limited is an API that refuses calls while its limit is used up, and records
// the time of each call. Its clock is the bubble's.
type limited struct {
	mu              sync.Mutex
	opens           time.Time // refuses until then
	quiet           bool      // without saying until when
	taken           time.Duration
	came, useless   []time.Time
	running, atOnce int
}

type refusedError struct{ after time.Duration }

func (refusedError) Error() string { return "refused" }

func (l *limited) call(ctx context.Context) error {
	l.mu.Lock()
	now := time.Now()
	l.came = append(l.came, now)
	l.running++
	l.atOnce = max(l.atOnce, l.running)
	opens, quiet := l.opens, l.quiet
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.running--
	}()
	select {
	case <-time.After(l.taken):
	case <-ctx.Done():
		return ctx.Err()
	}
	if !now.Before(opens) {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.useless = append(l.useless, now)
	if quiet {
		return refusedError{}
	}
	return refusedError{time.Until(opens)}
}

func (l *limited) calls() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.came)
}

func judge(err error) throttle.Verdict {
	var refused refusedError
	if errors.As(err, &refused) {
		return throttle.Verdict{Outcome: throttle.Throttled, After: refused.after}
	}
	return throttle.Verdict{}
}

// through makes n calls at the same time and waits for them.
func (l *limited) through(ctx context.Context, pace throttle.Policy, n int) []error {
	failures := make([]error, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { _, failures[i] = pace.Do(ctx, judge, l.call) })
	}
	calls.Wait()
	return failures
}

func withLimits(limits throttle.Limits) throttle.Policy {
	p := throttle.Default()
	return p.Through(throttle.NewLimiter(p, limits))
}

func TestThrottlingOfOneCallAppliesToAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &limited{opens: time.Now().Add(10 * time.Second), taken: 50 * time.Millisecond}
		pace := withLimits(throttle.Limits{})
		for _, err := range api.through(t.Context(), pace, 16) {
			if err != nil {
				t.Error(err)
			}
		}
		// The calls under way could not know. No call was repeated too early.
		if len(api.useless) != 16 || len(api.came) != 32 {
			t.Errorf("%d calls were made, %d of them in vain; want 32 and 16", len(api.came), len(api.useless))
		}
		back := api.came[16:]
		if !back[1].After(back[0].Add(49 * time.Millisecond)) {
			t.Error("the second call did not wait for what became of the first")
		}
		if spread := back[15].Sub(back[1]); spread < 100*time.Millisecond || spread > 2*time.Second {
			t.Errorf("the calls came back within %s, want a little apart", spread)
		}
		// Then it is over: but for a few more that come apart, calls are made side by side again.
		api.atOnce = 0
		api.through(t.Context(), pace, 16)
		if api.atOnce < 10 {
			t.Errorf("later %d of 16 calls were made at once", api.atOnce)
		}
	})
}

func TestATenantThatGoesOnRefusingIsAskedByOneCallAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &limited{opens: time.Now().Add(61 * time.Second), quiet: true, taken: 50 * time.Millisecond}
		api.through(t.Context(), withLimits(throttle.Limits{}), 16)
		// Without being told, after about 2, 6, 14, 30 and, in vain no more, 62 seconds.
		if got := len(api.useless); got < 16+3 || got > 16+4 {
			t.Errorf("%d calls in vain, want 16 and one each time that it was tried", got)
		}
		if len(api.came) != len(api.useless)+16 {
			t.Errorf("%d calls, of which %d in vain: not everybody got through", len(api.came), len(api.useless))
		}
	})
}

func TestThrottlingIsAFailureOnlyAfterTheRetriesAndOfThatCallOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &limited{opens: time.Now().Add(24 * time.Hour)}
		pace := withLimits(throttle.Limits{})
		never := func(ctx context.Context) error {
			_ = api.call(ctx)
			return refusedError{time.Second}
		}
		attempts, err := pace.Do(t.Context(), judge, never)
		if attempts != 6 || judge(err).Outcome != throttle.Throttled {
			t.Fatalf("got %d attempts, %v; want the refusal after 6", attempts, err)
		}
		api.opens = time.Time{}
		if attempts, err := pace.Do(t.Context(), judge, api.call); attempts != 1 || err != nil {
			t.Fatalf("the next call: %d attempts, %v", attempts, err)
		}
	})
}

func TestNoCallIsWaitedForBeyondItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &limited{opens: time.Now().Add(time.Minute)}
		p := throttle.Default()
		p.Random = func() float64 { return 0 }
		pace := p.Through(throttle.NewLimiter(p, throttle.Limits{}))
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		// The first has been told so by the tenant itself.
		if attempts, err := pace.Do(ctx, judge, api.call); attempts != 1 || !errors.As(err, new(refusedError)) || time.Since(began) != 0 {
			t.Errorf("refused: got %d attempts, %v after %s", attempts, err, time.Since(began))
		}
		// The second was never made.
		attempts, err := pace.Do(ctx, judge, api.call)
		var closed *throttle.ClosedError
		if attempts != 0 || !errors.As(err, &closed) || closed.After != time.Minute || time.Since(began) != 0 {
			t.Errorf("closed: got %d attempts, %v after %s", attempts, err, time.Since(began))
		}
		if v := closed.Verdict(); v.Outcome != throttle.Throttled || v.After != time.Minute {
			t.Errorf("verdict %+v", v)
		}
	})
}

func TestACallWhoseTurnDoesNotComeSaysSoBeforeItsDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &limited{taken: time.Minute}
		pace := withLimits(throttle.Limits{Concurrent: 1})
		go pace.Do(t.Context(), judge, api.call)
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var calls sync.WaitGroup
		for range 2 { // one has the turn and waits for room, one waits for the turn
			calls.Go(func() {
				attempts, err := pace.Do(ctx, judge, api.call)
				var closed *throttle.ClosedError
				if attempts != 0 || !errors.As(err, &closed) || ctx.Err() != nil || closed.After <= 0 {
					t.Errorf("got %d attempts, %v; the context: %v", attempts, err, ctx.Err())
				}
			})
		}
		calls.Wait()
	})
}

func TestWhoWaitsIsCancelledAndTheOthersGoOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &limited{opens: time.Now().Add(10 * time.Second), taken: time.Second}
		pace := withLimits(throttle.Limits{})
		_, _ = pace.Do(withTimeout(t, time.Second+1), judge, api.call) // closes the limiter
		began := time.Now()

		cancelled, cancel := context.WithCancel(t.Context())
		done := make(chan error, 3)
		for _, ctx := range []context.Context{cancelled, cancelled, t.Context()} { // the head, one behind it, one who stays
			go func() {
				_, err := pace.Do(ctx, judge, api.call)
				done <- err
			}()
			synctest.Wait()
		}
		cancel()
		for range 2 {
			if err := <-done; !errors.Is(err, context.Canceled) || time.Since(began) != 0 {
				t.Errorf("cancelled: got %v after %s", err, time.Since(began))
			}
		}
		if err := <-done; err != nil || len(api.came) != 2 {
			t.Errorf("the one who stayed: %v, %d calls", err, len(api.came))
		}
	})
}

// The others must not wait for ever for a call that went first and was given up.
func TestACallThatGoesFirstAndIsCancelledLetsTheNextGoFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &limited{opens: time.Now().Add(10 * time.Second), taken: time.Minute}
		pace := withLimits(throttle.Limits{})
		_, _ = pace.Do(withTimeout(t, time.Minute+1), judge, func(context.Context) error { return refusedError{10 * time.Second} })
		first, cancel := context.WithCancel(t.Context())
		go pace.Do(first, judge, api.call)
		var others sync.WaitGroup
		for range 2 {
			synctest.Wait()
			others.Go(func() { _, _ = pace.Do(t.Context(), judge, api.call) })
		}
		time.Sleep(20 * time.Second)
		if n := api.calls(); n != 1 {
			t.Fatalf("%d calls while the first is under way", n)
		}
		cancel()
		synctest.Wait()
		if n := api.calls(); n != 2 {
			t.Fatalf("%d calls after the first was cancelled; want one more, which now goes first", n)
		}
		others.Wait()
		if n := api.calls(); n != 3 || len(api.useless) != 0 {
			t.Fatalf("%d calls, %d in vain", n, len(api.useless))
		}
	})
}

func TestCallsGoInTheOrderInWhichTheyCame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		pace := withLimits(throttle.Limits{Concurrent: 1, Rate: throttle.Rate{Calls: 10, Per: time.Second}})
		var order []int
		var calls sync.WaitGroup
		for n := range 30 {
			calls.Go(func() {
				_, _ = pace.Do(t.Context(), judge, func(context.Context) error {
					order = append(order, n) // one at a time
					time.Sleep(10 * time.Millisecond)
					return nil
				})
			})
			synctest.Wait()
		}
		calls.Wait()
		if len(order) != 30 || !slices.IsSorted(order) {
			t.Errorf("the order was %v", order)
		}
	})
}

func TestARateHoldsInEveryPeriod(t *testing.T) {
	t.Parallel()
	for _, limit := range []throttle.Rate{
		{Calls: 3000, Per: 150 * time.Second}, {Calls: 150, Per: 5 * time.Second}, {Calls: 7, Per: time.Second}, {Calls: 1, Per: time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := limit.Calls*2 + 5
			api := &limited{taken: 10 * time.Millisecond}
			pace := withLimits(throttle.Limits{Rate: limit})
			api.through(t.Context(), pace, n)
			time.Sleep(5 * limit.Per) // what was not used then is not saved up
			api.through(t.Context(), pace, n)
			for i := range api.came {
				if j := i + limit.Calls; j < len(api.came) && api.came[j].Sub(api.came[i]) < limit.Per-time.Microsecond {
					t.Fatalf("%+v: calls %d to %d came within %s", limit, i, j, api.came[j].Sub(api.came[i]))
				}
			}
			if took := api.came[n-1].Sub(api.came[0]); took > 3*limit.Per*time.Duration(max(1, 6/limit.Calls)) {
				t.Errorf("%+v: %d calls took %s", limit, n, took)
			}
		})
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ calls, percent, want int }{{3000, 100, 3000}, {3000, 50, 1500}, {3, 10, 1}, {0, 50, 0}} {
		if got := (throttle.Rate{Calls: tc.calls, Per: time.Second}).Share(tc.percent); got.Calls != tc.want || got.Per != time.Second {
			t.Errorf("%d %% of %d: got %+v", tc.percent, tc.calls, got)
		}
	}
}

func TestNoMoreCallsAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &limited{opens: time.Now().Add(time.Second), taken: 100 * time.Millisecond}
		api.through(t.Context(), withLimits(throttle.Limits{Concurrent: 3}), 16)
		if api.atOnce != 3 || len(api.useless) != 3 || len(api.came) != 19 {
			t.Errorf("%d at once, %d calls, %d in vain; want 3, 19, 3", api.atOnce, len(api.came), len(api.useless))
		}
	})
}

// A limit on one kind of call says nothing of a wider one.
func TestOnlyTheNarrowestLimiterIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := throttle.Default()
		wide := throttle.NewLimiter(p, throttle.Limits{})
		narrow := throttle.NewLimiter(p, throttle.Limits{})
		invitations := &limited{opens: time.Now().Add(time.Minute), taken: time.Second}
		var calls sync.WaitGroup
		calls.Go(func() { invitations.through(t.Context(), p.Through(narrow, wide), 5) })
		time.Sleep(2 * time.Second)
		began, others := time.Now(), &limited{}
		others.through(t.Context(), p.Through(wide), 5)
		if took := time.Since(began); took > 0 {
			t.Errorf("calls that were not throttled waited for %s", took)
		}
		calls.Wait()
		if len(invitations.came) != 10 {
			t.Errorf("%d calls, want 5 in vain and 5 that were not", len(invitations.came))
		}
	})
}

// A call that passed before the limiter was closed does not open it by being
// answered, and may tell of a later time.
func TestAnswersToCallsThatWereUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := throttle.Default()
		p.Random = func() float64 { return 0 }
		pace := p.Through(throttle.NewLimiter(p, throttle.Limits{}))
		began := time.Now()
		answer := func(in time.Duration, err error) {
			_, _ = pace.Do(withTimeout(t, in+2*time.Second), judge, func(context.Context) error {
				time.Sleep(in)
				return err
			})
		}
		var calls sync.WaitGroup
		calls.Go(func() { answer(time.Second, refusedError{10 * time.Second}) })   // until 11
		calls.Go(func() { answer(2*time.Second, refusedError{18 * time.Second}) }) // until 20
		calls.Go(func() { answer(3*time.Second, refusedError{5 * time.Second}) })  // until 8
		calls.Go(func() { answer(4*time.Second, nil) })
		calls.Wait()
		var at time.Duration
		if _, err := pace.Do(t.Context(), judge, func(context.Context) error {
			at = time.Since(began)
			return nil
		}); err != nil || at != 20*time.Second {
			t.Errorf("the next call was made after %s (%v), want 20 s", at, err)
		}
	})
}

// With any calls, each ends, no more than the allowed number run at once, and the
// limiter is consistent afterwards.
func TestALimiterSurvivesAnything(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			up := func(most time.Duration) time.Duration { return time.Duration(random.Int64N(int64(most))) }
			p := throttle.Default()
			p.Base, p.Max = time.Second, 10*time.Second
			narrow := throttle.NewLimiter(p, throttle.Limits{Rate: throttle.Rate{Calls: 5 + random.IntN(50), Per: 10 * time.Second}})
			room := 1 + random.IntN(5)
			wide := throttle.NewLimiter(p, throttle.Limits{Concurrent: room})
			var calls sync.WaitGroup
			var running atomic.Int64
			for range 60 {
				pace := p.Through(wide)
				if random.IntN(2) == 0 {
					pace = p.Through(narrow, wide)
				}
				begin, limit, cancelAfter := up(20*time.Second), 5*time.Second+up(time.Minute), up(2*time.Minute)
				outcomes := make([]func(context.Context) error, 20)
				for i := range outcomes {
					took, after := up(3*time.Second), up(8*time.Second)
					kind := random.IntN(8)
					outcomes[i] = func(ctx context.Context) error {
						if n := running.Add(1); n > int64(room) {
							t.Errorf("seed %d: %d calls at once, want %d at most", seed, n, room)
						}
						defer running.Add(-1)
						select {
						case <-time.After(took):
						case <-ctx.Done():
							return ctx.Err()
						}
						switch kind {
						case 0:
							return refusedError{after}
						case 1:
							return refusedError{}
						case 2:
							return errRefused
						case 3:
							panic("a defect")
						}
						return nil
					}
				}
				calls.Go(func() {
					defer func() { _ = recover() }()
					time.Sleep(begin)
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					defer time.AfterFunc(cancelAfter, cancel).Stop()
					n := -1
					_, _ = pace.Do(ctx, judge, func(ctx context.Context) error {
						n++
						return outcomes[n](ctx)
					})
				})
			}
			calls.Wait()
			for _, pace := range []throttle.Policy{p.Through(wide), p.Through(narrow, wide)} {
				if attempts, err := pace.Do(t.Context(), judge, func(context.Context) error { return nil }); attempts != 1 || err != nil {
					t.Errorf("seed %d: afterwards %d attempts, %v", seed, attempts, err)
				}
			}
		})
	}
}

// withTimeout is a context that is too short to wait.
func withTimeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}
