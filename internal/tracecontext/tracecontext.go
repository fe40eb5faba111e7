// Package tracecontext carries a trace in the application properties of messages,
// as W3C Trace Context: traceparent and tracestate. It knows no exporter: a trace
// that comes in goes on through a program that sends no telemetry itself.
package tracecontext

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// properties are a carrier. A value that is no string counts as absent.
type properties map[string]any

func (p properties) Get(key string) string {
	s, _ := p[key].(string)
	return s
}

func (p properties) Set(key, value string) { p[key] = value }

func (p properties) Keys() []string {
	keys := make([]string, 0, len(p))
	for key := range p {
		keys = append(keys, key)
	}
	return keys
}

// Extract is the trace that a message carries; invalid where it carries none.
func Extract(message map[string]any) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), properties(message)))
}

// diagnosticID is where Azure's SDKs put the trace before there was a standard. Some
// still write both.
const diagnosticID = "Diagnostic-Id"

// maxState is how much of a tracestate is passed on, in bytes: what W3C asks for at
// least. It comes from outside, and a message has room for its body and little else.
const maxState = 512

// With returns ctx with the trace of another context; without a trace where that has none.
func With(ctx, of context.Context) context.Context {
	return trace.ContextWithSpan(ctx, trace.SpanFromContext(of))
}

// Inject has a message carry the trace of ctx. It changes nothing where ctx has none.
func Inject(ctx context.Context, message map[string]any) {
	if !trace.SpanContextFromContext(ctx).IsValid() {
		return
	}
	delete(message, "tracestate") // of another trace
	propagation.TraceContext{}.Inject(ctx, properties(message))
	if state, _ := message["tracestate"].(string); len(state) > maxState {
		delete(message, "tracestate")
	}
	if _, old := message[diagnosticID]; old {
		message[diagnosticID] = message["traceparent"]
	}
}
