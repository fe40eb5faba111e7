// Package databricks is a Databricks workspace on one machine: the part of the SQL
// Statement Execution API 2.0 that runs a statement and hands out its result. It is
// for tests and for the local system.
//
// It follows the reference of the Statement Execution API (execute, get, get result
// chunk, cancel) and its tutorial, the field comments that Databricks generates from
// its API definition into its SDKs, and, for the links to results, what Azure Storage
// answers to a shared access signature. It was not compared with the live service.
//
// Which rows a statement gives is decided by Config.Run: there is no SQL here. What
// the reference describes and this package does not do is refused: parameters, query
// tags, byte_limit, the formats ARROW_STREAM and CSV, and every field or address that
// is not known.
//
// What differs, knowingly: time does not pass inside a statement. It is waiting and
// running for as many status requests as its Result says, and a wait_timeout is over
// at once where it has any to go.
package databricks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Config says what the workspace knows. Warehouses and Run are required.
type Config struct {
	Addr       string   // loopback host:port of the workspace; "" is 127.0.0.1:0
	LinkAddr   string   // the same for the storage behind the links
	Warehouses []string // the IDs of the SQL warehouses
	// VerifyToken accepts a bearer token, which has to be for the application
	// 2ff814a6-3304-4ab8-85cb-cd0e6f879c1d; nil refuses them all.
	VerifyToken func(token string) error
	// Run gives the result of a statement. It may be called concurrently.
	Run      func(Query) Result
	LinkLife time.Duration    // how long a link to a chunk is valid; 0 is 15 minutes
	Now      func() time.Time // nil is time.Now
}

// Query is a statement that was sent.
type Query struct {
	Statement string
	Warehouse string
	Catalog   string // empty: the default one
	Schema    string
}

// Server is a running workspace. Its methods may be called concurrently.
type Server struct {
	config  Config
	url     string
	linkURL string
	secret  []byte // signs the links
	faults  faults
	record  record

	mu         sync.Mutex
	statements map[string]*statement
	lastID     int
	linkAge    int // raised by ExpireLinks

	servers   []*http.Server
	served    chan error
	closeOnce sync.Once
	closeErr  error
}

// Start serves until Close, or until ctx ends. The server is ready when it returns.
func Start(ctx context.Context, config Config) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if config.Run == nil || len(config.Warehouses) == 0 {
		return nil, errors.New("databricks: Run and Warehouses are required")
	}
	if config.LinkLife == 0 {
		config.LinkLife = 15 * time.Minute
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	workspace, err := listenLoopback(config.Addr)
	if err != nil {
		return nil, err
	}
	storage, err := listenLoopback(config.LinkAddr)
	if err != nil {
		workspace.Close()
		return nil, err
	}
	s := &Server{
		config:     config,
		url:        "http://" + workspace.Addr().String(),
		linkURL:    "http://" + storage.Addr().String(),
		secret:     make([]byte, 32),
		statements: map[string]*statement{},
		served:     make(chan error, 2),
	}
	rand.Read(s.secret)
	s.serve(workspace, s.api())
	s.serve(storage, http.HandlerFunc(s.download))
	context.AfterFunc(ctx, func() { s.Close() })
	return s, nil
}

func (s *Server) serve(l net.Listener, h http.Handler) {
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)}
	s.servers = append(s.servers, server)
	go func() { s.served <- server.Serve(l) }()
}

func listenLoopback(addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("databricks: address %q: %w", addr, err)
	}
	if !loopback.Is(host) {
		return nil, fmt.Errorf("databricks: address %q is not a loopback address", addr)
	}
	return net.Listen("tcp", addr)
}

// URL is the address of the workspace, such as http://127.0.0.1:8443.
func (s *Server) URL() string { return s.url }

// LinkURL is where the links to results lead.
func (s *Server) LinkURL() string { return s.linkURL }

// ExpireLinks makes every link that was handed out invalid.
func (s *Server) ExpireLinks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.linkAge++
}

// Close drops the requests under way and stops serving.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		for _, server := range s.servers {
			s.closeErr = errors.Join(s.closeErr, server.Close())
		}
		for range s.servers {
			if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
				s.closeErr = errors.Join(s.closeErr, err)
			}
		}
	})
	return s.closeErr
}

func (s *Server) hasWarehouse(id string) bool { return slices.Contains(s.config.Warehouses, id) }
