// Package schedulertimer turns a firing of the scheduler's timer into one tick.
// It knows the trigger's payload and the one use case it calls.
package schedulertimer

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/invocation"
)

// Name is the function's, the same as its folder's.
const Name = "scheduler-timer"

const binding = "timer" // as in function.json

// Ticker runs the work that is due. A tick may come late, twice or together with another.
type Ticker interface {
	Tick(ctx context.Context) error
}

// New makes the function.
func New(ticker Ticker) invocation.Func { return invocation.OnTimer(binding, ticker.Tick) }
