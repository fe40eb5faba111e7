// Package datasync applies data sources to batches. A sync reads the data source of a runbook,
// compares the rows with its batches (package schedule makes the plan), and applies the plan:
// removals, refreshed data, additions, new batches. It works under a lease, and holds additions
// and removals that look like a mistake. The package also has the settings of automation.
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

// Syncer syncs runbooks with their data sources. It is safe for concurrent use.
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

// Config has the parts that a Syncer uses. All are required.
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

// New returns a Syncer.
func New(c Config) *Syncer {
	return &Syncer{
		store: c.Store, now: c.Now, newID: c.NewID, log: c.Log, sources: c.Sources, applier: c.Applier, audit: c.Audit,
		runbooks: c.Runbooks, sealer: c.Sealer, members: c.Members,
	}
}
