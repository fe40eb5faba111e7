package clock

import (
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Request asks for a move, as JSON: exactly one of the fields is set.
type Request struct {
	Advance string `json:"advance,omitempty"` // a duration as runbooks write it: 90s, 30m, 4h or 5d
	To      string `json:"to,omitempty"`      // a time of RFC 3339, such as 2026-03-06T09:00:00Z
}

// Reading tells what a clock shows, as JSON.
type Reading struct {
	Now           time.Time `json:"now"`           // UTC
	OffsetSeconds int64     `json:"offsetSeconds"` // ahead of the real time
}

// Reading of the clock.
func (c *Clock) Reading() Reading {
	now, offset := c.Read()
	return Reading{Now: now.UTC(), OffsetSeconds: int64(offset / time.Second)}
}

// Move is a requested move of the clock, parsed and checked.
type Move struct {
	by time.Duration
	to time.Time // where by is 0
}

// Parse reads the request. The error names the field.
func (r Request) Parse() (Move, error) {
	switch {
	case r.Advance != "" && r.To != "":
		return Move{}, errors.New("give advance or to, not both")
	case r.Advance != "":
		d, err := runbook.ParseDuration(r.Advance)
		if err == nil && d == 0 {
			err = fmt.Errorf("the clock only moves forward, not by %s", r.Advance)
		}
		if err != nil {
			return Move{}, fmt.Errorf("advance: %w", err)
		}
		return Move{by: d}, nil
	case r.To != "":
		t, err := time.Parse(time.RFC3339, r.To)
		if err != nil {
			return Move{}, fmt.Errorf("to: %q is not a time with a zone, such as 2026-03-06T09:00:00Z", r.To)
		}
		return Move{to: t}, nil
	}
	return Move{}, errors.New("advance: missing; give advance, such as 5d, or to, such as 2026-03-06T09:00:00Z")
}

// Check tells why the move cannot be made, without making it.
func (m Move) Check(c *Clock) error {
	return m.Apply(&Clock{real: c.real, offset: c.Offset(), moved: make(chan struct{})})
}

// Apply makes the move.
func (m Move) Apply(c *Clock) error {
	if m.by != 0 {
		return c.Advance(m.by)
	}
	return c.To(m.to)
}
