// Package httpsserver serves HTTPS on a loopback address, for services of Azure on one machine: the SDKs send no
// token without TLS.
package httpsserver

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Server is a server. Its methods may be called concurrently.
type Server struct {
	url      string
	listener net.Listener
	http     *http.Server
	done     chan error
}

// Listen listens on a loopback address; "" is 127.0.0.1:0. Errors begin with the name. Call Serve next.
func Listen(ctx context.Context, name, address string, certificate tls.Certificate) (*Server, error) {
	if address == "" {
		address = "127.0.0.1:0"
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || !loopback.Is(host) {
		return nil, fmt.Errorf("%s: address %q is not a loopback address", name, address)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return &Server{url: "https://" + listener.Addr().String(), listener: listener, done: make(chan error, 1), http: &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ErrorLog:          log.New(io.Discard, "", 0),
	}}, nil
}

// Serve serves requests in the background until Close.
func (s *Server) Serve(handler http.Handler) {
	s.http.Handler = handler
	go func() { s.done <- s.http.ServeTLS(s.listener, "", "") }()
}

// URL returns the address, without a trailing slash.
func (s *Server) URL() string { return s.url }

// Close stops a server that serves, at once.
func (s *Server) Close() error {
	err := s.http.Close()
	if serveErr := <-s.done; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	s.done <- http.ErrServerClosed // a second Close finds the same answer
	return err
}
