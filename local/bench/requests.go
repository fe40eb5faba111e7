package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/local/entra"
)

// Requests is a load of requests that each start a batch. They come at their rate, however long the answers take.
type Requests struct {
	Rate    int // requests per second; 0: the load is left out
	Items   int // of each request
	Callers int // who take turns; the API limits each by itself
	For     time.Duration
}

// Requests show these routes.
const (
	routeRequest = "POST pipelines/{name}/batches"
	routeStatus  = "GET pipelines/{name}/batches/{id}"
)

// requested is a runbook that runs a job for each item of a request, and then one for all.
func requested() string {
	return "name: requested\ntrigger: request\nitems: {primary_key: Name}\nphases:\n  - name: only\n    steps:\n    - " + call("each", "true", "") +
		"\n    on_complete:\n    - {name: all, worker_id: worker-01, function: No-Op, params: {Answer: \"true\"}}\n"
}

// requests measures how long the API takes to answer requests while the batches that they start run. A request that fails
// is an error, and so is a batch that does not complete with all of its items.
func requests(ctx context.Context, c Config) (p95 time.Duration, err error) {
	dir, err := os.MkdirTemp("", "matoolkit-bench-")
	if err != nil {
		return 0, err
	}
	b := &bed{Config: c, dir: dir, people: true, together: true}
	defer func() { err = errors.Join(err, b.stop(), os.RemoveAll(dir)) }()
	if err = b.start(ctx); err == nil {
		p95, err = b.requests(ctx, c.Requests)
	}
	if err != nil {
		return 0, errors.Join(err, b.logs())
	}
	return p95, nil
}

func (b *bed) requests(ctx context.Context, l Requests) (time.Duration, error) {
	who := b.callers(l.Rate)
	admin, err := who.sign("publishes@contoso.com", entra.RoleAdmin)
	if err == nil {
		_, err = admin.PublishRunbook(ctx, []byte(requested()))
	}
	if err != nil {
		return 0, err
	}
	clients := make([]*apiclient.Client, l.Callers)
	for i := range clients {
		if clients[i], err = who.sign(fmt.Sprintf("requester-%03d@contoso.com", i), entra.RoleAdmin); err != nil {
			return 0, err
		}
	}
	before, err := b.usage()
	if err != nil {
		return 0, err
	}
	m, ends, took := b.shower(ctx, l, clients)
	if len(m.failures) > 0 {
		return 0, errors.Join(append([]error{fmt.Errorf("%d requests of %d per second failed", m.failed, l.Rate)}, m.failures...)...)
	}
	after, err := b.usageSince(before)
	if err != nil {
		return 0, err
	}
	t := m.table("", took)
	t.Name = fmt.Sprintf("Requests that start batches: %d/s of %d callers, %d items each, for %.0f s", l.Rate, l.Callers, l.Items, took.Seconds())
	b.add(t)
	b.note("The batches that were requested ended %.2f s (median) and %.2f s (95th percentile) after their requests. CPU seconds and peak resident memory: %s; load average %s.",
		percentile(ends, 50).Seconds(), percentile(ends, 95).Seconds(), result{usage: after}.processes(), loadAverage())
	return percentile(m.routes[routeRequest], 95), nil
}

// shower sends the requests and waits for the ends of their batches. It returns how long each batch took.
func (b *bed) shower(ctx context.Context, l Requests, clients []*apiclient.Client) (m *meter, ends []time.Duration, took time.Duration) {
	m = newMeter()
	var wait sync.WaitGroup
	var mu sync.Mutex
	number := int(l.For.Seconds() * float64(l.Rate))
	began := time.Now()
	for i := range number {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(l.Rate))
		select {
		case <-ctx.Done():
			_ = m.fail(ctx.Err())
			return m, nil, 0
		case <-time.After(time.Until(due)):
		}
		wait.Go(func() {
			end, err := oneRequest(ctx, m, clients[i%len(clients)], i, l.Items)
			if err == nil {
				mu.Lock()
				ends = append(ends, end)
				mu.Unlock()
			}
		})
	}
	took = time.Since(began)
	wait.Wait()
	return m, ends, took
}

// oneRequest starts a batch of an owner of its own and waits for its end.
func oneRequest(ctx context.Context, m *meter, client *apiclient.Client, number, items int) (time.Duration, error) {
	r := api.PipelineRequest{Owner: fmt.Sprintf("owner-%05d", number)}
	for i := range items {
		r.Items = append(r.Items, map[string]json.RawMessage{"Name": fmt.Appendf(nil, `"item-%03d"`, i)})
	}
	view, err := timed(m, routeRequest, func() (api.PipelineBatch, error) { return client.StartPipeline(ctx, "requested", r) })
	for err == nil && view.CompletedAt == nil {
		select {
		case <-ctx.Done():
			return 0, m.fail(fmt.Errorf("batch %d has not ended: %w", view.ID, ctx.Err()))
		case <-time.After(time.Second):
		}
		view, err = timed(m, routeStatus, func() (api.PipelineBatch, error) { return client.PipelineBatch(ctx, "requested", view.ID) })
	}
	if err != nil {
		return 0, err
	}
	if view.Status != api.PipelineCompleted || view.Items.Succeeded != items {
		return 0, m.fail(fmt.Errorf("batch %d is %s with %+v", view.ID, view.Status, view.Items))
	}
	return view.CompletedAt.Sub(view.RequestedAt), nil
}

// percentile is the time that so many percent of the times do not exceed.
func percentile(times []time.Duration, percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(times))
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)-1)*percent/100]
}
