// Package apiclient calls the admin API: one method for each route. It signs each
// request, waits out short outages and turns problem documents into errors.
//
// It knows the API's addresses and views, and nothing of how a person signs in or
// of how an answer is shown.
package apiclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Client calls one admin API. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token func(context.Context) (string, error)
	http  *http.Client
	wait  func(context.Context, time.Duration) error
}

// Config says where the API is and who calls. BaseURL is required.
type Config struct {
	// BaseURL is the address of the API, with or without /api at its end. It is
	// https, or http to this machine: a token is not sent in the clear.
	BaseURL string
	// Token gives an access token for each request; nil sends none.
	Token func(context.Context) (string, error)
	// HTTP carries the requests; http.DefaultClient when nil.
	HTTP *http.Client
	// Wait waits between attempts; nil waits on the clock.
	Wait func(context.Context, time.Duration) error
}

// New makes a Client. It sends nothing.
func New(c Config) (*Client, error) {
	base, err := url.Parse(strings.TrimSpace(c.BaseURL))
	switch {
	case err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http":
		return nil, fmt.Errorf("invalid address of the admin API %q: use one such as https://my-api.azurewebsites.net", c.BaseURL)
	case base.RawQuery != "" || base.Fragment != "" || base.User != nil:
		return nil, fmt.Errorf("invalid address of the admin API %q: use only a host and a path", base.Redacted())
	case base.Scheme == "http" && !loopback.Is(base.Hostname()):
		return nil, fmt.Errorf("invalid address of the admin API %q: use https, which protects the token", c.BaseURL)
	}
	base.Path = strings.TrimSuffix(strings.TrimRight(base.Path, "/"), "/api")
	base.RawPath = ""
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	if c.Wait == nil {
		c.Wait = wait
	}
	// The API never redirects; a sign-in page in front of it does, and its answer
	// must not pass for the API's.
	own := *c.HTTP
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, token: c.Token, http: &own, wait: c.Wait}, nil
}

// URL is the address of the API, without /api.
func (c *Client) URL() string { return c.base.String() }

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// notSent tells whether a request failed before any of it reached the API, so that
// sending it again cannot do anything twice.
func notSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
