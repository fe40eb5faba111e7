package apiclient

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Scaler gets the container scaler with the result of its latest tick.
func (c *Client) Scaler(ctx context.Context) (api.ScalerStatus, error) {
	return ask[api.ScalerStatus](ctx, c, get("scaler"))
}

// PlanScaling gets what the next tick of the container scaler would do. It changes nothing.
func (c *Client) PlanScaling(ctx context.Context) (api.ScalerPlan, error) {
	k := post("", "scaler", "plan")
	k.repeatable = true
	return ask[api.ScalerPlan](ctx, c, k)
}
