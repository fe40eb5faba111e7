package functionshost

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// renewal asks for another process, with a change between the two.
type renewal struct {
	ctx    context.Context // until when the asker waits for the calls that run
	change func() error
	done   chan error
}

// replace replaces the handler's process: it holds new calls, waits for the
// running ones, calls change, and returns when the next process answers. If change
// fails, or ctx ends before that call, the current process continues. If the next process
// cannot be started, that counts as a crash.
func (s *supervisor) replace(ctx context.Context, change func() error) error {
	r := renewal{ctx: ctx, change: change, done: make(chan error, 1)}
	select {
	case s.renewals <- r:
		return <-r.done
	case <-ctx.Done():
		return fmt.Errorf("no handler is ready: %w", ctx.Err())
	}
}

// renew gives the process that runs from now on, nil where there is none.
func (s *supervisor) renew(life context.Context, p *process, r renewal) (*process, error) {
	s.set(nil, starting)
	err := s.idle(life, r.ctx, p)
	if err == nil {
		err = r.change()
	}
	if err != nil {
		s.set(p, starting)
		return p, err
	}
	next, err := s.command.start(life, s.lines, s.connections, 0) // the last one still has its port
	s.retire(life, p)
	if err != nil {
		s.log.Error("cannot start the handler", "error", err)
		return nil, errNotStarted{err}
	}
	s.log.Info("replaced the handler", "pid", next.pid, "before", p.pid)
	s.set(next, starting)
	return next, nil
}

// errNotStarted tells that all was done but for the start of the next process.
type errNotStarted struct{ error }

// idle waits until a process that is not current has no calls, or has ended.
func (s *supervisor) idle(life, asker context.Context, p *process) error {
	for {
		s.mu.Lock()
		calls, changed := p.calls, s.changed
		s.mu.Unlock()
		if calls == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-p.done:
			return nil
		case <-life.Done():
			return life.Err()
		case <-asker.Done():
			return fmt.Errorf("%d calls of the handler are still running: %w", calls, asker.Err())
		}
	}
}

// retire ends a process that has no calls: it sends SIGTERM and kills the process
// after the grace period.
func (s *supervisor) retire(life context.Context, p *process) {
	s.retired.Go(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM) // where that cannot be sent, it is killed
		select {
		case <-p.done:
		case <-life.Done():
		case <-time.After(grace):
		}
		p.kill()
		<-p.done
	})
}
