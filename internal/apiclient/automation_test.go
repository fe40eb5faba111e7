package apiclient_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
)

// automationCalls is every call about batches that are made by themselves.
var automationCalls = []sending{
	{"Automation", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.Automation(ctx, "my moves")
		return err
	}, "GET /api/runbooks/my%20moves/automation"},
	{"SetAutomation on", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.SetAutomation(ctx, "moves", true)
		return err
	}, `PUT /api/runbooks/moves/automation {"enabled":true}`},
	{"SetAutomation off", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.SetAutomation(ctx, "moves", false)
		return err
	}, `PUT /api/runbooks/moves/automation {"enabled":false}`},
	{"EnableAutomation", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.EnableAutomation(ctx, "moves", "r1")
		return err
	}, `PUT /api/runbooks/moves/automation {"enabled":true,"revision":"r1"}`},
	{"PreviewQuery", false, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PreviewQuery(ctx, "moves", 0)
		return err
	}, "POST /api/runbooks/moves/query/preview"},
	{"PreviewQuery of few", false, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.PreviewQuery(ctx, "moves", 5)
		return err
	}, `POST /api/runbooks/moves/query/preview {"limit":5}`},
	{"HeldAdditions", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.HeldAdditions(ctx, "moves", api.ListOptions{Limit: 5, Continuation: "l-5"})
		return err
	}, "GET /api/runbooks/moves/additions?continuationToken=l-5&limit=5"},
	{"ConfirmAdditions", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.ConfirmAdditions(ctx, "moves", "r1", "wave 1")
		return err
	}, `POST /api/runbooks/moves/additions/confirm {"revision":"r1","reason":"wave 1"}`},
	{"DiscardAdditions", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.DiscardAdditions(ctx, "moves", "r1", "not yet")
		return err
	}, `POST /api/runbooks/moves/additions/discard {"revision":"r1","reason":"not yet"}`},
	{"HeldRemovals", true, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.HeldRemovals(ctx, 7, api.ListOptions{Limit: 5, Continuation: "5"})
		return err
	}, "GET /api/batches/7/removals?continuationToken=5&limit=5"},
	{"ConfirmRemovals", false, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.ConfirmRemovals(ctx, 7, "r1", "gone")
		return err
	}, `POST /api/batches/7/removals/confirm {"revision":"r1","reason":"gone"}`},
	{"MoveMembers", false, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.MoveMembers(ctx, 7, "r1", "later")
		return err
	}, `POST /api/batches/7/removals/move {"revision":"r1","reason":"later"}`},
	{"DiscardRemovals", false, func(ctx context.Context, c *apiclient.Client) error {
		_, err := c.DiscardRemovals(ctx, 7, "", "")
		return err
	}, `POST /api/batches/7/removals/discard {}`},
}

// carrier notes until when each request may take.
type carrier struct{ within []time.Duration }

func (c *carrier) RoundTrip(r *http.Request) (*http.Response, error) {
	deadline, _ := r.Context().Deadline()
	c.within = append(c.within, time.Until(deadline).Round(time.Minute))
	return nil, errors.New("not carried")
}

func TestAPreviewIsWaitedForLongerThanItsQueryMayTake(t *testing.T) {
	t.Parallel()
	var sent carrier
	c, err := apiclient.New(apiclient.Config{BaseURL: "http://127.0.0.1:1", HTTP: &http.Client{Transport: &sent}})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.PreviewQuery(t.Context(), "moves", 0)
	if len(sent.within) != 1 || sent.within[0] <= 3*time.Minute {
		t.Errorf("waited %v", sent.within)
	}
}
