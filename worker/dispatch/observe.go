package dispatch

import (
	"context"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

// Observer watches jobs pass. Calls may be concurrent and must not wait for
// anything: the job does, meanwhile.
type Observer interface {
	// Received is called for each delivery that can be answered. The function
	// runs with the context that it returns, which ends with ctx, and the result
	// carries its trace. ended is called once with the delivery's outcome.
	Received(ctx context.Context, d Delivery) (_ context.Context, ended func(Outcome))
}

// Delivery is one of a job's, as the broker gave it.
type Delivery struct {
	Job        message.Job
	EnqueuedAt time.Time         // when the broker took it, by its clock; zero where it did not say
	Count      int               // 1 with the first delivery
	Trace      trace.SpanContext // of who sent the job; invalid where it sent none
}

// Outcome is the outcome of a delivery. A stopping worker abandons a delivery
// without an answer.
type Outcome struct {
	Answered bool
	Ran      bool // whether the function ran for this delivery, and not for an earlier one or not at all
	Result   message.Result
}

func delivery(m *bus.Received, job message.Job) Delivery {
	return Delivery{Job: job, EnqueuedAt: m.EnqueuedAt, Count: m.DeliveryCount, Trace: tracecontext.Extract(m.Properties)}
}

type noObserver struct{}

func (noObserver) Received(ctx context.Context, _ Delivery) (context.Context, func(Outcome)) {
	return ctx, func(Outcome) {}
}

// traced adds the trace to the log where there is one.
func traced(ctx context.Context, log *slog.Logger) *slog.Logger {
	if at := trace.SpanContextFromContext(ctx); at.IsValid() {
		return log.With(logkey.TraceID, at.TraceID().String())
	}
	return log
}
