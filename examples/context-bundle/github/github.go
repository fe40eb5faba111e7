// Package github reads repositories through the REST API of GitHub, version 2022-11-28: the properties of a
// repository, and files of its default branch. Requests are conditional where the caller has an ETag.
//
// All requests of a Client pass one limiter. A request above a limit of GitHub is repeated when GitHub permits it, unless
// the context ends before: then the failure says how long to wait.
package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Config says where GitHub is. Only URL is required.
type Config struct {
	URL       string // of the API, such as https://api.github.com
	Token     string // empty: GitHub allows 60 requests an hour, and public repositories only
	UserAgent string
	HTTP      *http.Client
	// Policy is how requests are repeated, without limiters; zero: throttle.Default without a lag.
	Policy throttle.Policy
	// PerMinute is how many requests this client makes in a minute; 0: as many as come.
	PerMinute int
}

// Client is safe for concurrent use.
type Client struct {
	config Config
	pace   throttle.Policy
	now    func() time.Time
}

// New makes a client. It does not connect.
func New(c Config) (*Client, error) {
	base, err := url.Parse(c.URL)
	if err != nil || base.Hostname() == "" {
		return nil, errors.New("the address of GitHub is not the URL of a server: use one such as https://api.github.com")
	}
	c.URL = strings.TrimRight(c.URL, "/")
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	if c.UserAgent == "" {
		c.UserAgent = "matoolkit"
	}
	policy := c.Policy
	if policy.Base == 0 {
		standard := throttle.Default()
		policy.Retries, policy.TransientRetries, policy.Base, policy.Max = standard.Retries, standard.TransientRetries, standard.Base, standard.Max
	}
	if policy.Now == nil {
		policy.Now = time.Now
	}
	limiter := throttle.NewLimiter(policy, throttle.Limits{Rate: throttle.Rate{Calls: c.PerMinute, Per: time.Minute}})
	return &Client{config: c, pace: policy.Through(limiter), now: policy.Now}, nil
}

// MaxFile is how many bytes of a file are read.
const MaxFile = 1 << 20

// About has the properties of a repository that do not change with each push.
type About struct {
	Description   string   `json:"description,omitempty"`
	Language      string   `json:"language,omitempty"`
	Topics        []string `json:"topics,omitempty"`
	DefaultBranch string   `json:"defaultBranch,omitempty"`
	Archived      bool     `json:"archived,omitempty"`
}

// State says what an answer has.
type State int

// States. Unchanged means that the caller's ETag is that of the object; Unreadable that a path has no file that can be
// read, such as a directory.
const (
	Present State = iota
	Unchanged
	Absent
	Unreadable
)

// Repository is an answer about a repository.
type Repository struct {
	State State // Present or Unchanged
	ETag  string
	About About
}

// Repository reads the properties of a repository. Etag is that of an earlier answer, or empty. The error is a
// *catalog.Failure: catalog.FailureParameters if there is no such repository, or the token may not see it.
func (c *Client) Repository(ctx context.Context, owner, name, etag string) (Repository, error) {
	if err := CheckNames(owner, name); err != nil {
		return Repository{}, err
	}
	a, err := c.get(ctx, c.repository(owner, name), "application/vnd.github+json", etag)
	switch status := statusOf(err); {
	case status == http.StatusNotFound:
		return Repository{}, &catalog.Failure{
			Type: catalog.FailureParameters, NotFound: true, Attempts: 1,
			Message: fmt.Sprintf("GitHub has no repository %s/%s, or the token may not read it: check the names and the token", owner, name),
		}
	case err != nil:
		return Repository{}, c.fail(err)
	case a.status == http.StatusNotModified:
		return Repository{State: Unchanged, ETag: etag}, nil
	}
	r := Repository{ETag: a.etag}
	var body struct {
		Description, Language *string
		Topics                []string
		DefaultBranch         string `json:"default_branch"`
		Archived              bool
	}
	if a.cut || json.Unmarshal(a.body, &body) != nil {
		return Repository{}, &catalog.Failure{Type: catalog.FailureUnreachable, Message: "the answer of GitHub about the repository is not JSON", Attempts: 1}
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return *s
	}
	r.About = About{text(body.Description), text(body.Language), body.Topics, body.DefaultBranch, body.Archived}
	return r, nil
}

// File is an answer about a file.
type File struct {
	State   State
	ETag    string // of Present and Unchanged
	Content string // of Present, valid UTF-8
	Problem string // of Unreadable: why, after the path
}

// File reads a file of the default branch. Etag is that of an earlier answer, or empty. A file that does not exist, also
// because the repository is empty, is Absent. The error is a *catalog.Failure.
func (c *Client) File(ctx context.Context, owner, name, path, etag string) (File, error) {
	err := CheckNames(owner, name)
	if err == nil {
		err = CheckPath(path)
	}
	if err != nil {
		return File{}, err
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	a, err := c.get(ctx, c.repository(owner, name)+"/contents/"+strings.Join(segments, "/"), rawType, etag)
	switch status := statusOf(err); {
	case status == http.StatusNotFound:
		return File{State: Absent}, nil
	case err != nil:
		return File{}, c.fail(err)
	case a.status == http.StatusNotModified:
		return File{State: Unchanged, ETag: etag}, nil
	case !strings.HasPrefix(a.kind, rawType):
		return File{State: Unreadable, Problem: "is not a file"}, nil
	case a.cut:
		return File{State: Unreadable, Problem: fmt.Sprintf("has more than %d bytes", MaxFile)}, nil
	}
	return File{ETag: a.etag, Content: strings.ToValidUTF8(string(a.body), "\uFFFD")}, nil
}

// rawType is the media type of the content of a file. For a directory the answer has another.
const rawType = "application/vnd.github.raw+json"

func (c *Client) repository(owner, name string) string {
	return c.config.URL + "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name)
}

// Forms of names. Logins with an underscore are those of managed users.
var (
	ownerForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,38}$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}$`)
)

// CheckOwner refuses a text that is no login of GitHub. The error is a *catalog.Failure.
func CheckOwner(owner string) error {
	if ownerForm.MatchString(owner) {
		return nil
	}
	return invalid("%q is not the name of a user or an organization of GitHub: use letters, digits, '-' and '_', at most 39", clip(owner))
}

// CheckNames refuses names that no repository of GitHub has. The error is a *catalog.Failure.
func CheckNames(owner, name string) error {
	if err := CheckOwner(owner); err != nil {
		return err
	}
	if !nameForm.MatchString(name) || name == "." || name == ".." {
		return invalid("%q is not the name of a repository of GitHub: use letters, digits, '.', '-' and '_', at most 100", clip(name))
	}
	return nil
}

// CheckPath refuses a text that is no path of a file. The error is a *catalog.Failure.
func CheckPath(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || len(path) > 500 {
			return invalid("%q is not the path of a file in a repository: use one such as docs/index.md, at most 500 characters", clip(path))
		}
	}
	return nil
}

func invalid(format string, args ...any) error {
	return &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf(format, args...)}
}

// clip bounds a text from outside in an error.
func clip(text string) string {
	if len(text) > 100 {
		return strings.ToValidUTF8(text[:100], "") + "…"
	}
	return text
}

// answer is a response with status 200 or 304.
type answer struct {
	status     int
	kind, etag string
	body       []byte
	cut        bool // the body has more bytes than MaxFile
}

// refusal is a response with another status.
type refusal struct {
	status  int
	message string // GitHub's
	after   time.Duration
	limited bool
}

func (r *refusal) Error() string {
	return fmt.Sprintf("GitHub answered %d: %s", r.status, r.message)
}

func statusOf(err error) int {
	var r *refusal
	if errors.As(err, &r) {
		return r.status
	}
	return 0
}

// attemptsError is the last error of a request that was made several times.
type attemptsError struct {
	error
	attempts int
}

func (e *attemptsError) Unwrap() error { return e.error }

func (c *Client) get(ctx context.Context, address, accept, etag string) (a answer, err error) {
	attempts, err := c.pace.Do(ctx, judge, func(ctx context.Context) error {
		a, err = c.once(ctx, address, accept, etag)
		return err
	})
	if err != nil {
		return answer{}, &attemptsError{err, attempts}
	}
	return a, nil
}

func (c *Client) once(ctx context.Context, address, accept, etag string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return answer{}, err
	}
	h := request.Header
	h.Set("Accept", accept)
	h.Set("X-GitHub-Api-Version", "2022-11-28")
	h.Set("User-Agent", c.config.UserAgent)
	if c.config.Token != "" {
		h.Set("Authorization", "Bearer "+c.config.Token)
	}
	if etag != "" {
		h.Set("If-None-Match", etag)
	}
	response, err := c.config.HTTP.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(response.Body, MaxFile+1))
	if err != nil {
		return answer{}, err
	}
	switch response.StatusCode {
	case http.StatusOK, http.StatusNotModified:
		return answer{response.StatusCode, response.Header.Get("Content-Type"), response.Header.Get("ETag"), body, len(body) > MaxFile}, nil
	}
	return answer{}, c.refused(response, body)
}

// secondaryWait is how long to wait after a secondary limit where GitHub does not say.
const secondaryWait = time.Minute

// refused reads a response that is an error. Beside 429, GitHub answers 403 above a limit: with Retry-After, with no
// request remaining, or, for a secondary limit, only with a text.
func (c *Client) refused(response *http.Response, body []byte) *refusal {
	var said struct{ Message string }
	r := &refusal{status: response.StatusCode, message: response.Status}
	if json.Unmarshal(bytes.TrimSpace(body), &said) == nil && said.Message != "" {
		r.message = clip(said.Message)
	}
	h := response.Header
	r.after = throttle.After(h.Get("Retry-After"), c.now())
	if r.status != http.StatusForbidden && r.status != http.StatusTooManyRequests {
		return r
	}
	switch reset, err := strconv.ParseInt(h.Get("X-RateLimit-Reset"), 10, 64); {
	case r.after > 0:
		r.limited = true
	case h.Get("X-RateLimit-Remaining") == "0" && err == nil:
		r.limited, r.after = true, max(time.Unix(reset, 0).Sub(c.now()), time.Second)
	case r.status == http.StatusTooManyRequests, strings.Contains(strings.ToLower(said.Message), "rate limit"):
		r.limited, r.after = true, secondaryWait
	}
	return r
}

// judge says whether a request is worth repeating.
func judge(err error) throttle.Verdict {
	var closed *throttle.ClosedError
	var refused *refusal
	switch {
	case errors.Is(err, context.Canceled):
		return throttle.Verdict{}
	case errors.As(err, &closed):
		return closed.Verdict()
	case !errors.As(err, &refused): // no answer
		return throttle.Verdict{Outcome: throttle.Transient}
	case refused.limited:
		return throttle.Verdict{Outcome: throttle.Throttled, After: refused.after}
	case refused.status >= 500 || refused.status == http.StatusRequestTimeout:
		return throttle.Verdict{Outcome: throttle.Transient, After: refused.after}
	}
	return throttle.Verdict{}
}

// fail makes the failure of a function from the error of a request.
func (c *Client) fail(err error) error {
	f := &catalog.Failure{Type: catalog.FailureUnreachable, Message: "GitHub: " + err.Error()}
	var made *attemptsError
	if errors.As(err, &made) {
		f.Attempts = made.attempts
	}
	if status := statusOf(err); status != 0 {
		f.Type, f.Message = fmt.Sprintf("HTTP %d", status), err.Error()
		switch status {
		case http.StatusUnauthorized:
			f.Type, f.Message = catalog.FailureNotConfigured, "GitHub refuses the token: renew it"
		case http.StatusUnavailableForLegalReasons:
			f.Type = catalog.FailureParameters
		}
	}
	if v := judge(err); v.Outcome == throttle.Throttled {
		f.Type, f.Throttled, f.RetryAfter = catalog.FailureThrottled, true, v.After
	}
	return f
}
