package databricks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// statements is the address of the API. What belongs to one statement lies below it.
const statements = "/api/2.0/sql/statements"

// execution is the body of the request that starts a statement.
type execution struct {
	Statement   string `json:"statement"`
	Warehouse   string `json:"warehouse_id"`
	Disposition string `json:"disposition"`
	Format      string `json:"format"`
	// WaitTimeout is 0s: the answer comes at once and names the statement, so that it can
	// always be cancelled. The field on_wait_timeout has no effect then.
	WaitTimeout string `json:"wait_timeout"`
}

// statement is a statement's state in the API.
type statement struct {
	ID       string   `json:"statement_id"`
	Status   status   `json:"status"`
	Manifest manifest `json:"manifest"`
	Result   result   `json:"result"`
}

type status struct {
	State    string       `json:"state"`
	Error    serviceError `json:"error"`
	SQLState string       `json:"sql_state"` // of FAILED
}

// live tells whether the statement can still do something.
func (s status) live() bool { return s.State == "PENDING" || s.State == "RUNNING" }

// ended tells whether the statement cannot do anything any more. Neither is true of a
// state that is not known.
func (s status) ended() bool {
	return s.State == "SUCCEEDED" || s.State == "FAILED" || s.State == "CANCELED" || s.State == "CLOSED"
}

// result is a chunk, by links to it.
type result struct {
	Links []link `json:"external_links"`
}

// submit starts the statement. Where ctx ends while the request is under way, its
// answer is waited for a moment longer: only with it can the statement be cancelled.
func (c *client) submit(ctx context.Context, query, warehouse string) (statement, error) {
	if err := ctx.Err(); err != nil {
		return statement{}, err
	}
	lasting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(c.farewell, cancel) })
	defer stop()
	var st statement
	err := c.call(policy.WithRetryOptions(lasting, sparing(c.retry)), http.MethodPost, statements, execution{
		Statement: query, Warehouse: warehouse, Disposition: "EXTERNAL_LINKS", Format: "JSON_ARRAY", WaitTimeout: "0s",
	}, &st)
	switch {
	case err != nil && ctx.Err() != nil:
		return statement{}, ctx.Err()
	case err != nil:
		return statement{}, err
	case st.ID == "":
		return statement{}, errors.New("the workspace started the statement without an ID for it")
	}
	return st, nil
}

// await polls the state until it is SUCCEEDED. It cancels the statement when it stops
// waiting.
func (c *client) await(ctx context.Context, st statement) (statement, error) {
	id := st.ID
	for pause := c.firstPoll; ; pause = min(2*pause, c.lastPoll) {
		switch {
		case st.Status.State == "SUCCEEDED":
			st.ID = id
			return st, nil
		case !st.Status.live():
			if !st.Status.ended() {
				c.cancel(ctx, id)
			}
			return statement{}, c.failureError(st.Status)
		}
		state := st.Status.State
		err := c.wait(ctx, pause)
		if err == nil {
			st = statement{}
			err = c.call(ctx, http.MethodGet, statements+"/"+url.PathEscape(id), nil, &st)
		}
		if err != nil {
			c.cancel(ctx, id)
			if ctx.Err() != nil {
				return statement{}, fmt.Errorf("the statement was still %s and was cancelled: %w", state, ctx.Err())
			}
			return statement{}, err
		}
	}
}

// cancel ends a statement, also after ctx. Whether it succeeds changes nothing for the
// caller: there is no result either way, and a warehouse ends what runs too long.
func (c *client) cancel(ctx context.Context, id string) {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), c.farewell)
	defer done()
	var nothing struct{}
	_ = c.call(ctx, http.MethodPost, statements+"/"+url.PathEscape(id)+"/cancel", nil, &nothing)
}

// link asks for a link to a chunk of the result.
func (c *client) link(ctx context.Context, id string, chunk int) (link, error) {
	var r result
	err := c.call(ctx, http.MethodGet, statements+"/"+url.PathEscape(id)+"/result/chunks/"+strconv.Itoa(chunk), nil, &r)
	if err != nil {
		return link{}, err
	}
	return r.of(chunk)
}

// of is the link to a chunk. The API can give several; so far it gives one.
func (r result) of(chunk int) (link, error) {
	for _, l := range r.Links {
		if l.Index == chunk {
			return l, nil
		}
	}
	return link{}, errors.New("the workspace returned no link")
}
