// Package runbooks publishes versions of runbooks, lists them and deactivates them.
//
// It does not know how batches run.
package runbooks

import (
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// Publisher publishes, lists and deactivates runbooks. It is safe for concurrent use.
type Publisher struct {
	store       store.Store
	now         func() time.Time
	log         *slog.Logger
	sources     *datasource.Reader
	audit       *audit.Log
	idempotency *idempotency.Records
	runbooks    *runbookstore.Reader
	sealer      *sealing.Sealer
	workers     *workers.Registry
	members     *membership.Registrar

	keepsOutputs bool
}

// Config has the parts that a Publisher uses. All are required.
type Config struct {
	Store       store.Store
	Now         func() time.Time
	Log         *slog.Logger
	Sources     *datasource.Reader
	Audit       *audit.Log
	Idempotency *idempotency.Records
	Runbooks    *runbookstore.Reader
	Sealer      *sealing.Sealer
	Workers     *workers.Registry
	Members     *membership.Registrar

	KeepsOutputs bool // steps can use the outputs of members by reference
}

// New returns a Publisher.
func New(c Config) *Publisher {
	return &Publisher{
		store: c.Store, now: c.Now, log: c.Log, sources: c.Sources, audit: c.Audit, idempotency: c.Idempotency,
		runbooks: c.Runbooks, sealer: c.Sealer, workers: c.Workers, members: c.Members, keepsOutputs: c.KeepsOutputs,
	}
}
