// Package applier carries out decisions. It loads the state that package engine asks for, lets
// the engine decide, writes what was decided in one write, sends the messages and goes on with
// what follows. Every handler, sweep and command goes through Applier.Run.
//
// It knows nothing of triggers, requests and data sources.
package applier

import (
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Applier applies decisions of the engine. It is safe for concurrent use.
type Applier struct {
	store    store.Store
	bus      bus.Sender
	now      func() time.Time
	log      *slog.Logger
	audit    *audit.Log
	runbooks *runbookstore.Reader
	sealer   *sealing.Sealer
	runs     *runCache
	modes    *modeCache
}

// Config is what an Applier is made of.
type Config struct {
	Store    store.Store
	Bus      bus.Sender
	Now      func() time.Time
	Log      *slog.Logger
	Audit    *audit.Log
	Runbooks *runbookstore.Reader
	Sealer   *sealing.Sealer
}

// New makes an Applier.
func New(c Config) *Applier {
	return &Applier{
		store: c.Store, bus: c.Bus, now: c.Now, log: c.Log, audit: c.Audit, runbooks: c.Runbooks, sealer: c.Sealer,
		runs: newRunCache(), modes: newModeCache(),
	}
}
