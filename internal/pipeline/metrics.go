package pipeline

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"

	"github.com/matoolkit/matoolkit/internal/api"
)

// metrics measures how a pipeline moves over from another orchestrator.
type metrics struct {
	routes, comparisons, returns metric.Int64Counter
	share                        metric.Int64Histogram
	duration                     metric.Float64Histogram
}

// newMetrics makes the instruments. The API of metrics returns an instrument that does nothing where it
// returns an error.
func newMetrics(meter metric.Meter) metrics {
	if meter == nil {
		meter = nometric.Meter{}
	}
	var m metrics
	m.routes, _ = meter.Int64Counter("matoolkit.pipeline.routes", metric.WithDescription("answers to which orchestrator serves an owner, by matoolkit.runbook and matoolkit.orchestrator"))
	m.share, _ = meter.Int64Histogram("matoolkit.pipeline.share", metric.WithUnit("%"), metric.WithExplicitBucketBoundaries(0, 1, 5, 10, 25, 50, 75, 99, 100),
		metric.WithDescription("share of the owners of a pipeline that are moved over, measured at each tick, by matoolkit.runbook"))
	m.returns, _ = meter.Int64Counter("matoolkit.pipeline.returns", metric.WithDescription("automatic returns of a share to 0, by matoolkit.runbook"))
	m.comparisons, _ = meter.Int64Counter("matoolkit.pipeline.comparisons", metric.WithDescription("comparisons of shadows with the old orchestrator, by matoolkit.runbook and matoolkit.outcome"))
	m.duration, _ = meter.Float64Histogram("matoolkit.pipeline.compared.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(.1, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600),
		metric.WithDescription("duration of compared requests that succeeded on both sides, by matoolkit.runbook and matoolkit.orchestrator"))
	return m
}

func runbookAttribute(name string) attribute.KeyValue {
	return attribute.String("matoolkit.runbook", name)
}

func orchestratorAttribute(which string) attribute.KeyValue {
	return attribute.String("matoolkit.orchestrator", which)
}

// compared measures a comparison whose outcome is stored.
func (m *metrics) compared(ctx context.Context, c *verdict) {
	m.comparisons.Add(ctx, 1, metric.WithAttributes(runbookAttribute(c.Runbook), attribute.String("matoolkit.outcome", c.Outcome)))
	if c.bothSucceeded() {
		m.duration.Record(ctx, seconds(c.Old.Milliseconds), metric.WithAttributes(runbookAttribute(c.Runbook), orchestratorAttribute(api.OrchestratorOld)))
		m.duration.Record(ctx, seconds(c.New.Milliseconds), metric.WithAttributes(runbookAttribute(c.Runbook), orchestratorAttribute(api.OrchestratorNew)))
	}
}

func seconds(milliseconds int64) float64 {
	return (time.Duration(milliseconds) * time.Millisecond).Seconds()
}
