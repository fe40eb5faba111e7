// Package app puts the use cases together: it makes each from the store, the bus and what else
// they share, and has the tick, which goes through them in order.
//
// It holds no use case of its own.
package app

import (
	"cmp"
	"crypto/rand"
	"log/slog"
	"strings"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/matoolkit/matoolkit/internal/admin"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/datasync"
	"github.com/matoolkit/matoolkit/internal/deadletter"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/membership"
	"github.com/matoolkit/matoolkit/internal/notification"
	"github.com/matoolkit/matoolkit/internal/orchestrator"
	"github.com/matoolkit/matoolkit/internal/pipeline"
	"github.com/matoolkit/matoolkit/internal/runbooks"
	"github.com/matoolkit/matoolkit/internal/runbookstore"
	"github.com/matoolkit/matoolkit/internal/scaling"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
	"github.com/matoolkit/matoolkit/internal/workers"
)

// App has the use cases. It is safe for concurrent use.
type App struct {
	*orchestrator.Orchestrator
	*datasync.Syncer
	*deadletter.Messages
	*membership.Registrar
	*runbooks.Publisher
	*workers.Registry
	*admin.Admin
	*pipeline.Pipelines
	*notification.Notifier
	*scaling.Scaler

	store store.Store
	bus   bus.Sender
	now   func() time.Time
	log   *slog.Logger
}

// Config holds the dependencies of an App. Now defaults to time.Now, NewID to
// random ids, Log to slog.Default.
// Functions lists functions of workers that have not announced theirs; publishing
// checks a runbook against them.
type Config struct {
	Store store.Store
	Bus   bus.Sender
	Now   func() time.Time
	NewID func() string // 16 lower-case letters and digits, never the same twice
	Log   *slog.Logger

	Functions []signature.Function
	Sources   *datasource.Reader // nil: no runbook's query can be run
	Waiting   bus.Watcher        // nil: nothing asks for how long messages wait
	Dead      bus.DeadLetters    // nil: dead-letter queues are not read
	Secrets   *secret.Box        // nil: runbooks with secrets are refused
	Artifacts artifact.Store     // of outputs that steps use by reference; nil: runbooks with such steps are refused

	Meter metric.Meter // of detached steps, and of pipelines that move over; nil: nothing is measured

	// Poster posts notifications; nil: none are posted.
	Poster notification.Poster

	// Containers reads and changes the container groups of the container scaler; nil: it is off.
	Containers scaling.Azure

	// WorkerStartup is how long a worker that was scaled to zero may take to start before
	// jobs that wait for it can fail. 0 means workers.DefaultStartup.
	WorkerStartup time.Duration
}

// New makes an App.
func New(c Config) *App {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.NewID == nil {
		c.NewID = randomID
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Sources == nil {
		c.Sources = &datasource.Reader{}
	}
	auditLog := audit.New(audit.Config{Store: c.Store, Now: c.Now, NewID: c.NewID})
	known := workers.New(workers.Config{Store: c.Store, Now: c.Now, Log: c.Log, Waiting: c.Waiting, Functions: c.Functions, Startup: cmp.Or(c.WorkerStartup, workers.DefaultStartup)})
	reader := runbookstore.New(runbookstore.Config{Store: c.Store, Now: c.Now, Log: c.Log, Functions: known.Functions})
	sealer := sealing.New(sealing.Config{Store: c.Store, Runbooks: reader, Secrets: c.Secrets})
	requests := idempotency.New(idempotency.Config{Store: c.Store, Sealer: sealer})
	apply := applier.New(applier.Config{Store: c.Store, Bus: c.Bus, Now: c.Now, Log: c.Log, Audit: auditLog, Runbooks: reader, Sealer: sealer, Outputs: c.Artifacts, Meter: c.Meter})
	members := membership.New(membership.Config{
		Store: c.Store, Bus: c.Bus, Now: c.Now, NewID: c.NewID, Log: c.Log, Applier: apply, Audit: auditLog, Idempotency: requests, Runbooks: reader, Sealer: sealer,
		Functions: known.Functions,
	})
	messages := deadletter.New(deadletter.Config{Store: c.Store, Bus: c.Bus, Now: c.Now, Log: c.Log, Audit: auditLog, Sealer: sealer, Dead: c.Dead})
	notifier := notification.New(notification.Config{Store: c.Store, Bus: c.Bus, Now: c.Now, NewID: c.NewID, Log: c.Log, Audit: auditLog, Poster: c.Poster})
	administration := admin.New(admin.Config{
		Store: c.Store, Bus: c.Bus, Now: c.Now, NewID: c.NewID, Log: c.Log, Applier: apply, Audit: auditLog, Runbooks: reader, Sealer: sealer, Workers: known, Members: members,
		Scales: c.Containers != nil,
	})
	return &App{
		Notifier: notifier,
		Scaler:   scaling.New(scaling.Config{Azure: c.Containers, Store: c.Store, Now: c.Now, NewID: c.NewID, Log: c.Log}),
		Orchestrator: orchestrator.New(orchestrator.Config{
			Store: c.Store, Bus: c.Bus, Now: c.Now, Log: c.Log, Waiting: c.Waiting, Applier: apply, Runbooks: reader, Sealer: sealer, Workers: known, DeadLetters: messages, Members: members,
			OnMailResult: notifier.OnMailResult,
		}),
		Syncer: datasync.New(datasync.Config{
			Store: c.Store, Now: c.Now, NewID: c.NewID, Log: c.Log, Sources: c.Sources, Applier: apply, Audit: auditLog, Runbooks: reader, Sealer: sealer, Members: members,
		}),
		Messages:  messages,
		Registrar: members,
		Publisher: runbooks.New(runbooks.Config{
			Store: c.Store, Now: c.Now, Log: c.Log, Sources: c.Sources, Audit: auditLog, Idempotency: requests, Runbooks: reader, Sealer: sealer, Workers: known, Members: members,
			KeepsOutputs: c.Artifacts != nil,
		}),
		Registry: known,
		Admin:    administration,
		Pipelines: pipeline.New(pipeline.Config{
			Store: c.Store, Now: c.Now, Log: c.Log, Idempotency: requests, Runbooks: reader, Sealer: sealer, Members: members, CountPhase: administration.CountPhase,
			Audit: auditLog, Meter: c.Meter,
		}),
		store: c.Store, bus: c.Bus, now: c.Now, log: c.Log,
	}
}

// randomID makes an id of 80 random bits.
func randomID() string { return strings.ToLower(rand.Text()[:16]) }
