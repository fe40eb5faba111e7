package apiclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/internal/api"
)

// Health asks whether the system works: nil when it does. It takes no sign-in.
func (c *Client) Health(ctx context.Context) error {
	open := *c
	open.token = nil
	_, err := ask[struct{}](ctx, &open, get("health"))
	return err
}

// PublishRunbook publishes the YAML of a runbook, as PublishWith does without options.
func (c *Client) PublishRunbook(ctx context.Context, yaml []byte) (api.Runbook, error) {
	return c.PublishWith(ctx, yaml, api.PublishOptions{})
}

// PublishWith publishes the YAML of a runbook. The options say how a new version
// treats batches under way, and under which conditions to publish it.
func (c *Client) PublishWith(ctx context.Context, yaml []byte, o api.PublishOptions) (api.Runbook, error) {
	k := call{method: http.MethodPost, path: []string{"runbooks"}, media: "application/yaml", body: yaml}
	k.query = url.Values{}
	if o.Overdue != "" {
		k.query.Set("overdueBehavior", o.Overdue)
	}
	for name, asked := range map[string]bool{"rerunInit": o.RerunInit, "strict": o.Strict, "dryRun": o.DryRun} {
		if asked {
			k.query.Set(name, "true")
		}
	}
	return ask[api.Runbook](ctx, c, once(k))
}

// Runbooks lists the active runbooks.
func (c *Client) Runbooks(ctx context.Context, o api.ListOptions) (api.Page[api.Runbook], error) {
	return list[api.Runbook](ctx, c, o, "runbooks")
}

// Runbook gets the active version of a runbook.
func (c *Client) Runbook(ctx context.Context, name string) (api.Runbook, error) {
	return ask[api.Runbook](ctx, c, get("runbooks", name))
}

// Template gets the empty CSV file of a runbook, with the delimiter of a name; empty: the comma.
func (c *Client) Template(ctx context.Context, name, delimiter string) ([]byte, error) {
	k := get("runbooks", name, "template")
	if delimiter != "" {
		k.query = url.Values{"delimiter": {delimiter}}
	}
	body, media, err := c.do(ctx, k)
	if err == nil && media != "text/csv" {
		return nil, &Error{Status: http.StatusOK, Code: CodeNotTheAPI, Detail: c.base.String() + " answered, but not as the admin API does"}
	}
	return body, err
}

// CreateBatch makes a batch of the members in a CSV file. An answer that is lost is asked
// for again, by a key that keeps the API from making a second batch.
func (c *Client) CreateBatch(ctx context.Context, runbook string, csv []byte, options ...api.UploadOption) (api.Batch, error) {
	k, err := upload(csv, options, creation(runbook, options), "batches")
	if err != nil {
		return api.Batch{}, err
	}
	return ask[api.Batch](ctx, c, once(k))
}

// creation has the fields of a form that creates a batch.
func creation(runbook string, options []api.UploadOption) map[string]string {
	fields := map[string]string{"runbook": runbook}
	d := api.UploadOptionsOf(options).Details
	for name, text := range map[string]*string{"name": d.Name, "note": d.Note, "owner": d.Owner} {
		if text != nil {
			fields[name] = *text
		}
	}
	return fields
}

// UpdateBatch gives a batch another name, note or owner. With a tag, only if the batch still has it.
func (c *Client) UpdateBatch(ctx context.Context, id int, d api.BatchDetails, why, tag string) (api.Batch, error) {
	k, err := postJSON(api.UpdateBatchRequest{BatchDetails: d, ReasonRequest: because(why)}, batchPath(id)...)
	if err != nil {
		return api.Batch{}, err
	}
	k.method, k.ifMatch, k.repeatable = http.MethodPatch, tag, tag == ""
	return ask[api.Batch](ctx, c, k)
}

// CheckBatch asks what CreateBatch would create or refuse.
func (c *Client) CheckBatch(ctx context.Context, runbook string, csv []byte, options ...api.UploadOption) (api.UploadCheck, error) {
	k, err := upload(csv, options, creation(runbook, options), "batches")
	if err != nil {
		return api.UploadCheck{}, err
	}
	return ask[api.UploadCheck](ctx, c, dryRun(k))
}

// Batches lists batches, the newest first.
func (c *Client) Batches(ctx context.Context, o api.ListOptions) (api.Page[api.Batch], error) {
	return list[api.Batch](ctx, c, o, "batches")
}

// Batch gets a batch.
func (c *Client) Batch(ctx context.Context, id int) (api.Batch, error) {
	return ask[api.Batch](ctx, c, get("batches", strconv.Itoa(id)))
}

// errNotModified: the caller has the answer already.
var errNotModified = errors.New("not modified")

// Follow gets a batch with its phases unless nothing of it has changed since the read that gave the tag
// seen; empty for the first read. It returns the tag of this read, and whether something has changed.
func (c *Client) Follow(ctx context.Context, id int, seen string) (b api.Batch, tag string, changed bool, err error) {
	k := get("batches", strconv.Itoa(id))
	k.query, k.ifNoneMatch, k.tag = url.Values{"include": {"phases"}}, seen, &tag
	b, err = ask[api.Batch](ctx, c, k)
	if errors.Is(err, errNotModified) {
		return api.Batch{}, seen, false, nil
	}
	return b, tag, true, err
}

// Members lists the members of a batch.
func (c *Client) Members(ctx context.Context, id int, o api.ListOptions) (api.Page[api.Member], error) {
	return list[api.Member](ctx, c, o, "batches", strconv.Itoa(id), "members")
}

// Phases lists the phases of a batch with how their members stand.
func (c *Client) Phases(ctx context.Context, id int) (api.Page[api.Phase], error) {
	return ask[api.Page[api.Phase]](ctx, c, get("batches", strconv.Itoa(id), "phases"))
}

// Steps lists the steps of a batch.
func (c *Client) Steps(ctx context.Context, id int, o api.ListOptions) (api.Page[api.Step], error) {
	return list[api.Step](ctx, c, o, "batches", strconv.Itoa(id), "steps")
}

// Step gets a step.
func (c *Client) Step(ctx context.Context, batch int, step int64) (api.Step, error) {
	return ask[api.Step](ctx, c, get("batches", strconv.Itoa(batch), "steps", strconv.FormatInt(step, 10)))
}

// Errors groups the errors of a batch's failed members.
func (c *Client) Errors(ctx context.Context, batch int) (api.BatchErrors, error) {
	return ask[api.BatchErrors](ctx, c, get("batches", strconv.Itoa(batch), "errors"))
}

// Checks lists the last results of the checks of a batch's members.
func (c *Client) Checks(ctx context.Context, id int, o api.ListOptions) (api.Page[api.Check], error) {
	return list[api.Check](ctx, c, o, "batches", strconv.Itoa(id), "checks")
}

// Advance starts the next phase of a manual batch, which the caller names; "init" is the
// init steps. With a tag, only if the batch still has it. Asking twice does what asking
// once does.
func (c *Client) Advance(ctx context.Context, id int, phase, tag string) (api.AdvanceResult, error) {
	body, _ := json.Marshal(api.AdvanceRequest{Phase: &phase}) // strings always marshal
	return ask[api.AdvanceResult](ctx, c, call{
		method: http.MethodPost, path: []string{"batches", strconv.Itoa(id), "advance"},
		media: "application/json", body: body, ifMatch: tag, repeatable: true,
	})
}

// UnprocessableMessages lists messages that could not be processed, those kept last first.
func (c *Client) UnprocessableMessages(ctx context.Context, o api.ListOptions) (api.Page[api.UnprocessableMessage], error) {
	return list[api.UnprocessableMessage](ctx, c, o, "messages", "unprocessed")
}

// UnprocessableMessage gets such a message with its body.
func (c *Client) UnprocessableMessage(ctx context.Context, id string) (api.UnprocessableMessage, error) {
	return ask[api.UnprocessableMessage](ctx, c, get("messages", "unprocessed", id))
}

// Replay sends such a message to its topic again. An answer that is lost does not
// lead to a second replay: the caller has to look before asking again.
func (c *Client) Replay(ctx context.Context, id, why string) (api.UnprocessableMessage, error) {
	return ask[api.UnprocessableMessage](ctx, c, post(why, "messages", "unprocessed", id, "replay"))
}

// Discard marks such a message as dealt with. It is sent once, as Replay is.
func (c *Client) Discard(ctx context.Context, id, why string) (api.UnprocessableMessage, error) {
	return ask[api.UnprocessableMessage](ctx, c, post(why, "messages", "unprocessed", id, "discard"))
}

// post asks for something to be done, with the reason where there is one.
func post(why string, path ...string) call {
	k := call{method: http.MethodPost, path: path}
	if why != "" {
		k.media = "application/json"
		k.body, _ = json.Marshal(because(why)) // strings always marshal
	}
	return k
}

func list[V any](ctx context.Context, c *Client, o api.ListOptions, path ...string) (api.Page[V], error) {
	return listed[api.Page[V]](ctx, c, o, path...)
}

// listed asks for a page of a list that has more to it than its items.
func listed[V any](ctx context.Context, c *Client, o api.ListOptions, path ...string) (V, error) {
	k := get(path...)
	k.query = listQuery(o)
	return ask[V](ctx, c, k)
}

func listQuery(o api.ListOptions) url.Values {
	query := url.Values{}
	for name, value := range map[string]string{
		"continuationToken": o.Continuation, "status": strings.Join(o.Statuses, ","), "sort": o.Sort, "search": o.Search, "runbook": o.Runbook, "name": o.Name, "owner": o.Owner, "phase": o.Phase,
		"limit": positive(o.Limit), "member": cmp.Or(o.MemberRef, positive(o.Member)), "topic": o.Topic, "include": strings.Join(o.Include, ","),
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	return query
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
