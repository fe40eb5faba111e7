// Package throttle repeats calls to a tenant that were refused for a while: at
// the pace that the tenant asks for, or else at exponentially growing intervals.
//
// It knows neither Graph nor Exchange: the caller judges the error.
package throttle

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Outcome says what a call's error means for repeating it.
type Outcome int

// Outcomes.
const (
	Final     Outcome = iota // repeating it will not help
	Throttled                // the tenant's limits: repeated up to Policy.Retries times
	Transient                // passes by itself: repeated up to Policy.TransientRetries times
	Lagging                  // perhaps only not visible yet: repeated for Policy.Lag
)

// Verdict is the judgement on an error. After is how long the tenant asked to be
// left alone; 0 when it did not say.
type Verdict struct {
	Outcome Outcome
	After   time.Duration
}

// Policy says how often and at what intervals a call is repeated. The delay
// before retry n is min(Base·2ⁿ, Max), n counting from 0, plus up to 30 % at
// random so that callers which were refused together do not return together.
type Policy struct {
	Retries          int
	TransientRetries int
	Base, Max        time.Duration
	// Step, when not 0, has the delays grow evenly instead: min(Step·(n+1), Max).
	Step time.Duration
	// Lag is how long what a read does not show is taken for not visible yet: the
	// delays before such retries add up to it. 0 means not at all.
	Lag time.Duration
	// Sleep waits, or returns the context's error. Nil means real time.
	Sleep func(ctx context.Context, d time.Duration) error
	// Random returns a number in [0, 1). Nil means a random one.
	Random func() float64
	// Now is the clock of limiters. Nil means time.Now.
	Now func() time.Time
	// Limiters are passed by each call, in this order: the narrowest first. A call that
	// is throttled is then not delayed by itself but waits at the limiter, with all
	// others.
	Limiters []*Limiter
	// Gauge records when a limiter of this policy closes and opens. Nil means none.
	Gauge *Gauge
	// Observe is called with the verdict on each failed call. Nil means none.
	Observe func(ctx context.Context, v Verdict)
}

// Through is the policy for calls that pass the limiters.
func (p Policy) Through(limiters ...*Limiter) Policy {
	p.Limiters = limiters
	return p
}

// Default is a worker's policy.
func Default() Policy {
	return Policy{Retries: 5, TransientRetries: 4, Base: 2 * time.Second, Max: 120 * time.Second, Lag: 30 * time.Second}
}

// Do makes the call until it succeeds, fails for good, or has been repeated
// enough. It returns the last error and how often the call was made. A delay
// that would outlast the context's deadline is not waited for: the caller's
// caller can come back later. Where a limiter does not open before the deadline, and
// the call was never made, the error is a *ClosedError.
func (p Policy) Do(ctx context.Context, judge func(error) Verdict, call func(ctx context.Context) error) (attempts int, err error) {
	var throttled, transient, lagging int
	var lagged time.Duration
	for {
		made, failure := through(context.WithValue(ctx, attemptKey{}, attempts+1), p.Limiters, judge, call)
		if !made && attempts > 0 && ctx.Err() == nil {
			return attempts, err // what the tenant said tells more
		}
		err = failure
		if !made {
			return attempts, err
		}
		attempts++
		if err == nil || ctx.Err() != nil {
			return attempts, err
		}
		v := judge(err)
		if p.Observe != nil {
			p.Observe(ctx, v)
		}
		var n int
		switch {
		case v.Outcome == Throttled && throttled < p.Retries:
			n = throttled
			throttled++
			if len(p.Limiters) > 0 {
				continue
			}
		case v.Outcome == Transient && transient < p.TransientRetries:
			n = transient
			transient++
		case v.Outcome == Lagging && lagged < p.Lag:
			n = lagging
			lagging++
		default:
			return attempts, err
		}
		delay := v.After
		if delay <= 0 {
			delay = p.delay(n)
		}
		if v.Outcome == Lagging {
			delay = min(delay, p.Lag-lagged)
			lagged += delay
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < delay {
			return attempts, err
		}
		if p.sleep(ctx, delay) != nil {
			return attempts, err
		}
	}
}

type attemptKey struct{}

// Attempt tells a call of Do which one it is, from 1 on; 0 outside of such a call.
func Attempt(ctx context.Context) int {
	n, _ := ctx.Value(attemptKey{}).(int)
	return n
}

// jitter is the part of a delay that is added to it at random, at most.
const jitter = 0.3

func (p Policy) delay(n int) time.Duration {
	d := p.Max
	switch {
	case n >= 32:
	case p.Step > 0:
		d = min(p.Step*time.Duration(n+1), p.Max)
	case p.Base<<n < p.Max:
		d = p.Base << n
	}
	return d + time.Duration(p.random()*jitter*float64(d))
}

func (p Policy) random() float64 {
	if p.Random != nil {
		return p.Random()
	}
	return rand.Float64()
}

func (p Policy) now() time.Time {
	if p.Now != nil {
		return p.Now()
	}
	return time.Now()
}

func (p Policy) sleep(ctx context.Context, d time.Duration) error {
	if p.Sleep != nil {
		return p.Sleep(ctx, d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// said are the words by which Graph and Exchange Online tell of throttling where
// the status does not. The number stands alone, or an id that holds its digits
// would be taken for it.
var said = regexp.MustCompile(`(?i)TooManyRequests|\b429\b|throttled|rate limit|` +
	`Server Busy|ServerBusyException|MicroDelay|BackoffException|` +
	`too many concurrent connections|maximum number of concurrent requests`)

// Said tells whether the text of an error speaks of throttling.
func Said(text string) bool { return said.MatchString(text) }

// longest is where a Retry-After is taken for a mistake: more than eleven days.
const longest = 1e6 * time.Second

// After reads a Retry-After header: seconds, whole or not, or an HTTP date. A
// value that cannot be read or is beyond reason counts as none.
func After(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if s, err := strconv.ParseFloat(header, 64); err == nil && s > 0 && s < longest.Seconds() {
		return time.Duration(s * float64(time.Second))
	}
	for _, layout := range []string{time.RFC1123, time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, header); err == nil && t.After(now) && t.Sub(now) < longest {
			return t.Sub(now)
		}
	}
	return 0
}
