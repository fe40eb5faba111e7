// Package membership knows how members enter and leave batches: uploads, additions, claims (a
// person is in one open batch only), removals and removal holds, and how members who failed are
// brought back.
//
// It does not know where people come from: package datasync compares data sources, and the admin
// API gives files.
package membership

import (
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Registrar changes who is in which batch. It is safe for concurrent use.
type Registrar struct {
	store    store.Store
	bus      bus.Sender
	now      func() time.Time
	newID    func() string
	log      *slog.Logger
	applier  *applier.Applier
	audit    *audit.Log
	requests *idempotency.Records
	runbooks *runbookstore.Reader
	sealer   *sealing.Sealer
}

// Config is what a Registrar is made of.
type Config struct {
	Store    store.Store
	Bus      bus.Sender
	Now      func() time.Time
	NewID    func() string // 16 lower-case letters and digits, never the same twice
	Log      *slog.Logger
	Applier  *applier.Applier
	Audit    *audit.Log
	Requests *idempotency.Records
	Runbooks *runbookstore.Reader
	Sealer   *sealing.Sealer
}

// New makes a Registrar.
func New(c Config) *Registrar {
	return &Registrar{
		store: c.Store, bus: c.Bus, now: c.Now, newID: c.NewID, log: c.Log, applier: c.Applier, audit: c.Audit, requests: c.Requests, runbooks: c.Runbooks, sealer: c.Sealer,
	}
}
