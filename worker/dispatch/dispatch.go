// Package dispatch carries a worker's jobs from the bus to the functions and
// their results back. It takes as many jobs as it has room for, keeps their locks
// while they run, sends each result and only then settles the job.
//
// It knows the functions only by name: no tenant and no SDK of one. A job may
// come again after any step of this; the same job is never run twice at once,
// and one that has been answered lately is answered again without running it.
package dispatch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
)

// Functions runs jobs; package catalog's Catalog implements it. Parameters are
// the job's, unchanged. An error may be a *catalog.Failure. Call must return
// soon after its context ends.
type Functions interface {
	Call(ctx context.Context, name string, parameters []byte) (any, error)
}

// Controls reports which jobs are revoked; package control's Watch implements it.
// Calls may be concurrent.
type Controls interface {
	// Revoked reports whether a job must not be begun because its batch was paused or
	// cancelled.
	Revoked(job message.Job) bool
	// Err is not nil while the controls are too old to begin a job.
	Err() error
	// Until is when Err becomes not nil if nothing more is learned; zero when it is.
	Until() time.Time
	// Changed returns a channel that is closed when more is revoked or Err becomes nil.
	Changed() <-chan struct{}
}

// Config of a Loop. WorkerID and MaxParallelism are required.
type Config struct {
	WorkerID       string
	MaxParallelism int           // jobs that run at once
	JobTimeout     time.Duration // for one run of a function; 0 means ten minutes
	IdleTimeout    time.Duration // without a job, Run returns; 0 means never
	ShutdownGrace  time.Duration // for running jobs once Run's context ends
	// Backoff is the first delay after the broker failed, doubled up to MaxBackoff.
	// 0 means half a second and 30 seconds.
	Backoff, MaxBackoff time.Duration
	// SettleTimeout bounds telling the broker what became of a job; 0 means ten
	// seconds. The SDK alone would try for a minute, and the job's slot with it.
	SettleTimeout time.Duration
	// Remember is how many bytes of results are kept for jobs that come again; 0
	// means 16 MiB.
	Remember int
	// HoldTime is how long a job that was taken beyond the parallelism waits for a slot before
	// it is given back; 0 means 30 seconds.
	HoldTime time.Duration
	// Linger is how long a result waits for others that travel in one message with it, while
	// other jobs run; 0 means not at all. Results that are ready together share a message anyhow.
	Linger   time.Duration
	Controls Controls         // nil means that no job is ever revoked
	Observer Observer         // nil means none
	Log      *slog.Logger     // nil means slog.Default()
	Now      func() time.Time // what jobs expire by; nil means time.Now
}

// Loop is one worker's receive loop. Run it once.
type Loop struct {
	config    Config
	functions Functions
	log       *slog.Logger
	receiver  bus.Receiver
	results   *outbox
	memory    *memory

	room     *room
	inHand   inHand
	crew     crew
	jobs     sync.WaitGroup
	running  atomic.Int64
	touched  atomic.Int64  // when a job last came or ended, in Unix nanoseconds
	stopping chan struct{} // closed when no more jobs are taken
	state    state

	// work ends when the grace for running jobs is over: functions are cancelled
	// and jobs go back to the broker. settle ends a little later.
	work, settle context.Context
}

// New makes a loop over the jobs of config.WorkerID. It does not connect: Run
// does, and goes on trying.
func New(client bus.Client, functions Functions, config Config) (*Loop, error) {
	if config.WorkerID == "" || config.MaxParallelism < 1 {
		return nil, errors.New("dispatch: a worker id and a parallelism of at least 1 are required")
	}
	config = config.withDefaults()
	receiver, err := client.Receiver(message.TopicWorkerJobs, message.WorkerSubscription(config.WorkerID))
	if err != nil {
		return nil, err
	}
	l := &Loop{
		config: config, functions: functions, receiver: receiver,
		log:      config.Log.With(logkey.WorkerID, config.WorkerID),
		memory:   newMemory(config.Remember),
		room:     newRoom(config.MaxParallelism),
		crew:     newCrew(),
		stopping: make(chan struct{}),
	}
	l.results = &outbox{
		sender: client, workerID: config.WorkerID, linger: config.Linger, delays: l.newBackoff, log: l.log,
		running: func() int { return int(l.running.Load()) },
		waiting: make(chan *letter, maxBatch), stopped: make(chan struct{}),
	}
	return l, nil
}

func (c Config) withDefaults() Config {
	if c.JobTimeout <= 0 {
		c.JobTimeout = 10 * time.Minute
	}
	if c.Backoff <= 0 {
		c.Backoff = 500 * time.Millisecond
	}
	if c.MaxBackoff <= 0 {
		c.MaxBackoff = 30 * time.Second
	}
	if c.SettleTimeout <= 0 {
		c.SettleTimeout = 10 * time.Second
	}
	if c.Remember <= 0 {
		c.Remember = 16 << 20
	}
	if c.HoldTime <= 0 {
		c.HoldTime = 30 * time.Second
	}
	if c.Controls == nil {
		c.Controls = noControls{}
	}
	if c.Observer == nil {
		c.Observer = noObserver{}
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// newBackoff returns the delays between attempts at the broker.
func (l *Loop) newBackoff() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = l.config.Backoff, l.config.MaxBackoff, 2
	return b
}

// noControls are of a worker whose jobs are never revoked.
type noControls struct{}

func (noControls) Revoked(message.Job) bool { return false }
func (noControls) Err() error               { return nil }
func (noControls) Until() time.Time         { return time.Now().Add(24 * time.Hour) }
func (noControls) Changed() <-chan struct{} { return nil }
