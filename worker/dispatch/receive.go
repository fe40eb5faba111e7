package dispatch

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/worker/remedy"
)

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

// pause waits, or returns early when ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
