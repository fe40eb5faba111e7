// Package github is the REST API of GitHub on one machine: the part that reads repositories, for workers in tests and
// in the local system.
//
// It follows the documentation of version 2022-11-28 (https://docs.github.com/rest): the pages on repositories, contents
// and trees, on pagination, on conditional requests, on rate limits and on troubleshooting. It was not compared with
// the live service. Other addresses, parameters and media types are refused.
package github

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Config of a server. The zero value is one with the documented limits.
type Config struct {
	// Addr is the loopback address to listen on; "" is 127.0.0.1:0.
	Addr string
	// Limit and AnonymousLimit are the requests that a user has an hour, and that those without a token have together; 0
	// are 5,000 and 60.
	Limit, AnonymousLimit int
	// PerMinute and Concurrent are secondary limits of a user: requests in a minute, and at a time; 0 are 900 and 100.
	PerMinute, Concurrent int
	// LimitStatus is the status of a request above a limit, 403 or 429, which the documentation both names; 0 is 403.
	LimitStatus int
	// Now is the clock of the limits; nil is time.Now.
	Now func() time.Time
}

// Server is a running server. Its methods may be called concurrently.
type Server struct {
	config Config
	url    string
	http   *http.Server
	done   chan error

	mu       sync.Mutex
	owners   map[string]*owner // by lower-case login
	tokens   map[string]string // logins by token
	limits   map[string]*limit // by login, "" for those without a token
	faults   []*Fault
	requests []Request
}

// Request is a request that was received, of any outcome.
type Request struct {
	Method      string `json:"method"`
	Path        string `json:"path"` // with the query
	Login       string `json:"login,omitempty"`
	IfNoneMatch string `json:"ifNoneMatch,omitempty"`
	Status      int    `json:"status"` // 0 where the connection was closed without an answer
}

// Start listens and serves until Close.
func Start(ctx context.Context, config Config) (*Server, error) {
	defaults := map[*int]int{&config.Limit: 5000, &config.AnonymousLimit: 60, &config.PerMinute: 900, &config.Concurrent: 100, &config.LimitStatus: http.StatusForbidden}
	for value, normal := range defaults {
		if *value == 0 {
			*value = normal
		}
	}
	if config.LimitStatus != http.StatusForbidden && config.LimitStatus != http.StatusTooManyRequests {
		return nil, fmt.Errorf("local GitHub: the status %d of the limits is neither 403 nor 429", config.LimitStatus)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.Addr == "" {
		config.Addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(config.Addr)
	if err != nil || !loopback.Is(host) {
		return nil, fmt.Errorf("local GitHub: address %q is not a loopback address", config.Addr)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", config.Addr)
	if err != nil {
		return nil, fmt.Errorf("local GitHub: %w", err)
	}
	s := &Server{
		config: config, url: "http://" + listener.Addr().String(), done: make(chan error, 1),
		owners: map[string]*owner{}, tokens: map[string]string{}, limits: map[string]*limit{},
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { s.done <- s.http.Serve(listener) }()
	return s, nil
}

// URL is the base of the API, without a trailing slash.
func (s *Server) URL() string { return s.url }

// Close stops the server at once.
func (s *Server) Close() error {
	err := s.http.Close()
	if serveErr := <-s.done; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	s.done <- http.ErrServerClosed // a second Close finds the same answer
	return err
}

// Requests returns the requests so far, the oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Documentation addresses of errors.
const (
	docs          = "https://docs.github.com/rest"
	docsLimits    = docs + "/using-the-rest-api/rate-limits-for-the-rest-api"
	docsSecondary = docsLimits + "#about-secondary-rate-limits"
)

// answer is the response to a request.
type answer struct {
	status int
	body   []byte
	kind   string // content type; empty: JSON
	etag   string // without quotes and W/
	link   string // of pages
	header map[string]string
	free   bool // does not count against the primary limit
}

func refuse(status int, documentation, format string, args ...any) *answer {
	body, err := json.Marshal(map[string]string{"message": fmt.Sprintf(format, args...), "documentation_url": documentation, "status": fmt.Sprint(status)})
	if err != nil { // texts always marshal
		panic(err)
	}
	return &answer{status: status, body: body}
}

func notFound() *answer { return refuse(http.StatusNotFound, docs, "Not Found") }

func object(value any) *answer {
	body, err := json.Marshal(value)
	if err != nil { // texts, numbers and times always marshal
		panic(err)
	}
	return &answer{status: http.StatusOK, body: body, etag: hash(body)}
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/_local/") { // as no GitHub has it
		s.serveLocal(w, r)
		return
	}
	login, a := s.authenticate(r)
	l := s.enter(login)
	defer s.leave(l)
	record := Request{Method: r.Method, Path: r.URL.RequestURI(), Login: login, IfNoneMatch: r.Header.Get("If-None-Match")}
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests = append(s.requests, record)
	}()
	if a == nil {
		a = s.secondary(l)
	}
	if a == nil && r.URL.Path != "/rate_limit" {
		a = s.exhausted(l, login)
	}
	if a == nil {
		var drop bool
		if a, drop = s.strike(r); drop {
			panic(http.ErrAbortHandler) // closes the connection
		}
	}
	if a == nil {
		a = s.conditional(r, login, s.route(r, login))
	}
	s.charge(l, a)
	record.Status = a.status
	s.write(w, l, a)
}

// conditional answers 304 where the caller has what it would get. Only a caller with a token gets it for free.
func (s *Server) conditional(r *http.Request, login string, a *answer) *answer {
	if a.etag == "" {
		return a
	}
	a.etag = hash([]byte(a.etag + "\n" + login + "\n" + a.kind + "\n" + a.link)) // an ETag is that of one representation, for one caller
	for _, one := range strings.Split(r.Header.Get("If-None-Match"), ",") {
		one = strings.Trim(strings.TrimPrefix(strings.TrimSpace(one), "W/"), `"`)
		if one == a.etag || one == "*" {
			return &answer{status: http.StatusNotModified, etag: a.etag, link: a.link, free: login != ""}
		}
	}
	return a
}

func (s *Server) write(w http.ResponseWriter, l *limit, a *answer) {
	h := w.Header()
	h.Set("X-GitHub-Request-Id", strings.ToUpper(uuid.NewString()[:23]))
	h.Set("X-GitHub-Media-Type", "github.v3; format=json")
	h.Set("Content-Type", "application/json; charset=utf-8")
	if a.kind != "" {
		h.Set("Content-Type", a.kind)
	}
	if a.etag != "" {
		h.Set("ETag", `W/"`+a.etag+`"`)
		h.Set("Cache-Control", "private, max-age=60, s-maxage=60")
		h.Set("Vary", "Accept, Authorization, Cookie, X-GitHub-OTP")
	}
	if a.link != "" {
		h.Set("Link", a.link)
	}
	s.writeLimit(h, l)
	for name, value := range a.header {
		h.Set(name, value)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client is gone if this fails
}

// authenticate finds the login of a request, empty without a token.
func (s *Server) authenticate(r *http.Request) (string, *answer) {
	if r.UserAgent() == "" {
		return "", refuse(http.StatusForbidden, docs, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header.")
	}
	header := r.Header.Get("Authorization")
	if header == "" {
		return "", nil
	}
	kind, token, _ := strings.Cut(header, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	login, known := s.tokens[token]
	if !known || !strings.EqualFold(kind, "Bearer") && !strings.EqualFold(kind, "token") {
		return "", refuse(http.StatusUnauthorized, docs, "Bad credentials")
	}
	return login, nil
}

// versions of the API that this server answers alike.
var versions = []string{"", "2022-11-28"}

// route answers a request that no limit stops.
func (s *Server) route(r *http.Request, login string) *answer {
	if v := r.Header.Get("X-GitHub-Api-Version"); !slices.Contains(versions, v) {
		return refuse(http.StatusBadRequest, docs, "The version %s of the API is not supported here.", v)
	}
	if r.Method != http.MethodGet {
		return refuse(http.StatusNotFound, docs, "Not Found: %s is not supported here.", r.Method)
	}
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	for i, part := range parts {
		text, err := url.PathUnescape(part)
		if err != nil {
			return notFound()
		}
		parts[i] = text
	}
	is := func(n int, first string, others ...string) bool {
		return len(parts) >= n && parts[0] == first && (len(others) == 0 || slices.Equal(parts[3:min(len(parts), 3+len(others))], others))
	}
	var found func(view) *answer
	allowed := []string{}
	v := view{media: r.Header.Get("Accept"), query: r.URL.Query(), login: login}
	switch {
	case len(parts) == 1 && parts[0] == "rate_limit":
		return s.rateLimit(login)
	case len(parts) == 3 && is(3, "users") && parts[2] == "repos":
		v.owner, found, allowed = parts[1], s.listRepos, []string{"per_page", "page", "type", "sort", "direction"}
	case len(parts) == 3 && is(3, "repos"):
		found = s.getRepo
	case is(4, "repos", "contents"):
		v.path, found, allowed = strings.Join(parts[4:], "/"), s.getContents, []string{"ref"}
	case len(parts) == 6 && is(6, "repos", "git", "trees"):
		v.path, found, allowed = parts[5], s.getTree, []string{"recursive"}
	default:
		return refuse(http.StatusNotFound, docs, "Not Found: %s is not served here.", r.URL.Path)
	}
	if parts[0] == "repos" {
		v.owner, v.repo = parts[1], parts[2]
	}
	for name := range v.query {
		if !slices.Contains(allowed, name) {
			return refuse(http.StatusUnprocessableEntity, docs, "Invalid request: the parameter %s is not supported here.", name)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return found(v)
}
