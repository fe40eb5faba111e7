// Package clock is a clock that can be moved forward: the real time plus an offset.
// With it a migration of several days runs in minutes.
//
// It knows the moved time and where that is kept. It does not know what goes by it:
// see package system for that.
package clock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// Limit is how far a clock can be ahead of the real time: beyond any migration.
const Limit = 3650 * 24 * time.Hour

// Clock is the real time plus an offset of whole seconds that only grows. It is safe
// for concurrent use.
type Clock struct {
	real func() time.Time
	file string // keeps the offset; "" keeps it in memory

	mu     sync.Mutex
	offset time.Duration
	moved  chan struct{} // closed by the next move
}

// New is a clock over another one, which nil makes time.Now. It keeps nothing.
func New(real func() time.Time) *Clock {
	if real == nil {
		real = time.Now
	}
	return &Clock{real: real, moved: make(chan struct{})}
}

// kept is the content of the file.
type kept struct {
	OffsetSeconds int64 `json:"offsetSeconds"`
}

// Open is a clock over time.Now that goes on where the file says that it was, and
// keeps each move there. There need be no file yet; with an empty name it keeps
// nothing.
func Open(file string) (*Clock, error) {
	c := New(nil)
	c.file = file
	if file == "" {
		return c, nil
	}
	var err error
	c.offset, err = read(file)
	return c, err
}

// read gives the offset in the file, 0 where there is no file.
func read(file string) (time.Duration, error) {
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	var k kept
	if err == nil {
		err = json.Unmarshal(raw, &k)
	}
	if err == nil && (k.OffsetSeconds < 0 || k.OffsetSeconds > int64(Limit/time.Second)) {
		err = fmt.Errorf("offsetSeconds is %d; use 0 to %d", k.OffsetSeconds, Limit/time.Second)
	}
	if err != nil {
		return 0, fmt.Errorf("read the clock offset in %s: %w", file, err)
	}
	return time.Duration(k.OffsetSeconds) * time.Second, nil
}

// Now is the moved time.
func (c *Clock) Now() time.Time {
	now, _ := c.Read()
	return now
}

// Offset is by how much the clock is ahead of the real time, in whole seconds.
func (c *Clock) Offset() time.Duration {
	_, offset := c.Read()
	return offset
}

// Read gives the moved time and the offset that belongs to it.
func (c *Clock) Read() (now time.Time, offset time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.real().Add(c.offset), c.offset
}

// Moved is closed when the clock is next moved. Take it before reading the time that
// a wait goes by.
func (c *Clock) Moved() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.moved
}

// Advance moves the clock forward by d, rounded up to whole seconds. It fails, and
// moves nothing, for what does not lead forward, leads beyond Limit or cannot be kept.
func (c *Clock) Advance(d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.move(d)
}

// To moves the clock forward to t, or less than a second beyond, as the offset is of
// whole seconds. It fails as Advance does.
func (c *Clock) To(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.real().Add(c.offset)
	if !t.After(now) {
		return fmt.Errorf("the clock only moves forward: it is already %s, not before %s", stamp(now), stamp(t))
	}
	return c.move(t.Sub(now))
}

func (c *Clock) move(d time.Duration) error {
	if d <= 0 {
		return fmt.Errorf("the clock only moves forward: %s is not positive", d)
	}
	if rest := d % time.Second; rest > 0 && d < Limit {
		d += time.Second - rest
	}
	if d > Limit-c.offset {
		return fmt.Errorf("the clock can be at most 3650 days ahead of the real time; it is already %s ahead", c.offset)
	}
	if err := c.keep(c.offset + d); err != nil {
		return fmt.Errorf("save the clock offset: %w", err)
	}
	c.set(c.offset + d)
	return nil
}

func (c *Clock) set(offset time.Duration) {
	c.offset = offset
	close(c.moved)
	c.moved = make(chan struct{})
}

// keep writes the file, whole or not at all.
func (c *Clock) keep(offset time.Duration) error {
	if c.file == "" {
		return nil
	}
	raw, err := json.Marshal(kept{int64(offset / time.Second)})
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.file+".new", raw, 0o600); err != nil {
		return err
	}
	return os.Rename(c.file+".new", c.file)
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
