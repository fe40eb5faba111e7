package main

import (
	"context"
	"io"
	"log/slog"

	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// newLog writes JSON lines: errors to stderr, which the host takes for errors, and
// the rest to stdout. A line that is written with a context has its trace id.
func newLog(stdout, stderr io.Writer, level slog.Level) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	return slog.New(tracecontext.LogHandler(split{slog.NewJSONHandler(stdout, options), slog.NewJSONHandler(stderr, options)}))
}

type split struct{ ordinary, errors slog.Handler }

func (s split) of(level slog.Level) slog.Handler {
	if level >= slog.LevelError {
		return s.errors
	}
	return s.ordinary
}

func (s split) Enabled(ctx context.Context, level slog.Level) bool {
	return s.of(level).Enabled(ctx, level)
}

func (s split) Handle(ctx context.Context, r slog.Record) error { return s.of(r.Level).Handle(ctx, r) }

func (s split) WithAttrs(attrs []slog.Attr) slog.Handler {
	return split{s.ordinary.WithAttrs(attrs), s.errors.WithAttrs(attrs)}
}

func (s split) WithGroup(name string) slog.Handler {
	return split{s.ordinary.WithGroup(name), s.errors.WithGroup(name)}
}
