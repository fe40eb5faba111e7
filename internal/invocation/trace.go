package invocation

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// begin begins the span of a call. It continues the trace that the message carries,
// so that all that one trigger sets going is one trace, wherever the host has its own:
// the host's span is the parent where it is of the same trace, as it is of a Service
// Bus trigger in Azure, or where there is no other, and is linked otherwise. The
// span records no error texts, which may quote a message.
func (s *Server) begin(ctx context.Context, header http.Header, call *Call) (context.Context, func(error)) {
	sent := tracecontext.Extract(call.Properties)
	hosts := trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.HeaderCarrier(header)))
	parent, linked := hosts, false
	if sent.IsValid() && sent.TraceID() != hosts.TraceID() {
		parent, linked = sent, hosts.IsValid()
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	if s.tracer == nil {
		return ctx, func(error) {}
	}
	kind := trace.SpanKindInternal // the timer's
	attributes := []attribute.KeyValue{
		attribute.String("faas.name", call.Function), attribute.String("faas.invocation_id", call.ID),
	}
	if call.MessageID != "" {
		kind = trace.SpanKindConsumer
		attributes = append(attributes, attribute.String("messaging.system", "servicebus"), attribute.Int("matoolkit.delivery_count", call.DeliveryCount))
		if t, ok := call.Properties[message.PropertyMessageType].(string); ok && known[t] {
			attributes = append(attributes, attribute.String("matoolkit.message_type", t))
		}
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(kind), trace.WithAttributes(attributes...)}
	if linked {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: hosts}))
	}
	ctx, span := s.tracer.Start(ctx, call.Function, options...)
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// known are the types of messages that are recorded as they are.
var known = map[string]bool{
	message.TypeBatchInit: true, message.TypePhaseDue: true, message.TypeMemberAdded: true, message.TypeMemberRemoved: true,
	message.TypePollCheck: true, message.TypeRetryCheck: true, message.TypeDeadlineCheck: true, message.TypeBatchWork: true,
	message.TypeWorkerResult: true, message.TypeWorkerResults: true, message.TypeWorkerCatalog: true, message.TypeWorkerHeartbeat: true,
}

func duration(meter metric.Meter) metric.Float64Histogram {
	h, err := meter.Float64Histogram("matoolkit.invocation.duration", metric.WithUnit("s"),
		metric.WithDescription("duration of invocations, by faas.name and matoolkit.outcome"),
		metric.WithExplicitBucketBoundaries(.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 600))
	if err != nil { // the name is right, so it does not happen
		return nometric.Float64Histogram{}
	}
	return h
}

func (s *Server) measure(ctx context.Context, function string, took time.Duration, err error) {
	if s.duration == nil {
		return
	}
	outcome := "success"
	if err != nil {
		outcome = "failure"
	}
	s.duration.Record(ctx, took.Seconds(), metric.WithAttributes(attribute.String("faas.name", function), attribute.String("matoolkit.outcome", outcome)))
}
