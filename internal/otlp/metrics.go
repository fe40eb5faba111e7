package otlp

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
)

// metricPoster is a metric exporter: cumulative metrics, as Prometheus and most stores
// want them. Of the instruments it knows those that this product has, counters and
// histograms; another is an error, not left out.
type metricPoster struct{ *poster }

func (*metricPoster) Temporality(kind sdkmetric.InstrumentKind) metricdata.Temporality {
	return sdkmetric.DefaultTemporalitySelector(kind)
}

func (*metricPoster) Aggregation(kind sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(kind)
}

func (*metricPoster) ForceFlush(context.Context) error { return nil }
func (*metricPoster) Shutdown(context.Context) error   { return nil }

// Export sends the measurements.
func (f *metricPoster) Export(ctx context.Context, all *metricdata.ResourceMetrics) error {
	encoded := &metricspb.ResourceMetrics{
		Resource:  &resourcepb.Resource{Attributes: attributes(all.Resource.Set())},
		SchemaUrl: all.Resource.SchemaURL(),
	}
	for _, scope := range all.ScopeMetrics {
		of := &metricspb.ScopeMetrics{Scope: &commonpb.InstrumentationScope{Name: scope.Scope.Name, Version: scope.Scope.Version}}
		for _, m := range scope.Metrics {
			metric, err := figure(m)
			if err != nil {
				return err
			}
			of.Metrics = append(of.Metrics, metric)
		}
		encoded.ScopeMetrics = append(encoded.ScopeMetrics, of)
	}
	return f.post(ctx, &metricspb.MetricsData{ResourceMetrics: []*metricspb.ResourceMetrics{encoded}})
}

func figure(m metricdata.Metrics) (*metricspb.Metric, error) {
	out := &metricspb.Metric{Name: m.Name, Description: m.Description, Unit: m.Unit}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		sum := &metricspb.Sum{IsMonotonic: data.IsMonotonic, AggregationTemporality: cumulative}
		for _, p := range data.DataPoints {
			sum.DataPoints = append(sum.DataPoints, &metricspb.NumberDataPoint{
				Attributes: attributes(&p.Attributes), StartTimeUnixNano: nanos(p.StartTime), TimeUnixNano: nanos(p.Time),
				Value: &metricspb.NumberDataPoint_AsInt{AsInt: p.Value},
			})
		}
		out.Data = &metricspb.Metric_Sum{Sum: sum}
	case metricdata.Histogram[float64]:
		histogram := &metricspb.Histogram{AggregationTemporality: cumulative}
		for _, p := range data.DataPoints {
			point := &metricspb.HistogramDataPoint{
				Attributes: attributes(&p.Attributes), StartTimeUnixNano: nanos(p.StartTime), TimeUnixNano: nanos(p.Time),
				Count: p.Count, Sum: &p.Sum, BucketCounts: p.BucketCounts, ExplicitBounds: p.Bounds,
			}
			if v, ok := p.Min.Value(); ok {
				point.Min = &v
			}
			if v, ok := p.Max.Value(); ok {
				point.Max = &v
			}
			histogram.DataPoints = append(histogram.DataPoints, point)
		}
		out.Data = &metricspb.Metric_Histogram{Histogram: histogram}
	default:
		return nil, fmt.Errorf("otlp: %s is a %T, which cannot be sent", m.Name, data)
	}
	return out, nil
}

const cumulative = metricspb.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE

func nanos(t time.Time) uint64 { return uint64(max(t.UnixNano(), 0)) }

func attributes(set *attribute.Set) []*commonpb.KeyValue {
	all := make([]*commonpb.KeyValue, 0, set.Len())
	for i := set.Iter(); i.Next(); {
		pair := i.Attribute()
		value := &commonpb.AnyValue{}
		switch v := pair.Value.AsInterface().(type) {
		case bool:
			value.Value = &commonpb.AnyValue_BoolValue{BoolValue: v}
		case int64:
			value.Value = &commonpb.AnyValue_IntValue{IntValue: v}
		case float64:
			value.Value = &commonpb.AnyValue_DoubleValue{DoubleValue: v}
		default:
			value.Value = &commonpb.AnyValue_StringValue{StringValue: fmt.Sprint(v)}
		}
		all = append(all, &commonpb.KeyValue{Key: string(pair.Key), Value: value})
	}
	return all
}
