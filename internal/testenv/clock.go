package testenv

import (
	"sync"
	"time"
)

// Clock is a clock that only Advance moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that begins at the present, because clients sign and schedule by the real
// time.
func NewClock() *Clock { return NewClockAt(time.Now()) }

// NewClockAt makes a clock that begins at a time.
func NewClockAt(now time.Time) *Clock { return &Clock{now: now} }

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
