// Package functionshost runs a staged Azure Functions app on one machine: it
// starts the real executable of a custom handler and drives it over the host's
// protocol, with the app's timer, Service Bus and HTTP triggers.
//
// When the handler ends it does what a host of 2024 was seen to do. After exit status 0
// it starts no other handler, and each call fails at once, so that a message loses its
// deliveries within milliseconds. After 200 it starts another. Any other end is a crash:
// the first two of 30 minutes are followed by another handler at once, the third stops
// the host, which the platform, that is this package, starts again after Config.Restart.
//
// It knows the host's side of the protocol and nothing of what the app does. It
// honours its configuration or refuses to start; it never guesses. It behaves as a host
// of 2024 did that was built from source, with the proxying of 2025: TestConformance has
// a case for each thing that was seen.
//
// Routes under /_local/ exist in no Azure host: they move the clock forward and run
// a timer to its end. GET /_local/clock answers {"now":…,"offsetSeconds":…},
// and so does POST with {"advance":"5d"} or {"to":"2026-03-06T09:00:00Z"}, once the
// handler goes by the moved clock: the calls that run end, the clock is moved, and
// the host starts another process of the handler, with the offset in ClockSetting.
// An occurrence of a timer that the clock was moved over fires once, as past due.
package functionshost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
	"github.com/matoolkit/matoolkit/local/clock"
)

// Config of a Server.
type Config struct {
	AppDir   string            // the staged folder: host.json, the handler, <function>/function.json
	Addr     string            // loopback address of the HTTP triggers; "" means 127.0.0.1:7071
	Listener net.Listener      // on that address, open already; the server closes it. nil: it opens its own
	Settings map[string]string // app settings: the handler's environment, %SETTING% and connections
	DataDir  string            // keeps the timers' schedule status; "" keeps it in memory
	Clock    *clock.Clock      // of the timers and the handler; nil: the real time, which cannot be moved
	Logger   *slog.Logger      // what the host itself says; nil: slog.Default
	Output   io.Writer         // the handler's lines, each behind its level; nil: Logger
	Restart  time.Duration     // until the platform starts the host again that has stopped; 0 means five seconds

	MasterKey       string        // of /admin; "" means DefaultMasterKey
	InvocationCPU   time.Duration // CPU time that each invocation of a message or timer uses in the host beside its own; 0 for none
	Exchanges       string        // an existing folder to which each exchange over HTTP is written, for TakeExchanges; "" for none
	WithoutProxying bool          // ignore enableProxyingHttpRequest, as hosts before April 2025 do

	answer time.Duration // how long a proxied request may go without an answer; 0 means answerWithin
}

// Server is a running host. It is safe for concurrent use.
type Server struct {
	app        *application
	settings   map[string]string
	dataDir    string
	clock      *clock.Clock
	movable    bool
	log        *slog.Logger
	burnt      time.Duration // CPU time for each invocation
	lines      *lines
	restart    time.Duration
	masterKey  string
	answer     time.Duration
	supervisor *supervisor
	// handlerPort is the supervisor's until that has ended.
	handlerPort heldPort

	exchanges       exchanges
	withoutProxying bool
	timers          map[string]*timerTrigger

	listener net.Listener
	http     *http.Server
	running  context.Context    // until the triggers are ended
	stop     context.CancelFunc // ends the triggers
	kill     context.CancelFunc // ends the process and what it still runs
	started  time.Time
	triggers sync.WaitGroup
	process  sync.WaitGroup
	close    sync.Once
	closeErr error
}

// grace is how long Close waits for invocations that are running.
const grace = 5 * time.Second

// Start loads the app, starts its handler and, once that answers, its triggers.
// ctx bounds the start and ends the server when it ends.
func Start(ctx context.Context, c Config) (*Server, error) {
	if c.Addr == "" {
		c.Addr = "127.0.0.1:7071"
	}
	movable := c.Clock != nil
	if !movable {
		c.Clock = clock.New(nil)
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Restart == 0 {
		c.Restart = 5 * time.Second
	}
	c.MasterKey, c.answer = cmp.Or(c.MasterKey, DefaultMasterKey), cmp.Or(c.answer, answerWithin)
	dir, err := filepath.Abs(c.AppDir)
	if err != nil {
		return nil, fmt.Errorf("functions host: %w", err)
	}
	app, err := load(dir, c.Settings)
	if err != nil {
		return nil, fmt.Errorf("functions host: %w", err)
	}
	host, _, err := net.SplitHostPort(c.Addr)
	if err != nil || !loopback.Is(host) {
		return nil, fmt.Errorf("functions host: invalid address %q: use a loopback address with a port", c.Addr)
	}
	s := &Server{
		app: app, settings: c.Settings, dataDir: c.DataDir, clock: c.Clock, movable: movable, log: c.Logger, restart: c.Restart, started: time.Now(),
		lines:     &lines{out: c.Output, log: c.Logger},
		masterKey: c.MasterKey, answer: c.answer, withoutProxying: c.WithoutProxying, exchanges: exchanges(c.Exchanges), burnt: c.InvocationCPU,
		timers: map[string]*timerTrigger{},
	}
	s.listener = c.Listener
	if s.listener == nil {
		s.listener, err = net.Listen("tcp", c.Addr)
	}
	if err != nil {
		return nil, fmt.Errorf("functions host: %w", err)
	}
	if err := s.start(ctx, dir); err != nil {
		_ = s.Close() // the start's own error is the one to tell
		return nil, fmt.Errorf("functions host: %w", err)
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, dir string) error {
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	running, stop := context.WithCancel(life)
	s.kill, s.running, s.stop = kill, running, stop
	triggers, err := s.prepare()
	if err != nil {
		return err
	}
	handler := s.app.host.CustomHandler
	s.supervisor = newSupervisor(command{
		path: under(dir, handler.Description.DefaultExecutablePath), dir: under(dir, handler.Description.WorkingDirectory),
		arguments: handler.Description.Arguments, settings: s.settings, appDir: dir,
		clock: s.clock, port: &s.handlerPort, timeout: time.Duration(handler.InitializationTimeout), answer: s.answer,
	}, s.lines, s.log, 64+len(s.app.functions)*s.app.host.Extensions.ServiceBus.MaxConcurrentCalls, s.restart)
	p, err := s.supervisor.command.start(ctx, s.lines, s.supervisor.connections, 0)
	if err != nil {
		return err
	}
	s.supervisor.set(p, starting)
	s.process.Go(func() { s.supervisor.run(life, p) })
	for _, trigger := range triggers {
		s.triggers.Go(func() { trigger(running, life) })
	}
	s.http = &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelWarn)}
	s.process.Go(func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.log.Error("the host's HTTP server ended", "error", err)
		}
	})
	context.AfterFunc(ctx, func() { _ = s.Close() }) // the caller that cancelled needs no answer
	return nil
}

// prepare makes the triggers, each a function that runs until its first context
// ends and whose invocations may go on until the second does.
func (s *Server) prepare() ([]func(running, life context.Context), error) {
	var triggers []func(running, life context.Context)
	for _, f := range s.app.functions {
		switch {
		case f.timer != nil:
			t, err := newTimer(s, f.name, f.timer)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			s.timers[strings.ToLower(f.name)] = t
			triggers = append(triggers, t.run)
		case f.bus != nil:
			t, err := newServiceBus(s, f.name, f.bus)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
			triggers = append(triggers, t.run)
		}
	}
	return triggers, nil
}

// Addr is the address of the HTTP triggers, host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the base address of the HTTP triggers, without the route prefix.
func (s *Server) URL() string { return "http://" + s.Addr() }

// HandlerPID is the process id of the handler, 0 while none is ready.
func (s *Server) HandlerPID() int { return s.supervisor.pid() }

// Close stops the triggers, waits up to five seconds for what runs, and kills the
// handler, which the host gives no notice. The message of a call that succeeds meanwhile is
// abandoned all the same.
func (s *Server) Close() error {
	s.close.Do(func() {
		s.stop()
		if s.http != nil {
			ctx, cancel := context.WithTimeout(context.Background(), grace)
			if s.http.Shutdown(ctx) != nil {
				s.closeErr = s.http.Close()
			}
			cancel()
		} else {
			s.closeErr = s.listener.Close()
		}
		done := make(chan struct{})
		go func() { s.triggers.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(grace):
			s.log.Warn("the host stops while invocations run; their messages will be redelivered")
		}
		s.kill()
		<-done
		s.process.Wait()
		s.handlerPort.release()
	})
	return s.closeErr
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
