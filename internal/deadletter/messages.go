// Package deadletter keeps messages that cannot be processed, with their reason, until an
// administrator replays or discards them; and returns messages to their topic that the broker
// moved to a dead-letter queue before this app could process them.
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

// Messages keeps unprocessable messages and returns dead letters. It is safe for concurrent use.
type Messages struct {
	store           store.Store
	bus             bus.Sender
	now             func() time.Time
	log             *slog.Logger
	audit           *audit.Log
	sealer          *sealing.Sealer
	dead            bus.DeadLetters
	born            time.Time
	firstReturned   atomic.Bool               // this process has read the dead-letter queue of results once
	resultsReturned atomic.Pointer[time.Time] // when it last sent results again
}

// Config is what a Messages is made of.
type Config struct {
	Store  store.Store
	Bus    bus.Sender
	Now    func() time.Time
	Log    *slog.Logger
	Audit  *audit.Log
	Sealer *sealing.Sealer
	Dead   bus.DeadLetters // nil: dead-letter queues are not read
}

// New makes a Messages.
func New(c Config) *Messages {
	return &Messages{
		store: c.Store, bus: c.Bus, now: c.Now, log: c.Log, audit: c.Audit, sealer: c.Sealer, dead: c.Dead,
		born: c.Now(),
	}
}
