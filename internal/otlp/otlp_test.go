package otlp_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otellog "go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/otlp"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/collector"
)

func begin(t *testing.T, environment map[string]string) (*otlp.Providers, error) {
	t.Helper()
	return otlp.Start(t.Context(), otlp.Config{
		Service: "testee", Version: "v7", Attributes: map[string]string{"matoolkit.worker_id": "worker-01"},
		Getenv: func(name string) string { return environment[name] }, Log: slog.New(slog.DiscardHandler),
	})
}

func collect(t *testing.T) *collector.Server {
	t.Helper()
	c, err := collector.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestSpansMetricsAndLogRecordsArrive(t *testing.T) {
	t.Parallel()
	c := collect(t)
	p, err := begin(t, map[string]string{otlp.EnvEndpoint: c.URL() + "/", otlp.EnvHeaders: "Authorization=Bearer%20k3y, x-tenant = a"})
	if err != nil || !p.On() {
		t.Fatal(err)
	}
	c.Refuse(http.StatusServiceUnavailable, http.StatusTooManyRequests) // it asks to be tried again
	ctx, outer := p.Tracer("t").Start(t.Context(), "outer")
	_, inner := p.Tracer("t").Start(ctx, "inner", trace.WithAttributes(attribute.Int("n", 3), attribute.Bool("b", true)))
	inner.End()
	outer.End()
	meter := p.Meter("m")
	counter, _ := meter.Int64Counter("c")
	counter.Add(ctx, 2, metric.WithAttributes(attribute.String("api", "graph")))
	running, _ := meter.Int64UpDownCounter("r")
	running.Add(ctx, -1)
	took, _ := meter.Float64Histogram("h", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(1, 2))
	took.Record(ctx, 1.5)
	var record otellog.Record
	record.SetBody(attribute.StringValue("ended"))
	record.AddAttributes(attribute.Int("n", 4))
	p.Logger("l").Emit(ctx, record)
	p.Close(t.Context())

	records := c.Records()
	if len(records) != 1 || records[0].GetBody().GetStringValue() != "ended" || records[0].Attributes()["n"] != "4" || records[0].Resource["service.name"] != "testee" {
		t.Fatalf("log records %v", records)
	}
	spans := c.Spans()
	if len(spans) == 2 && !bytes.Equal(records[0].TraceId, spans[1].TraceId) {
		t.Errorf("the log record is of another trace")
	}
	if len(spans) != 2 || spans[0].Name != "inner" || !bytes.Equal(spans[0].ParentSpanId, spans[1].SpanId) || !bytes.Equal(spans[0].TraceId, spans[1].TraceId) {
		t.Fatalf("got %v", spans)
	}
	if got := spans[0].Attributes(); !maps.Equal(got, map[string]string{"n": "3", "b": "true"}) {
		t.Errorf("attributes %v", got)
	}
	for key, want := range map[string]string{"service.name": "testee", "service.version": "v7", "matoolkit.worker_id": "worker-01"} {
		if got := spans[0].Resource[key]; got != want {
			t.Errorf("resource: %s is %q", key, got)
		}
	}
	if _, told := spans[0].Resource["process.command_args"]; told {
		t.Error("the command line is told")
	}
	all := c.Metrics()
	if len(all) != 1 || len(all[0].GetScopeMetrics()) != 1 || len(all[0].GetScopeMetrics()[0].GetMetrics()) != 3 {
		t.Fatalf("metrics %v", all)
	}
	for _, m := range all[0].GetScopeMetrics()[0].GetMetrics() {
		switch m.GetName() {
		case "c":
			if p := m.GetSum().GetDataPoints(); !m.GetSum().GetIsMonotonic() || len(p) != 1 || p[0].GetAsInt() != 2 || p[0].GetAttributes()[0].GetValue().GetStringValue() != "graph" {
				t.Error(m)
			}
		case "r":
			if p := m.GetSum().GetDataPoints(); m.GetSum().GetIsMonotonic() || len(p) != 1 || p[0].GetAsInt() != -1 {
				t.Error(m)
			}
		case "h":
			if p := m.GetHistogram().GetDataPoints(); m.GetUnit() != "s" || len(p) != 1 || p[0].GetSum() != 1.5 || p[0].GetMin() != 1.5 ||
				!slices.Equal(p[0].GetBucketCounts(), []uint64{0, 1, 0}) || !slices.Equal(p[0].GetExplicitBounds(), []float64{1, 2}) {
				t.Error(m)
			}
		default:
			t.Error(m)
		}
	}
	for _, h := range c.Headers() {
		if h.Get("Authorization") != "Bearer k3y" || h.Get("X-Tenant") != "a" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestOffUnlessThereIsAnEndpoint(t *testing.T) {
	t.Parallel()
	for note, environment := range map[string]map[string]string{
		"nothing":  {},
		"disabled": {otlp.EnvEndpoint: "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		"neither":  {otlp.EnvEndpoint: "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"},
	} {
		p, err := begin(t, environment)
		if err != nil || p.On() {
			t.Errorf("%s: %v", note, err)
			continue
		}
		// A trace that came in is passed on all the same.
		came := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, Remote: true})
		ctx, span := p.Tracer("t").Start(trace.ContextWithRemoteSpanContext(t.Context(), came), "s")
		span.End()
		if got := trace.SpanContextFromContext(ctx); got.TraceID() != came.TraceID() || got.SpanID() != came.SpanID() {
			t.Errorf("%s: the trace is lost: %v", note, got)
		}
		p.Close(t.Context())
	}
}

func TestOneSignalCanGoElsewhere(t *testing.T) {
	t.Parallel()
	c, other := collect(t), collect(t)
	p, err := begin(t, map[string]string{otlp.EnvEndpoint: c.URL(), otlp.EnvTracesEndpoint: other.URL() + "/v1/traces", "OTEL_METRICS_EXPORTER": "none"})
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.Tracer("t").Start(t.Context(), "s")
	span.End()
	p.Close(t.Context())
	if len(c.Spans()) != 0 || len(other.Spans()) != 1 || len(c.Headers()) != 0 {
		t.Errorf("%d and %d spans", len(c.Spans()), len(other.Spans()))
	}
}

// The headers hold a key for the configured collector only.
func TestACollectorThatSendsElsewhereIsNotFollowed(t *testing.T) {
	t.Parallel()
	other := collect(t)
	moved := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL()+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(moved.Close)
	p, err := begin(t, map[string]string{otlp.EnvEndpoint: moved.URL, otlp.EnvHeaders: "api-key=s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	_, span := p.Tracer("t").Start(t.Context(), "s")
	span.End()
	p.Close(t.Context())
	if len(other.Spans()) != 0 || len(other.Headers()) != 0 {
		t.Errorf("another server was told %d spans and %v", len(other.Spans()), other.Headers())
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, value, want string }{
		{otlp.EnvEndpoint, "collector:4318", "OTEL_EXPORTER_OTLP_ENDPOINT is not the URL"},
		{otlp.EnvEndpoint, "http://user:s3cret@127.0.0.1:4318", "OTEL_EXPORTER_OTLP_ENDPOINT is not the URL"},
		{otlp.EnvMetricsEndpoint, "ftp://127.0.0.1", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT is not the URL"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "thrift", `OTEL_EXPORTER_OTLP_PROTOCOL: "thrift" is not supported`},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json", `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/json" is not supported`},
		{"OTEL_TRACES_EXPORTER", "zipkin", `OTEL_TRACES_EXPORTER: "zipkin" is neither otlp nor none`},
		{otlp.EnvHeaders, "s3cret", "OTEL_EXPORTER_OTLP_HEADERS is not a comma-separated list"},
		{otlp.EnvHeaders, "a=s3cret%0d%0ab", "OTEL_EXPORTER_OTLP_HEADERS is not a comma-separated list"},
	} {
		environment := map[string]string{otlp.EnvEndpoint: "http://127.0.0.1:1"}
		environment[tc.name] = tc.value
		_, err := begin(t, environment)
		if err == nil || strings.Count(err.Error(), tc.want) != 1 || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s=%s: want %q once, got %v", tc.name, tc.value, tc.want, err)
		}
	}
}

// A platform that has a collector for gRPC tells every process of it. Who cannot
// speak to it runs without.
func TestCollectorOfThePlatformThatSpeaksGRPCIsLeftAlone(t *testing.T) {
	t.Parallel()
	c := collect(t)
	for name, want := range map[string]int{"OTEL_EXPORTER_OTLP_PROTOCOL": 0, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": 1} {
		log := &testenv.Buffer{} // the SDK has one handler of errors, so that another test's can come here
		environment := map[string]string{otlp.EnvEndpoint: c.URL(), name: "grpc"}
		p, err := otlp.Start(t.Context(), otlp.Config{
			Service: "testee", Getenv: func(name string) string { return environment[name] }, Log: slog.New(slog.NewTextHandler(log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		_, span := p.Tracer("t").Start(t.Context(), "s")
		span.End()
		counter, _ := p.Meter("m").Int64Counter("c")
		counter.Add(t.Context(), 1)
		before := len(c.Spans())
		p.Close(t.Context())
		if got := len(c.Spans()) - before; got != want || len(c.Metrics()) != 0 {
			t.Errorf("%s: %d spans and %d metrics", name, got, len(c.Metrics()))
		}
		if !strings.Contains(log.String(), name+" is grpc") {
			t.Errorf("%s: nobody is told: %s", name, log.String())
		}
	}
}

// A collector that never answers, or does not exist, blocks neither the end of
// spans, nor Close beyond its time.
func TestCollectorThatIsAwayHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	deaf, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	log := &testenv.Buffer{}
	for _, endpoint := range []string{"http://" + deaf.Addr().String(), "http://127.0.0.1:1"} {
		p, err := otlp.Start(t.Context(), otlp.Config{
			Service: "testee", Getenv: func(name string) string { return map[string]string{otlp.EnvEndpoint: endpoint}[name] },
			Log: slog.New(slog.NewTextHandler(log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		counter, _ := p.Meter("m").Int64Counter("c")
		for range 5_000 { // more than twice what the queue holds
			_, span := p.Tracer("t").Start(t.Context(), "s")
			counter.Add(t.Context(), 1)
			span.End()
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: 5,000 spans took %s", endpoint, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		began = time.Now()
		p.Close(ctx)
		cancel()
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s: the end took %s", endpoint, took)
		}
	}
	if !strings.Contains(log.String(), "telemetry") {
		t.Errorf("nobody is told that telemetry is lost: %s", log.String())
	}
}
