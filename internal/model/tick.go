package model

import (
	"fmt"
	"time"
)

const (
	// TickInterval is how often the scheduler ticks.
	TickInterval = 5 * time.Minute
	// LookAhead is how long before their start phases are announced: a tick may take ten minutes, and
	// the next tick begins after it.
	LookAhead = 3 * TickInterval
	// SweepGrace is how late a message may be before the sweep takes it for lost.
	SweepGrace = 2 * time.Minute
	// ClockSlack is by how much a message may come early by the clock of another process.
	ClockSlack = 2 * time.Second
)

// TickTask returns the name of the work of the tick at a time. It ends the ids of the messages that
// the sweep of this tick sends again.
func TickTask(now time.Time) string {
	return fmt.Sprintf("tick-%d", now.Unix()/int64(TickInterval/time.Second))
}
