package telemetry

import (
	"context"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/log"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/dispatch"
)

// Outcomes of a delivery.
const (
	OutcomeSuccess   = "success"
	OutcomeFailure   = "failure"
	OutcomeThrottled = "throttled"  // failed because the tenant's limits were never lifted
	OutcomeGivenBack = "given-back" // the worker stopped first
)

// otherFunction stands for the name of a function that this worker does not have:
// it came with a job and could be anything.
const otherFunction = "other"

// Jobs watches the jobs of a worker that has these functions. Where nothing is sent, it only passes
// the traces of the jobs on.
func (r *Recorder) Jobs(functions *catalog.Catalog) dispatch.Observer {
	if !r.on {
		return passing{}
	}
	known := map[string]string{}
	for _, f := range functions.Functions() {
		known[strings.ToLower(f.Name)] = f.Name
	}
	return &jobs{Recorder: r, known: known}
}

type passing struct{}

func (passing) Received(ctx context.Context, d dispatch.Delivery) (context.Context, func(dispatch.Outcome)) {
	if d.Trace.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, d.Trace)
	}
	return ctx, func(dispatch.Outcome) {}
}

type jobs struct {
	*Recorder
	known map[string]string // the names that are recorded, by themselves in lower case: jobs have them in any
}

// Received begins the span of a delivery as a child of the sender's span.
func (j *jobs) Received(ctx context.Context, d dispatch.Delivery) (context.Context, func(dispatch.Outcome)) {
	r := j.Recorder
	began := time.Now()
	name := j.function(d.Job.FunctionName)
	function := attribute.String("matoolkit.function", name)
	if d.Trace.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, d.Trace)
	}
	ctx, span := r.tracer.Start(ctx, "job "+name, trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(began), trace.WithAttributes(
		function,
		attribute.String("messaging.system", "servicebus"),
		attribute.String("messaging.destination.name", message.TopicWorkerJobs),
		attribute.Int64("matoolkit.batch_id", int64(d.Job.CorrelationData.BatchID)),
		attribute.Int64("matoolkit.step_execution_id", d.Job.CorrelationData.StepExecutionID),
		attribute.String("matoolkit.job_id", d.Job.JobID),
		attribute.Int("matoolkit.delivery_count", d.Count),
	))
	r.running.Add(ctx, 1)
	if d.Count > 1 {
		r.again.Add(ctx, 1, metric.WithAttributes(function))
	} else if !d.EnqueuedAt.IsZero() {
		// Two clocks: a wait of nearly nothing may come out negative.
		wait := max(began.Sub(d.EnqueuedAt), 0)
		r.wait.Record(ctx, wait.Seconds(), metric.WithAttributes(function))
		span.SetAttributes(attribute.Int64("matoolkit.wait_ms", wait.Milliseconds()))
	}
	return ctx, func(o dispatch.Outcome) {
		r.running.Add(ctx, -1)
		outcome := attribute.String("matoolkit.outcome", outcomeOf(o))
		span.SetAttributes(outcome, attribute.Bool("matoolkit.ran", o.Ran))
		if e := o.Result.Error; o.Answered && e != nil {
			span.SetStatus(codes.Error, "")
			span.SetAttributes(attribute.String("error.type", kind(e.Type)), attribute.Int("matoolkit.attempts", e.Attempts))
		}
		if o.Answered && o.Ran {
			took := time.Duration(o.Result.DurationMs) * time.Millisecond
			r.duration.Record(ctx, took.Seconds(), metric.WithAttributes(function, outcome))
		}
		j.recordAudit(ctx, name, d, o)
		span.End()
	}
}

// auditRecord is the text of the audit record of a job, by which queries select it.
const auditRecord = "job ended"

// recordAudit emits the audit record of a delivery: which function the worker ran for which
// step of which batch, and how it ended. The resource names the worker and the tenant.
func (j *jobs) recordAudit(ctx context.Context, function string, d dispatch.Delivery, o dispatch.Outcome) {
	var r log.Record
	r.SetTimestamp(time.Now())
	r.SetBody(attribute.StringValue(auditRecord))
	r.SetSeverity(log.SeverityInfo)
	r.AddAttributes(
		attribute.String("matoolkit.function", function), attribute.String("matoolkit.outcome", outcomeOf(o)), attribute.Bool("matoolkit.ran", o.Ran),
		attribute.Int64("matoolkit.batch_id", int64(d.Job.CorrelationData.BatchID)), attribute.Int64("matoolkit.step_execution_id", d.Job.CorrelationData.StepExecutionID),
		attribute.String("matoolkit.job_id", d.Job.JobID), attribute.Int("matoolkit.delivery_count", d.Count),
	)
	if o.Answered && o.Ran {
		r.AddAttributes(attribute.Int64("matoolkit.duration_ms", o.Result.DurationMs))
	}
	if e := o.Result.Error; o.Answered && e != nil {
		r.SetSeverity(log.SeverityWarn)
		r.AddAttributes(attribute.String("error.type", kind(e.Type)), attribute.Int("matoolkit.attempts", e.Attempts))
	}
	j.audit.Emit(ctx, r)
}

func (j *jobs) function(name string) string {
	if known, ok := j.known[strings.ToLower(name)]; ok {
		return known
	}
	return otherFunction
}

func outcomeOf(o dispatch.Outcome) string {
	switch {
	case !o.Answered:
		return OutcomeGivenBack
	case o.Result.Error == nil:
		return OutcomeSuccess
	case o.Result.Error.IsThrottled:
		return OutcomeThrottled
	}
	return OutcomeFailure
}

// kind is the type of a failure where it is a word. Types come from the tenant, and
// from custom functions, too.
func kind(failure string) string {
	for _, c := range failure {
		if c != '_' && c != '.' && c != ' ' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') {
			return catalog.FailureUnknown
		}
	}
	if len(failure) > 64 {
		return catalog.FailureUnknown
	}
	return failure
}
