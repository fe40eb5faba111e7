package databricks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/loopback"
)

// scope is Azure Databricks: the ID of its application in every tenant.
const scope = "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d/.default"

// client asks one workspace, and the storage that its links lead to.
type client struct {
	base    string // scheme and host
	local   bool   // the workspace is on this machine
	api     runtime.Pipeline
	storage runtime.Pipeline // never signs in
	hide    *strings.Replacer
	tuning
}

func newClient(base *url.URL, spec datasource.Spec, t tuning) *client {
	own := *spec.HTTPClient
	// Neither of the two redirects. A sign-in page in front of the API must not pass
	// for the API, and the client checks a link before following it.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	local := loopback.Is(base.Hostname())
	bearer := runtime.NewBearerTokenPolicy(signIn{spec.Credential}, []string{scope}, &policy.BearerTokenOptions{
		InsecureAllowCredentialWithHTTP: local && base.Scheme == "http",
	})
	options := policy.ClientOptions{Transport: &own, Retry: t.retry}
	api := runtime.NewPipeline("matoolkit", "v1", runtime.PipelineOptions{PerRetry: []policy.Policy{bearer}}, &options)
	// A chunk takes as long to read as its rows take to be used: only the context of the
	// query bounds it.
	links := options
	links.Retry.TryTimeout = 0
	links.Telemetry.Disabled = true
	hide := []string{base.Host, "(the workspace)", base.Hostname(), "(the workspace)"}
	if len(spec.Warehouse) >= 8 { // less would be found in every other text
		hide = append(hide, spec.Warehouse, "(the warehouse)")
	}
	return &client{
		base:    base.Scheme + "://" + base.Host,
		local:   local,
		api:     api,
		storage: runtime.NewPipeline("matoolkit", "v1", runtime.PipelineOptions{}, &links),
		hide:    strings.NewReplacer(hide...),
		tuning:  t,
	}
}

// signIn marks the errors of a sign-in, which no repetition cures.
type signIn struct{ azcore.TokenCredential }

func (s signIn) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := s.TokenCredential.GetToken(ctx, o)
	if err != nil {
		return token, &signInError{err}
	}
	return token, nil
}

type signInError struct{ err error }

func (e *signInError) Error() string { return "no token for Databricks: " + e.err.Error() }
func (e *signInError) Unwrap() error { return e.err }

// call sends a request to the workspace and reads its answer, both JSON. A request is
// repeated where the service says so or does not answer.
func (c *client) call(ctx context.Context, method, path string, in, out any) error {
	req, err := runtime.NewRequest(ctx, method, c.base+path)
	if err != nil {
		return errors.New("the request cannot be created")
	}
	req.Raw().Header.Set("Accept", "application/json")
	if in != nil {
		if err := runtime.MarshalAsJSON(req, in); err != nil {
			return err
		}
	}
	resp, err := c.api.Do(req)
	if err != nil {
		return c.unreachableError(ctx, "the workspace", err)
	}
	body, err := runtime.Payload(resp)
	switch {
	case err != nil:
		return c.unreachableError(ctx, "the workspace", err)
	case resp.StatusCode != http.StatusOK:
		return c.refusalError(resp, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("unexpected response of the workspace: %w", err)
	}
	return nil
}

// sparing returns the retries of the request that starts a statement. A request
// that was not carried out is repeated like any other. If that is unknown, the
// client repeats it once only: a statement without a known id may then run that cannot be
// cancelled. It only reads, but it occupies the warehouse. The service keeps an unpolled
// statement for at least 15 minutes; its documentation does not say when it ends it, except by STATEMENT_TIMEOUT.
func sparing(o policy.RetryOptions) policy.RetryOptions {
	lost := 0
	o.ShouldRetry = func(resp *http.Response, err error) bool {
		switch {
		case err != nil && notSent(err):
			return true
		case err != nil:
			lost++
			return lost == 1
		}
		switch resp.StatusCode {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return true
		case http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout:
			lost++
			return lost == 1
		}
		return false
	}
	return o
}

// notSent tells whether a request failed before any of it reached the workspace.
func notSent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}
