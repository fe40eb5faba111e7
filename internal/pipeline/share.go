package pipeline

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// The share of a pipeline returns to 0 where too many requests fail. Nothing counts them: the rate follows
// from the list of batches, so that no redelivery counts a request twice and no crash loses one.

// maxShareRequests is how many requests, the newest, are looked at; maxShareBatches is how many batches are
// read to find them, of which most can be shadows.
const (
	maxShareRequests = 200
	maxShareBatches  = 2000
)

// shareCheckInterval is how often a process reads the requests of a pipeline to answer routes.
const shareCheckInterval = 10 * time.Second

// shareChecks remembers when the requests of each pipeline were read. Safe for concurrent use.
type shareChecks struct {
	mu   sync.Mutex
	last map[string]time.Time
}

// due reports whether the requests of a pipeline are to be read again, and takes note that they are.
func (c *shareChecks) due(name string, now time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	last, known := c.last[name]
	if known && !now.Before(last) && now.Sub(last) < shareCheckInterval {
		return false
	}
	if c.last == nil {
		c.last = map[string]time.Time{}
	}
	c.last[name] = now
	return true
}

// recentRequests are the requests that count for the return of a share.
type recentRequests struct {
	api.ShareRequests
	open int // have not ended and are not overdue
}

// exceeds reports whether too many requests failed.
func (r *recentRequests) exceeds(rule store.ShareReturnRule) bool {
	return r.Requests >= rule.MinRequests && r.Failed*100 > rule.MaxErrorPercent*r.Requests
}

// recentRequests reads the requests since the share left 0, within the window. Shadows do not count, and
// neither do requests that an administrator cancelled.
func (p *Pipelines) recentRequests(ctx context.Context, name string, r store.PipelineRouting) (found recentRequests, err error) {
	now := p.now()
	since := now.Add(-time.Duration(r.Rule.WindowMinutes) * time.Minute)
	if r.Since != nil && r.Since.After(since) {
		since = *r.Since
	}
	overdue := now.Add(-time.Duration(r.Rule.OverdueSeconds) * time.Second)
	paging := store.Paging{Limit: maxShareRequests}
	for read := 0; read < maxShareBatches; {
		page, err := p.store.Batches(ctx, store.BatchFilter{Runbook: name, Creating: true}, paging)
		if err != nil {
			return recentRequests{}, err
		}
		for _, item := range page.Items {
			b := item.Doc.Outline()
			if b.DetectedAt.Before(since) || found.Requests+found.open == maxShareRequests {
				return found, nil
			}
			found.add(b, overdue)
		}
		if paging.Continuation = page.Continuation; paging.Continuation == "" {
			break
		}
		read += len(page.Items)
	}
	return found, nil
}

// add counts a batch, unless it is a shadow or was cancelled.
func (r *recentRequests) add(b *model.Batch, overdue time.Time) {
	switch {
	case b.Requested == nil || b.IsShadow() || b.Cancelled != nil:
	case b.HasEnded() && b.HasResult():
		r.Requests++
	case b.HasEnded(), b.DetectedAt.Before(overdue):
		r.Requests++
		r.Failed++
	default:
		r.open++
	}
}

// returnShare sets the share of a pipeline to 0 if too many requests failed, and returns the routing. Of
// several processes one does so: the others find that it is 0.
func (p *Pipelines) returnShare(ctx context.Context, name string) (r store.PipelineRouting, err error) {
	err = store.RetryOnConflict(ctx, func() error {
		var all store.Item[store.Routing]
		if all, r, _, err = p.readRouting(ctx, name); err != nil || r.Percent == 0 {
			return err
		}
		recent, err := p.recentRequests(ctx, name, r)
		if err != nil || !recent.exceeds(r.Rule) {
			return err
		}
		now, by := p.now().UTC(), audit.System("automatic-return")
		next := r
		next.Returned = &store.ShareReturn{At: now, Percent: r.Percent, Requests: recent.Requests, Failed: recent.Failed}
		next.Percent, next.Since = 0, nil
		next.Revision++
		why := returnReason(next.Returned, r.Rule)
		next.Changed = model.Attribution{By: by.Name, At: now, Why: why}
		record := store.AuditRecord{At: now, Actor: by.Actor(), Action: api.ActionSetRouting, Runbook: name, Why: why, Before: routingState(r), After: routingState(next)}
		if _, err := p.store.Apply(ctx, store.Writes{writeRouting(all, name, next), p.audit.Record(record)}); err != nil {
			return err
		}
		r = next
		p.metrics.returns.Add(ctx, 1, metric.WithAttributes(runbookAttribute(name)))
		p.logReturned(ctx, name, r)
		return nil
	})
	return r, err
}

func returnReason(b *store.ShareReturn, rule store.ShareReturnRule) string {
	return fmt.Sprintf("%d of %d requests failed; the limit is %d %%", b.Failed, b.Requests, rule.MaxErrorPercent)
}

// logReturned logs that a share is at 0 because it returned. Each tick does so until an administrator sets
// the share: a crash after the return loses no alert.
func (p *Pipelines) logReturned(ctx context.Context, name string, r store.PipelineRouting) {
	p.log.WarnContext(ctx, "the share of a pipeline has returned to 0", logkey.Event, alert.ShareReturned, logkey.Runbook, name, logkey.Reason, returnReason(r.Returned, r.Rule))
}
