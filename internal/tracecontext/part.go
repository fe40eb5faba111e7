package tracecontext

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// StartPart starts the span of one part of a message whose parts have traces of their own. It
// continues the trace that the part's properties carry, with a link to the span of ctx, which is
// that of the whole message; without one it is a child of that span. The caller calls end. Where
// no span is recorded the trace of the part goes on all the same.
func StartPart(ctx context.Context, kind string, properties map[string]any) (_ context.Context, end func(error)) {
	whole := trace.SpanFromContext(ctx)
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attribute.String("matoolkit.message_type", kind))}
	if sent := Extract(properties); sent.IsValid() {
		if whole.SpanContext().IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: whole.SpanContext()}))
		}
		ctx = trace.ContextWithRemoteSpanContext(ctx, sent)
	}
	ctx, span := whole.TracerProvider().Tracer("github.com/matoolkit/matoolkit/internal/tracecontext").Start(ctx, kind, options...)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}
