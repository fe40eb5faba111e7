package apiclient

import (
	"context"
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

// LatestResult gets the latest result of an owner.
func (c *Client) LatestResult(ctx context.Context, name, owner string) (api.PipelineResult, error) {
	k := get("pipelines", name, "result")
	k.query = url.Values{"owner": {owner}}
	return ask[api.PipelineResult](ctx, c, k)
}
