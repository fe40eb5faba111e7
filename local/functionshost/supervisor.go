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

	mu      sync.Mutex
	current *process      // nil while there is none that is ready
	changed chan struct{} // closed when current changes
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
	backOff := firstBackOff
	for {
		started := time.Now()
		s.set(p)
		select {
		case <-ctx.Done():
			s.set(nil)
			p.kill()
			<-p.done
			return
		case <-p.done:
		}
		s.set(nil)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > livedLong {
			backOff = firstBackOff
		}
		if p.failed() {
			s.log.Error("the handler crashed; three times in 30 minutes make the Azure host shut down", "pid", p.pid, "error", p.reason())
		} else {
			s.log.Warn("the handler ended", "pid", p.pid)
		}
		for p = nil; p == nil; backOff = min(2*backOff, lastBackOff) {
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
	}
}

func (s *supervisor) set(p *process) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = p
	close(s.changed)
	s.changed = make(chan struct{})
}

// ready waits for a process that answers.
func (s *supervisor) ready(ctx context.Context) (*process, error) {
	for {
		s.mu.Lock()
		p, changed := s.current, s.changed
		s.mu.Unlock()
		if p != nil && !p.ended() {
			return p, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
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
