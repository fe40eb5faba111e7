package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/loopback"
)

// maxAnswer bounds one answer of Graph, in bytes. A page of 999 objects has some megabytes.
const maxAnswer = 32 << 20

// attempts is how often an answer that breaks off is begun. The pipeline repeats those that do not begin.
const attempts = 3

// client asks Graph, and the storage that a file is downloaded from.
type client struct {
	connection
	api     runtime.Pipeline
	storage runtime.Pipeline // never signs in
	tuning
}

func newClient(c connection, credential azcore.TokenCredential, transport *http.Client, t tuning) *client {
	own := *transport
	// A token stays with Graph. The client follows the redirect to a file itself.
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	bearer := runtime.NewBearerTokenPolicy(signIn{credential}, []string{c.scope()}, &policy.BearerTokenOptions{
		InsecureAllowCredentialWithHTTP: c.local,
	})
	options := policy.ClientOptions{Transport: &own, Retry: t.retry}
	links := options
	links.Telemetry.Disabled = true
	return &client{
		connection: c, tuning: t,
		api:     runtime.NewPipeline("matoolkit", "v1", runtime.PipelineOptions{PerRetry: []policy.Policy{bearer}}, &options),
		storage: runtime.NewPipeline("matoolkit", "v1", runtime.PipelineOptions{}, &links),
	}
}

// afterWait is the least rest of a query's time after a wait, for the request itself.
const afterWait = 10 * time.Second

// patiently gives the requests of a query the pauses that fit into its time. Of a longer pause the next query learns:
// it then comes at a better time than the end of this one.
func (c *client) patiently(query context.Context) context.Context {
	retry := c.retry
	retry.ShouldRetry = func(resp *http.Response, err error) bool {
		if err != nil {
			return true
		}
		switch resp.StatusCode {
		case http.StatusTooManyRequests, http.StatusRequestTimeout, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		default:
			return false
		}
		wait := datasource.RetryAfter(resp)
		// The context of the answer has the end of one request.
		deadline, bounded := query.Deadline()
		return wait == 0 || !bounded || time.Now().Add(wait+afterWait).Before(deadline)
	}
	return policy.WithRetryOptions(query, retry)
}

// signIn marks the errors of a sign-in.
type signIn struct{ azcore.TokenCredential }

func (s signIn) GetToken(ctx context.Context, o policy.TokenRequestOptions) (azcore.AccessToken, error) {
	token, err := s.TokenCredential.GetToken(ctx, o)
	if err != nil {
		return token, &signInError{err}
	}
	return token, nil
}

type signInError struct{ err error }

func (e *signInError) Error() string { return e.err.Error() }

func (e *signInError) Unwrap() error { return e.err }

// NonRetriable has the pipeline not repeat it: the credential has.
func (e *signInError) NonRetriable() {}

// request is one question to Graph.
type request struct {
	what    string // what is asked for, as an error names it: "the group …"
	path    string // after /v1.0, escaped; or the link to a further page
	query   url.Values
	header  http.Header
	needs   string // the permissions that a refusal names
	further bool   // a page after the first
}

// advanced is the header of queries that Graph answers from its index of the directory. Members of one type,
// and filters with ne, not and endsWith, need it, with $count=true.
func advanced() http.Header { return http.Header{"Consistencylevel": {"eventual"}} }

// get asks Graph and reads its answer. It repeats a request whose answer breaks off.
func (c *client) get(ctx context.Context, r request, out any) error {
	var resp *http.Response
	var body []byte
	for attempt := 1; ; attempt++ {
		var err error
		if resp, err = c.send(ctx, r); err != nil {
			return err
		}
		body, err = readAll(resp.Body, maxAnswer)
		_ = resp.Body.Close()
		if err == nil {
			break
		}
		if attempt == attempts || ctx.Err() != nil || errors.Is(err, errTooLarge) {
			return c.unreachable(ctx, r, err)
		}
	}
	if resp.StatusCode != http.StatusOK {
		return c.refusal(r, resp, body)
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("%s: the answer of Graph is not complete or not JSON: %w", r.what, err)
	}
	return nil
}

// send asks Graph; the caller closes the body.
func (c *client) send(ctx context.Context, r request) (*http.Response, error) {
	address := r.path
	if !r.further {
		address = c.endpoint + "/v1.0" + r.path
		if len(r.query) > 0 {
			// Graph reads a plus sign in a query as it stands.
			address += "?" + strings.ReplaceAll(r.query.Encode(), "+", "%20")
		}
	}
	req, err := runtime.NewRequest(c.patiently(ctx), http.MethodGet, address)
	if err != nil {
		return nil, fmt.Errorf("%s: the request cannot be made", r.what)
	}
	runtime.SkipBodyDownload(req)
	req.Raw().Header.Set("Accept", "application/json")
	for name, values := range r.header {
		req.Raw().Header[name] = values
	}
	resp, err := c.api.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, r, err)
	}
	return resp, nil
}

// download gets the content of a file of a known size. Graph gives the address of its storage.
func (c *client) download(ctx context.Context, r request, size int64) ([]byte, error) {
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusFound {
		_, _ = readAll(resp.Body, maxAnswer)
		if resp, err = c.fetch(ctx, r, resp.Header.Get("Location")); err != nil {
			return nil, err
		}
		defer resp.Body.Close()
	}
	if resp.StatusCode != http.StatusOK {
		body, _ := readAll(resp.Body, maxAnswer)
		return nil, c.refusal(r, resp, body)
	}
	body := make([]byte, size+1)
	n, err := io.ReadFull(resp.Body, body)
	switch {
	case err == nil || int64(n) != size && (err == io.EOF || err == io.ErrUnexpectedEOF):
		return nil, fmt.Errorf("%s: the download has other than its %d bytes: it was changed while it was read, or ended early", r.what, size)
	case err != io.EOF && err != io.ErrUnexpectedEOF:
		return nil, c.unreachable(ctx, r, err)
	}
	return body[:n], nil
}

// fetch follows the one redirect of a download. The address is a secret, and gets no token.
func (c *client) fetch(ctx context.Context, r request, location string) (*http.Response, error) {
	u, err := url.Parse(location)
	if err != nil || u.Host == "" || u.Scheme != "https" && !(c.local && loopback.Is(u.Hostname())) {
		return nil, fmt.Errorf("%s: Graph redirects the download to an address without https", r.what)
	}
	req, err := runtime.NewRequest(c.patiently(ctx), http.MethodGet, u.String())
	if err != nil {
		return nil, fmt.Errorf("%s: the request of the download cannot be made", r.what)
	}
	runtime.SkipBodyDownload(req)
	resp, err := c.storage.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, r, err)
	}
	return resp, nil
}

var errTooLarge = errors.New("the answer is larger than the limit")

// readAll reads what has at most so many bytes.
func readAll(from io.Reader, limit int64) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err == nil && int64(len(body)) > limit {
		return nil, errTooLarge
	}
	return body, err
}
