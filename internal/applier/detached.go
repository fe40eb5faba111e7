package applier

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	nometric "go.opentelemetry.io/otel/metric/noop"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// detachedMetrics measures the detached steps of phases. Nothing else shows them: they are no part of the outcome of a batch.
type detachedMetrics struct {
	failures metric.Int64Counter
	age      metric.Float64Histogram
}

// newDetachedMetrics makes the instruments. The API of metrics returns an instrument that does nothing where it
// returns an error.
func newDetachedMetrics(meter metric.Meter) (m detachedMetrics) {
	if meter == nil {
		meter = nometric.Meter{}
	}
	m.failures, _ = meter.Int64Counter("matoolkit.detached.failures", metric.WithDescription("phases whose detached steps failed after their last retry, by matoolkit.runbook"))
	m.age, _ = meter.Float64Histogram("matoolkit.detached.age", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(60, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400),
		metric.WithDescription("time since the begin of detached steps that have not ended, measured at each tick, by matoolkit.runbook"))
	return m
}

func ofRunbook(b *model.Batch) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("matoolkit.runbook", b.Runbook))
}

// ReportOpenDetached measures and logs how long ago the detached steps of a batch began that have not ended.
func (a *Applier) ReportOpenDetached(ctx context.Context, b *model.Batch) {
	for _, p := range b.Phases {
		if p.Kind != model.KindDetached || p.Status.Terminal() || p.DispatchedAt == nil {
			continue
		}
		age := max(0, a.now().Sub(*p.DispatchedAt))
		a.detached.age.Record(ctx, age.Seconds(), ofRunbook(b))
		a.log.InfoContext(ctx, "age of detached steps", logkey.Event, alert.DetachedOpen,
			logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.Phase, b.Phases[p.Of-1].Name, logkey.AgeSeconds, int64(age/time.Second))
	}
}

// reportFailedDetached counts and logs the detached steps of a batch that have failed, unless the summary has the failure
// already. The summary is written after the log line: if the process dies in between, the sweep reports the
// failure again.
func (a *Applier) reportFailedDetached(ctx context.Context, b *model.Batch) error {
	var listed *store.BatchSummary
	for i, p := range b.Phases {
		if p.Kind != model.KindDetached || p.Status != model.PhaseFailed {
			continue
		}
		if listed == nil {
			entry, err := store.OrNone(store.Read[store.BatchSummary](ctx, a.store, store.EntryKey(b.ID)))
			if err != nil {
				return err
			}
			listed = &entry.Doc
		}
		if i < len(listed.Phases) && listed.Phases[i].Status == model.PhaseFailed {
			continue
		}
		a.detached.failures.Add(ctx, 1, ofRunbook(b))
		a.log.WarnContext(ctx, "detached steps failed", logkey.Event, alert.DetachedFailed,
			logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.RunbookVersion, p.Version, logkey.Phase, b.Phases[p.Of-1].Name, logkey.Reason, p.Reason)
	}
	return nil
}
