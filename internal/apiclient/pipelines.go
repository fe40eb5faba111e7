package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/matoolkit/matoolkit/internal/api"
)

// StartPipeline starts a batch for the items of a request, or gets the batch that has their result. An
// answer that is lost is asked for again, by a key that keeps the API from starting a second batch.
func (c *Client) StartPipeline(ctx context.Context, name string, r api.PipelineRequest) (api.PipelineBatch, error) {
	k, err := postJSON(r, "pipelines", name, "batches")
	if err != nil {
		return api.PipelineBatch{}, err
	}
	return ask[api.PipelineBatch](ctx, c, once(k))
}

// PipelineBatch gets where a requested batch stands.
func (c *Client) PipelineBatch(ctx context.Context, name string, id int) (api.PipelineBatch, error) {
	return ask[api.PipelineBatch](ctx, c, get("pipelines", name, "batches", strconv.Itoa(id)))
}

// PipelineResult gets the result of a requested batch.
func (c *Client) PipelineResult(ctx context.Context, name string, id int) (api.PipelineResult, error) {
	return ask[api.PipelineResult](ctx, c, get("pipelines", name, "batches", strconv.Itoa(id), "result"))
}

// Route asks which orchestrator serves an owner.
func (c *Client) Route(ctx context.Context, name, owner string) (api.PipelineRoute, error) {
	k := get("pipelines", name, "route")
	k.query = url.Values{"owner": {owner}}
	return ask[api.PipelineRoute](ctx, c, k)
}

// Routing gets how a pipeline moves over from another orchestrator.
func (c *Client) Routing(ctx context.Context, name string) (api.Routing, error) {
	return ask[api.Routing](ctx, c, get("pipelines", name, "routing"))
}

// SetRouting changes how a pipeline moves over. A repetition changes nothing more.
func (c *Client) SetRouting(ctx context.Context, name string, r api.RoutingRequest) (api.Routing, error) {
	k, err := postJSON(r, "pipelines", name, "routing")
	if err != nil {
		return api.Routing{}, err
	}
	k.method, k.repeatable = http.MethodPatch, true
	return ask[api.Routing](ctx, c, k)
}

// ReportComparison reports how the old orchestrator served the request of a shadow. A repetition changes
// nothing.
func (c *Client) ReportComparison(ctx context.Context, name string, id int, r api.ComparisonRequest) (api.Comparison, error) {
	k, err := postJSON(r, "pipelines", name, "batches", strconv.Itoa(id), "comparison")
	if err != nil {
		return api.Comparison{}, err
	}
	k.repeatable = true
	return ask[api.Comparison](ctx, c, k)
}

// Comparisons gets the comparisons of a pipeline.
func (c *Client) Comparisons(ctx context.Context, name string) (api.Comparisons, error) {
	return ask[api.Comparisons](ctx, c, get("pipelines", name, "comparisons"))
}

// LatestResult gets the latest result of an owner.
func (c *Client) LatestResult(ctx context.Context, name, owner string) (api.PipelineResult, error) {
	k := get("pipelines", name, "result")
	k.query = url.Values{"owner": {owner}}
	return ask[api.PipelineResult](ctx, c, k)
}
