package graph

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	abstractions "github.com/microsoft/kiota-abstractions-go"

	"github.com/matoolkit/matoolkit/worker/calls"
	"github.com/matoolkit/matoolkit/worker/catalog"
	"github.com/matoolkit/matoolkit/worker/throttle"
)

// Requests are the requests that Invoke-GraphRequest may make.
type Requests struct {
	Setting string   // its name, for errors
	Allowed []string // such as GET /v1.0/groups?$filter, as CheckRequest takes them, beside those of other functions
	None    bool     // no requests at all
}

// methods are those of Invoke-GraphRequest.
var methods = map[string]abstractions.HttpMethod{
	http.MethodGet: abstractions.GET, http.MethodPost: abstractions.POST, http.MethodPatch: abstractions.PATCH,
	http.MethodPut: abstractions.PUT, http.MethodDelete: abstractions.DELETE,
}

// CheckRequest refuses a text that does not describe a request: a method, a path, and, after a ?, the names of the query
// options that it takes beside freeOptions, with & between them.
func CheckRequest(described string) error {
	described, options, given := strings.Cut(described, "?")
	method, path, _ := strings.Cut(described, " ")
	if methods[method] == 0 && method != http.MethodGet {
		return fmt.Errorf("%q does not begin with GET, POST, PATCH, PUT or DELETE and a space", described)
	}
	if _, err := readPath(path); err != nil {
		return fmt.Errorf("%q: %w", described, err)
	}
	for _, name := range strings.Split(options, "&") {
		if given && (method != http.MethodGet || !slices.Contains(systemOptions, name)) {
			return fmt.Errorf("%q: after the ? is %q: a GET takes names of query options there, such as $filter&$expand, and no values", described, name)
		}
	}
	return nil
}

// readPath reads the path of a request, with its query options. It refuses what would not reach Graph as it is
// written here: a value that a runbook puts in must not lead elsewhere.
func readPath(path string) (*url.URL, error) {
	target, err := url.Parse(path)
	switch {
	case err != nil:
		return nil, errors.New("the path cannot be read: percent-encode its values")
	case target.Scheme != "" || target.Host != "" || !strings.HasPrefix(path, "/v1.0/") && !strings.HasPrefix(path, "/beta/"):
		return nil, errors.New("the path must begin with /v1.0/ or /beta/")
	case target.Fragment != "" || strings.HasSuffix(path, "#"):
		return nil, errors.New("the path has a #: percent-encode it as %23")
	}
	for _, segment := range strings.Split(target.EscapedPath(), "/")[1:] {
		plain, err := url.PathUnescape(segment)
		if err != nil || plain == "" || plain == "." || plain == ".." || strings.ContainsAny(plain, "/\\") {
			return nil, errors.New("the path has an empty segment, or one of dots or with a slash")
		}
	}
	options, err := url.ParseQuery(target.RawQuery)
	if err != nil || strings.Contains(target.RawQuery, "?") {
		return nil, errors.New("the query cannot be read: percent-encode a ; as %3B, a ? as %3F and a % as %25")
	}
	for name, values := range options {
		if len(values) > 1 {
			return nil, errors.New("the query option " + name + " is given twice")
		}
	}
	for _, name := range freeOptions {
		if strings.Contains(options.Get(name), "/") {
			return nil, errors.New(name + " has a slash: a ? in a value has cut the path short")
		}
	}
	return target, nil
}

// systemOptions are the query options that a read takes by Graph's documentation.
var systemOptions = []string{"$count", "$expand", "$filter", "$format", "$orderby", "$search", "$select", "$skip", "$skiptoken", "$top"}

// freeOptions are the query options that every read takes. Their values have no slash, so that none of them can hold the
// rest of a path.
var freeOptions = []string{"$select", "$top", "$skip", "$count"}

// checkOptions refuses query options that a request of the setting does not take. A ? in a value of a row makes the rest of
// the path an option, and another request of the one written.
func (r Requests) checkOptions(described []string, method string, target *url.URL) error {
	takes := []string{}
	if method == http.MethodGet {
		takes = append(takes, freeOptions...)
	}
	for _, d := range described {
		if _, options, given := strings.Cut(d, "?"); given {
			takes = append(takes, strings.Split(options, "&")...)
		}
	}
	for name := range target.Query() {
		if !slices.Contains(takes, name) {
			return refused(fmt.Sprintf("%s %s: the query option %s is not allowed: the request takes %s; a GET of the setting %s can name more, such as GET /v1.0/users?$filter",
				method, target.Path, name, cmp.Or(strings.Join(takes, ", "), "none"), r.Setting))
		}
	}
	return nil
}

// permit refuses a request that the worker is not allowed to make.
func (r Requests) permit(method string, target *url.URL, body []byte) error {
	request := method + " " + target.Path
	if r.None {
		return refused(request + ": the worker makes no requests of runbooks, by its setting " + r.Setting)
	}
	var allowed []string
	for _, described := range r.Allowed {
		if request, _, _ := strings.Cut(described, "?"); calls.SameRequest(request, method, target.Path) {
			allowed = append(allowed, described)
		}
	}
	if len(allowed) > 0 {
		return r.checkOptions(allowed, method, target)
	}
	name, err := calls.CheckGraph(method, target, body)
	only := calls.Only(name, body)
	switch {
	case err == nil && only == nil:
		return nil
	case err == nil:
		err = errors.New("only " + strings.Join(only, " or ") + " makes this request")
	case name == "":
		name = method + " " + pattern(target.Path)
		err = errors.New("no other function makes this request")
	default:
		err = fmt.Errorf("other functions make this request otherwise: %w", err)
	}
	return refused(fmt.Sprintf("%s: %v; to allow it, add it to the worker's setting %s, such as %q", request, err, r.Setting, name))
}

// pattern is a path with {id} for what looks like an id.
func pattern(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if anID.MatchString(segment) {
			segments[i] = "{id}"
		}
	}
	return strings.Join(segments, "/")
}

var anID = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$|@`)

func refused(text string) error {
	return &catalog.Failure{Type: catalog.FailureNotConfigured, Message: text}
}

// request is one request of Invoke-GraphRequest.
type request struct {
	method string
	target *url.URL
	body   []byte
	fresh  Fresh // makes the body of each attempt, if not nil
}

func (c *Client) readRequest(method, path string, body map[string]any) (*request, error) {
	target, err := readPath(path)
	if err != nil {
		return nil, &catalog.Failure{Type: catalog.FailureParameters, Message: err.Error()}
	}
	r := &request{method: method, target: target}
	if body != nil {
		if r.body, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	return r, c.requests.permit(method, target, r.body)
}

// check is the read that shows whether a request has been made; its path is nil for none.
type check struct {
	read     *request
	expected map[string]any // nil: the path does not exist
}

func (c *Client) readCheck(p catalog.Params) (check, error) {
	path := p.String("CheckPath")
	switch {
	case path == "" && p.Has("CheckExpected"):
		return check{}, &catalog.Failure{Type: catalog.FailureParameters, Message: "CheckExpected is given without CheckPath"}
	case path == "":
		return check{}, nil
	case p.String("Method") == http.MethodGet:
		return check{}, &catalog.Failure{Type: catalog.FailureParameters, Message: "CheckPath is given, but a GET writes nothing"}
	}
	read, err := c.readRequest(http.MethodGet, path, nil)
	return check{read, p.Object("CheckExpected")}, err
}

func (c *Client) invokeRequest(ctx context.Context, p catalog.Params) (any, error) {
	r, err := c.readRequest(p.String("Method"), p.String("Path"), p.Object("Body"))
	if err != nil {
		return nil, err
	}
	done, err := c.readCheck(p)
	if err != nil {
		return nil, err
	}
	switch {
	case done.read != nil:
		return c.makeUnless(ctx, r, done)
	case r.method == http.MethodPost:
		return c.postOnce(ctx, r)
	}
	answer, _, err := c.make(ctx, r, judge)
	var failure *catalog.Failure
	if r.method == http.MethodDelete && errors.As(err, &failure) && (failure.NotFound || failed(err, "removed object references do not exist")) {
		return true, nil
	}
	return answer, err
}

// postOnce makes a POST that nothing can tell of afterwards: at most once for a job.
func (c *Client) postOnce(ctx context.Context, r *request) (any, error) {
	if catalog.JobOf(ctx).Redelivered {
		return nil, &catalog.Failure{
			Type:    catalog.FailureConflict,
			Message: "the worker was interrupted and may have made this POST, which it repeats only with CheckPath: look whether it was made, and retry or skip the step",
		}
	}
	answer, uncertain, err := c.make(ctx, r, judgeOnce)
	var failure *catalog.Failure
	if uncertain && errors.As(err, &failure) {
		failure.Message += "; the POST may have been made: with CheckPath the worker looks itself"
	}
	return answer, err
}

// makeUnless makes a request unless the check shows its result, waits until it does, and answers what it shows.
// Where the request may have been made before, it waits first.
func (c *Client) makeUnless(ctx context.Context, r *request, done check) (any, error) {
	return catalog.Unless(ctx, func(wait catalog.Waiting) (catalog.Shown, error) { return c.Look(ctx, done.look(), wait) }, func() (bool, error) {
		_, uncertain, err := c.make(ctx, r, judgeOnce)
		return uncertain, err
	}, "the request was made, but the check does not show its result")
}

// look is the check as a read of catalog.Unless.
func (done check) look() Look {
	return Look{Path: done.read.target.String(), MayBeMissing: true, Shows: func(properties map[string]any) (s catalog.Shown, doubtful bool, err error) {
		switch {
		case properties == nil:
			return catalog.Shown{Answer: true, Met: done.expected == nil, Reason: "the path does not exist"}, done.expected == nil, nil
		case done.expected == nil:
			return catalog.Shown{Reason: "the path still exists"}, false, nil
		}
		s.Reason = catalog.Differences(done.expected, properties)
		s.Answer, s.Met = catalog.Answered(properties), s.Reason == ""
		return s, false, nil
	}}
}

// judgeOnce repeats only what Graph has not carried out.
func judgeOnce(err error) throttle.Verdict {
	if v := judge(err); v.Outcome != throttle.Transient {
		return v
	}
	return throttle.Verdict{}
}

// make makes a request and returns the properties of the answer. If it fails, uncertain tells whether the request
// may have been carried out.
func (c *Client) make(ctx context.Context, r *request, by func(error) throttle.Verdict) (answer any, uncertain bool, err error) {
	pace := c.paces.writes
	if r.method == http.MethodGet {
		pace = c.paces.reads
	}
	err = c.doJudged(ctx, pace, by, func(ctx context.Context) error {
		properties, err := c.roundTrip(ctx, r)
		uncertain = err != nil && judge(err).Outcome == throttle.Transient
		answer = catalog.Answered(properties)
		return err
	})
	if err != nil {
		return nil, uncertain, err
	}
	return answer, false, nil
}

// roundTrip sends a request once and reads the properties of the answer.
func (c *Client) roundTrip(ctx context.Context, r *request) (map[string]any, error) {
	target, err := url.Parse(c.url + r.target.String())
	if err != nil {
		return nil, err
	}
	information := abstractions.NewRequestInformation()
	information.Method = methods[r.method]
	information.SetUri(*target)
	information.Headers.Add("Accept", "application/json")
	body := r.body
	if r.fresh != nil {
		if body, err = json.Marshal(r.fresh()); err != nil {
			return nil, err
		}
	}
	if body != nil {
		information.SetStreamContentAndContentType(body, "application/json")
	}
	content, err := c.graph.SendPrimitive(ctx, information, "[]byte", graphErrors)
	raw, _ := content.([]byte)
	if err != nil || len(raw) == 0 {
		return nil, err
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		value = string(raw)
	}
	if properties, ok := value.(map[string]any); ok {
		return properties, nil
	}
	return map[string]any{"value": value}, nil
}
