package tenantexport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/matoolkit/matoolkit/internal/nextlink"
)

const (
	// graphUnits is a quarter of the 350 resource units a second that an application has in the smallest tenants. Large ones
	// allow 800.
	graphUnits = 87
	// exchangeCommands is how many commands run at once. A tenant allows three.
	exchangeCommands = 2

	maxAttempts = 12       // of a request
	maxAnswer   = 64 << 20 // bytes
)

// client makes the requests of an export. It is safe for concurrent use.
type client struct {
	config Config
	http   *http.Client
	units  *rate.Limiter

	mu       sync.Mutex
	until    map[string]time.Time // by host: the service asked for a pause until then
	requests int
	waited   time.Duration
}

func newClient(c Config) *client {
	k := &client{config: c, http: c.HTTP, units: rate.NewLimiter(rate.Limit(c.Units), 4*c.Units), until: map[string]time.Time{}}
	if k.http == nil {
		k.http = &http.Client{Timeout: 5 * time.Minute}
	}
	return k
}

func (k *client) counts() (requests int, waited time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.requests, k.waited
}

// refusal is an error answer.
type refusal struct {
	status        int
	code, message string
}

func (r *refusal) Error() string {
	if r.message == "" {
		return fmt.Sprintf("%s (status %d)", http.StatusText(r.status), r.status)
	}
	return fmt.Sprintf("%s (status %d %s)", r.message, r.status, r.code)
}

// refused reports whether err is an error answer with one of the statuses.
func refused(err error, statuses ...int) bool {
	var r *refusal
	if !errors.As(err, &r) {
		return false
	}
	for _, status := range statuses {
		if r.status == status {
			return true
		}
	}
	return false
}

// passing reports whether a request is worth repeating.
func passing(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// request is a request that can be repeated.
type request struct {
	method, address string
	body            []byte
	header          map[string]string
	units           int // of Graph; 0: of Exchange
	counted         int // requests that it stands for
}

// do carries a request out, as often as its failures pass, and decodes the answer.
func (k *client) do(ctx context.Context, r request, into any) error {
	root := k.config.GraphURL
	if r.units == 0 {
		root = k.config.ExchangeURL
	}
	if err := nextlink.Check(r.address, root); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	fresh, delay := false, k.config.Backoff
	for attempt := 1; ; attempt++ {
		body, after, err := k.once(ctx, r, root, fresh)
		if err == nil {
			if err := json.Unmarshal(bytes.TrimRight(body, "\x00"), into); err != nil {
				return fmt.Errorf("export: %s: the answer is not the expected JSON: %w", place(r), err)
			}
			return nil
		}
		var answered *refusal
		isAnswer := errors.As(err, &answered)
		var token *tokenError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &token):
			return err
		case isAnswer && answered.status == http.StatusUnauthorized && !fresh: // the token has expired on the way
			fresh = true
			continue
		case isAnswer && !passing(answered.status), attempt >= maxAttempts:
			return fmt.Errorf("export: %s: %w", place(r), err)
		}
		fresh = false
		if after == 0 {
			after, delay = delay, min(2*delay, 64*k.config.Backoff)
		}
		k.pause(root, after)
	}
}

// place is a request as an error names it.
func place(r request) string {
	if cmdlet := r.header["X-CmdletName"]; cmdlet != "" {
		return cmdlet
	}
	u, err := url.Parse(r.address)
	if err != nil {
		return r.method
	}
	return r.method + " " + u.Path
}

type tokenError struct{ error }

func (e *tokenError) Unwrap() error { return e.error }

// once makes one attempt. after is the delay that the service asks for.
func (k *client) once(ctx context.Context, r request, root string, fresh bool) (body []byte, after time.Duration, err error) {
	if r.units > 0 {
		if err := k.units.WaitN(ctx, min(r.units, k.units.Burst())); err != nil {
			return nil, 0, err
		}
	}
	if err := k.wait(ctx, root); err != nil {
		return nil, 0, err
	}
	scope := k.config.GraphScope
	if r.units == 0 {
		scope = k.config.ExchangeScope
	}
	token, err := k.config.Token(ctx, scope, fresh)
	if err != nil {
		return nil, 0, &tokenError{err}
	}
	q, err := http.NewRequestWithContext(ctx, r.method, r.address, bytes.NewReader(r.body))
	if err != nil {
		return nil, 0, err
	}
	q.Header.Set("Authorization", "Bearer "+token)
	for name, value := range r.header {
		q.Header.Set(name, value)
	}
	k.mu.Lock()
	k.requests += max(r.counted, 1)
	k.mu.Unlock()
	answer, err := k.http.Do(q)
	if err != nil {
		return nil, 0, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, 0, err
	case len(body) > maxAnswer:
		return nil, 0, fmt.Errorf("the answer is larger than %d bytes", maxAnswer)
	case answer.StatusCode/100 == 2:
		return body, 0, nil
	}
	return nil, retryAfter(answer.Header.Get("Retry-After"), k.config.Now()), refusalOf(answer.StatusCode, body)
}

// refusalOf reads an error answer of Graph or Exchange. That of Exchange has its text in the details.
func refusalOf(status int, body []byte) *refusal {
	r := &refusal{status: status}
	var answer struct {
		Error struct {
			Code    string                     `json:"code"`
			Message string                     `json:"message"`
			Details []struct{ Message string } `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(bytes.TrimRight(body, "\x00"), &answer) != nil {
		return r
	}
	r.code, r.message = answer.Error.Code, answer.Error.Message
	if len(answer.Error.Details) > 0 && answer.Error.Details[0].Message != "" {
		r.message = answer.Error.Details[0].Message
		if parts := strings.SplitN(r.message, "|", 3); len(parts) == 3 {
			r.message = parts[2]
		}
	}
	return r
}

// retryAfter reads seconds, which may have a fraction, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(strings.TrimSpace(text), 64); err == nil && seconds >= 0 && !math.IsInf(seconds, 0) {
		return time.Duration(min(seconds, 3600) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return min(at.Sub(now), time.Hour)
	}
	return 0
}

// pause keeps all requests away from a service for a time.
func (k *client) pause(root string, d time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if until := k.config.Now().Add(d); until.After(k.until[root]) {
		k.until[root] = until
	}
}

func (k *client) wait(ctx context.Context, root string) error {
	k.mu.Lock()
	d := k.until[root].Sub(k.config.Now())
	if d > 0 {
		k.waited += d
	}
	k.mu.Unlock()
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
