package throttle

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"
)

// Limits are how much one process may use of what a tenant publishes for an API.
// The zero value is no limit.
type Limits struct {
	Rate       Rate
	Concurrent int // calls at a time; 0: as many as come
}

// Rate is a limit of so many calls in any period of a length. The zero value is
// no limit.
type Rate struct {
	Calls int
	Per   time.Duration
}

// Share is the part of a limit that a process may use, of 100.
func (r Rate) Share(percent int) Rate {
	if r.Calls > 0 {
		r.Calls = max(r.Calls*percent/100, 1)
	}
	return r
}

// bucket keeps the limit in any period, wherever it begins: what may be used at
// once and what flows in during a period are the limit together.
func (r Rate) bucket() *rate.Limiter {
	if r.Calls <= 0 || r.Per <= 0 {
		return nil
	}
	burst := max(r.Calls/10, 1)
	// With a limit of one the two cannot add up: then one each period is right.
	return rate.NewLimiter(rate.Limit(float64(max(r.Calls-burst, 1))/r.Per.Seconds()), burst)
}

// Limiter is where all calls of a process to one API of a tenant pass, so that what
// the tenant tells one of them holds for all. A call that is throttled closes it
// until the tenant wants to be asked again, or else for growing intervals. Then
// one call goes first; only when that is not refused the others follow, in the
// order in which they came and a little apart.
//
// A Limiter is safe for concurrent use.
type Limiter struct {
	pace   Policy // delays, clock and chance; its own Limiters are not used
	bucket *rate.Limiter
	room   *semaphore.Weighted // for calls at the same time

	// turn admits one call at a time to wait for room, for the bucket and for the limiter
	// to open. The first call after a closure holds it until its answer.
	// The others wait behind it.
	turn *semaphore.Weighted

	mu       sync.Mutex
	until    time.Time     // closed until then
	closed   bool          // no call has passed since it was closed
	closings int           // how often it has been closed
	refused  int           // how often in a row
	apart    int           // how many calls are still let through one by one,
	spread   time.Duration // so far apart at most
}

// NewLimiter makes an open limiter. The policy gives the delays where the tenant does
// not, and the clock.
func NewLimiter(pace Policy, limits Limits) *Limiter {
	room := int64(math.MaxInt64)
	if limits.Concurrent > 0 {
		room = int64(limits.Concurrent)
	}
	return &Limiter{pace: pace, bucket: limits.Rate.bucket(), room: semaphore.NewWeighted(room), turn: semaphore.NewWeighted(1)}
}

// ClosedError is the error of a call whose turn did not come before its
// deadline. Judges give it the outcome Throttled.
type ClosedError struct {
	After time.Duration // what is left of that, as far as is known
}

func (e *ClosedError) Error() string {
	return fmt.Sprintf("the call would exceed the tenant's rate limit; retry in %s",
		e.After.Round(time.Second))
}

// Verdict on the error.
func (e *ClosedError) Verdict() Verdict { return Verdict{Outcome: Throttled, After: e.After} }

// Calls after a closing that are let through one by one, and how far apart at most.
// Together they take no longer than the limiter was closed.
const (
	apart      = 20
	mostSpread = 100 * time.Millisecond
)

// pass is one call's way through a limiter.
type pass struct {
	limiter  *Limiter
	closings int  // of the limiter when the call passed
	first    bool // the others wait for what becomes of it
}

// enter waits until the call may be made. Its error is the context's, or a
// *ClosedError when the context's deadline comes before.
func (g *Limiter) enter(ctx context.Context) (*pass, error) {
	waiting, cancel := beforeDeadline(ctx)
	defer cancel()
	if err := g.turn.Acquire(waiting, 1); err != nil {
		return nil, g.outOfTime(ctx)
	}
	if err := g.room.Acquire(waiting, 1); err != nil {
		g.turn.Release(1)
		return nil, g.outOfTime(ctx)
	}
	p, err := g.await(ctx, waiting)
	if err != nil {
		g.room.Release(1)
	}
	if err != nil || !p.first {
		g.turn.Release(1)
	}
	return p, err
}

// await waits for the bucket and for the limiter to open.
func (g *Limiter) await(ctx, waiting context.Context) (*pass, error) {
	if err := g.draw(ctx, waiting); err != nil {
		return nil, err
	}
	if err := g.keepApart(ctx, waiting); err != nil {
		return nil, err
	}
	var waited time.Time // until the limiter was thought to open
	for {
		p, until := g.pass(waited)
		if p != nil {
			return p, nil
		}
		if err := g.sleep(ctx, waiting, until.Sub(g.pace.now())); err != nil {
			return nil, err
		}
		waited = until // calls that were under way may have moved it
	}
}

// pass lets a call through, or says until when the limiter is closed. It has been
// waited for until waited.
func (g *Limiter) pass(waited time.Time) (*pass, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.until.After(g.pace.now()) && g.until.After(waited) {
		return nil, g.until
	}
	return &pass{limiter: g, closings: g.closings, first: g.closed}, time.Time{}
}

// keepApart delays those of the calls that come after a closing and are not the
// first.
func (g *Limiter) keepApart(ctx, waiting context.Context) error {
	g.mu.Lock()
	delayed := !g.closed && g.apart > 0
	if delayed {
		g.apart--
	}
	spread := g.spread
	g.mu.Unlock()
	if !delayed {
		return nil
	}
	return g.sleep(ctx, waiting, time.Duration(g.pace.random()*float64(spread)))
}

// draw takes one call out of the bucket.
func (g *Limiter) draw(ctx, waiting context.Context) error {
	if g.bucket == nil {
		return nil
	}
	now := g.pace.now()
	r := g.bucket.ReserveN(now, 1)
	if err := g.sleep(ctx, waiting, r.DelayFrom(now)); err != nil {
		r.CancelAt(g.pace.now())
		return err
	}
	return nil
}

// sleep waits. Where the deadline comes before the end of that, it does not.
func (g *Limiter) sleep(ctx, waiting context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	if deadline, ok := waiting.Deadline(); ok && time.Until(deadline) < d || g.pace.sleep(waiting, d) != nil {
		return g.outOfTime(ctx)
	}
	return nil
}

// outOfTime is the error of a call that did not get through.
func (g *Limiter) outOfTime(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return &ClosedError{After: max(g.until.Sub(g.pace.now()), margin)}
}

// margin is how long before its deadline a call gives up waiting, so that there
// is time to say why.
const margin = time.Second

func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return ctx, func() {}
	}
	return context.WithDeadline(ctx, deadline.Add(-min(margin, time.Until(deadline)/10)))
}

// leave tells the limiter what became of the call; known is false when it was not
// answered.
func (p *pass) leave(v Verdict, known bool) {
	g := p.limiter
	defer g.room.Release(1)
	if p.first {
		defer g.turn.Release(1)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !known:
	case v.Outcome != Throttled:
		if p.first {
			g.closed, g.refused, g.until, g.apart = false, 0, time.Time{}, apart
			g.pace.Gauge.set(g, g.until)
		} else if p.closings == g.closings {
			g.refused = 0
		}
	case p.closings == g.closings:
		after := g.pace.delay(g.refused)
		if v.After > 0 {
			// Other processes were perhaps told the same.
			after = v.After + time.Duration(g.pace.random()*jitter*float64(min(v.After, g.pace.Base)))
		}
		g.closed, g.until, g.spread = true, g.pace.now().Add(after), min(after/apart, mostSpread)
		g.pace.Gauge.set(g, g.until)
		g.closings++
		g.refused = min(g.refused+1, math.MaxInt16)
	case v.After > 0:
		// It was under way when the limiter closed: no news, but perhaps a later time.
		if until := g.pace.now().Add(v.After); g.closed && until.After(g.until) {
			g.until = until
			g.pace.Gauge.set(g, until)
		}
	}
}

// through makes the call once it has passed all limiters, and tells whether it was
// made. Of a call that is throttled only the first limiter hears: the others may be
// wider.
func through(ctx context.Context, limiters []*Limiter, judge func(error) Verdict, call func(ctx context.Context) error) (made bool, err error) {
	var passes []*pass
	var verdict Verdict
	known := false
	defer func() {
		for i, p := range passes {
			p.leave(verdict, known && (i == 0 || verdict.Outcome != Throttled))
		}
	}()
	for _, g := range limiters {
		p, err := g.enter(ctx)
		if err != nil {
			return false, err
		}
		passes = append(passes, p)
	}
	err = call(ctx)
	switch {
	case err == nil:
		known = true
	case ctx.Err() == nil:
		verdict, known = judge(err), true
	}
	return true, err
}
