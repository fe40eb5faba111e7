package bustest

import (
	"sync"
	"time"
)

// Clock is a clock that only Advance moves. It begins at the present, because clients sign
// and schedule by the real time.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock.
func NewClock() *Clock { return &Clock{now: time.Now()} }

// Now returns the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
