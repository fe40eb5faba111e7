// Package telemetry measures what a worker does: a span for each delivery of a job
// and one for each call to the tenant, metrics of both, and an audit record of each job.
// docs/reference/metrics.md lists the metrics.
//
// Nothing that it records comes from a job's parameters or result, from a message of
// an error or from an address: those hold people's names and, perhaps, passwords.
// It knows the names of instruments, not where they are sent (package otlp).
package telemetry

import (
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// scope names the spans and metrics of this package.
const scope = "github.com/matoolkit/matoolkit/worker"

// Providers make tracers and meters: package otlp's Providers. On reports whether anything is sent.
type Providers interface {
	On() bool
	Tracer(name string) trace.Tracer
	Meter(name string) metric.Meter
	Logger(name string) log.Logger
}

// Recorder records jobs and calls. It is safe for concurrent use.
type Recorder struct {
	on     bool
	tracer trace.Tracer
	audit  log.Logger

	running   metric.Int64UpDownCounter
	duration  metric.Float64Histogram
	wait      metric.Float64Histogram
	again     metric.Int64Counter
	calls     metric.Float64Histogram
	throttles metric.Int64Counter
	retries   metric.Int64Counter
}

// New makes a recorder.
func New(p Providers) (*Recorder, error) {
	meter := p.Meter(scope)
	i := instruments{meter: meter}
	r := &Recorder{
		on:     p.On(),
		tracer: p.Tracer(scope),
		audit:  p.Logger(scope),

		running: i.upDown("matoolkit.worker.jobs.running", "{job}", "jobs that run now"),
		duration: i.histogram("matoolkit.worker.job.duration", "runtime of jobs, by matoolkit.function and matoolkit.outcome",
			.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
		wait: i.histogram("matoolkit.worker.job.wait", "time from the enqueueing of a job to its first delivery, by matoolkit.function",
			.005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600),
		again: i.counter("matoolkit.worker.job.redeliveries", "{delivery}", "deliveries of a job after its first, by matoolkit.function"),
		calls: i.histogram("matoolkit.worker.call.duration", "duration of calls to the tenant, by matoolkit.api, matoolkit.operation and http.response.status_code",
			.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 100),
		throttles: i.counter("matoolkit.worker.call.throttles", "{call}", "calls that the tenant throttled, by matoolkit.api"),
		retries:   i.counter("matoolkit.worker.call.retries", "{call}", "calls that repeat a failed call, by matoolkit.api"),
	}
	return r, i.err
}

// instruments keeps the first error of those that are made.
type instruments struct {
	meter metric.Meter
	err   error
}

func (i *instruments) keep(err error) {
	if i.err == nil {
		i.err = err
	}
}

func (i *instruments) histogram(name, what string, seconds ...float64) metric.Float64Histogram {
	h, err := i.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(what), metric.WithExplicitBucketBoundaries(seconds...))
	i.keep(err)
	return h
}

func (i *instruments) counter(name, unit, what string) metric.Int64Counter {
	c, err := i.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(what))
	i.keep(err)
	return c
}

func (i *instruments) upDown(name, unit, what string) metric.Int64UpDownCounter {
	c, err := i.meter.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(what))
	i.keep(err)
	return c
}
