// Command handler is the product's Azure Functions custom handler: one process
// that answers every trigger of the app, the scheduler's timer, the two Service
// Bus subscriptions and the admin API. With RabbitMQ, it needs no Functions host. It holds configuration, wiring and life
// cycle; what the triggers do is in functions/, what happens then in internal/orchestrator,
// internal/datasync, internal/admin and internal/runbooks.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/matoolkit/matoolkit/internal/buildinfo"
	"github.com/matoolkit/matoolkit/internal/heap"
	"github.com/matoolkit/matoolkit/internal/logkey"
)

func main() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() { cancel(signalled{<-signals}) }()
	go func() { awaitHostsEnd(); cancel(errHostGone) }()
	os.Exit(run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr))
}

// exitRestart is the exit status after SIGTERM. Every version of the Functions host
// starts another handler after it and does not count it as a crash. A host of 2024
// takes 0 for final: it starts no other handler, and each message that it takes loses
// all of its deliveries.
const exitRestart = 200

// signalled is the cause of a context that a signal ended.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() }

// errHostGone is the cause of a context that the end of the host ended. A host that is killed, or
// that stops with calls in flight, leaves its handler running, without anyone who ends it.
var errHostGone = errors.New("the Functions host has ended")

// hostCheck is how often the handler looks for its host.
const hostCheck = time.Second

// awaitHostsEnd returns when the process that started this one has ended: then the system gives
// this one another parent. On Windows it never returns.
func awaitHostsEnd() {
	host := os.Getppid()
	for range time.Tick(hostCheck) {
		if os.Getppid() != host {
			return
		}
	}
}

// exitStatus is the exit status after a drain. SIGTERM comes from the platform, which
// needs another handler. An interrupt comes from a person at a terminal, whose host, if
// there is one, ends by the same key: to the shell that is success.
func exitStatus(cause error) int {
	if s := (signalled{}); errors.As(cause, &s) && s.Signal == syscall.SIGTERM {
		return exitRestart
	}
	return 0
}

// heapFloor leaves room for the rest of the process below 128 MB.
const heapFloor = 72 << 20

// run serves until ctx ends and everything that runs is done. It returns the exit
// status: that of exitStatus after a drain, 1 if it cannot serve, 2 for wrong arguments.
func run(ctx context.Context, args []string, lookup func(string) string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 1 && args[0] == "--version":
		fmt.Fprintln(stdout, "handler", buildinfo.Version)
		return 0
	case len(args) > 0:
		fmt.Fprintln(stderr, "usage: handler [--version]; the Functions host starts it, with its settings in the environment")
		return 2
	}
	heap.SetFloor(heapFloor)
	s, err := readSettings(lookup)
	log := newLog(stdout, stderr, s.logLevel)
	if err == nil {
		slog.SetDefault(log)
		err = serve(ctx, s, lookup, log)
	}
	if err != nil {
		log.ErrorContext(ctx, "handler failed", logkey.Error, err)
		return 1
	}
	return exitStatus(context.Cause(ctx))
}

// quiet is how long nothing may arrive before a draining handler ends. The host
// goes on sending for a moment after it has announced the end, and restarts a
// handler that ends too early.
const quiet = time.Second

// goneTimeout is how long calls in flight may take after the host has ended. Nobody gets their
// answers, and their messages come again.
const goneTimeout = 5 * time.Second

// serve answers the host from the first moment: everything behind the triggers
// connects when it is first needed.
func serve(ctx context.Context, s settings, lookup func(string) string, log *slog.Logger) error {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)))
	if err != nil {
		return err
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	w, err := wire(life, s, lookup, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer w.close()
	var traffic traffic
	server := &http.Server{
		Handler:           traffic.count(w.handler),
		ReadHeaderTimeout: 30 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		// No idle timeout: the host keeps its connections, and one that is closed
		// just as it sends would fail an invocation.
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	log.InfoContext(ctx, "ready", logkey.Port, s.port, logkey.Version, buildinfo.Version)
	returning, stop := context.WithCancel(ctx)
	returned := make(chan struct{})
	go func() { defer close(returned); w.app.ReturnDeadLetters(returning) }()
	received := make(chan error, 1)
	go func() {
		defer close(received)
		if s.rabbitMQ.On() {
			received <- receive(returning, w, s.deadline(), log)
		}
	}()
	defer func() { // before the bus is closed
		stop()
		<-returned
		for range received {
		}
	}()
	if s.clockOffset > 0 {
		log.InfoContext(ctx, "clock moved", logkey.ClockOffset, s.clockOffset.String())
	}

	if err := wait(ctx, served, received); err != nil {
		return err
	}
	limit := s.functionTimeout
	if cause := context.Cause(ctx); errors.Is(cause, errHostGone) {
		log.WarnContext(ctx, "the host has ended; so does the handler")
		limit = goneTimeout
	}
	log.InfoContext(ctx, "draining")
	bounded, cancel := context.WithTimeout(life, limit)
	defer cancel()
	traffic.waitUntilDrained(bounded, quiet)
	if err := server.Shutdown(bounded); err != nil {
		log.WarnContext(ctx, "drain timed out; the broker redelivers unfinished messages", logkey.Error, err)
		return server.Close()
	}
	log.InfoContext(ctx, "drained")
	return nil
}
