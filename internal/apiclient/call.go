package apiclient

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/google/uuid"
)

const (
	attempts    = 6 // about six seconds in all
	firstWait   = 200 * time.Millisecond
	longestWait = 10 * time.Second // that the API can ask for
	attemptTime = 2 * time.Minute
	maxAnswer   = 64 << 20 // bytes
)

// call is one request. A repeatable one does no harm when the API carries it out
// twice.
type call struct {
	method      string
	path        []string // segments after /api, not yet escaped
	query       url.Values
	media       string // of body
	ifMatch     string // the ETag that what is changed must still be at; empty for any
	ifNoneMatch string // the ETag of the answer that the caller has; empty for none
	key         string // what the request is called, by which the API carries it out once; empty for none
	body        []byte
	repeatable  bool
	within      time.Duration // attemptTime when 0
	tag         *string       // gets the ETag of the answer; nil for none
	into        *stream       // where a good answer goes; nil keeps it in memory
}

// once is a call that is called by a new key, so that the API carries it out once
// however often it is sent.
func once(k call) call {
	k.key, k.repeatable = uuid.NewString(), true
	return k
}

func get(path ...string) call { return call{method: http.MethodGet, path: path, repeatable: true} }

// do sends a call and gives the body of a good answer.
func (c *Client) do(ctx context.Context, k call) ([]byte, string, error) {
	delays := &backoff.ExponentialBackOff{InitialInterval: firstWait, Multiplier: 2, MaxInterval: longestWait}
	for attempt := 1; ; attempt++ {
		body, media, after, err := c.once(ctx, k)
		if err == nil {
			return body, media, nil
		}
		var e *Error
		again := errors.As(err, &e) && e.Temporary() && (k.repeatable || notSent(err) || e.Status == http.StatusTooManyRequests) && !errors.Is(err, errBrokenOff)
		if !again || attempt == attempts || ctx.Err() != nil {
			return nil, "", err
		}
		if c.wait(ctx, max(delays.NextBackOff(), min(after, longestWait))) != nil {
			return nil, "", err
		}
	}
}

func (c *Client) once(ctx context.Context, k call) (body []byte, media string, after time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(k.within, attemptTime))
	defer cancel()
	address := c.base.JoinPath(append([]string{"api"}, escape(k.path)...)...)
	address.RawQuery = k.query.Encode()
	r, err := http.NewRequestWithContext(ctx, k.method, address.String(), bytes.NewReader(k.body))
	if err != nil {
		return nil, "", 0, err
	}
	r.Header.Set("Accept", "application/json, application/problem+json")
	r.Header.Set("User-Agent", "matoolkit")
	if k.media != "" {
		r.Header.Set("Content-Type", k.media)
	}
	if k.key != "" {
		r.Header.Set("Idempotency-Key", k.key)
	}
	if k.ifNoneMatch != "" {
		r.Header.Set("If-None-Match", k.ifNoneMatch)
	}
	if k.ifMatch != "" {
		r.Header.Set("If-Match", `"`+k.ifMatch+`"`)
	}
	if c.token != nil {
		token, err := c.token(ctx)
		if err != nil {
			return nil, "", 0, err
		}
		r.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, "", 0, c.unreachable(err)
	}
	defer answer.Body.Close()
	if k.into != nil && answer.StatusCode == http.StatusOK {
		return nil, "", 0, c.pass(answer, k.into)
	}
	data, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	if err != nil {
		return nil, "", 0, c.unreachable(err)
	}
	if len(data) > maxAnswer {
		return nil, "", 0, &Error{Status: answer.StatusCode, Code: CodeNotTheAPI, Detail: fmt.Sprintf("%s answered with more than %d bytes", c.base, maxAnswer)}
	}
	if answer.StatusCode == http.StatusNotModified && k.ifNoneMatch != "" {
		return nil, "", 0, errNotModified
	}
	if k.tag != nil {
		*k.tag = answer.Header.Get("ETag")
	}
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		return nil, "", time.Duration(max(seconds, 0)) * time.Second, refusal(answer, data, c.base.String())
	}
	media, _, _ = mime.ParseMediaType(answer.Header.Get("Content-Type"))
	return data, media, 0, nil
}

func escape(segments []string) []string {
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = url.PathEscape(s)
	}
	return escaped
}

func (c *Client) unreachable(err error) error {
	cause := err
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		cause = wrapped.Err // without the method and the address, which Detail has
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return &Error{Code: CodeUnreachable, Detail: "no answer from " + c.base.String(), Cause: cause}
}

// ask sends a call and decodes the JSON of its answer.
func ask[V any](ctx context.Context, c *Client, k call) (V, error) {
	var view V
	body, media, err := c.do(ctx, k)
	if err != nil {
		return view, err
	}
	if media == "application/json" {
		err = json.Unmarshal(body, &view)
	}
	if media != "application/json" || err != nil {
		return view, &Error{Status: http.StatusOK, Code: CodeNotTheAPI, Detail: c.base.String() + " answered, but not as the admin API does", Cause: err}
	}
	return view, nil
}
