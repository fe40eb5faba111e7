// Package app holds the use cases: what a trigger, a request or a tick makes
// happen. Each loads what it needs, lets package engine decide, commits the
// decision in one atomic write and then publishes the effects; doing any of it a
// second time is harmless.
//
// It knows the store and the bus by their contracts, and nothing of HTTP, of the
// Functions host or of where it runs.
package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/buildinfo"
	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/secret"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
)

// App carries the use cases. It is safe for concurrent use.
type App struct {
	store    store.Store
	bus      bus.Sender
	now      func() time.Time
	newID    func() string
	log      *slog.Logger
	runbooks runbookCache
	runs     *runCache
	gates    *gateCache
	standard []signature.Function
	sources  *datasource.Reader
	waiting  bus.Watcher
	answers  answerCache
	looks    *lru.Cache[string, subscriptionLook] // by worker
	startup  time.Duration
	jobs     jobsCache
	reads    readCache
	lane     chan struct{} // holds one element while a suspect message is processed

	dead            bus.DeadLetters
	born            time.Time
	firstReturned   atomic.Bool               // this process has read the results' dead-letter queue once
	resultsReturned atomic.Pointer[time.Time] // when results come that it sent again last
	secrets         *secret.Box
	keyed           bool // there is a key for secrets
}

// Config is what an App is made of. Now defaults to time.Now, NewID to
// random ids, Log to slog.Default.
// Functions are those of workers that have not announced theirs, which a runbook is
// checked against when it is published.
type Config struct {
	Store store.Store
	Bus   bus.Sender
	Now   func() time.Time
	NewID func() string // 16 lower-case letters and digits, never the same twice
	Log   *slog.Logger

	Functions []signature.Function
	Sources   *datasource.Reader // nil: no runbook's query can be run
	Waiting   bus.Watcher        // nil: nobody looks at how long messages wait
	Dead      bus.DeadLetters    // nil: nobody reads the dead-letter queues
	Secrets   *secret.Box        // nil: runbooks with secrets are refused

	// WorkerStartup is how long a worker that was scaled to zero may take to start before
	// jobs that wait for it can fail. 0 means DefaultWorkerStartup.
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
	keyed := c.Secrets != nil
	if !keyed {
		c.Secrets = secret.New(noKey{})
	}
	return &App{
		store: c.Store, bus: c.Bus, now: c.Now, newID: c.NewID, log: c.Log, standard: c.Functions, sources: c.Sources, waiting: c.Waiting,
		startup: cmp.Or(c.WorkerStartup, DefaultWorkerStartup), runbooks: newRunbookCache(), runs: newRunCache(), gates: newGateCache(),
		answers: newAnswerCache(), looks: newLookCache(), reads: newReadCache(), lane: make(chan struct{}, 1),
		dead: c.Dead, born: c.Now(),
		secrets: c.Secrets, keyed: keyed,
	}
}

// randomID makes an id of 80 random bits.
func randomID() string { return strings.ToLower(rand.Text()[:16]) }

// Message is a message as a trigger delivers it.
type Message struct {
	ID            string
	Type          string // application property MessageType, where there is one
	Body          []byte
	Properties    map[string]any
	DeliveryCount int // 1 on the first delivery
	EnqueuedAt    time.Time
}

// Health asks the store and the bus; it answers within the context's time.
func (a *App) Health(ctx context.Context) api.Health {
	h := api.Health{Status: "ok", Version: buildinfo.Version, Parts: map[string]string{}}
	for part, check := range map[string]func(context.Context) error{"store": a.store.Ping, "bus": a.bus.Ping} {
		h.Parts[part] = "ok"
		if err := check(ctx); err != nil {
			a.log.WarnContext(ctx, "health", logkey.Part, part, logkey.Error, err)
			h.Parts[part], h.Status = "cannot be reached", "degraded"
		}
	}
	return h
}
