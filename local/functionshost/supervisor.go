package functionshost

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// supervisor keeps exactly one handler process running.
type supervisor struct {
	command     command
	lines       *lines
	log         *slog.Logger
	connections int
	renewals    chan renewal
	retired     sync.WaitGroup // processes that were replaced and have not ended

	mu      sync.Mutex
	current *process      // nil while there is none that is ready
	changed chan struct{} // closed when current changes, and when one that is not current has no calls any more
}

func newSupervisor(c command, l *lines, log *slog.Logger, connections int) *supervisor {
	return &supervisor{command: c, lines: l, log: log, connections: connections, renewals: make(chan renewal), changed: make(chan struct{})}
}

// Restarts wait this long at first, twice as long each time, and so on up to the
// limit; a process that lived for a minute starts the count again.
const (
	firstBackOff = 100 * time.Millisecond
	lastBackOff  = 5 * time.Second
	livedLong    = time.Minute
)

// run starts the handler again whenever it ends, until ctx does; p is the process
// that was started first.
func (s *supervisor) run(ctx context.Context, p *process) {
	defer s.retired.Wait()
	backOff, started := firstBackOff, time.Now()
	s.set(p)
	for {
		select {
		case <-ctx.Done():
			s.set(nil)
			p.kill()
			<-p.done
			return
		case r := <-s.renewals:
			var err error
			p, err = s.renew(ctx, p, r)
			r.done <- err
			if p != nil {
				continue
			}
		case <-p.done:
			s.set(nil)
			if ctx.Err() != nil {
				return
			}
			s.tellEnd(p)
			p = nil
		}
		if time.Since(started) > livedLong {
			backOff = firstBackOff
		}
		for ; p == nil; backOff = min(2*backOff, lastBackOff) {
			select {
			case <-ctx.Done():
				return
			case <-time.After(backOff):
			}
			var err error
			if p, err = s.command.start(ctx, s.lines, s.connections); err != nil && ctx.Err() == nil {
				s.log.Error("the handler cannot be started", "error", err)
			}
		}
		s.log.Info("the handler runs again", "pid", p.pid)
		started = time.Now()
		s.set(p)
	}
}

func (s *supervisor) tellEnd(p *process) {
	if p.failed() {
		s.log.Error("the handler crashed; three times in 30 minutes make the Azure host shut down", "pid", p.pid, "error", p.reason())
	} else {
		s.log.Warn("the handler ended", "pid", p.pid)
	}
}

func (s *supervisor) set(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = p
	s.announce()
}

// announce wakes those who wait for changed; mu is held.
func (s *supervisor) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// ready waits for a process that answers.
func (s *supervisor) ready(ctx context.Context) (*process, error) {
	p, err := s.acquire(ctx)
	if err == nil {
		s.release(p)
	}
	return p, err
}

// acquire waits for a process that answers and counts a call to it, until release.
func (s *supervisor) acquire(ctx context.Context) (*process, error) {
	for {
		s.mu.Lock()
		p, changed := s.current, s.changed
		if p != nil && !p.ended() {
			p.calls++
			s.mu.Unlock()
			return p, nil
		}
		s.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

func (s *supervisor) release(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p.calls--
	if p.calls == 0 && p != s.current {
		s.announce()
	}
}

// endWithin is how long the end of a process may take to be known after its
// connections broke.
const endWithin = time.Second

// awaitEnd waits until a process whose connection broke is known to have ended, if
// it has. What is given back before that would go to the same process at once, and
// a message would lose one delivery after the other within milliseconds.
func (p *process) awaitEnd(ctx context.Context) {
	select {
	case <-p.done:
	case <-ctx.Done():
	case <-time.After(endWithin):
	}
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (s *supervisor) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	return s.current.pid
}
