package apiclient_test

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// workerCalls is every call about workers and the container scaler.
var workerCalls = []sending{
	{"Workers", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Workers(ctx, api.ListOptions{Limit: 5, Continuation: "t"})
		return err
	}, "GET /api/workers?continuationToken=t&limit=5"},
	{"Worker", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Worker(ctx, "worker-01")
		return err
	}, "GET /api/workers/worker-01"},
	{"Scaler", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Scaler(ctx)
		return err
	}, "GET /api/scaler"},
	{"PlanScaling", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PlanScaling(ctx)
		return err
	}, "POST /api/scaler/plan"},
}
