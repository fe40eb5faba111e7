package main

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/otlp"
)

// scope names the spans and figures of this program.
const scope = "github.com/matoolkit/matoolkit/handler"

// traced begins a span for each request to the admin API, which names it when it
// knows the route. The request goes on with the trace in its header, by which the API
// names it to whoever asked.
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
