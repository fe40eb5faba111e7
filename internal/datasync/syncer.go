// Package datasync brings the batches of a runbook into line with its data source: it reads the
// source, compares the rows with the batches (package schedule) and applies the difference, under
// a lease and with holds on what looks like a mistake. It also has the settings of automation.
package datasync

import (
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Syncer applies data sources to batches. It is safe for concurrent use.
type Syncer struct {
	store    store.Store
	now      func() time.Time
	newID    func() string
	log      *slog.Logger
	sources  *datasource.Reader
	applier  *applier.Applier
	audit    *audit.Log
	runbooks *runbookstore.Reader
	sealer   *sealing.Sealer
	members  *membership.Registrar
}

// Config is what a Syncer is made of.
type Config struct {
	Store    store.Store
	Now      func() time.Time
	NewID    func() string // 16 lower-case letters and digits, never the same twice
	Log      *slog.Logger
	Sources  *datasource.Reader
	Applier  *applier.Applier
	Audit    *audit.Log
	Runbooks *runbookstore.Reader
	Sealer   *sealing.Sealer
	Members  *membership.Registrar
}

// New makes a Syncer.
func New(c Config) *Syncer {
	return &Syncer{
		store: c.Store, now: c.Now, newID: c.NewID, log: c.Log, sources: c.Sources, applier: c.Applier, audit: c.Audit, runbooks: c.Runbooks, sealer: c.Sealer, members: c.Members,
	}
}
