package tds

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
)

// Config is the configuration of a server. The zero value refuses every client.
type Config struct {
	// Names are those that the certificate is for, besides localhost and the loopback
	// addresses.
	Names []string
	// Passwords are the SQL logins.
	Passwords map[string]string
	// CheckToken validates a token; nil refuses every token. It must be safe for
	// concurrent use.
	CheckToken func(token string) error
	// STSURL and SPN tell a client the authority and the resource of its token.
	STSURL, SPN string
	// NoEncryption makes a server that says it cannot encrypt.
	NoEncryption bool
}

// Server is a running server. Its methods are safe for concurrent use.
type Server struct {
	config   Config
	listener net.Listener
	identity *identity
	closing  chan struct{}
	wait     sync.WaitGroup

	mu           sync.Mutex
	conns        map[net.Conn]bool
	results      map[string]encoded
	loginError   *Error
	route        *route
	logins       []Login
	requests     []Request
	refusals     []string
	transactions uint64
	changed      chan struct{} // closed at the next request
}

// Kind is the type of a request.
type Kind string

// What clients ask for once they are in.
const (
	Batch     Kind = "batch"
	Begin     Kind = "begin"
	Commit    Kind = "commit"
	Rollback  Kind = "rollback"
	Attention Kind = "attention"
)

// Request is one of a client.
type Request struct {
	Kind Kind
	// Text is that of a batch.
	Text string
	// InTransaction: a batch while a transaction is open.
	InTransaction bool
}

// Start listens on a free port of loopback.
func Start(config Config) (*Server, error) {
	identity, err := newIdentity(config.Names)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &Server{
		config: config, listener: listener, identity: identity, closing: make(chan struct{}),
		conns: map[net.Conn]bool{}, results: map[string]encoded{}, changed: make(chan struct{}),
	}
	s.wait.Go(s.accept)
	return s, nil
}

func (s *Server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		select {
		case <-s.closing:
			_ = conn.Close()
		default:
		}
		s.conns[conn] = true
		s.mu.Unlock()
		s.wait.Go(func() {
			s.serve(conn)
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		})
	}
}

// Close ends all connections. It can be called twice.
func (s *Server) Close() error {
	s.mu.Lock()
	select {
	case <-s.closing:
	default:
		close(s.closing)
	}
	s.mu.Unlock()
	err := s.listener.Close()
	s.mu.Lock()
	for conn := range s.conns {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.wait.Wait()
	return err
}

// Addr is host and port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// CAPEM is the certificate of the CA that vouches for the server.
func (s *Server) CAPEM() []byte { return slices.Clone(s.identity.ca) }

func (s *Server) tlsConfig(strict bool) *tls.Config {
	c := &tls.Config{Certificates: []tls.Certificate{s.identity.certificate}, MinVersion: tls.VersionTLS12, MaxVersion: tls.VersionTLS12}
	if strict {
		c.MaxVersion, c.NextProtos = tls.VersionTLS13, []string{"tds/8.0"}
	}
	return c
}

// Answer gives the result of a query from now on, by its text without white space at the
// ends. It refuses values that do not fit their columns.
func (s *Server) Answer(query string, r Result) error {
	e, err := r.encode()
	if err != nil {
		return fmt.Errorf("the result of %q: %w", query, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.results[strings.TrimSpace(query)] = e
	return nil
}

// FailLogins makes every login fail from now on; nil lets them be checked again.
func (s *Server) FailLogins(e *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loginError = e
}

// Route sends every client elsewhere after its login from now on.
func (s *Server) Route(host string, port int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.route = &route{host: host, port: uint16(port)}
}

// Logins are those that were tried, in order.
func (s *Server) Logins() []Login {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.logins)
}

// Requests returns the requests in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Refused returns the refused requests in order.
func (s *Server) Refused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refusals)
}

// Connections is how many are open.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Await returns when n requests of the kind have come.
func (s *Server) Await(ctx context.Context, kind Kind, n int) error {
	for {
		s.mu.Lock()
		count := 0
		for _, r := range s.requests {
			if r.Kind == kind {
				count++
			}
		}
		changed := s.changed
		s.mu.Unlock()
		if count >= n {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d of %d %s requests arrived: %w", count, n, kind, ctx.Err())
		}
	}
}

func (s *Server) record(l Login) (*Error, *route) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins = append(s.logins, l)
	return s.loginError, s.route
}

func (s *Server) asked(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) refused(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusals = append(s.refusals, what)
}

func (s *Server) result(text string) (encoded, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.results[strings.TrimSpace(text)]
	return e, ok
}

func (s *Server) nextTransaction() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.transactions++
	return s.transactions
}
