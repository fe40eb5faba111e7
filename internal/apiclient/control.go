package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Cancel ends a batch. As with every call here, asking twice does what asking once does.
// An empty reason is none; this goes for all calls.
func (c *Client) Cancel(ctx context.Context, id int, why string) (api.Batch, error) {
	return steer[api.Batch](ctx, c, why, batchPath(id, "cancel")...)
}

// Pause keeps a batch from dispatching anything more.
func (c *Client) Pause(ctx context.Context, id int, why string) (api.Batch, error) {
	return steer[api.Batch](ctx, c, why, batchPath(id, "pause")...)
}

// Resume lets a paused batch go on.
func (c *Client) Resume(ctx context.Context, id int, why string) (api.Batch, error) {
	return steer[api.Batch](ctx, c, why, batchPath(id, "resume")...)
}

// Reschedule gives a batch another start, or in a dry run shows what that would change.
func (c *Client) Reschedule(ctx context.Context, id int, start, why string, dryRun bool) (api.RescheduleResult, error) {
	k, err := postJSON(api.RescheduleRequest{Start: &start, DryRun: dryRun, ReasonRequest: because(why)}, batchPath(id, "reschedule")...)
	if err != nil {
		return api.RescheduleResult{}, err
	}
	k.repeatable = true
	return ask[api.RescheduleResult](ctx, c, k)
}

// Approve lets a phase begin that waits at a gate.
func (c *Client) Approve(ctx context.Context, id int, phase, why string) (api.Phase, error) {
	k, err := postJSON(api.ApproveRequest{Phase: &phase, ActionRequest: api.ActionRequest{ReasonRequest: because(why)}}, batchPath(id, "approve")...)
	if err != nil {
		return api.Phase{}, err
	}
	k.repeatable = true
	return ask[api.Phase](ctx, c, k)
}

// Repair lets the selected members who failed go on; all of them without a selection. It removes the
// selected members where that is its action. A dry run only tells the effect.
func (c *Client) Repair(ctx context.Context, id int, r api.Repair) (api.RepairResult, error) {
	var members *[]api.MemberRef
	if refs := memberRefs(r); len(refs) > 0 {
		members = &refs
	}
	var steps *[]int64
	if len(r.Selection.Steps) > 0 {
		steps = &r.Selection.Steps
	}
	which := api.SelectionRequest{
		Members: members, Steps: steps, Status: given(r.Selection.Status), Phase: given(r.Selection.Phase), Step: given(r.Selection.Step),
		Error: given(r.Selection.Error), ErrorGroup: given(r.Selection.ErrorGroup), DryRun: r.DryRun, ReasonRequest: because(r.Reason),
	}
	var body any = which
	route := "retry"
	switch r.Action {
	case api.RepairSkip:
		route = "skip"
	case api.RepairRemove:
		body, route = api.RemovalRequest{Members: members, Status: which.Status, Search: given(r.Selection.Search), DryRun: r.DryRun, ReasonRequest: which.ReasonRequest}, "remove"
	case api.RepairMove:
		removal := api.RemovalRequest{Members: members, Status: which.Status, Search: given(r.Selection.Search), DryRun: r.DryRun, ReasonRequest: which.ReasonRequest}
		body, route = api.MoveRequest{To: &r.To, RemovalRequest: removal}, "move"
	case api.RepairDone:
		body, route = api.MarkDoneRequest{SelectionRequest: which, Result: r.Result}, "mark-done"
	default:
		body = api.RetryRequest{SelectionRequest: which, Version: given(r.Version), From: given(r.From)}
	}
	k, err := postJSON(body, batchPath(id, route)...)
	if err != nil {
		return api.RepairResult{}, err
	}
	if r.DryRun {
		k.repeatable = true
		return ask[api.RepairResult](ctx, c, k)
	}
	return ask[api.RepairResult](ctx, c, once(k))
}

// memberRefs names the members of a repair as a request does.
func memberRefs(r api.Repair) (refs []api.MemberRef) {
	for _, ref := range r.MemberRefs {
		refs = append(refs, api.MemberRef(ref))
	}
	for _, id := range r.Selection.Members {
		refs = append(refs, api.MemberRef("id:"+strconv.Itoa(id)))
	}
	return refs
}

// Preview tells the effect of an action on a batch, which is not taken.
func (c *Client) Preview(ctx context.Context, id int, action api.ProposedAction) (api.Preview, error) {
	dry := api.ActionRequest{DryRun: true, ReasonRequest: because(action.Why)}
	var body any = dry
	path := batchPath(id, action.Name)
	switch action.Name {
	case api.ActionAdvance:
		body = api.AdvanceRequest{Phase: &action.Phase, DryRun: true}
	case api.ActionApprove:
		body = api.ApproveRequest{Phase: &action.Phase, ActionRequest: dry}
	case api.RepairSkip:
		path = stepPath(id, action.Step, "skip")
	case api.RepairDone:
		body, path = api.DoneRequest{Result: action.Result, ActionRequest: dry}, stepPath(id, action.Step, "done")
	case api.ActionConfirmRemovals, api.ActionMoveMembers, api.ActionDiscardRemovals:
		do, _, _ := strings.Cut(action.Name, "_")
		body, path = api.DecisionRequest{Revision: given(action.Revision), ActionRequest: dry}, batchPath(id, "removals", do)
	}
	return preview(ctx, c, body, path...)
}

// preview asks for the effect of a request that says itself that it is a dry run.
func preview(ctx context.Context, c *Client, body any, path ...string) (api.Preview, error) {
	k, err := postJSON(body, path...)
	if err != nil {
		return api.Preview{}, err
	}
	k.repeatable = true
	return ask[api.Preview](ctx, c, k)
}

// PreviewCheck tells the effect of Check.
func (c *Client) PreviewCheck(ctx context.Context, id int, member string) (api.Preview, error) {
	return preview(ctx, c, api.CheckRequest{Member: given(member), ActionRequest: api.ActionRequest{DryRun: true}}, batchPath(id, "check")...)
}

// Task tells how far a repair or a removal is.
func (c *Client) Task(ctx context.Context, batch int, id string) (api.Task, error) {
	return ask[api.Task](ctx, c, get(batchPath(batch, "tasks", id)...))
}

// Check makes the checks of all members of a batch, or of the one with a key or number.
func (c *Client) Check(ctx context.Context, id int, member, why string) (api.CheckResult, error) {
	k, err := postJSON(api.CheckRequest{Member: given(member), ActionRequest: api.ActionRequest{ReasonRequest: because(why)}}, batchPath(id, "check")...)
	if err != nil {
		return api.CheckResult{}, err
	}
	return ask[api.CheckResult](ctx, c, once(k))
}

// SkipStep lets a member pass by a step. It needs a reason.
func (c *Client) SkipStep(ctx context.Context, id int, step int64, why string) (api.Step, error) {
	return steer[api.Step](ctx, c, why, stepPath(id, step, "skip")...)
}

// MarkStepDone marks a step as done by hand. The result replaces the function's
// result, as JSON; empty for none. A reason is required.
func (c *Client) MarkStepDone(ctx context.Context, id int, step int64, result json.RawMessage, why string) (api.Step, error) {
	k, err := postJSON(api.DoneRequest{Result: result, ActionRequest: api.ActionRequest{ReasonRequest: because(why)}}, stepPath(id, step, "done")...)
	if err != nil {
		return api.Step{}, err
	}
	k.repeatable = true
	return ask[api.Step](ctx, c, k)
}

// AddMembers adds the members in a CSV file to a batch. Those who are members already
// are left as they are.
func (c *Client) AddMembers(ctx context.Context, id int, csv []byte, options ...api.UploadOption) (api.AddResult, error) {
	k, err := upload(csv, options, nil, batchPath(id, "members")...)
	if err != nil {
		return api.AddResult{}, err
	}
	return ask[api.AddResult](ctx, c, once(k))
}

// CheckMembers asks what AddMembers would add or refuse.
func (c *Client) CheckMembers(ctx context.Context, id int, csv []byte, options ...api.UploadOption) (api.UploadCheck, error) {
	k, err := upload(csv, options, nil, batchPath(id, "members")...)
	if err != nil {
		return api.UploadCheck{}, err
	}
	return ask[api.UploadCheck](ctx, c, dryRun(k))
}

// dryRun makes a request one that changes nothing.
func dryRun(k call) call {
	k.query.Set("dryRun", "true")
	k.repeatable = true
	return k
}

// Find finds members of all batches by a text.
func (c *Client) Find(ctx context.Context, text string, o api.ListOptions) (api.Page[api.FoundMember], error) {
	k := get("find")
	k.query = listQuery(o)
	k.query.Set("text", text)
	return ask[api.Page[api.FoundMember]](ctx, c, k)
}

// Member gets a member of a batch by the key or the number.
func (c *Client) Member(ctx context.Context, id int, member string) (api.Member, error) {
	return ask[api.Member](ctx, c, get(batchPath(id, "members", member)...))
}

// CorrectMember changes columns of a member. With a tag, only if the member still has it.
func (c *Client) CorrectMember(ctx context.Context, id int, member string, request api.CorrectionRequest, tag string) (api.MemberCorrection, error) {
	k, err := postJSON(request, batchPath(id, "members", member)...)
	if err != nil {
		return api.MemberCorrection{}, err
	}
	k.method, k.ifMatch, k.repeatable = http.MethodPatch, tag, tag == ""
	return ask[api.MemberCorrection](ctx, c, k)
}

// UpdateMembers changes columns of the members whose keys a CSV has. With dryRun it changes nothing
// and says what would change. Asking twice does what asking once does.
func (c *Client) UpdateMembers(ctx context.Context, id int, csv []byte, dryRun bool, why string, options ...api.UploadOption) (api.MembersUpdate, error) {
	k, err := upload(csv, options, nil, batchPath(id, "members")...)
	if err != nil {
		return api.MembersUpdate{}, err
	}
	k.method, k.repeatable = http.MethodPatch, true
	if dryRun {
		k.query.Set("dryRun", "true")
	}
	if why != "" {
		k.query.Set("reason", why)
	}
	return ask[api.MembersUpdate](ctx, c, k)
}

// RemoveMember takes a member out of a batch, by the key or the number.
func (c *Client) RemoveMember(ctx context.Context, id int, member, why string) (api.Member, error) {
	k := call{method: http.MethodDelete, path: batchPath(id, "members", member), repeatable: true}
	if why != "" {
		k.query = url.Values{"reason": {why}}
	}
	return ask[api.Member](ctx, c, k)
}

// because gives the reason of a request, if there is one.
func because(why string) api.ReasonRequest { return api.ReasonRequest{Reason: given(why)} }

// given is a field of a request, left out for the zero value.
func given[T comparable](v T) *T {
	var none T
	if v == none {
		return nil
	}
	return &v
}

// steer asks for something that may be asked for twice.
func steer[V any](ctx context.Context, c *Client, why string, path ...string) (V, error) {
	k := post(why, path...)
	k.repeatable = true
	return ask[V](ctx, c, k)
}

func postJSON(body any, path ...string) (call, error) {
	data, err := json.Marshal(body)
	return call{method: http.MethodPost, path: path, media: "application/json", body: data}, err
}

// upload is a call with a form: its fields, and the CSV as the part file.
func upload(csv []byte, options []api.UploadOption, fields map[string]string, path ...string) (call, error) {
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			return call{}, err
		}
	}
	file, err := w.CreateFormFile("file", "members.csv")
	if err == nil {
		_, err = file.Write(csv)
	}
	if err == nil {
		err = w.Close()
	}
	k := call{method: http.MethodPost, path: path, media: w.FormDataContentType(), body: form.Bytes(), query: url.Values{}}
	o := api.UploadOptionsOf(options)
	if o.AllowInOtherBatches {
		k.query.Set("allowInOtherBatches", "true")
	}
	if o.Delimiter != "" {
		k.query.Set("delimiter", o.Delimiter)
	}
	return k, err
}

func batchPath(id int, more ...string) []string {
	return append([]string{"batches", strconv.Itoa(id)}, more...)
}

func stepPath(id int, step int64, do string) []string {
	return batchPath(id, "steps", strconv.FormatInt(step, 10), do)
}
