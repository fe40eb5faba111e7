package graph

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"time"

	abstractions "github.com/microsoft/kiota-abstractions-go"

	"github.com/matoolkit/matoolkit/internal/nextlink"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// send makes a request whose body the SDK has no type for, or whose null values it would leave out, and
// ignores what comes back. A nil body is none. path begins with the version of the API.
func (c *Client) send(ctx context.Context, pace throttle.Policy, method abstractions.HttpMethod, path string, body any) error {
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return err
		}
	}
	target, err := url.Parse(c.url + path)
	if err != nil {
		return err
	}
	return c.do(ctx, pace, func(ctx context.Context) error {
		request := abstractions.NewRequestInformation()
		request.Method = method
		request.SetUri(*target)
		if raw != nil {
			request.SetStreamContentAndContentType(raw, "application/json")
		}
		return c.graph.SendNoContent(ctx, request, graphErrors)
	})
}

// Read reads a path, which begins with the version of the API and has its query options. The error is a *catalog.Failure.
func (c *Client) Read(ctx context.Context, path string) (object map[string]any, err error) {
	r, err := plainRequest("GET", path, nil)
	if err != nil {
		return nil, err
	}
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) (err error) {
		object, err = c.roundTrip(ctx, r)
		return err
	})
	return object, err
}

// ReadAll reads the objects of a list with all its pages.
func (c *Client) ReadAll(ctx context.Context, path string) (all []map[string]any, err error) {
	for {
		page, err := c.Read(ctx, path)
		if err != nil {
			return nil, err
		}
		items, isList := page["value"].([]any)
		if !isList {
			return nil, &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: "Graph's answer is not a list"}
		}
		for _, item := range items {
			if object, ok := item.(map[string]any); ok {
				all = append(all, object)
			}
		}
		next, _ := page["@odata.nextLink"].(string)
		if next == "" {
			return all, nil
		}
		u, err := url.Parse(next)
		if err == nil {
			err = nextlink.Check(next, c.url)
		}
		if err != nil {
			return nil, &catalog.Failure{Type: catalog.FailureConflict, Attempts: 1, Message: err.Error() + ": the rest of the list cannot be read"}
		}
		path = u.RequestURI()
	}
}

// Now is the time by the clock that the client waits by.
func (c *Client) Now() time.Time {
	if now := c.paces.writes.Now; now != nil {
		return now()
	}
	return time.Now()
}

// URL is the address of a path, as references in bodies have it.
func (c *Client) URL(path string) string { return c.url + path }

// Ask makes a POST that changes nothing, and counts as a read.
func (c *Client) Ask(ctx context.Context, path string, body any) (answer map[string]any, err error) {
	r, err := plainRequest("POST", path, body)
	if err != nil {
		return nil, err
	}
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) (err error) {
		answer, err = c.roundTrip(ctx, r)
		return err
	})
	return answer, err
}

// Validate makes a POST that changes nothing, and counts as a read. A refusal with the status answers is the answer: its
// text is returned, and no object.
func (c *Client) Validate(ctx context.Context, path string, body any, answers int) (object map[string]any, refusal string, err error) {
	r, err := plainRequest("POST", path, body)
	if err != nil {
		return nil, "", err
	}
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) (err error) {
		object, err = c.roundTrip(ctx, r)
		if _, text, status := said(err); status == answers {
			object, refusal, err = nil, text, nil
		}
		return err
	})
	return object, refusal, err
}

// Look is a read of catalog.Unless.
type Look struct {
	Path string
	// MayBeMissing: Shows gets nil for a path that does not exist. Otherwise the read fails, once replication lag cannot
	// be the reason.
	MayBeMissing bool
	// Shows judges what was read. doubtful: a read that is late would show the same after another job's change.
	Shows func(object map[string]any) (shown catalog.Shown, doubtful bool, err error)
}

// Look reads, and repeats the read for as long as wait says.
func (c *Client) Look(ctx context.Context, l Look, wait catalog.Waiting) (shown catalog.Shown, err error) {
	r, err := plainRequest("GET", l.Path, nil)
	if err != nil {
		return shown, err
	}
	var judged error
	err = c.do(ctx, c.paces.reads, func(ctx context.Context) error {
		object, err := c.roundTrip(ctx, r)
		_, _, status := said(err)
		switch {
		case status == http.StatusNotFound && l.MayBeMissing:
			object = nil
		case err != nil:
			return err
		case object == nil:
			object = map[string]any{} // an answer without a body
		}
		var doubtful bool
		shown, doubtful, judged = l.Shows(object)
		if judged == nil && (!shown.Met && wait.Result || shown.Met && doubtful && wait.Absence) {
			return &staleError{shown.Reason}
		}
		return nil
	})
	var failure *catalog.Failure
	if wait != (catalog.Waiting{}) && errors.As(err, &failure) && failure.Type == catalog.FailureConflict {
		err = nil
	}
	return shown, cmp.Or(err, judged)
}

// Write makes a request at the pace of writes, and repeats only what Graph has not carried out. If it fails, uncertain
// tells whether the request may have been carried out.
func (c *Client) Write(ctx context.Context, method, path string, body any) (uncertain bool, err error) {
	r, err := plainRequest(method, path, body)
	if err != nil {
		return false, err
	}
	_, uncertain, err = c.make(ctx, r, judgeOnce)
	return uncertain, err
}

// Repeat makes a request at the pace of writes that may be carried out more than once, and returns the properties of the
// answer.
func (c *Client) Repeat(ctx context.Context, method, path string, body any) (object map[string]any, err error) {
	r, err := plainRequest(method, path, body)
	if err != nil {
		return nil, err
	}
	err = c.do(ctx, c.paces.writes, func(ctx context.Context) (err error) {
		object, err = c.roundTrip(ctx, r)
		return err
	})
	return object, err
}

// Fresh makes a body anew for each attempt, such as one with a time that must not have passed.
type Fresh func() any

// plainRequest is a request with a path of this program. A nil body is none.
func plainRequest(method, path string, body any) (r *request, err error) {
	r = &request{method: method}
	if r.target, err = url.Parse(path); err != nil {
		return nil, err
	}
	if fresh, is := body.(Fresh); is {
		r.fresh = fresh
		return r, nil
	}
	if body != nil {
		r.body, err = json.Marshal(body)
	}
	return r, err
}
