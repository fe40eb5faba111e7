// Package session runs cmdlets on Exchange Online, through the REST back end of its
// PowerShell module: one POST that names a cmdlet and its parameters. That interface
// is not published; all that depends on it is in this file, behind Session.Invoke.
//
// The package knows neither the bus nor Graph.
package session

import (
	"bytes"
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
	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/nextlink"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Concurrency is how many commands run at once: Exchange Online refuses more.
const Concurrency = 3

// Step is by how much the delays grow where Exchange Online does not say how long to
// wait: 3 s, 6 s, 9 s and so on.
const Step = 3 * time.Second

// Config of a Session. URL, TenantID, Credential and Policy are required.
type Config struct {
	URL        string // such as https://outlook.office365.com
	Scope      string // of the token; empty means URL + "/.default"
	TenantID   string // of the target tenant
	Credential azcore.TokenCredential
	HTTP       *http.Client // nil means one with a time limit of 100 seconds
	Policy     throttle.Policy
	// Concurrency is how many commands this session may run at once; 0 means
	// Concurrency, which is the tenant's limit for all of its sessions.
	Concurrency int
}

// Session calls Exchange Online as one application. It is safe for concurrent use.
type Session struct {
	endpoint string
	anchor   string
	scope    string
	config   Config
	pace     throttle.Policy // of commands: so many at once, and what one is told holds for all
}

// New makes a session. It does not connect.
func New(config Config) (*Session, error) {
	base, err := url.Parse(config.URL)
	if err != nil || base.Hostname() == "" {
		return nil, fmt.Errorf("exchange: %q is not the URL of a server", config.URL)
	}
	root := strings.TrimRight(config.URL, "/")
	if config.Scope == "" {
		config.Scope = root + "/.default"
	}
	if config.HTTP == nil {
		config.HTTP = &http.Client{Timeout: 100 * time.Second}
	}
	if config.Policy.Step == 0 {
		config.Policy.Step = Step
	}
	if config.Concurrency <= 0 {
		config.Concurrency = Concurrency
	}
	return &Session{
		endpoint: root + "/adminapi/beta/" + url.PathEscape(config.TenantID) + "/InvokeCommand",
		// The mailbox by which requests are routed: every tenant has this one.
		anchor: "APP:SystemMailbox{bb558c35-97f1-4cb9-8ff7-d53741dc928c}@" + config.TenantID,
		scope:  config.Scope,
		config: config,
		pace:   config.Policy.Through(throttle.NewLimiter(config.Policy, throttle.Limits{Concurrent: config.Concurrency})),
	}, nil
}

// Policy is how reads are repeated that wait for something.
func (s *Session) Policy() throttle.Policy { return s.config.Policy }

// Invoke runs a cmdlet, repeated by the policy, and decodes its output into the
// slice that into points to; nil ignores it. Its error is a *catalog.Failure.
func (s *Session) Invoke(ctx context.Context, cmdlet string, parameters map[string]any, into any) error {
	return s.InvokeJudged(ctx, cmdlet, parameters, into, Judge)
}

// InvokeJudged is Invoke with another judge of the errors worth repeating.
func (s *Session) InvokeJudged(ctx context.Context, cmdlet string, parameters map[string]any, into any, by func(error) throttle.Verdict) error {
	objects, attempts, err := s.pages(ctx, cmdlet, parameters, into != nil, by)
	if err == nil && into != nil {
		err = decode(objects, into)
	}
	if err == nil {
		return nil
	}
	f := &catalog.Failure{Type: catalog.FailureUnreachable, Message: cmdlet + ": " + err.Error(), Attempts: attempts}
	if v := by(err); v.Outcome == throttle.Throttled {
		f.Type, f.Throttled, f.RetryAfter = catalog.FailureThrottled, true, v.After
	}
	var refused *Refusal
	if errors.As(err, &refused) {
		f.Type, f.NotFound = refused.kind, refused.Status == http.StatusNotFound
	}
	return f
}

// maxPages limits the pages of one output: a list that does not end is refused.
const maxPages = 1000

// pages runs a cmdlet and reads all that it prints: Exchange Online gives the next page of its output to the same
// request at another address. attempts is how often the last page was asked for.
func (s *Session) pages(ctx context.Context, cmdlet string, parameters map[string]any, all bool, by func(error) throttle.Verdict) (objects []json.RawMessage, attempts int, err error) {
	link := s.endpoint
	for range maxPages {
		var page answer
		attempts, err = s.pace.Do(ctx, by, func(ctx context.Context) error {
			body, err := s.invokeOnce(ctx, link, cmdlet, parameters)
			if err == nil && all {
				page, err = readAnswer(body)
			}
			return err
		})
		if err != nil && link != s.endpoint {
			err = &PartialError{err}
		}
		if err != nil || !all {
			return nil, attempts, err
		}
		objects = append(objects, page.Value...)
		if page.Next == "" {
			return objects, attempts, nil
		}
		if err := nextlink.Check(page.Next, s.endpoint); err != nil {
			return nil, attempts, &PartialError{notUnderstood(err.Error())}
		}
		link = page.Next
	}
	return nil, attempts, &PartialError{notUnderstood(fmt.Sprintf("the answer has more than %d pages", maxPages))}
}

// PartialError is the error of a cmdlet that ran, and a further page of whose output could not be read.
type PartialError struct{ err error }

func (e *PartialError) Error() string { return e.err.Error() }
func (e *PartialError) Unwrap() error { return e.err }

// invokeOnce returns the body of an answer that is no refusal.
func (s *Session) invokeOnce(ctx context.Context, link, cmdlet string, parameters map[string]any) ([]byte, error) {
	request, err := s.request(ctx, link, cmdlet, parameters)
	if err != nil {
		return nil, err
	}
	response, err := s.config.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		return nil, refusalFrom(response, body)
	}
	return body, nil
}

func (s *Session) request(ctx context.Context, link, cmdlet string, parameters map[string]any) (*http.Request, error) {
	type input struct {
		CmdletName string
		Parameters map[string]any
	}
	body, err := json.Marshal(struct{ CmdletInput input }{input{cmdlet, parameters}})
	if err != nil {
		return nil, err
	}
	token, err := s.config.Credential.GetToken(ctx, policy.TokenRequestOptions{Scopes: []string{s.scope}})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, link, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"Authorization":     "Bearer " + token.Token,
		"Content-Type":      "application/json",
		"Accept-Encoding":   "identity", // refusals come falsely labelled as gzip
		"Prefer":            "odata.maxpagesize=1000",
		"X-AnchorMailbox":   s.anchor,
		"X-CmdletName":      cmdlet,
		"X-ResponseFormat":  "json",
		"client-request-id": uuid.NewString(),
	} {
		request.Header.Set(name, value)
	}
	return request, nil
}

// maxAnswer limits the size of a page.
const maxAnswer = 8 << 20

// answer is a page of what a cmdlet prints.
type answer struct {
	Value []json.RawMessage `json:"value"`
	Next  string            `json:"@odata.nextLink"`
}

// readAnswer reads a page. Cmdlets that print nothing, as writes do, answer without a value or without a body.
func readAnswer(body []byte) (a answer, err error) {
	if len(bytes.TrimSpace(body)) == 0 {
		return a, nil
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return a, notUnderstood("the answer is not the expected JSON: " + err.Error())
	}
	return a, nil
}

// decode reads objects into the slice that into points to. It stays as it is if there are none.
func decode(objects []json.RawMessage, into any) error {
	if len(objects) == 0 {
		return nil
	}
	list, err := json.Marshal(objects)
	if err == nil {
		err = json.Unmarshal(list, into)
	}
	if err != nil {
		return notUnderstood("the answer is not the expected JSON: " + err.Error())
	}
	return nil
}

// notUnderstood is the error of an answer that is not as this package expects.
func notUnderstood(text string) error { return &Refusal{kind: "InvalidAnswer", text: text} }
