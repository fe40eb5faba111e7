// Package deadletter stores unprocessable messages with their reasons until an administrator
// replays or discards them. It also empties the dead-letter queues: the broker moves a message
// there that this app did not process in time, and the package sends it to its topic again.
package deadletter

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Messages stores unprocessable messages and returns dead letters to their topics. It is safe for
// concurrent use.
type Messages struct {
	store       store.Store
	bus         bus.Sender
	now         func() time.Time
	log         *slog.Logger
	audit       *audit.Log
	sealer      *sealing.Sealer
	queues      bus.DeadLetters
	startedAt   time.Time
	resultsRead atomic.Bool               // this process has emptied the dead-letter queue of results once
	resultsSent atomic.Pointer[time.Time] // when this process last sent results again, or will have sent them
}

// Config has the dependencies of a Messages.
type Config struct {
	Store  store.Store
	Bus    bus.Sender
	Now    func() time.Time
	Log    *slog.Logger
	Audit  *audit.Log
	Sealer *sealing.Sealer
	Dead   bus.DeadLetters // nil: dead-letter queues are not read
}

// New returns a Messages with the dependencies of c.
func New(c Config) *Messages {
	return &Messages{
		store: c.Store, bus: c.Bus, now: c.Now, log: c.Log, audit: c.Audit, sealer: c.Sealer, queues: c.Dead,
		startedAt: c.Now(),
	}
}
