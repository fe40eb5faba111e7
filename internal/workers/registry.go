// Package workers keeps what is known of each worker: the functions it announced, its replicas
// and their heartbeats, and the jobs that wait for it. From that it tells a worker's state, and
// whether a job without an answer still waits for its turn.
//
// It decides nothing about runs.
package workers

import (
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Registry keeps the records of workers. It is safe for concurrent use.
type Registry struct {
	store    store.Store
	now      func() time.Time
	log      *slog.Logger
	waiting  bus.Watcher
	standard []signature.Function
	startup  time.Duration
	answers  answerCache
	looks    *lru.Cache[string, subscriptionLook]
	jobs     jobsCache
}

// Config is what a Registry is made of.
type Config struct {
	Store     store.Store
	Now       func() time.Time
	Log       *slog.Logger
	Waiting   bus.Watcher          // nil: nothing asks for how long messages wait
	Functions []signature.Function // of workers that have not announced theirs
	Startup   time.Duration        // how long a worker that was scaled to zero may take to start
}

// New makes a Registry.
func New(c Config) *Registry {
	return &Registry{
		store: c.Store, now: c.Now, log: c.Log, waiting: c.Waiting, standard: c.Functions, startup: c.Startup,
		answers: newAnswerCache(), looks: newLookCache(),
	}
}
