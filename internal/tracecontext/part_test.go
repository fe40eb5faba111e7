package tracecontext_test

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// TestPartOfAMessage: a part continues the trace that it carries, with a link to the message.
func TestPartOfAMessage(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("t")
	ctx, whole := tracer.Start(t.Context(), "whole")
	const parent = "00-11000000000000000000000000000000-2200000000000000-01"

	of, end := tracecontext.StartPart(ctx, "worker-result", map[string]any{"traceparent": parent})
	if at := trace.SpanContextFromContext(of); at.TraceID().String() != parent[3:35] || at.SpanID().String() == parent[36:52] {
		t.Errorf("the part is in trace %s, span %s", at.TraceID(), at.SpanID())
	}
	end(nil)
	_, end = tracecontext.StartPart(ctx, "worker-result", nil)
	end(errors.New("it failed"))

	spans := recorder.Ended()
	if len(spans) != 2 {
		t.Fatalf("%d spans", len(spans))
	}
	if s := spans[0]; s.Name() != "worker-result" || s.Parent().SpanID().String() != parent[36:52] || len(s.Links()) != 1 || s.Links()[0].SpanContext.SpanID() != whole.SpanContext().SpanID() || s.Status().Code != codes.Unset {
		t.Errorf("%+v", s)
	}
	if s := spans[1]; s.Parent().SpanID() != whole.SpanContext().SpanID() || len(s.Links()) != 0 || s.Status().Code != codes.Error {
		t.Errorf("%+v", s)
	}
}

// TestPartWithoutTelemetry: a program that records nothing passes the trace of the part on.
func TestPartWithoutTelemetry(t *testing.T) {
	t.Parallel()
	const parent = "00-11000000000000000000000000000000-2200000000000000-01"
	ctx, end := tracecontext.StartPart(t.Context(), "worker-result", map[string]any{"traceparent": parent})
	defer end(nil)
	next := map[string]any{}
	if tracecontext.Inject(ctx, next); next["traceparent"] != parent {
		t.Errorf("passed on: %v", next)
	}
}
