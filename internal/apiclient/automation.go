package apiclient

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
)

// previewTime is for how long a preview is waited for: the API gives the query three
// minutes.
const previewTime = 4 * time.Minute

// Automation tells whether a runbook's batches are made by themselves, and how that
// goes.
func (c *Client) Automation(ctx context.Context, runbook string) (api.Automation, error) {
	return ask[api.Automation](ctx, c, get("runbooks", runbook, "automation"))
}

// SetAutomation turns the making of new batches on or off. Asking twice does what
// asking once does.
func (c *Client) SetAutomation(ctx context.Context, runbook string, enabled bool) (api.Automation, error) {
	return c.setAutomation(ctx, runbook, api.AutomationRequest{Enabled: &enabled})
}

// EnableAutomation turns the making of new batches on, and confirms the additions of a
// preview. Asking twice does what asking once does.
func (c *Client) EnableAutomation(ctx context.Context, runbook, revision string) (api.Automation, error) {
	enabled := true
	return c.setAutomation(ctx, runbook, api.AutomationRequest{Enabled: &enabled, Revision: &revision})
}

func (c *Client) setAutomation(ctx context.Context, runbook string, setting api.AutomationRequest) (api.Automation, error) {
	k, err := postJSON(setting, "runbooks", runbook, "automation")
	if err != nil {
		return api.Automation{}, err
	}
	k.method, k.repeatable = http.MethodPut, true
	return ask[api.Automation](ctx, c, k)
}

// PreviewQuery runs a runbook's query and tells what the next tick would make of it
// with automation on, whether it is or not.
// At most sample rows are given, as many as the API likes where it is 0. It changes
// nothing, and is sent once all the same: the query may be one that is long at work.
func (c *Client) PreviewQuery(ctx context.Context, runbook string, sample int) (api.QueryPreview, error) {
	k := call{method: http.MethodPost, path: []string{"runbooks", runbook, "query", "preview"}, within: previewTime}
	if sample > 0 {
		k.media = "application/json"
		k.body, _ = json.Marshal(api.PreviewRequest{Limit: &sample}) // numbers always marshal
	}
	return ask[api.QueryPreview](ctx, c, k)
}

// HeldAdditions shows the additions of a runbook that are held, with a page of the people. An error with the status
// 404 also says that none are.
func (c *Client) HeldAdditions(ctx context.Context, runbook string, o api.ListOptions) (api.AdditionHold, error) {
	return listed[api.AdditionHold](ctx, c, o, "runbooks", runbook, "additions")
}

// ConfirmAdditions lets the next tick add the people of this revision. Asking twice does
// what asking once does.
func (c *Client) ConfirmAdditions(ctx context.Context, runbook, revision, why string) (api.AdditionsConfirmation, error) {
	k, err := postJSON(api.ConfirmRequest{Revision: &revision, ActionRequest: api.ActionRequest{ReasonRequest: because(why)}}, "runbooks", runbook, "additions", "confirm")
	if err != nil {
		return api.AdditionsConfirmation{}, err
	}
	k.repeatable = true
	return ask[api.AdditionsConfirmation](ctx, c, k)
}

// PreviewAdditions tells the effect of ConfirmAdditions.
func (c *Client) PreviewAdditions(ctx context.Context, runbook, revision string) (api.Preview, error) {
	return preview(ctx, c, api.ConfirmRequest{Revision: &revision, ActionRequest: api.ActionRequest{DryRun: true}}, "runbooks", runbook, "additions", "confirm")
}

// DiscardAdditions keeps the people of this revision out of all batches while the query returns them.
// Asking twice does what asking once does.
func (c *Client) DiscardAdditions(ctx context.Context, runbook, revision, why string) (api.AdditionsDiscard, error) {
	k, err := postJSON(api.ConfirmRequest{Revision: &revision, ActionRequest: api.ActionRequest{ReasonRequest: because(why)}}, "runbooks", runbook, "additions", "discard")
	if err != nil {
		return api.AdditionsDiscard{}, err
	}
	k.repeatable = true
	return ask[api.AdditionsDiscard](ctx, c, k)
}

// PreviewDiscard tells the effect of DiscardAdditions.
func (c *Client) PreviewDiscard(ctx context.Context, runbook, revision string) (api.Preview, error) {
	return preview(ctx, c, api.ConfirmRequest{Revision: &revision, ActionRequest: api.ActionRequest{DryRun: true}}, "runbooks", runbook, "additions", "discard")
}

// HeldRemovals lists the held removals of a batch. The status 404 means that none are
// held, or that there is no such batch.
func (c *Client) HeldRemovals(ctx context.Context, id int, o api.ListOptions) (api.RemovalHold, error) {
	return listed[api.RemovalHold](ctx, c, o, batchPath(id, "removals")...)
}

// ConfirmRemovals lets the members go whose removal is held, as the list of this
// revision has them. An answer that is lost does
// not lead to a second request: by then they may be gone, which the API would refuse
// to confirm.
func (c *Client) ConfirmRemovals(ctx context.Context, id int, revision, why string) (api.Batch, error) {
	return c.decide(ctx, id, revision, why, "confirm")
}

// MoveMembers lets the members move whom the data source moves to another start, with their finished
// phases and outputs.
func (c *Client) MoveMembers(ctx context.Context, id int, revision, why string) (api.Batch, error) {
	return c.decide(ctx, id, revision, why, "move")
}

// DiscardRemovals keeps the members whose removal is held; an empty revision means all
// held at that time. It is sent once, as
// ConfirmRemovals is.
func (c *Client) DiscardRemovals(ctx context.Context, id int, revision, why string) (api.Batch, error) {
	return c.decide(ctx, id, revision, why, "discard")
}

func (c *Client) decide(ctx context.Context, id int, revision, why, what string) (api.Batch, error) {
	k, err := postJSON(api.DecisionRequest{Revision: given(revision), ActionRequest: api.ActionRequest{ReasonRequest: because(why)}}, batchPath(id, "removals", what)...)
	if err != nil {
		return api.Batch{}, err
	}
	return ask[api.Batch](ctx, c, k)
}

// Syncs lists the last syncs of a runbook with its data source, the newest first.
func (c *Client) Syncs(ctx context.Context, name string) (api.Page[api.Sync], error) {
	return ask[api.Page[api.Sync]](ctx, c, get("runbooks", name, "syncs"))
}
