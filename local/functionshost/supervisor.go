package functionshost

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// supervisor runs at most one handler process and starts the next one as the Functions
// host of 2024 does: see next.
type supervisor struct {
	command     command
	lines       *lines
	log         *slog.Logger
	connections int
	restart     time.Duration // until the platform starts a host that has stopped
	renewals    chan renewal
	restarts    chan struct{}  // each restarts the handler that runs then
	retired     sync.WaitGroup // processes that were replaced and have not ended

	mu      sync.Mutex
	current *process // nil while there is none that is ready
	phase   phase
	failed  int           // starts that failed
	changed chan struct{} // closed when one of these changes, and when a process that is not current has no calls any more
}

// phase is the host's state while no handler is ready.
type phase int

const (
	starting phase = iota // it starts one: calls wait for the end of that start
	away                  // it starts none any more: calls fail at once
	stopped               // it has stopped, until the platform starts it again: it takes no messages
)

// errAway is the error of a call for which there is no handler. The host gives the
// message of such a call back at once, which costs it one delivery after the other.
var errAway = errors.New("no handler is running")

func newSupervisor(c command, l *lines, log *slog.Logger, connections int, restart time.Duration) *supervisor {
	return &supervisor{command: c, lines: l, log: log, connections: connections, restart: restart, renewals: make(chan renewal), restarts: make(chan struct{}), changed: make(chan struct{})}
}

// A handler that ends without being counted as crashed is started again at once; if it
// ends again within a minute after this long, twice as long each time, up to the limit.
const (
	firstBackOff = 100 * time.Millisecond
	lastBackOff  = 5 * time.Second
	livedLong    = time.Minute
)

// The host stops at this many crashes within this time.
const (
	crashesToStop = 3
	crashWindow   = 30 * time.Minute
)

// ending classifies the end of a handler's process.
type ending int

const (
	crashed   ending = iota // it is counted, and another process started
	restarted               // another process is started
	final                   // no other process is started
)

// ends judges an exit status. -1 is a signal.
func ends(status int) ending {
	switch status {
	case 0:
		return final
	case 200:
		return restarted
	}
	return crashed
}

// run starts the handler again when it ends, until ctx does; p is the process that was
// started first, and is set.
func (s *supervisor) run(ctx context.Context, p *process) {
	defer s.retired.Wait()
	var h history
	for {
		select {
		case <-ctx.Done():
			s.set(nil, starting)
			if p != nil {
				p.kill()
				<-p.done
			}
			return
		case r := <-s.renewals:
			if p == nil {
				r.done <- errAway
				continue
			}
			var err error
			p, err = s.renew(ctx, p, r)
			r.done <- err
			if p != nil {
				continue
			}
			s.failedStart()
		case <-s.restarts:
			if p == nil {
				continue
			}
			s.set(nil, starting)
			p.kill()
			<-p.done
		case <-p.ending():
			if ctx.Err() != nil {
				s.set(nil, starting)
				return
			}
			switch ends(p.status()) {
			case final:
				s.log.Error("the handler ended with exit status 0: like the Azure host, this host starts no other; restart the host, since each received message loses its deliveries", "pid", p.pid)
				s.set(nil, away)
				p = nil
				continue
			case restarted:
				s.log.Warn("the handler ended: restarting it", "pid", p.pid)
				s.set(nil, starting)
				if !wait(ctx, h.pause(p)) {
					return
				}
			case crashed:
				s.set(nil, starting)
				if !s.crash(ctx, &h, p.pid, p.reason()) {
					return
				}
			}
		}
		if p = s.next(ctx, &h, p.port()); p == nil {
			return
		}
		s.log.Info("restarted the handler", "pid", p.pid)
		s.set(p, starting)
	}
}

// next starts a process until one answers, on the port of the last one if it is free; nil where
// ctx has ended. A start that fails is a crash, and fails the calls that waited for it.
func (s *supervisor) next(ctx context.Context, h *history, port int) *process {
	for {
		p, err := s.command.start(ctx, s.lines, s.connections, port)
		if err == nil {
			return p
		}
		if ctx.Err() != nil {
			return nil
		}
		s.failedStart()
		if !s.crash(ctx, h, 0, err.Error()) {
			return nil
		}
	}
}

// crash counts a crash. At the last one that it may count the host stops, and crash
// returns when the platform has started it again; false where ctx has ended.
func (s *supervisor) crash(ctx context.Context, h *history, pid int, reason string) bool {
	stops := h.crash(time.Now())
	s.log.Error("the handler crashed; three crashes in 30 minutes stop the host", "pid", pid, "error", reason)
	if !stops {
		return ctx.Err() == nil
	}
	s.log.Error("the host stopped after three crashes: restarting it", "after", s.restart.String())
	s.set(nil, stopped)
	if !wait(ctx, s.restart) {
		return false
	}
	*h = history{}
	s.set(nil, starting)
	return true
}

// history records the starts and crashes of the handler's processes.
type history struct {
	crashes []time.Time
	backOff time.Duration
}

// crash counts a crash and tells whether the host stops.
func (h *history) crash(at time.Time) bool {
	h.crashes = append(slices.DeleteFunc(h.crashes, func(t time.Time) bool { return at.Sub(t) >= crashWindow }), at)
	return len(h.crashes) >= crashesToStop
}

// pause is how long to wait before a process that ended uncounted is followed by the next.
func (h *history) pause(p *process) time.Duration {
	if time.Since(p.started) >= livedLong {
		h.backOff = 0
		return 0
	}
	last := h.backOff
	h.backOff = min(max(2*h.backOff, firstBackOff), lastBackOff)
	return last
}

func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (s *supervisor) failedStart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed++
	s.announce()
}

// set says which process is ready; where none is, what the host does instead.
func (s *supervisor) set(p *process, otherwise phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.phase = p, otherwise
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

// acquire counts a call to the process that is ready, until release. While one is being
// started it waits for that. The error is errAway where none is, or the start failed.
func (s *supervisor) acquire(ctx context.Context) (*process, error) {
	failed := -1
	for {
		s.mu.Lock()
		p, phase, changed := s.current, s.phase, s.changed
		if failed < 0 {
			failed = s.failed
		}
		gone := s.failed != failed && phase != stopped || phase == away
		if p != nil && !p.ended() {
			p.calls++
			s.mu.Unlock()
			return p, nil
		}
		s.mu.Unlock()
		if gone {
			return nil, errAway
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		}
	}
}

// runs waits until the host runs, be it without a handler: only then it takes messages.
func (s *supervisor) runs(ctx context.Context) error {
	for {
		s.mu.Lock()
		phase, changed := s.phase, s.changed
		s.mu.Unlock()
		if phase != stopped {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
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

// restartHandler restarts the handler that runs, without counting a crash. It returns when the
// host has taken note; several restarts at once follow each other.
func (s *supervisor) restartHandler(ctx context.Context) {
	select {
	case s.restarts <- struct{}{}:
	case <-ctx.Done():
	}
}

// A process whose connection broke may be ending. One that still listens after stillListens only
// closed the connection; the end of another is known within endWithin.
const (
	stillListens = 50 * time.Millisecond
	endWithin    = time.Second
)

// awaitEnd waits until a process whose connection broke is known to have ended, if it listens no
// more. A message abandoned before that would go to the same process at once and lose one delivery
// after the other within milliseconds, as it does where the process only closes the connection.
func (p *process) awaitEnd(ctx context.Context) {
	select {
	case <-p.done:
		return
	case <-ctx.Done():
		return
	case <-time.After(stillListens):
	}
	if connection, err := net.DialTimeout("tcp", strings.TrimPrefix(p.url, "http://"), endWithin); err == nil {
		_ = connection.Close() // nothing was sent
		return
	}
	select {
	case <-p.done:
	case <-ctx.Done():
	case <-time.After(endWithin):
	}
}

// ending is closed when the process has ended; of no process it never is.
func (p *process) ending() <-chan struct{} {
	if p == nil {
		return nil
	}
	return p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (s *supervisor) stopped() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase == stopped
}

func (s *supervisor) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current == nil {
		return 0
	}
	return s.current.pid
}
