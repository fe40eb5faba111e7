package apiclient

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Summary gives what waits for a person, what runs, and what starts in the next seven days.
func (c *Client) Summary(ctx context.Context) (api.Summary, error) {
	return ask[api.Summary](ctx, c, get("summary"))
}
