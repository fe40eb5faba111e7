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
	"sync"
	"sync/atomic"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/internal/message"
)

// Functions is what jobs are run with: package catalog's Catalog. Parameters are
// the job's, as it came. An error may be a *catalog.Failure. Call must return
// soon after its context ends.
type Functions interface {
	Call(ctx context.Context, name string, parameters []byte) (any, error)
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
	Observer Observer         // nil means that nobody watches
	Log      *slog.Logger     // nil means slog.Default()
	Now      func() time.Time // what jobs expire by; nil means time.Now
}

// Loop is one worker's receive loop. Run it once.
type Loop struct {
	config    Config
	functions Functions
	log       *slog.Logger
	receiver  *azservicebus.Receiver
	results   *outbox
	memory    *memory

	slots   chan struct{} // holds one token for each job that there is room for
	jobs    sync.WaitGroup
	running atomic.Int64
	touched atomic.Int64 // when a job last came or ended, in Unix nanoseconds
	state   state

	// work ends when the grace for running jobs is over: functions are cancelled
	// and jobs go back to the broker. settle ends a little later.
	work, settle context.Context
}

// New makes a loop over the jobs of config.WorkerID. It does not connect: Run
// does, and goes on trying.
func New(client *azservicebus.Client, functions Functions, config Config) (*Loop, error) {
	if config.WorkerID == "" || config.MaxParallelism < 1 {
		return nil, errors.New("dispatch: a worker id and a parallelism of at least 1 are required")
	}
	config = config.withDefaults()
	receiver, err := client.NewReceiverForSubscription(message.TopicWorkerJobs, message.WorkerSubscription(config.WorkerID), nil)
	if err != nil {
		return nil, err
	}
	sender, err := client.NewSender(message.TopicWorkerResults, nil)
	if err != nil {
		return nil, err
	}
	l := &Loop{
		config: config, functions: functions, receiver: receiver,
		log:    config.Log.With("WorkerId", config.WorkerID),
		memory: newMemory(config.Remember),
		slots:  make(chan struct{}, config.MaxParallelism),
	}
	l.results = newOutbox(sender, l.backoff, l.log)
	for range config.MaxParallelism {
		l.slots <- struct{}{}
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
	if c.Observer == nil {
		c.Observer = nobody{}
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
	if n := l.running.Load(); n > 0 {
		l.log.Info("stopping: waiting for running jobs", "Jobs", n, "Grace", l.config.ShutdownGrace.String())
	}

	grace := time.AfterFunc(l.config.ShutdownGrace, func() {
		l.log.Warn("the grace period is over: giving running jobs back", "Jobs", l.running.Load())
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
	_ = l.results.sender.Close(closing)
	l.log.Info("stopped")
}

// receive takes jobs until ctx ends or the worker is idle.
func (l *Loop) receive(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failures := 0
	for ctx.Err() == nil {
		l.state.waitForRoom()
		room := l.takeSlots(ctx)
		if room == 0 {
			return
		}
		l.state.goRound()
		l.probe(ctx)
		messages, err := l.fetch(ctx, room)
		l.giveSlots(room - len(messages))
		for _, m := range messages {
			l.accept(m)
		}
		switch {
		case len(messages) > 0:
			l.state.linked.Store(true)
			failures = 0
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			failures = 0 // nothing came, and nothing is known to be wrong
			if !l.state.linked.Load() {
				l.touch() // being cut off is not being idle
			} else if l.idle() {
				l.log.Info("idle: shutting down", "IdleTimeout", l.config.IdleTimeout.String())
				return
			}
		default:
			// The SDK returns neither messages nor an error after a failure that it
			// means to recover from; that is a failure to wait for, too.
			l.state.linked.Store(false)
			l.touch() // nor is this being idle
			delay := l.backoff(failures)
			failures++
			about := []any{"Error", text(err), "Delay", delay.String()}
			if remedy := l.remedy(err); remedy != "" {
				about = append(about, "Remedy", remedy)
			}
			l.log.Warn("cannot receive jobs: trying again", about...)
			pause(ctx, delay)
		}
	}
}

// fetch waits for jobs, at most until the worker would be idle, and never longer
// than a round may take.
func (l *Loop) fetch(ctx context.Context, room int) ([]*azservicebus.ReceivedMessage, error) {
	wait := round
	if l.config.IdleTimeout > 0 {
		wait = min(wait, max(l.untilIdle(), time.Millisecond))
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return l.receiver.ReceiveMessages(ctx, room, &azservicebus.ReceiveMessagesOptions{
		// Jobs that are there arrive together; a lone one should not wait for company.
		TimeAfterFirstMessage: 5 * time.Millisecond,
	})
}

// accept starts a job in a slot that was taken for it.
func (l *Loop) accept(m *azservicebus.ReceivedMessage) {
	l.touch()
	l.jobs.Add(1)
	l.running.Add(1)
	go func() {
		defer l.jobs.Done()
		stop := l.keepLock(m)
		defer stop()
		tell := l.handle(m)
		// Telling a broker that was lost takes its whole time limit. The next job
		// need not wait for that.
		l.touch()
		l.running.Add(-1)
		l.giveSlots(1)
		tell()
	}()
}

// takeSlots waits for room and takes all that there is.
func (l *Loop) takeSlots(ctx context.Context) int {
	select {
	case <-l.slots:
	case <-ctx.Done():
		return 0
	}
	n := 1
	for {
		select {
		case <-l.slots:
			n++
		default:
			return n
		}
	}
}

func (l *Loop) giveSlots(n int) {
	for range n {
		l.slots <- struct{}{}
	}
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

func (l *Loop) backoff(failures int) time.Duration {
	if failures > 16 || l.config.Backoff<<failures > l.config.MaxBackoff {
		return l.config.MaxBackoff
	}
	return l.config.Backoff << failures
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

func text(err error) string {
	if err == nil {
		return "the connection was interrupted"
	}
	return err.Error()
}

// logFor adds what a job is known by to the log.
func (l *Loop) logFor(job message.Job) *slog.Logger {
	return l.log.With(
		"BatchId", job.CorrelationData.BatchID,
		"StepExecutionId", job.CorrelationData.StepExecutionID,
		"JobId", job.JobID, "Function", job.FunctionName)
}

var jsonNull = json.RawMessage("null")
