package bench

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/matoolkit/matoolkit/local/system"
)

const readyTries = 5

// handlerReady starts the handler as a host does and returns the time until it
// answers. The services of its configuration need not run.
func handlerReady(ctx context.Context, c Config) (time.Duration, error) {
	best := time.Hour
	for range readyTries {
		took, err := startHandler(ctx, c)
		if err != nil {
			return 0, fmt.Errorf("handler: %w", err)
		}
		best = min(best, took)
	}
	return best, nil
}

func startHandler(ctx context.Context, c Config) (time.Duration, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	address := listener.Addr().(*net.TCPAddr)
	if err := listener.Close(); err != nil {
		return 0, err
	}
	env := system.At(system.Config{}).HandlerEnv()
	env["FUNCTIONS_CUSTOMHANDLER_PORT"] = fmt.Sprint(address.Port)
	began := time.Now()
	p, err := system.Spawn("handler", io.Discard, env, filepath.Join(c.App, "handler"))
	if err != nil {
		return 0, err
	}
	defer p.Kill()
	for {
		response, err := http.Get("http://" + address.String() + "/")
		if err == nil {
			return time.Since(began), response.Body.Close()
		}
		select {
		case <-p.Done():
			return 0, fmt.Errorf("the handler ended before it answered: %w", err)
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}
