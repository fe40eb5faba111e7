package apiclient

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Me gets the caller, with the roles and permissions that the API sees.
func (c *Client) Me(ctx context.Context) (api.Me, error) { return ask[api.Me](ctx, c, get("me")) }
