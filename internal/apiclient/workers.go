package apiclient

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Workers lists the workers that have announced themselves, by id.
func (c *Client) Workers(ctx context.Context, o api.ListOptions) (api.Page[api.Worker], error) {
	return list[api.Worker](ctx, c, o, "workers")
}

// Worker gets a worker with its functions.
func (c *Client) Worker(ctx context.Context, id string) (api.Worker, error) {
	return ask[api.Worker](ctx, c, get("workers", id))
}
