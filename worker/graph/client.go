// Package graph carries out the Entra functions of the catalogue on Microsoft
// Graph. It is the only package that imports the Graph SDK, whose compilation
// takes minutes; it knows neither the bus nor Exchange.
package graph

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	abstractions "github.com/microsoft/kiota-abstractions-go"
	khttp "github.com/microsoft/kiota-http-go"
	core "github.com/microsoftgraph/msgraph-sdk-go-core"
	"github.com/microsoftgraph/msgraph-sdk-go-core/authentication"
	"github.com/microsoftgraph/msgraph-sdk-go/models/odataerrors"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Limits that Microsoft publishes for one application in one tenant.
var (
	PublishedWrites      = throttle.Rate{Calls: 3000, Per: 150 * time.Second}
	PublishedInvitations = throttle.Rate{Calls: 150, Per: 5 * time.Second}
)

// Config of a Client. URL, Credential and Policy are required.
type Config struct {
	URL        string // such as https://graph.microsoft.com, without a version
	Scope      string // of the token; empty means URL + "/.default"
	Credential azcore.TokenCredential
	HTTP       *http.Client // nil means the SDK's transport
	Policy     throttle.Policy
	// Writes and Invitations are this client's share of the application's limits,
	// which all its processes share. Zero means all.
	Writes, Invitations throttle.Rate
	Alert               Alert    // for Send-AdminAlert, which fails without
	MailDomains         []string // of the people whom CheckRecipient allows; empty: nobody
	Requests            Requests // of Invoke-GraphRequest
}

// Client calls Graph as one application. It is safe for concurrent use.
type Client struct {
	graph    *service
	url      string
	paces    paces
	alert    Alert
	domains  []string
	requests Requests
}

// paces are how the kinds of calls are repeated, and what they wait for together.
type paces struct {
	reads, writes, invitations throttle.Policy
}

func newPaces(c Config) paces {
	if c.Writes.Calls == 0 {
		c.Writes = PublishedWrites
	}
	if c.Invitations.Calls == 0 {
		c.Invitations = PublishedInvitations
	}
	reads := throttle.NewLimiter(c.Policy, throttle.Limits{})
	writes := throttle.NewLimiter(c.Policy, throttle.Limits{Rate: c.Writes})
	invitations := throttle.NewLimiter(c.Policy, throttle.Limits{Rate: c.Invitations})
	return paces{
		reads:       c.Policy.Through(reads),
		writes:      c.Policy.Through(writes),
		invitations: c.Policy.Through(invitations, writes),
	}
}

// New makes a client. It does not connect.
func New(config Config) (*Client, error) {
	base, err := url.Parse(config.URL)
	if err != nil || base.Hostname() == "" {
		return nil, fmt.Errorf("graph: %q is not the URL of a server", config.URL)
	}
	if config.Scope == "" {
		config.Scope = strings.TrimRight(config.URL, "/") + "/.default"
	}
	auth, err := authentication.NewAzureIdentityAuthenticationProviderWithScopesAndValidHosts(
		config.Credential, []string{config.Scope}, []string{base.Hostname()})
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	root := strings.TrimRight(config.URL, "/")
	s, err := newService(auth, httpClient(config.HTTP), root+"/v1.0")
	if err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	return &Client{graph: s, url: root, paces: newPaces(config), alert: config.Alert, domains: config.MailDomains, requests: config.Requests}, nil
}

// httpClient lists the middleware instead of taking the SDK's, which comes in
// another order in each process and, where Retry is outside of Compression,
// repeats a POST with an empty body. Neither of the two is in the list: this
// package repeats whole calls itself, by the tenant's Retry-After, and bodies
// are small.
func httpClient(base *http.Client) *http.Client {
	var transport http.RoundTripper
	if base != nil {
		transport = base.Transport
	}
	options := clientOptions()
	return &http.Client{
		Transport: khttp.NewCustomTransportWithParentTransport(transport,
			core.NewGraphTelemetryHandler(&options),
			khttp.NewUrlReplaceHandler(true, core.ReplacementPairs),
			khttp.NewParametersNameDecodingHandler(),
			khttp.NewUserAgentHandler(),
		),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       100 * time.Second,
	}
}

// Functions are the catalogue's functions that this package carries out.
func (c *Client) Functions() []catalog.Function {
	return []catalog.Function{
		catalog.NewEntraUser.With(c.newUser),
		catalog.SetEntraUserUPN.With(c.setUPN),
		catalog.SetEntraUserEnabled.With(c.setEnabled),
		catalog.SetEntraUserPassword.With(c.setPassword),
		catalog.SetEntraUserAttributes.With(c.setAttributes),
		catalog.SetEntraUserManager.With(c.setManager),
		catalog.RevokeEntraUserSessions.With(c.revokeSessions),
		catalog.AddEntraUserLicense.With(c.addLicense),
		catalog.RemoveEntraUserLicense.With(c.removeLicense),
		catalog.TestEntraUserLicense.With(c.testUserLicense),
		catalog.RemoveEntraUser.With(c.removeUser),
		catalog.SendAdminAlert.With(c.sendAlert),
		catalog.AddEntraGroupMember.With(c.addMember),
		catalog.RemoveEntraGroupMember.With(c.removeMember),
		catalog.NewEntraB2BInvitation.With(c.invite),
		catalog.ConvertEntraB2BToInternal.With(c.convert),
		catalog.TestEntraAttributeMatch.With(c.testAttribute),
		catalog.TestEntraGroupMembership.With(c.testMembership),
		catalog.TestEntraAddressAvailable.With(c.testAddress),
		catalog.TestEntraDomainVerified.With(c.testDomain),
		catalog.TestEntraLicenseAvailable.With(c.testLicense),
		catalog.InvokeGraphRequest.With(c.invokeRequest),
	}
}

// do makes one request at the pace of its kind, one of c.paces: a POST that changes
// nothing counts as a read. A call must not make another call, which would wait for
// it. The error is a *catalog.Failure.
func (c *Client) do(ctx context.Context, pace throttle.Policy, call func(ctx context.Context) error) error {
	return c.doJudged(ctx, pace, judge, call)
}

// doJudged is do with another judge of the errors worth repeating.
func (c *Client) doJudged(ctx context.Context, pace throttle.Policy, judge func(error) throttle.Verdict, call func(ctx context.Context) error) error {
	attempts, err := pace.Do(ctx, judge, call)
	if err == nil {
		return nil
	}
	f := &catalog.Failure{Type: catalog.FailureUnreachable, Message: err.Error(), Attempts: attempts}
	var stale *staleError
	code, text, status := said(err)
	f.NotFound = status == http.StatusNotFound
	if code != "" {
		f.Type, f.Message = code, text
	} else if errors.As(err, &stale) {
		f.Type = catalog.FailureConflict
	}
	if v := judge(err); v.Outcome == throttle.Throttled {
		f.Throttled, f.RetryAfter = true, v.After
		if code == "" {
			f.Type = catalog.FailureThrottled // its turn did not come
		}
	}
	return f
}

// staleError reports that a read does not show a write yet.
type staleError struct{ what string }

func (e *staleError) Error() string { return "the change is not visible yet: " + e.what }

// judge says whether a call that failed is worth repeating.
func judge(err error) throttle.Verdict {
	// An expired deadline is that of this request: after the job's deadline no result is read.
	if errors.Is(err, context.Canceled) {
		return throttle.Verdict{}
	}
	var closed *throttle.ClosedError
	if errors.As(err, &closed) {
		return closed.Verdict()
	}
	var stale *staleError
	if errors.As(err, &stale) {
		return throttle.Verdict{Outcome: throttle.Lagging}
	}
	code, text, status := said(err)
	var after time.Duration
	var api abstractions.ApiErrorable
	if errors.As(err, &api) && api.GetResponseHeaders() != nil {
		if values := api.GetResponseHeaders().Get("Retry-After"); len(values) > 0 {
			after = throttle.After(values[0], time.Now())
		}
	}
	switch {
	case status == http.StatusTooManyRequests,
		status == http.StatusServiceUnavailable && after > 0,
		throttle.Said(code), throttle.Said(text):
		return throttle.Verdict{Outcome: throttle.Throttled, After: after}
	case status >= 500:
		return throttle.Verdict{Outcome: throttle.Transient, After: after}
	case status == http.StatusNotFound:
		// A new object is not visible on every replica at once.
		return throttle.Verdict{Outcome: throttle.Lagging}
	case status > 0:
		return throttle.Verdict{}
	}
	var refused *azidentity.AuthenticationFailedError
	if errors.As(err, &refused) && refused.RawResponse != nil && refused.RawResponse.StatusCode < 500 {
		return throttle.Verdict{} // the credential is wrong
	}
	return throttle.Verdict{Outcome: throttle.Transient} // no answer came
}

// said returns Graph's error code, message and HTTP status; the status is 0
// without an answer.
func said(err error) (code, text string, status int) {
	var api abstractions.ApiErrorable
	if !errors.As(err, &api) {
		return "", "", 0
	}
	status = api.GetStatusCode()
	code, text = fmt.Sprintf("HTTP %d", status), err.Error()
	var odata *odataerrors.ODataError
	if errors.As(err, &odata) && odata.GetErrorEscaped() != nil {
		if v := odata.GetErrorEscaped().GetCode(); v != nil && *v != "" {
			code = *v
		}
		if v := odata.GetErrorEscaped().GetMessage(); v != nil {
			text = *v
		}
	}
	return code, text, status
}

// failed tells whether err is a failure whose message holds the text.
func failed(err error, text string) bool {
	var f *catalog.Failure
	return errors.As(err, &f) && strings.Contains(strings.ToLower(f.Message), strings.ToLower(text))
}
