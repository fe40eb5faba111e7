package apiclient

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/app"
)

// Workers lists the workers that have announced themselves, by id.
func (c *Client) Workers(ctx context.Context, o app.ListOptions) (app.Page[app.WorkerView], error) {
	return list[app.WorkerView](ctx, c, o, "workers")
}

// Worker gets a worker with its functions.
func (c *Client) Worker(ctx context.Context, id string) (app.WorkerView, error) {
	return ask[app.WorkerView](ctx, c, get("workers", id))
}
