// Package otlp sends traces, metrics and log records to where the environment says, by
// OpenTelemetry's own variables: OTLP over HTTP with protobuf. Without an endpoint
// in the environment nothing is made, kept or sent.
//
// It knows providers and their lifetime, not the metrics. The providers are
// passed explicitly and never become the process's global ones:
// SDKs that find a global provider write spans of their own, with addresses in
// which people's names stand.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otellog "go.opentelemetry.io/otel/log"
	nolog "go.opentelemetry.io/otel/log/noop"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	notrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/matoolkit/matoolkit/internal/logkey"
)

// Variables that Start reads. Those for sampling, batches, intervals and the resource
// are read by the SDK itself, from the process's environment.
const (
	EnvEndpoint        = "OTEL_EXPORTER_OTLP_ENDPOINT"         // collector of traces, metrics and log records, such as http://collector:4318; /v1/traces, /v1/metrics and /v1/logs are added
	EnvTracesEndpoint  = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"  // whole address for traces, instead of the collector
	EnvMetricsEndpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT" // whole address for metrics, instead of the collector
	EnvLogsEndpoint    = "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"    // whole address for log records, instead of the collector
	EnvHeaders         = "OTEL_EXPORTER_OTLP_HEADERS"          // headers as name=value with commas, percent-encoded; a key belongs here

	envDisabled        = "OTEL_SDK_DISABLED"                   // `true` switches all of them off
	envTracesExporter  = "OTEL_TRACES_EXPORTER"                // `none` switches traces off
	envMetricsExporter = "OTEL_METRICS_EXPORTER"               // `none` switches metrics off
	envLogsExporter    = "OTEL_LOGS_EXPORTER"                  // `none` switches log records off
	envProtocol        = "OTEL_EXPORTER_OTLP_PROTOCOL"         // `http/protobuf` is the only protocol
	envTracesProtocol  = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"  // overrides OTEL_EXPORTER_OTLP_PROTOCOL for traces
	envMetricsProtocol = "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL" // overrides OTEL_EXPORTER_OTLP_PROTOCOL for metrics
	envLogsProtocol    = "OTEL_EXPORTER_OTLP_LOGS_PROTOCOL"    // overrides OTEL_EXPORTER_OTLP_PROTOCOL for log records
)

// Config of Providers. Service and Getenv are required.
type Config struct {
	Service, Version string            // service.name and service.version
	Attributes       map[string]string // of the resource, beside those
	Getenv           func(string) string
	HTTP             *http.Client // nil means http.DefaultTransport
	Log              *slog.Logger // of exports that fail; nil means slog.Default()
}

// Providers are where spans and measurements go. The methods are safe for
// concurrent use.
type Providers struct {
	traces  trace.TracerProvider
	metrics metric.MeterProvider
	logs    otellog.LoggerProvider
	ends    []func(context.Context) error
	log     *slog.Logger
}

// Off are providers that send nothing. A trace that comes in is passed on by them.
func Off() *Providers {
	return &Providers{traces: notrace.NewTracerProvider(), metrics: nometric.NewMeterProvider(), logs: nolog.NewLoggerProvider(), log: slog.Default()}
}

// Start makes providers from the environment. It connects to nothing: who cannot
// be reached is tried again with the next export, and what has no room in the
// queue meanwhile is lost. An error names the variable that is wrong.
func Start(ctx context.Context, config Config) (*Providers, error) {
	t := Off()
	if config.Log != nil {
		t.log = config.Log
	}
	if strings.EqualFold(strings.TrimSpace(config.Getenv(envDisabled)), "true") {
		return t, nil
	}
	traces, err := t.spoken(endpoint(config.Getenv, EnvTracesEndpoint, "/v1/traces", envTracesExporter, envTracesProtocol))
	metrics, err2 := t.spoken(endpoint(config.Getenv, EnvMetricsEndpoint, "/v1/metrics", envMetricsExporter, envMetricsProtocol))
	logs, err3 := t.spoken(endpoint(config.Getenv, EnvLogsEndpoint, "/v1/logs", envLogsExporter, envLogsProtocol))
	headers, err4 := parseHeaders(config.Getenv(EnvHeaders))
	if err := errors.Join(distinct(err, err2, err3, err4)...); err != nil {
		return nil, err
	}
	if traces == "" && metrics == "" && logs == "" {
		return t, nil
	}
	about, err := about(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	otel.SetErrorHandler(&complaints{log: t.log})
	client := exportClient(config.HTTP)
	if traces != "" {
		exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(traces), otlptracehttp.WithHeaders(headers),
			otlptracehttp.WithCompression(otlptracehttp.GzipCompression), otlptracehttp.WithHTTPClient(client))
		if err != nil {
			return nil, err
		}
		// The batcher drops spans when its queue is full: it never holds up who ends one.
		provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
		t.traces, t.ends = provider, append(t.ends, provider.Shutdown)
	}
	if metrics != "" {
		exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(metrics), otlpmetrichttp.WithHeaders(headers),
			otlpmetrichttp.WithCompression(otlpmetrichttp.GzipCompression), otlpmetrichttp.WithHTTPClient(client))
		if err != nil {
			return nil, err
		}
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)), sdkmetric.WithResource(about))
		t.metrics, t.ends = provider, append(t.ends, provider.Shutdown)
	}
	if logs != "" {
		exporter, err := otlploghttp.New(ctx, otlploghttp.WithEndpointURL(logs), otlploghttp.WithHeaders(headers),
			otlploghttp.WithCompression(otlploghttp.GzipCompression), otlploghttp.WithHTTPClient(client))
		if err != nil {
			return nil, err
		}
		provider := sdklog.NewLoggerProvider(sdklog.WithProcessor(sdklog.NewBatchProcessor(exporter)), sdklog.WithResource(about))
		t.logs, t.ends = provider, append(t.ends, provider.Shutdown)
	}
	return t, nil
}

// distinct leaves out errors that repeat another: one variable can be wrong for all signals.
func distinct(all ...error) (kept []error) {
	for _, err := range all {
		if err != nil && !slices.ContainsFunc(kept, func(other error) bool { return other.Error() == err.Error() }) {
			kept = append(kept, err)
		}
	}
	return kept
}

// about describes the process. It uses no detector for the command line, the user
// or the host: only these attributes describe the process.
func about(ctx context.Context, config Config) (*resource.Resource, error) {
	attributes := []attribute.KeyValue{
		attribute.String("service.name", config.Service), attribute.String("service.version", config.Version),
	}
	for key, value := range config.Attributes {
		attributes = append(attributes, attribute.String(key, value))
	}
	return resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(attributes...), resource.WithFromEnv())
}

// foreign is the name of a variable that requests gRPC for a collector of the
// platform: Container Apps sets such variables in every container once it has an
// agent. That is no configuration error, so the process runs without telemetry.
type foreign string

func (f foreign) Error() string { return string(f) + " is grpc, but only http/protobuf is supported" }

// spoken leaves out a signal whose collector speaks gRPC, and logs that.
func (p *Providers) spoken(endpoint string, err error) (string, error) {
	var f foreign
	if !errors.As(err, &f) {
		return endpoint, err
	}
	p.log.Warn("telemetry is off: unsupported collector protocol", logkey.Reason, f.Error())
	return "", nil
}

// endpoint is where one signal goes, empty where it goes nowhere.
func endpoint(getenv func(string) string, own, path, exporter, protocol string) (string, error) {
	switch v := strings.TrimSpace(getenv(exporter)); v {
	case "none":
		return "", nil
	case "", "otlp":
	default:
		return "", fmt.Errorf("%s: %q is neither otlp nor none", exporter, v)
	}
	name, v := own, strings.TrimSpace(getenv(own))
	if v == "" {
		name, v = EnvEndpoint, strings.TrimSpace(getenv(EnvEndpoint))
		if v == "" {
			return "", nil
		}
		v = strings.TrimRight(v, "/") + path
	}
	u, err := url.Parse(v)
	if err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		// The error does not quote the URL, which may contain a password.
		return "", fmt.Errorf("%s is not the URL of a collector, such as http://127.0.0.1:4318", name)
	}
	if err := checkProtocol(getenv, protocol); err != nil {
		return "", err
	}
	return v, nil
}

// checkProtocol returns an error if the environment names another protocol than
// http/protobuf: in the variable of one signal, or else in that of all.
func checkProtocol(getenv func(string) string, own string) error {
	for _, name := range []string{own, envProtocol} {
		switch v := strings.TrimSpace(getenv(name)); v {
		case "":
		case "http/protobuf":
			return nil
		case "grpc":
			return foreign(name)
		default:
			return fmt.Errorf("%s: %q is not supported, only http/protobuf", name, v)
		}
	}
	return nil
}

// exportTimeout bounds one request to a collector; it is OpenTelemetry's default.
const exportTimeout = 10 * time.Second

// exportClient returns a client with the transport of another one.
func exportClient(client *http.Client) *http.Client {
	own := &http.Client{Timeout: exportTimeout}
	if client != nil {
		own.Transport = client.Transport
	}
	// A redirect means a wrong setting; the headers are for the configured collector only.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return own
}

// parseHeaders reads name=value pairs. The error does not repeat them: they hold keys.
func parseHeaders(list string) (map[string]string, error) {
	all := map[string]string{}
	for pair := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		name = strings.TrimSpace(name)
		if !found || err != nil || name == "" || strings.ContainsAny(name, " \t\r\n:") || strings.ContainsAny(value, "\r\n") {
			return nil, errors.New(EnvHeaders + " is not a comma-separated list of name=value")
		}
		all[name] = value
	}
	return all, nil
}

// Tracer is for the spans of one package.
func (p *Providers) Tracer(name string) trace.Tracer { return p.traces.Tracer(name) }

// Meter is for the instruments of one package.
func (p *Providers) Meter(name string) metric.Meter { return p.metrics.Meter(name) }

// Logger is for the log records of one package.
func (p *Providers) Logger(name string) otellog.Logger { return p.logs.Logger(name) }

// On tells whether anything is sent.
func (p *Providers) On() bool { return len(p.ends) > 0 }

// Close sends the pending telemetry while ctx lasts, then stops. Later spans
// and measurements are lost.
func (p *Providers) Close(ctx context.Context) {
	var group sync.WaitGroup
	for _, end := range p.ends {
		group.Go(func() {
			if err := end(ctx); err != nil {
				p.log.WarnContext(ctx, "failed to send the last telemetry", logkey.Error, err)
			}
		})
	}
	group.Wait()
}

// complaints logs what the SDK complains of: the first at once, then one a minute.
type complaints struct {
	log *slog.Logger

	mu      sync.Mutex
	last    time.Time
	skipped int
}

// Handle takes one complaint.
func (c *complaints) Handle(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Sub(c.last) < time.Minute {
		c.skipped++
		return
	}
	c.last = now
	c.log.Warn("failed to send telemetry", logkey.Error, err, logkey.Skipped, c.skipped)
	c.skipped = 0
}
