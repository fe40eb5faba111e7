// Package membership adds members to batches and removes them: it creates batches from member
// CSVs, adds people to batches, claims each person for one open batch, removes members, keeps
// removal holds, and retries members who failed.
//
// It does not know where people come from: package datasync compares data sources with batches,
// and the admin API hands over files.
package membership

import (
	"context"
	"log/slog"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Registrar adds members to batches and removes them. It is safe for concurrent use.
type Registrar struct {
	store       store.Store
	bus         bus.Sender
	now         func() time.Time
	newID       func() string
	log         *slog.Logger
	applier     *applier.Applier
	audit       *audit.Log
	idempotency *idempotency.Records
	runbooks    *runbookstore.Reader
	sealer      *sealing.Sealer
	functions   func(ctx context.Context, workers []string) (lint.Catalogs, error)
	sequence    *sequence
}

// Config has the parts that a Registrar uses. All are required.
type Config struct {
	Store       store.Store
	Bus         bus.Sender
	Now         func() time.Time
	NewID       func() string // 16 lower-case letters and digits, never the same twice
	Log         *slog.Logger
	Applier     *applier.Applier
	Audit       *audit.Log
	Idempotency *idempotency.Records
	Runbooks    *runbookstore.Reader
	Sealer      *sealing.Sealer
	Functions   func(ctx context.Context, workers []string) (lint.Catalogs, error) // that workers announced
}

// New returns a Registrar.
func New(c Config) *Registrar {
	return &Registrar{
		store: c.Store, bus: c.Bus, now: c.Now, newID: c.NewID, log: c.Log, applier: c.Applier, audit: c.Audit,
		idempotency: c.Idempotency, runbooks: c.Runbooks, sealer: c.Sealer, functions: c.Functions, sequence: newSequence(c.Store, c.Now),
	}
}
