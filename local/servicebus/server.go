// Package servicebus is an Azure Service Bus namespace on this machine, for the
// clients that speak to the real one: AMQP 1.0 with the claims, management and
// settlement conventions of Service Bus.
//
// One port takes AMQP, AMQP over WebSockets, and both over TLS. It refuses what it does
// not understand, with an AMQP error that says so, or HTTP status 501. It listens on
// loopback only and must not know what the messages of its users mean.
package servicebus

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/matoolkit/matoolkit/infra"
	"github.com/matoolkit/matoolkit/local/servicebus/broker"
	"github.com/matoolkit/matoolkit/local/servicebus/topology"
)

// Topology is the content of a namespace.
type Topology = topology.Topology

// ParseTopology reads the Config.json of the official emulator. Errors name the
// place in the file.
func ParseTopology(config []byte) (Topology, error) { return topology.Parse(config) }

// DefaultTopology has the topics and subscriptions of the system with one worker:
// those that are deployed to Azure.
func DefaultTopology() Topology {
	t, err := topology.Parse(infra.Topology)
	if err != nil {
		panic("servicebus: embedded topology: " + err.Error()) // a test parses it
	}
	return t
}

// KeyName is the name of the shared access key.
const KeyName = "RootManageSharedAccessKey"

// Config of a server.
type Config struct {
	// Addr is the loopback address to listen on, such as 127.0.0.1:5672. Empty
	// means that there is no port, only Dial.
	Addr     string
	Topology Topology
	// DataDir is where messages are kept. Empty means in memory only.
	DataDir string
	// Key is the shared access key that clients sign their tokens with.
	Key string
	// VerifyToken accepts or refuses a JWT for an audience. Nil refuses them all.
	VerifyToken func(token, audience string) error
	// TLS is the configuration for clients that begin with TLS, on the same port. Nil
	// refuses them.
	TLS *tls.Config
	// Now is the clock of schedules, expiry and duplicate detection; nil means
	// time.Now. With another clock, call Tick after it moved: scheduled messages that
	// are due by then are enqueued, and messages that outlived their time to live or
	// the window of duplicate detection are treated as if they had waited so long.
	Now func() time.Time
	// Locks is the clock by which locks end; nil means Now. Where Now is moved while
	// messages are worked on it must be the clients' clock, time.Now: they renew
	// their locks by it, and a move then takes no lock away.
	Locks  func() time.Time
	Logger *slog.Logger
}

// Server is a running namespace. Its methods may be called concurrently.
type Server struct {
	cfg      Config
	broker   *broker.Broker
	listener net.Listener
	web      *webServer
	stop     chan struct{}
	group    sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]func() // ends the connection at once
	closed bool
}

// Start restores what DataDir holds and serves until Close or until ctx ends. It
// is ready when Start returns.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Key == "" {
		return nil, errors.New("servicebus: Config.Key is empty")
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	for _, warning := range cfg.Topology.Warnings {
		cfg.Logger.Warn("service bus: topology: " + warning)
	}
	s := &Server{cfg: cfg, stop: make(chan struct{}), conns: map[net.Conn]func(){}}
	if cfg.Addr != "" {
		if err := s.listen(); err != nil {
			return nil, err
		}
	}
	var err error
	if s.broker, err = broker.Open(broker.Config{Topology: cfg.Topology, DataDir: cfg.DataDir, Now: cfg.Now, Locks: cfg.Locks, Logger: cfg.Logger}); err != nil {
		if s.listener != nil {
			err = errors.Join(err, s.listener.Close())
		}
		return nil, fmt.Errorf("servicebus: %w", err)
	}
	s.group.Go(func() { s.broker.Run(s.stop) })
	s.web = newWebServer(s)
	s.group.Go(s.web.run)
	if s.listener != nil {
		s.group.Go(s.accept)
	}
	context.AfterFunc(ctx, func() {
		if err := s.Close(); err != nil {
			cfg.Logger.Error("service bus: close failed", "error", err)
		}
	})
	return s, nil
}

func (s *Server) listen() error {
	addr, err := net.ResolveTCPAddr("tcp", s.cfg.Addr)
	if err != nil {
		return fmt.Errorf("servicebus: %w", err)
	}
	if !addr.IP.IsLoopback() {
		return fmt.Errorf("servicebus: %s is not a loopback address", s.cfg.Addr)
	}
	if s.listener, err = net.ListenTCP("tcp", addr); err != nil {
		return fmt.Errorf("servicebus: %w", err)
	}
	return nil
}

func (s *Server) accept() {
	for {
		nc, err := s.listener.Accept()
		if err != nil {
			return // Close closed the listener
		}
		s.serve(nc)
	}
}

// serve runs a connection in the background.
func (s *Server) serve(nc net.Conn) bool {
	return s.track(nc, func() { _ = nc.Close() }, func() error { return s.detect(nc, bufio.NewReaderSize(nc, readBuffer)) })
}

// track runs a connection in the background. Close ends it with end.
func (s *Server) track(nc net.Conn, end func(), run func() error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		end()
		return false
	}
	s.conns[nc] = end
	s.group.Go(func() {
		if err := run(); err != nil && !gone(err) {
			s.cfg.Logger.Warn("service bus: connection ended", "remote", nc.RemoteAddr().String(), "error", err)
		}
		s.mu.Lock()
		delete(s.conns, nc)
		s.mu.Unlock()
	})
	return true
}

// readBuffer is the size of a connection's read buffer.
const readBuffer = 64 << 10

// detect serves a connection in the protocol that its first bytes show: AMQP, HTTP, or
// TLS with either inside. Service Bus has them on different ports; a client finds all of
// them at the address that it was given.
func (s *Server) detect(nc net.Conn, in *bufio.Reader) error {
	_ = nc.SetReadDeadline(time.Now().Add(idleTimeout))
	first, err := in.Peek(4)
	if err != nil {
		return errors.Join(err, nc.Close())
	}
	_, encrypted := nc.(*tls.Conn)
	switch {
	case first[0] == tlsHandshake && !encrypted:
		if s.cfg.TLS == nil {
			return errors.Join(errors.New("the client began with TLS, for which this server has no certificate"), nc.Close())
		}
		secure := tls.Server(buffered{nc, in}, s.cfg.TLS)
		return s.detect(secure, bufio.NewReaderSize(secure, readBuffer))
	case isHTTP(first):
		_ = nc.SetReadDeadline(time.Time{})
		return s.web.serve(buffered{nc, in})
	}
	return newConn(s, nc, in).run()
}

// tlsHandshake is the first byte of a TLS connection.
const tlsHandshake = 0x16

// buffered is a connection of which bytes were read ahead.
type buffered struct {
	net.Conn
	in *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.in.Read(p) }

// Addr is the address that the server listens on, empty when it has no port.
func (s *Server) Addr() string {
	if s.listener == nil {
		return ""
	}
	return s.listener.Addr().String()
}

// ConnectionString is the clients' connection string. Without a port it serves to make
// a client whose NewWebSocketConn is Dial.
func (s *Server) ConnectionString() string {
	host := s.Addr()
	if host == "" {
		host = "localhost"
	}
	return fmt.Sprintf("Endpoint=sb://%s;SharedAccessKeyName=%s;SharedAccessKey=%s;UseDevelopmentEmulator=true;", host, KeyName, s.cfg.Key)
}

// Dial returns the client's end of a connection within this process.
func (s *Server) Dial() (net.Conn, error) {
	client, server := net.Pipe()
	if !s.serve(server) {
		return nil, net.ErrClosed
	}
	return client, nil
}

// Tick applies timers that are due by the clock of Config.Now.
func (s *Server) Tick() { s.broker.Tick() }

// Close ends all connections and returns when everything is on disk.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		s.group.Wait()
		return nil
	}
	s.closed = true
	for _, end := range s.conns {
		end()
	}
	s.mu.Unlock()
	close(s.stop)
	err := s.web.close()
	if s.listener != nil {
		err = errors.Join(err, s.listener.Close())
	}
	s.group.Wait()
	return errors.Join(err, s.broker.Close())
}

// Stats are counters since the start.
type Stats struct {
	Entities map[string]EntityStats // by path: topics, queues, subscriptions, dead-letter sub-queues
	Written  int64                  // bytes written to disk
}

// EntityStats count messages. A topic only sends, a subscription does the rest.
type EntityStats struct {
	Messages                                               int // there now, in any state; of a topic: scheduled
	Sent                                                   int64
	Delivered, Completed, Abandoned, DeadLettered, Expired int64
	Renewed                                                int64 // locks
	Peeked                                                 int64 // requests to peek
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	out := Stats{Entities: map[string]EntityStats{}, Written: s.broker.Written()}
	for path, st := range s.broker.Stats() {
		out.Entities[path] = EntityStats(st)
	}
	return out
}

// gone tells whether a connection ended because its peer did, in good order or not: a
// client that ends, or is killed, is no trouble of the broker's.
func gone(err error) bool {
	if websocket.CloseStatus(err) != -1 {
		return true
	}
	for _, end := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, io.ErrClosedPipe, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, end) {
			return true
		}
	}
	return false
}
