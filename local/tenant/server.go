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
	"github.com/matoolkit/matoolkit/internal/snapshot"
	"github.com/matoolkit/matoolkit/local/tenant/directory"
	"github.com/matoolkit/matoolkit/local/tenant/exchange"
	"github.com/matoolkit/matoolkit/local/tenant/graph"
	"github.com/matoolkit/matoolkit/local/tenant/odata"
)

// Audiences that Config.VerifyToken is called with.
const (
	GraphAudience    = graph.Audience
	ExchangeAudience = exchange.Audience
)

// Errors that Config.VerifyToken may wrap to tell a good token that lacks
// something from a bad one.
var (
	ErrMissingPermission = odata.ErrMissingPermission
	ErrMissingRole       = odata.ErrMissingRole
)

// The objects of a tenant.
type (
	User             = directory.User
	Group            = directory.Group
	Recipient        = directory.Recipient
	AutoReply        = directory.AutoReply
	Holds            = directory.Holds
	FolderPermission = directory.FolderPermission
	MigrationBatch   = directory.MigrationBatch
	MigrationUser    = directory.MigrationUser
	ContentTask      = directory.ContentTask
	Policy           = directory.Policy
	MigrationJob     = directory.MigrationJob
	MigrationJobUser = directory.MigrationJobUser
	Mail             = directory.Mail
	License          = directory.License
	Site             = directory.Site
	List             = directory.List
	Column           = directory.Column
	File             = directory.File
	ServicePlan      = directory.ServicePlan
	ObjectChange     = directory.ObjectChange
)

// The recipient kinds simulated here, as RecipientTypeDetails names them.
const (
	MailUser            = directory.MailUser
	UserMailbox         = directory.UserMailbox
	MailContact         = directory.MailContact
	DistributionGroup   = directory.DistributionGroup
	MailEnabledSecurity = directory.MailEnabledSecurity
	GroupMailbox        = directory.GroupMailbox
)

const maxBody = 4 << 20 // Graph's limit for one request

// Config is the configuration of a tenant. The zero value works, with state
// in memory on a free port.
type Config struct {
	Addr     string           // loopback address, default 127.0.0.1:0
	DataDir  string           // directory of the state; empty: in memory only
	TenantID string           // default DefaultTenantID
	Seed     *Seed            // put in at the start; objects that exist already are left alone
	Snapshot *snapshot.Reader // put in after the seed, likewise

	// VerifyToken judges a bearer token for one of the two audiences; nil
	// accepts any token that is not empty.
	VerifyToken func(token, audience string) error
	// Roles are the application permissions in a token for Graph, to be compared with
	// what an operation asks for; nil lets every token do everything.
	Roles func(token string) []string

	// ProvisionDelay is how long after its licence a user gets a mailbox and its provisioned plans.
	ProvisionDelay time.Duration
	// MoveDelay is how long the first copy of a mailbox takes, the completion of its move, and a move of content. A migration job takes it three times: for validation, copy and completion.
	MoveDelay time.Duration
	// NoAccessPass turns the policy of Temporary Access Passes off.
	NoAccessPass bool
	// NoLocalEndpoint turns the local admin endpoint off, which shows everything without a token.
	NoLocalEndpoint bool

	linked   func(endpoint string) bool // whether an endpoint is another one of Tenants
	linkedID func(tenantID string) bool // whether an id is of another one of Tenants

	Lag    time.Duration    // replication lag of every write; Faults.LagMS overrides it
	Now    func() time.Time // default time.Now
	Logger *slog.Logger     // default slog.Default()
}

// DefaultTenantID is the tenant of a Config that names none.
const DefaultTenantID = "7e4a1c52-0000-4000-8000-6d61746f6f6c"

// Server is a running tenant. Its methods may be called concurrently.
type Server struct {
	cfg       Config
	dir       *directory.Directory
	graph     *graph.Service
	exchange  *exchange.Service
	faults    injector
	counters  counters
	loading   bool     // a snapshot is being loaded
	found     []string // see Findings
	*endpoint          // nil for one of Tenants
	closeOnce sync.Once
	closeErr  error
}

// endpoint is where requests are answered.
type endpoint struct {
	listener net.Listener
	http     *http.Server
}

// listen answers requests at a loopback address.
func listen(addr string, handler http.Handler, log *slog.Logger) (*endpoint, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("tenant: address %q: %w", addr, err)
	}
	if !loopback.Is(host) {
		return nil, fmt.Errorf("tenant: address %q is not loopback", addr)
	}
	e := &endpoint{http: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}}
	if e.listener, err = net.Listen("tcp", addr); err != nil {
		return nil, fmt.Errorf("tenant: listen: %w", err)
	}
	go func() {
		if err := e.http.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
			log.Error("the tenant's HTTP server ended", "error", err)
		}
	}()
	return e, nil
}

// Addr is the address the server listens on.
func (e *endpoint) Addr() string { return e.listener.Addr().String() }

// URL is the server's root, without a slash at the end.
func (e *endpoint) URL() string { return "http://" + e.Addr() }

// stop cuts off requests under way; a nil endpoint has none.
func (e *endpoint) stop() error {
	if e == nil {
		return nil
	}
	return e.http.Close()
}

// Start opens the state, puts the seed in and listens. The server is ready
// when Start returns and stops when ctx ends or Close is called.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	s, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if s.endpoint, err = listen(cfg.Addr, s, s.cfg.Logger); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	context.AfterFunc(ctx, func() { s.Close() })
	return s, nil
}

// open opens the state and puts the seed in.
func open(ctx context.Context, cfg Config) (s *Server, err error) {
	if cfg.TenantID == "" {
		cfg.TenantID = DefaultTenantID
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	s = &Server{cfg: cfg}
	if s.dir, err = directory.Open(ctx, cfg.DataDir); err != nil {
		return nil, err
	}
	s.openServices()
	if cfg.Seed != nil {
		if err := s.Seed(*cfg.Seed); err != nil {
			return nil, errors.Join(err, s.dir.Close())
		}
	}
	if cfg.Snapshot != nil {
		if err := s.Load(cfg.Snapshot); err != nil {
			return nil, errors.Join(err, s.dir.Close())
		}
		if found := s.Findings(); len(found) > 0 {
			cfg.Logger.Warn("the snapshot has conflicts", "conflicts", len(found), "first", found[0])
		}
	}
	return s, nil
}

func (s *Server) openServices() {
	s.exchange = exchange.New(exchange.Config{
		Directory: s.dir, TenantID: s.cfg.TenantID, VerifyToken: s.cfg.VerifyToken, Times: s.times, Logger: s.cfg.Logger,
		Provision: func() error { return s.graph.Provision() },
		MoveDelay: s.cfg.MoveDelay, Linked: s.cfg.linked, ExternalMovesPrimary: s.faults.externalMovesPrimary, IgnoresPrimarySMTP: s.faults.ignoresPrimarySMTP,
	})
	s.graph = &graph.Service{
		Directory: s.dir, TenantID: s.cfg.TenantID, VerifyToken: s.cfg.VerifyToken, Roles: s.cfg.Roles, ProvisionDelay: s.cfg.ProvisionDelay, MoveDelay: s.cfg.MoveDelay, NoAccessPass: s.cfg.NoAccessPass,
		Linked:  s.cfg.linkedID,
		Mailbox: s.exchange.Mailbox, Times: s.times, CarryOut: s.carryOut, Logger: s.cfg.Logger,
	}
}

// GraphURL is the base of Graph v1.0.
func (s *Server) GraphURL() string { return s.URL() + "/v1.0" }

// ExchangeURL replaces https://outlook.office365.com.
func (s *Server) ExchangeURL() string { return s.URL() }

// Close stops the server at once; requests under way are cut off.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		s.closeErr = errors.Join(s.endpoint.stop(), s.dir.Close())
	})
	return s.closeErr
}

// ServeHTTP answers one request of Graph, Exchange or the local admin endpoint.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	requestID := uuid.NewString()
	clientID := r.Header.Get("client-request-id")
	if clientID == "" {
		clientID = requestID
	}
	send := func(p *odata.Reply) { p.Write(w, requestID, clientID, s.cfg.Now()) }
	segments := strings.Split(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if segments[0] == "_local" {
		s.serveLocal(w, r, segments[1:])
		return
	}
	if strings.HasPrefix(r.URL.Path, graph.ContentPath) {
		s.graph.ServeContent(w, r)
		return
	}
	body, err := readBody(r)
	if err != nil {
		send(odata.Error(http.StatusBadRequest, "BadRequest", "Unable to read the request body: %s", err))
		return
	}
	c := &odata.Call{
		Method: r.Method, Query: r.URL.Query(), Header: r.Header, Body: body, Base: "http://" + r.Host, Token: odata.Bearer(r),
		Beta: segments[0] == "beta",
	}
	var refusal *odata.Reply
	switch segments[0] {
	case "v1.0", "beta":
		c.Service, c.Path = "graph", segments[1:]
		if refusal = s.graph.Authorize(r); refusal == nil {
			refusal = s.graph.Route(c)
		}
	case "adminapi":
		c.Service, c.Path = "exchange", segments[1:]
		if refusal = s.exchange.Authorize(r); refusal == nil {
			refusal = s.exchange.Route(c)
		}
	default:
		refusal = odata.Error(http.StatusBadRequest, "BadRequest", "Invalid version: %s.", segments[0])
	}
	if refusal != nil {
		s.counters.count(c.Label(), refusal.Status)
		send(refusal)
		return
	}
	s.run(r.Context(), w, c, send)
}

// run answers a routed call, with the faults that the rules ask for.
func (s *Server) run(ctx context.Context, w http.ResponseWriter, c *odata.Call, send func(*odata.Reply)) {
	answer := s.carryOut(ctx, c)
	if answer == odata.Dropped {
		panic(http.ErrAbortHandler) // net/http closes the connection without an answer
	}
	send(answer)
}

// carryOut answers and counts a routed call. A nil reply drops the
// connection.
func (s *Server) carryOut(ctx context.Context, c *odata.Call) *odata.Reply {
	c.Ctx = ctx
	f := s.faults.next(c, s.cfg.Now)
	answer := odata.Dropped
	if f.wait(ctx) {
		if answer = f.before(c); answer == nil {
			if c.Service == "graph" { // Exchange does it for a command that it does not refuse
				answer = s.advance()
			}
			if answer == nil {
				answer = c.Serve()
			}
			if instead := f.after(c); instead != nil {
				answer = instead
			}
		}
	}
	s.counters.count(c.Label(), answer.Status)
	return answer
}

// advance brings the tenant to the present: what is due by now takes place before a request.
func (s *Server) advance() *odata.Reply {
	s.dir.Lock()
	defer s.dir.Unlock()
	if err := errors.Join(s.exchange.FinishMoves(), s.graph.Provision()); err != nil {
		s.cfg.Logger.Error("cannot save the tenant", "error", err)
		return odata.Error(http.StatusInternalServerError, "InternalServerError", "The service could not save the change.")
	}
	return nil
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

// now is the time a write carries, asOf the time up to which readers have
// seen writes.
func (s *Server) times() (now, asOf time.Time) {
	now = s.cfg.Now()
	return now, now.Add(-s.faults.lag(s.cfg.Lag))
}

// Commands is how many Exchange commands run at this moment.
func (s *Server) Commands() int { return s.exchange.Commands() }
