// Package panics keeps a panic in a goroutine from ending the process. One of the handler's
// processes serves many requests, and after three crashes the Functions host stops.
package panics

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/matoolkit/matoolkit/internal/logkey"
)

// Catch calls f and returns its error, or an error for its panic, which it logs with the stack.
// Each goroutine that a request starts calls it: a recover in the request's own goroutine does
// not see the panics of others.
func Catch(ctx context.Context, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			slog.ErrorContext(ctx, "panic", logkey.Panic, fmt.Sprint(p), logkey.Stack, string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}
