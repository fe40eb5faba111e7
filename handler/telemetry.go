package main

import (
	"context"
	"net/http"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/otlp"
)

// scope names the spans and metrics of this program.
const scope = "github.com/matoolkit/matoolkit/handler"

// traced begins a span for each request to the admin API, which names the span
// after the route. It passes the trace on in a header, and the API returns the trace
// id to the caller.
func traced(measured *otlp.Providers, api http.Handler) http.Handler {
	if !measured.On() {
		return api
	}
	tracer := measured.Tracer(scope)
	w3c := propagation.TraceContext{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, span := tracer.Start(w3c.Extract(r.Context(), propagation.HeaderCarrier(r.Header)), r.Method,
			trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String("http.request.method", r.Method)))
		defer span.End()
		r = r.WithContext(ctx)
		r.Header = r.Header.Clone()
		w3c.Inject(ctx, propagation.HeaderCarrier(r.Header))
		api.ServeHTTP(w, r)
	})
}

// watched is a Watcher that records the age of the oldest message. It uses a histogram with a
// value for each read: a process whose timer has moved to another would keep exporting the last
// value of a gauge.
type watched struct {
	bus.Watcher
	now func() time.Time
	age metric.Float64Histogram
}

func newWatched(w bus.Watcher, now func() time.Time, meter metric.Meter) (*watched, error) {
	age, err := meter.Float64Histogram("matoolkit.oldest_message.age", metric.WithUnit("s"),
		metric.WithDescription("age of the oldest message that waits for the handler, measured at each tick, by matoolkit.topic"),
		metric.WithExplicitBucketBoundaries(0, 1, 5, 15, 30, 60, 120, 300, 600, 900, 1800, 3600))
	return &watched{Watcher: w, now: now, age: age}, err
}

// Oldest reads and records the age of the oldest message.
func (w *watched) Oldest(ctx context.Context, topic, subscription string) (at time.Time, found bool, err error) {
	if at, found, err = w.Watcher.Oldest(ctx, topic, subscription); err != nil {
		return at, found, err
	}
	age := time.Duration(0)
	if found {
		age = max(0, w.now().Sub(at))
	}
	w.age.Record(ctx, age.Seconds(), metric.WithAttributes(attribute.String("matoolkit.topic", topic)))
	return at, found, nil
}
