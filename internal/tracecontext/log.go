package tracecontext

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/logkey"
)

// LogHandler returns a handler that adds the trace id of a record's context to the record,
// if the context has one.
func LogHandler(to slog.Handler) slog.Handler { return logHandler{to} }

type logHandler struct{ slog.Handler }

func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := traceID(ctx); id != "" {
		r = r.Clone()
		r.AddAttrs(slog.String(logkey.TraceID, id))
	}
	return h.Handler.Handle(ctx, r)
}

func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

func (h logHandler) WithGroup(name string) slog.Handler { return logHandler{h.Handler.WithGroup(name)} }

type idKey struct{}

// WithID returns a context whose log records have a trace id although no span is recorded.
// Messages that are sent in it carry no trace.
func WithID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, idKey{}, id)
}

func traceID(ctx context.Context) string {
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		return span.TraceID().String()
	}
	id, _ := ctx.Value(idKey{}).(string)
	return id
}
