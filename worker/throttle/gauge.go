package throttle

import (
	"sync"
	"time"
)

// Gauge knows until when the tenant takes no calls at the limiters of a policy. It is safe
// for concurrent use.
type Gauge struct {
	mu      sync.Mutex
	closed  map[*Limiter]time.Time
	changed chan struct{}
}

// NewGauge makes a Gauge for Policy.Gauge.
func NewGauge() *Gauge {
	return &Gauge{closed: map[*Limiter]time.Time{}, changed: make(chan struct{}, 1)}
}

// Until returns when the last limiter that is closed opens, zero when all are open.
func (g *Gauge) Until() time.Time {
	g.mu.Lock()
	defer g.mu.Unlock()
	var last time.Time
	for _, until := range g.closed {
		if until.After(last) {
			last = until
		}
	}
	return last
}

// Changed returns a channel that holds a token after throttling has begun or ended: when
// the first limiter closes, and when a call has got through the last one that was closed.
func (g *Gauge) Changed() <-chan struct{} { return g.changed }

// set notes until when a limiter is closed, zero for open. A nil Gauge takes no notes.
func (g *Gauge) set(limiter *Limiter, until time.Time) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	was := len(g.closed) > 0
	if until.IsZero() {
		delete(g.closed, limiter)
	} else {
		g.closed[limiter] = until
	}
	if was != (len(g.closed) > 0) {
		select {
		case g.changed <- struct{}{}:
		default:
		}
	}
}
