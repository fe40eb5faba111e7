package dispatch_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/servicebus"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// A worker is ready while its broker answers, though no job comes; without its
// broker it is alive all the same.
func TestReadyWhileTheBrokerAnswers(t *testing.T) {
	t.Parallel()
	addr := testenv.Address(t)
	first := serve(t, addr, servicebus.DefaultTopology())
	release := make(chan struct{})
	f := until(release)
	loop := testenv.Must(dispatch.New(dial(t, first.ConnectionString()), f, dispatch.Config{
		WorkerID: workerID, MaxParallelism: 1, Backoff: 10 * time.Millisecond, MaxBackoff: 100 * time.Millisecond, Log: slog.New(slog.DiscardHandler),
	}))(t)
	becomes := func(what, why string) {
		t.Helper()
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for end := time.After(patience); ; {
			err := loop.Ready()
			if why == "" && err == nil || why != "" && err != nil && strings.Contains(err.Error(), why) {
				return
			}
			select {
			case <-look.C:
			case <-end:
				t.Fatalf("%s: ready is %v, want %q", what, err, why)
			}
		}
	}
	becomes("before it runs", "starting")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		loop.Run(ctx)
	}()
	becomes("with its broker", "")
	if left := first.Close(); left != nil {
		t.Fatal(left)
	}
	becomes("without its broker", "no connection")
	if err := loop.Alive(time.Now()); err != nil {
		t.Errorf("without its broker: %v", err)
	}
	second := serve(t, addr, servicebus.DefaultTopology())
	becomes("with its broker again", "")

	// An hour later nothing has gone round: only a worker that waits for its jobs may.
	later := time.Now().Add(time.Hour)
	if err := loop.Alive(later); err == nil || !strings.Contains(err.Error(), "stuck for 1h0m") {
		t.Errorf("when it stands still: %v", err)
	}
	b := &bus{client: connect(t, second.ConnectionString())}
	b.open(t)
	b.send(t, job(1))
	awaitStart(t, f)
	full := time.NewTicker(5 * time.Millisecond)
	defer full.Stop()
	for end := time.After(patience); loop.Alive(later) != nil; {
		select {
		case <-full.C:
		case <-end:
			t.Fatal("a worker whose jobs fill it is taken to stand still")
		}
	}
	stop()
	becomes("when it stops", "stopping")
	close(release)
	await(t, "the worker stops", stopped)
	if err := loop.Alive(later); err != nil {
		t.Errorf("when it has stopped: %v", err)
	}
}
