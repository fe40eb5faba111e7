package tenant

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Audiences that Config.VerifyToken is called with.
const (
	GraphAudience    = "https://graph.microsoft.com"
	ExchangeAudience = "https://outlook.office365.com"
)

// Errors that Config.VerifyToken may wrap to tell a good token that lacks
// something from a bad one.
var (
	// ErrMissingPermission: the app permission is not in the token. Graph
	// answers 403 Authorization_RequestDenied, Exchange 401.
	ErrMissingPermission = errors.New("the token lacks the application permission")
	// ErrMissingRole: the service principal has no Entra directory role that
	// Exchange accepts. Exchange answers 403.
	ErrMissingRole = errors.New("the application has no supported directory role")
)

const (
	maxBody          = 4 << 20 // Graph's limit for one request
	exchangeParallel = 3       // commands at a time in one tenant
)

// Config is the configuration of a tenant. The zero value works, with state
// in memory on a free port.
type Config struct {
	Addr     string // loopback address, default 127.0.0.1:0
	DataDir  string // directory of the state; empty: in memory only
	TenantID string // default DefaultTenantID
	Seed     *Seed  // put in at the start; objects that exist already are left alone

	// VerifyToken judges a bearer token for one of the two audiences; nil
	// accepts any token that is not empty.
	VerifyToken func(token, audience string) error
	// Roles are the application permissions in a token for Graph, to be compared with
	// what an operation asks for; nil lets every token do everything.
	Roles func(token string) []string

	// ProvisionDelay is how long after its licence a user gets a mailbox and its provisioned plans.
	ProvisionDelay time.Duration

	Lag    time.Duration    // replication lag of every write; Faults.LagMS overrides it
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

// DefaultTenantID is the tenant of a Config that names none.
const DefaultTenantID = "7e4a1c52-0000-4000-8000-6d61746f6f6c"

// Server is a running tenant. Its methods may be called concurrently.
type Server struct {
	cfg       Config
	dir       *directory
	faults    injector
	counters  counters
	exchange  chan struct{} // slots for commands that run at the same time
	listener  net.Listener
	http      *http.Server
	closeOnce sync.Once
	closeErr  error
}

// Start opens the state, puts the seed in and listens. The server is ready
// when Start returns and stops when ctx ends or Close is called.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Addr == "" {
		cfg.Addr = "127.0.0.1:0"
	}
	if cfg.TenantID == "" {
		cfg.TenantID = DefaultTenantID
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("tenant: address %q: %w", cfg.Addr, err)
	}
	if !loopback.Is(host) {
		return nil, fmt.Errorf("tenant: address %q is not loopback", cfg.Addr)
	}
	s := &Server{cfg: cfg, dir: newDirectory(), exchange: make(chan struct{}, exchangeParallel)}
	if cfg.DataDir != "" {
		if s.dir.disk, err = openDisk(ctx, cfg.DataDir); err != nil {
			return nil, err
		}
		if err := s.dir.disk.load(ctx, s.dir); err != nil {
			s.dir.disk.db.Close()
			return nil, err
		}
	}
	if err := s.begin(cfg); err != nil {
		if s.dir.disk != nil {
			s.dir.disk.db.Close()
		}
		return nil, err
	}
	context.AfterFunc(ctx, func() { s.Close() })
	return s, nil
}

func (s *Server) begin(cfg Config) (err error) {
	if cfg.Seed != nil {
		if err := s.Seed(*cfg.Seed); err != nil {
			return err
		}
	}
	if s.listener, err = net.Listen("tcp", cfg.Addr); err != nil {
		return fmt.Errorf("tenant: listen: %w", err)
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
			s.cfg.Logger.Error("the tenant's HTTP server ended", "error", err)
		}
	}()
	return nil
}

// Addr is the address the server listens on.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// URL is the server's root, without a slash at the end.
func (s *Server) URL() string { return "http://" + s.Addr() }

// GraphURL is the base of Graph v1.0.
func (s *Server) GraphURL() string { return s.URL() + "/v1.0" }

// ExchangeURL replaces https://outlook.office365.com.
func (s *Server) ExchangeURL() string { return s.URL() }

// Close stops the server at once; requests under way are cut off.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.closeErr = s.http.Close()
		if s.dir.disk != nil {
			s.dir.mu.Lock()
			defer s.dir.mu.Unlock()
			s.closeErr = errors.Join(s.closeErr, s.dir.disk.db.Close())
		}
	})
	return s.closeErr
}

// call is one request to one of the two services, also one step of a $batch.
type call struct {
	method   string
	path     []string // segments after the version, decoded
	query    map[string][]string
	header   http.Header
	body     []byte
	beta     bool
	base     string // scheme and host, for links
	token    string // bearer token
	arg      map[string]string
	service  string // "graph" or "exchange"
	op       string // name for counters and fault rules
	exchange *command
	serve    func(*call) *reply
	ctx      context.Context // of the HTTP request
}

// ServeHTTP answers one request of Graph, Exchange or the local admin endpoint.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := uuid.NewString()
	clientID := r.Header.Get("client-request-id")
	if clientID == "" {
		clientID = requestID
	}
	send := func(p *reply) { p.write(w, requestID, clientID, s.cfg.Now()) }
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if segments[0] == "_local" {
		s.serveLocal(w, r, segments[1:])
		return
	}
	body, err := readBody(r)
	if err != nil {
		send(graphError(http.StatusBadRequest, "BadRequest", "Unable to read the request body: %s", err))
		return
	}
	c := &call{
		method: r.Method, query: r.URL.Query(), header: r.Header, body: body, base: "http://" + r.Host, token: bearer(r),
		beta: segments[0] == "beta",
	}
	var refusal *reply
	switch segments[0] {
	case "v1.0", "beta":
		c.service, c.path = "graph", segments[1:]
		if refusal = s.authorizeGraph(r); refusal == nil {
			refusal = s.routeGraph(c)
		}
	case "adminapi":
		c.service, c.path = "exchange", segments[1:]
		if refusal = s.authorizeExchange(r); refusal == nil {
			refusal = s.routeExchange(c)
		}
	default:
		refusal = graphError(http.StatusBadRequest, "BadRequest", "Invalid version: %s.", segments[0])
	}
	if refusal != nil {
		s.counters.count(c.label(), refusal.status)
		send(refusal)
		return
	}
	s.run(r.Context(), w, c, send)
}

// run answers a routed call, with the faults that the rules ask for.
func (s *Server) run(ctx context.Context, w http.ResponseWriter, c *call, send func(*reply)) {
	answer := s.carryOut(ctx, c)
	if answer == dropped {
		panic(http.ErrAbortHandler) // net/http closes the connection without an answer
	}
	send(answer)
}

// carryOut answers and counts a routed call. A nil reply drops the
// connection.
func (s *Server) carryOut(ctx context.Context, c *call) *reply {
	c.ctx = ctx
	f := s.faults.next(c, s.cfg.Now)
	answer := dropped
	if f.wait(ctx) {
		if answer = f.before(c); answer == nil {
			answer = c.serve(c)
			if instead := f.after(c); instead != nil {
				answer = instead
			}
		}
	}
	s.counters.count(c.label(), answer.status)
	return answer
}

func (c *call) label() string {
	if c.op == "" {
		return c.service + " unknown"
	}
	return c.service + " " + c.op
}

func readBody(r *http.Request) ([]byte, error) {
	var from io.Reader = r.Body
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		from = z
	default:
		return nil, fmt.Errorf("content encoding %q is not supported", encoding)
	}
	body, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err != nil {
		return nil, err
	}
	if len(body) > maxBody {
		return nil, fmt.Errorf("the body is larger than %d bytes", maxBody)
	}
	return body, nil
}

func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

func (s *Server) authorizeGraph(r *http.Request) *reply {
	token := bearer(r)
	if token == "" {
		return graphError(http.StatusUnauthorized, "InvalidAuthenticationToken", "Access token is empty.")
	}
	if s.cfg.VerifyToken == nil {
		return nil
	}
	err := s.cfg.VerifyToken(token, GraphAudience)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrMissingPermission), errors.Is(err, ErrMissingRole):
		return graphError(http.StatusForbidden, "Authorization_RequestDenied", "Insufficient privileges to complete the operation.")
	default:
		return graphError(http.StatusUnauthorized, "InvalidAuthenticationToken", "Access token validation failure. %s", err)
	}
}

// now is the time a write carries, asOf the time up to which readers have
// seen writes.
func (s *Server) times() (now, asOf time.Time) {
	now = s.cfg.Now()
	return now, now.Add(-s.faults.lag(s.cfg.Lag))
}

func (s *Server) storageFailed(err error) *reply {
	s.cfg.Logger.Error("cannot save the tenant", "error", err)
	return graphError(http.StatusInternalServerError, "InternalServerError", "The service could not save the change.")
}
