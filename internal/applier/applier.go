// Package applier carries out the decisions of package engine. Every handler, sweep and command
// that changes a batch calls Applier.Run, which loads the state, lets the engine decide, writes the
// decision in one transaction, sends its messages and continues with the next events. Read
// decide.go first: it has Run, which decides again after a lost race and calls the other files in
// their order:
//
//   - snapshot.go loads the state, outputs.go stores outputs that steps use by reference, recall.go and
//     batchcache.go spare reads;
//   - cache.go loads and claims entries of the cache of steps;
//   - changes.go turns the writes of decisions into operations of the store;
//   - send.go, outbox.go, messages.go and secrets.go make and send the messages;
//   - summary.go writes the summary of the batch and logs its failure, stopwhen.go records and logs
//     the pause by the stop_when of a phase.
//
// Beside Run, each.go tries commands of one batch together, reads.go reads documents for requests and
// messages, and version.go moves a batch to the active version of its runbook.
//
// The package does not know triggers, requests and data sources.
package applier

import (
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/matoolkit/matoolkit/internal/artifact"
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
	outputs  artifact.Store // nil: none are kept
	detached detachedMetrics
	recalls  *recallCache
	batches  *batchCache
}

// Config configures an Applier.
type Config struct {
	Store    store.Store
	Bus      bus.Sender
	Now      func() time.Time
	Log      *slog.Logger
	Audit    *audit.Log
	Runbooks *runbookstore.Reader
	Sealer   *sealing.Sealer
	Outputs  artifact.Store // of steps, for on_complete steps; nil: none are kept
	Meter    metric.Meter   // of detached steps; nil: nothing is measured
}

// New returns an Applier.
func New(c Config) *Applier {
	return &Applier{
		store: c.Store, bus: c.Bus, now: c.Now, log: c.Log, audit: c.Audit, runbooks: c.Runbooks, sealer: c.Sealer, outputs: c.Outputs,
		detached: newDetachedMetrics(c.Meter), recalls: newRecallCache(), batches: newBatchCache(),
	}
}
