package cosmos

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/panics"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/store/group"
)

// The bounds of a group. A single Apply may be larger.
const (
	flightsAtOnce  = 2  // groups that a partition has in flight, the second only if it is full
	firstGroup     = 50 // operations of a full group; fewer after a throttled one
	largestGroup   = store.MaxOperations
	largestRequest = 1_500_000 // bytes
	longestFlight  = time.Minute
)

// committer carries out Applies in groups. If a partition has no group in flight, an Apply goes at once;
// others gather until the group returns, or until they fill another one. An Apply that touches an item of a group
// in flight waits for that group, so that the Applies to one item happen in the order in which they
// came.
//
// A partition without Applies has no goroutine and no memory. It is safe for concurrent use.
type committer struct {
	transact func(context.Context, store.Writes) (store.Applied, error)

	mu         sync.Mutex
	partitions map[string]*lane
}

// lane is the Applies of one partition.
type lane struct {
	pk      string
	queue   []*pending  // in their order
	held    group.Items // of the Applies in flight
	flights int
	size    int // operations of the next group
}

// pending is an Apply whose caller waits.
type pending struct {
	*group.Apply
	ctx    context.Context // of the caller
	lane   *lane
	flight *flight // nil in the queue
	left   bool    // the caller no longer waits
	over   bool
	done   chan struct{} // closed with the outcome

	applied store.Applied
	err     error
}

// flight is a group that is carried out.
type flight struct {
	applies   []*pending
	full      bool // more Applies waited than it took
	callers   int  // that wait for it
	cancel    context.CancelFunc
	throttled atomic.Bool
}

func newCommitter(transact func(context.Context, store.Writes) (store.Applied, error)) *committer {
	return &committer{transact: transact, partitions: map[string]*lane{}}
}

// apply carries out the Applies of one caller, alone or in groups with those of others, and waits until
// each has its outcome. If the caller's context ends while an Apply waits in the queue, nothing is
// written. If it ends later, the group goes on for its other callers.
func (c *committer) apply(ctx context.Context, applies ...*group.Apply) []store.Outcome {
	outcomes, waiting := make([]store.Outcome, len(applies)), make([]*pending, len(applies))
	if err := ctx.Err(); err != nil {
		for i, a := range applies {
			outcomes[i].Err = a.Fail(classify(err))
		}
		return outcomes
	}
	for i, a := range applies {
		waiting[i] = &pending{Apply: a, ctx: ctx, done: make(chan struct{})}
	}
	c.enter(waiting)
	for i, p := range waiting {
		select {
		case <-p.done:
		case <-ctx.Done():
			if c.leave(p) {
				outcomes[i].Err = p.Fail(classify(ctx.Err()))
				continue
			}
		}
		outcomes[i] = store.Outcome{Applied: p.applied, Err: p.err}
	}
	return outcomes
}

func (c *committer) enter(applies []*pending) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range applies {
		pk := p.Writes[0].Key.PK
		if p.lane = c.partitions[pk]; p.lane == nil {
			p.lane = &lane{pk: pk, held: group.Items{}, size: firstGroup}
			c.partitions[pk] = p.lane
		}
		p.lane.queue = append(p.lane.queue, p)
	}
	for _, p := range applies {
		c.start(p.lane)
	}
}

// leave takes back an Apply whose caller no longer waits. It reports false if the outcome is known.
func (c *committer) leave(p *pending) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case p.over:
		return false
	case p.flight == nil:
		p.lane.queue = slices.DeleteFunc(p.lane.queue, func(other *pending) bool { return other == p })
		c.start(p.lane) // others may have waited for its items
	default:
		p.left = true
		p.flight.release()
	}
	return true
}

// release takes a caller from a flight, which ends if no caller waits for it.
func (f *flight) release() {
	if f.callers--; f.callers == 0 {
		f.cancel()
	}
}

// start carries out the groups that may be in flight. It removes a partition that has none.
func (c *committer) start(l *lane) {
	for l.flights == 0 || l.flights < flightsAtOnce && l.operations() >= l.size {
		f := l.gather()
		if f == nil {
			break
		}
		c.launch(l, f)
	}
	if l.flights == 0 && len(l.queue) == 0 {
		delete(c.partitions, l.pk)
	}
}

// operations returns how many operations wait.
func (l *lane) operations() (n int) {
	for _, p := range l.queue {
		n += len(p.Writes)
	}
	return n
}

// gather takes the Applies of the next group from the queue, nil if none can go. An Apply that has to
// wait keeps its place before later ones that touch one of its items.
func (l *lane) gather() *flight {
	var set group.Set
	f := &flight{}
	waiting := group.Items{}
	l.queue = slices.DeleteFunc(l.queue, func(p *pending) bool {
		switch {
		case f.full:
			return false
		case l.held.Touches(p.Apply), waiting.Touches(p.Apply):
		case len(f.applies) > 0 && (set.Operations+len(p.Writes) > l.size || set.Bytes+p.Bytes > largestRequest):
			f.full = true
			return false
		case set.Add(p.Apply):
			f.applies = append(f.applies, p)
			return true
		}
		waiting.Add(p.Apply)
		return false
	})
	if len(f.applies) == 0 {
		return nil
	}
	return f
}

// flightKey is the key of a flight in the context of its requests.
type flightKey struct{}

func withFlight(ctx context.Context, f *flight) context.Context {
	return context.WithValue(ctx, flightKey{}, f)
}

// launch carries out a group in a goroutine and a context of its own: it does not end with the
// context of one caller.
func (c *committer) launch(l *lane, f *flight) {
	l.flights++
	f.callers = len(f.applies)
	applies := make([]*group.Apply, len(f.applies))
	for i, p := range f.applies {
		p.flight, applies[i] = f, p.Apply
		l.held.Add(p.Apply)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.applies[0].ctx), longestFlight)
	ctx, f.cancel = withFlight(ctx, f), cancel
	go func() {
		err := panics.Catch(ctx, func() error {
			group.Commit(applies, func(writes store.Writes) (store.Applied, error) { return c.transact(ctx, writes) }, func(a *group.Apply, applied store.Applied, err error) {
				c.finish(l, f, a, applied, err)
			})
			return nil
		})
		c.land(l, f, err)
	}()
}

// finish gives an Apply its outcome. A caller that lost does not wait for the rest of its group.
func (c *committer) finish(l *lane, f *flight, a *group.Apply, applied store.Applied, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(f.applies, func(p *pending) bool { return p.Apply == a })
	l.finish(f.applies[i], applied, err)
}

func (l *lane) finish(p *pending, applied store.Applied, err error) {
	p.applied, p.err, p.over = applied, err, true
	close(p.done)
	l.held.Remove(p.Apply)
	if !p.left {
		p.flight.release()
	}
}

// land ends a flight. A panic in it leaves Applies whose outcome is not known.
func (c *committer) land(l *lane, f *flight, panicked error) {
	f.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range f.applies {
		if !p.over {
			l.finish(p, nil, p.Fail(fmt.Errorf("%w: %w", store.ErrUnavailable, panicked)))
		}
	}
	switch {
	case f.throttled.Load():
		l.size = max(l.size/2, 1)
	case f.full:
		l.size = min(l.size+1, largestGroup)
	}
	l.flights--
	c.start(l)
}

// throttleWatch notes on a flight that the service throttles it. The SDK itself repeats a throttled
// request, after the time that the service names.
type throttleWatch struct{}

// Do implements policy.Policy.
func (throttleWatch) Do(request *policy.Request) (*http.Response, error) {
	response, err := request.Next()
	if f, ok := request.Raw().Context().Value(flightKey{}).(*flight); ok && err == nil && response.StatusCode == http.StatusTooManyRequests {
		f.throttled.Store(true)
	}
	return response, err
}
