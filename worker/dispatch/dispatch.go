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
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/blank"
	"github.com/matoolkit/matoolkit/worker/remedy"
)

// Functions runs jobs; package catalog's Catalog implements it. Parameters are
// the job's, unchanged. An error may be a *catalog.Failure. Call must return
// soon after its context ends.
type Functions interface {
	Call(ctx context.Context, name string, parameters []byte) (any, error)
}

// Controls reports which jobs are revoked; package control's Watch implements it.
// It is called concurrently.
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

// settleGrace is how long giving jobs back may take after everything else.
const settleGrace = 3 * time.Second

// Run works until ctx ends or the worker has been idle for IdleTimeout, and then
// until running jobs are done, at most ShutdownGrace; what still runs after that
// is given back. A broker that cannot be reached does not end it.
func (l *Loop) Run(ctx context.Context) {
	work, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	settle, stopSettle := context.WithCancel(context.WithoutCancel(ctx))
	defer stopSettle()
	defer stopWork()
	l.work, l.settle = work, settle
	l.results.start(work)

	l.touch()
	l.receive(ctx)
	l.state.stopping.Store(true)
	close(l.stopping)
	if n := l.running.Load(); n > 0 {
		l.log.Info("stopping: waiting for running jobs", logkey.Jobs, n, logkey.Grace, l.config.ShutdownGrace.String())
	}

	grace := time.AfterFunc(l.config.ShutdownGrace, func() {
		l.log.Warn("the grace period is over: abandoning running jobs", logkey.Jobs, l.running.Load())
		stopWork()
		time.AfterFunc(settleGrace, stopSettle)
	})
	l.jobs.Wait()
	grace.Stop()
	stopWork()
	l.results.wait()
	closing, cancel := context.WithTimeout(settle, settleGrace)
	defer cancel()
	_ = l.receiver.Close(closing) // the connection goes with the client
	l.log.Info("stopped")
}

// receive takes jobs until ctx ends or the worker is idle.
func (l *Loop) receive(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	delays := l.newBackoff()
	d := drain{least: min(l.config.MaxParallelism, maxDrain), changed: l.config.Controls.Changed()}
	for ctx.Err() == nil {
		l.state.waitForRoom()
		if !l.awaitControls(ctx) {
			return
		}
		slots, extra := l.takeRoom(ctx, &d)
		if slots+extra == 0 {
			return
		}
		if slots > 0 {
			d.changed = l.config.Controls.Changed()
		}
		l.state.goRound()
		l.probe(ctx)
		messages, err := l.fetch(ctx, slots+extra, d.size > 0)
		refused := l.accept(messages, slots, extra)
		if err == nil {
			d.next(len(messages), refused)
		}
		if d.size == 0 && d.refused > 0 {
			l.log.Info("answered jobs that are expired or revoked", logkey.Jobs, d.refused)
			d.refused = 0
		}
		switch {
		case len(messages) > 0:
			l.state.linked.Store(true)
			delays.Reset()
		case ctx.Err() != nil:
			return
		case err == nil:
			delays.Reset() // nothing came, and nothing is known to be wrong
			if !l.state.linked.Load() {
				l.touch() // being cut off is not being idle
			} else if l.idle() {
				l.log.Info("idle: shutting down", logkey.IdleTimeout, l.config.IdleTimeout.String())
				return
			}
		default:
			l.state.linked.Store(false)
			l.touch() // nor is this being idle
			delay := delays.NextBackOff()
			about := []any{logkey.Error, err, logkey.Delay, delay.String()}
			if what := remedy.For(err); what != "" {
				about = append(about, logkey.Remedy, what)
			}
			l.log.Warn("cannot receive jobs: retrying", about...)
			pause(ctx, delay)
		}
	}
}

// awaitControls waits until jobs may be begun. It is false when ctx ends before.
func (l *Loop) awaitControls(ctx context.Context) bool {
	for {
		changed := l.config.Controls.Changed()
		if l.config.Controls.Err() == nil {
			return true
		}
		select {
		case <-changed:
			l.touch() // to wait for this is not to be idle
		case <-ctx.Done():
			return false
		}
	}
}

// drainWait is how long jobs are waited for that are only taken to refuse them.
const drainWait = time.Second

// fetch waits for jobs, at most until the worker would be idle, and never longer
// than a round may take or the controls that are known hold.
func (l *Loop) fetch(ctx context.Context, room int, draining bool) ([]*bus.Received, error) {
	wait := round
	if draining {
		wait = drainWait
	}
	if l.config.IdleTimeout > 0 {
		wait = min(wait, max(l.untilIdle(), time.Millisecond))
	}
	wait = min(wait, max(time.Until(l.config.Controls.Until()), time.Millisecond))
	return l.receiver.Receive(ctx, room, wait)
}

// received is one delivery of a job.
type received struct {
	message  *bus.Received
	job      message.Job
	came     json.RawMessage // the job's correlation as it came
	err      error           // why the job cannot be done, of readJob
	identity string          // of the job, where there is no err
	slot     bool            // whether it has one, and may call a function
	held     bool            // whether it counts among those that wait for one
	begun    bool            // whether the job's function was called for it, or may have been
	waited   bool            // whether it was taken without a slot
	lock     lock
}

// again reports whether an earlier delivery of the job may have been carried out: of this
// message, or of the one that was dead-lettered and is sent again as this.
func (d *received) again() bool {
	before, _ := d.message.Properties[message.PropertyRedelivered].(bool)
	return before || d.tries() > 1
}

// tries counts the deliveries of the message, with this one, for which the job may have
// been begun: all but those that a worker gave back before that.
func (d *received) tries() int { return d.message.DeliveryCount - d.notBegun() }

func (d *received) notBegun() int {
	switch n := d.message.Properties[message.PropertyNotBegun].(type) {
	case int64:
		return int(n)
	case int32:
		return int(n)
	}
	return 0
}

// accept begins to handle messages for which room was taken, gives back the room that is
// left and returns how many of the jobs are refused. What calls no function leaves the
// slots to the others.
func (l *Loop) accept(messages []*bus.Received, slots, extra int) (refused int) {
	for _, m := range messages {
		d := &received{message: m}
		d.lock.set(m.LockedUntil)
		d.job, d.came, d.err = readJob(m.Body, l.config.WorkerID)
		calls := d.err == nil
		if calls {
			d.identity = identity(d.job)
			if !l.memory.knows(d.identity) && l.refusal(d) != nil {
				calls = false
				refused++
			}
		}
		if d.slot = slots > 0 && (calls || extra == 0); d.slot {
			slots--
		} else {
			extra--
		}
		l.begin(d, calls)
	}
	l.room.give(slots, extra)
	return refused
}

// begin handles a delivery for which there is room.
func (l *Loop) begin(d *received, calls bool) {
	l.touch()
	l.jobs.Add(1)
	l.running.Add(1)
	if calls {
		l.inHand.add(d.job)
		if d.held = !d.slot; d.held {
			d.waited = true
			l.room.held.Add(1)
		} else {
			l.inHand.take(d.job)
		}
	}
	go func() {
		defer l.jobs.Done()
		stop := l.keepLock(d)
		defer stop()
		tell := l.handle(d)
		// Telling a broker that was lost takes its whole time limit. The next job
		// need not wait for that.
		l.touch()
		l.running.Add(-1)
		if calls {
			l.inHand.remove(d.job)
			l.room.release(d)
		}
		if d.slot {
			l.room.give(1, 0)
		} else {
			l.room.give(0, 1)
		}
		tell()
	}()
}

func (l *Loop) touch() { l.touched.Store(time.Now().UnixNano()) }

// untilIdle is how long nothing must happen for the worker to be idle. While a
// job runs it is the whole time.
func (l *Loop) untilIdle() time.Duration {
	if l.running.Load() > 0 {
		return l.config.IdleTimeout
	}
	return l.config.IdleTimeout - time.Since(time.Unix(0, l.touched.Load()))
}

func (l *Loop) idle() bool {
	return l.config.IdleTimeout > 0 && l.running.Load() == 0 && l.untilIdle() <= 0
}

// newBackoff returns the delays between attempts at the broker.
func (l *Loop) newBackoff() backoff.BackOff {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval, b.MaxInterval, b.Multiplier = l.config.Backoff, l.config.MaxBackoff, 2
	return b
}

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// logFor adds what a job is known by to the log, and blanks the job's secrets in it.
func (l *Loop) logFor(job message.Job) *slog.Logger {
	return slog.New(lateAttrs{blank.Logger(l.log, job.Secrets).Handler(), []slog.Attr{
		slog.Int(logkey.BatchID, job.CorrelationData.BatchID),
		slog.Int64(logkey.StepExecutionID, job.CorrelationData.StepExecutionID),
		slog.String(logkey.JobID, job.JobID), slog.String(logkey.Function, job.FunctionName),
	}})
}

// lateAttrs is a log handler that formats its attributes with each record: most jobs log none.
type lateAttrs struct {
	slog.Handler
	attrs []slog.Attr
}

func (h lateAttrs) Handle(ctx context.Context, r slog.Record) error {
	full := slog.NewRecord(r.Time, r.Level, r.Message, r.PC)
	full.AddAttrs(h.attrs...)
	r.Attrs(func(a slog.Attr) bool {
		full.AddAttrs(a)
		return true
	})
	return h.Handler.Handle(ctx, full)
}

func (h lateAttrs) WithAttrs(attrs []slog.Attr) slog.Handler {
	return lateAttrs{h.Handler, slices.Concat(h.attrs, attrs)}
}

func (h lateAttrs) WithGroup(name string) slog.Handler {
	return h.Handler.WithAttrs(h.attrs).WithGroup(name)
}

// noControls are of a worker whose jobs are never revoked.
type noControls struct{}

func (noControls) Revoked(message.Job) bool { return false }
func (noControls) Err() error               { return nil }
func (noControls) Until() time.Time         { return time.Now().Add(24 * time.Hour) }
func (noControls) Changed() <-chan struct{} { return nil }

var jsonNull = json.RawMessage("null")
