package pipeline

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/store"
)

// CheckRoutings is the part of a tick for pipelines that move over from another orchestrator: it returns
// shares of which too many requests failed, compares shadows that have ended, and reports what an
// administrator must know. It returns the shares that have returned, by pipeline. It reads one document
// where no pipeline has a routing.
func (p *Pipelines) CheckRoutings(ctx context.Context) (returned map[string]store.ShareReturn, err error) {
	all, err := store.OrNone(store.Read[store.Routing](ctx, p.store, store.RoutingKey()))
	if err != nil {
		return nil, fmt.Errorf("routing of pipelines: %w", err)
	}
	returned = map[string]store.ShareReturn{}
	var failures []error
	for _, name := range slices.Sorted(maps.Keys(all.Doc.Pipelines)) {
		r := all.Doc.Pipelines[name]
		if r.Percent > 0 {
			next, err := p.returnShare(ctx, name)
			if err != nil {
				failures = append(failures, fmt.Errorf("share of pipeline %s: %w", name, err))
				next = r
			}
			r = next
		}
		p.metrics.share.Record(ctx, int64(r.Percent), metric.WithAttributes(runbookAttribute(name)))
		if r.Returned != nil {
			returned[name] = *r.Returned
			p.logReturned(ctx, name, r)
		}
		if err := p.logUnused(ctx, name, r); err != nil {
			failures = append(failures, fmt.Errorf("requests of pipeline %s: %w", name, err))
		}
		if r.ShadowSince != nil {
			if err := p.compareEnded(ctx, name, r); err != nil {
				failures = append(failures, fmt.Errorf("comparisons of pipeline %s: %w", name, err))
			}
		}
	}
	return returned, errors.Join(failures...)
}

// logUnused logs that a pipeline has had a share for its whole window and got no request: the caller does
// not ask for the route, or cannot reach the API.
func (p *Pipelines) logUnused(ctx context.Context, name string, r store.PipelineRouting) error {
	if r.Percent == 0 || r.Since == nil || p.now().Sub(*r.Since) < time.Duration(r.Rule.WindowMinutes)*time.Minute {
		return nil
	}
	recent, err := p.recentRequests(ctx, name, r)
	if err == nil && recent.Requests+recent.open == 0 {
		p.log.WarnContext(ctx, "a pipeline with a share gets no requests", logkey.Event, alert.ShareUnused, logkey.Runbook, name, logkey.Count, r.Percent)
	}
	return err
}
