// Package cosmos is Azure Cosmos DB for NoSQL on one machine: the part of its
// REST protocol that the official clients use in gateway mode, over SQLite.
//
// It keeps what programs rely on: partitions that do not see each other, ids
// unique within a partition, ETags on every kind of write, transactional
// batches that happen whole or not at all, conditional patches, the size and
// count limits, request charges, paging, and the queries that the gateway
// refuses across partitions. A write is on disk before its acknowledgement
// (see writer.go); queries are answered in the subset that package query
// describes, and any other query is refused with 400.
//
// Known differences from the service: consistency is always strong, so
// session and consistency headers are accepted and have nothing to do; request
// units are charged and never throttled, other than by Inject; the request's
// date is signed but its age is not checked; time to live, unique keys,
// triggers, stored procedures, the items' change feed, offers and batches in
// HybridRow (those of the .NET client) are not here and are refused. The
// protocol was taken from the sources of the clients and the public
// documentation; it has not been compared with a live account.
//
// A container has one partition key range. Clients that ask for a query plan
// send their cross-partition queries to it, and get ORDER BY, COUNT, TOP and
// OFFSET LIMIT over the whole container. Clients that do not ask, such as
// azcosmos, are refused as by the gateway.
//
// Where the public documentation is silent, this package chose: an
// upsert with If-Match creates what does not exist (as documented for
// If-None-Match), set does not append to an array, a replace cannot change the
// id, and of two members with one name the first counts.
//
// The package must not know the documents' meaning.
package cosmos

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// DefaultKey is the account key that Microsoft publishes for its emulator. It
// protects nothing, which is why the server binds to loopback only.
const DefaultKey = "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=="

// Config says where the server listens and keeps its data. The zero value is
// an in-memory server on a free port with the emulator's key.
type Config struct {
	Addr        string                   // loopback host:port; "" is 127.0.0.1:0
	DataDir     string                   // "" keeps everything in memory
	Key         string                   // account key, base64; "" is DefaultKey
	VerifyToken func(token string) error // accepts an Entra token; nil refuses them all
	Now         func() time.Time         // for _ts; nil is time.Now
	Latency     time.Duration            // before each request for items, as a distant account has it
	Logger      *slog.Logger             // nil discards
}

// Server is a running Cosmos account. Its methods may be called concurrently.
type Server struct {
	url         string
	key         string
	verifyToken func(string) error
	now         func() time.Time
	latency     time.Duration
	log         *slog.Logger
	auth        *signer
	store       *store
	faults      faults
	stats       counters
	http        *http.Server // nil where nothing is served
	unused      unusedConnections
	served      chan error
	closeOnce   sync.Once
	closeErr    error
}

// Open opens the data without listening: the account answers calls of
// ServeHTTP only. It is for tests that carry requests themselves.
// Addr is not used; URL gives an address that only names the account.
func Open(config Config) (*Server, error) {
	s, err := prepare(config)
	if err != nil {
		return nil, err
	}
	if err := s.openData(config.DataDir); err != nil {
		return nil, err
	}
	s.url = "http://cosmos.invalid"
	return s, nil
}

// Start opens the data and serves. The server is ready when Start returns and
// runs until Close, or until ctx ends.
func Start(ctx context.Context, config Config) (*Server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s, err := prepare(config)
	if err != nil {
		return nil, err
	}
	listener, err := listenLoopback(config.Addr)
	if err != nil {
		return nil, err
	}
	if err := s.openData(config.DataDir); err != nil {
		listener.Close()
		return nil, err
	}
	s.url = "http://" + listener.Addr().String()
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), ConnState: s.unused.track}
	s.http.RegisterOnShutdown(s.unused.close)
	go func() { s.served <- s.http.Serve(listener) }()
	stop := context.AfterFunc(ctx, func() { s.Close() })
	s.http.RegisterOnShutdown(func() { stop() })
	return s, nil
}

func prepare(config Config) (*Server, error) {
	s := &Server{
		key: config.Key, verifyToken: config.VerifyToken, now: config.Now, latency: config.Latency, log: config.Logger,
		served: make(chan error, 1),
	}
	if s.key == "" {
		s.key = DefaultKey
	}
	if s.now == nil {
		s.now = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	secret, err := base64.StdEncoding.DecodeString(s.key)
	if err != nil {
		return nil, errors.New("cosmos: the account key is not base64")
	}
	s.auth = newSigner(secret)
	return s, nil
}

func (s *Server) openData(dir string) (err error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("cosmos: data directory: %w", err)
		}
	}
	s.store, err = openStore(dir, s.now, s.log)
	return err
}

func listenLoopback(addr string) (net.Listener, error) {
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("cosmos: address %q: %w", addr, err)
	}
	if !loopback.Is(host) {
		return nil, fmt.Errorf("cosmos: address %q is not a loopback address", addr)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("cosmos: %w", err)
	}
	return listener, nil
}

// URL is the account endpoint for azcosmos, such as http://127.0.0.1:8081.
func (s *Server) URL() string { return s.url }

// Key is the account key for azcosmos.
func (s *Server) Key() string { return s.key }

// Close answers the requests under way, stops serving and closes the data.
func (s *Server) Close() error {
	s.closeOnce.Do(func() {
		if s.http == nil {
			s.closeErr = s.store.close()
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err := s.http.Shutdown(ctx)
		if err != nil {
			err = errors.Join(err, s.http.Close())
		}
		if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		s.closeErr = errors.Join(err, s.store.close())
	})
	return s.closeErr
}

// unusedConnections are those that a client has opened ahead of need. Shutdown
// would wait five seconds for a request on each of them.
type unusedConnections struct {
	mu  sync.Mutex
	set map[net.Conn]struct{}
}

func (u *unusedConnections) track(conn net.Conn, state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if state != http.StateNew {
		delete(u.set, conn)
		return
	}
	if u.set == nil {
		u.set = map[net.Conn]struct{}{}
	}
	u.set[conn] = struct{}{}
}

func (u *unusedConnections) close() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for conn := range u.set {
		conn.Close()
	}
}
