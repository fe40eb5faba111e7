// Package admin has the commands that administrators give to batches, and what administrators read:
// lists, reports, audit records.
package admin

import (
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// Admin carries out commands of administrators and reads lists for them. It is safe for concurrent use.
type Admin struct {
	store    store.Store
	bus      bus.Sender
	now      func() time.Time
	newID    func() string
	log      *slog.Logger
	applier  *applier.Applier
	audit    *audit.Log
	runbooks *runbookstore.Reader
	sealer   *sealing.Sealer
	workers  *workers.Registry
	members  *membership.Registrar
	scales   bool
}

// Config has the parts that an Admin uses. All are required.
type Config struct {
	Store    store.Store
	Bus      bus.Sender
	Now      func() time.Time
	NewID    func() string // 16 lower-case letters and digits, never the same twice
	Log      *slog.Logger
	Applier  *applier.Applier
	Audit    *audit.Log
	Runbooks *runbookstore.Reader
	Sealer   *sealing.Sealer
	Workers  *workers.Registry
	Members  *membership.Registrar
	Scales   bool // whether the container scaler is configured
}

// New returns an Admin.
func New(c Config) *Admin {
	return &Admin{
		store: c.Store, bus: c.Bus, now: c.Now, newID: c.NewID, log: c.Log, applier: c.Applier, audit: c.Audit,
		runbooks: c.Runbooks, sealer: c.Sealer, workers: c.Workers, members: c.Members, scales: c.Scales,
	}
}
