package entra

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Server is a running token service. Its methods are safe for concurrent use.
type Server struct {
	config     Config
	authority  *Authority
	keys       map[string]*keyring // see keysOf
	refreshKey []byte
	devices    *deviceCodes
	codes      *authorizationCodes
	assertions *usedAssertions
	// credentials replace the configured ones.
	credentials credentials

	url         string
	http, plain *http.Server
	done        chan error
}

// Start listens and serves until Close. The server is ready when Start
// returns; ctx bounds the start alone.
func Start(ctx context.Context, config Config) (*Server, error) {
	config, err := config.complete()
	if err != nil {
		return nil, fmt.Errorf("local Entra ID: %w", err)
	}
	s := &Server{
		config:     config,
		devices:    newDeviceCodes(config.Now),
		codes:      newAuthorizationCodes(config.Now),
		assertions: newUsedAssertions(config.Now),
		done:       make(chan error, 1),
	}
	// The port comes first: it keeps a second server off the same DataDir.
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", config.Addr)
	if err != nil {
		return nil, fmt.Errorf("local Entra ID: %w", err)
	}
	certificate, err := s.load()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("local Entra ID: %w", err), listener.Close())
	}
	s.url = "https://" + listener.Addr().String()
	both := splitProtocols(listener)
	// Two servers, because one that serves without TLS first does not speak HTTP/2 with TLS.
	s.plain = s.newServer(nil)
	s.http = s.newServer(&tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	go func() {
		plain := make(chan error, 1)
		go func() { plain <- s.plain.Serve(both.of(both.plain)) }()
		err := s.http.ServeTLS(both.of(both.tls), "", "")
		if plainErr := <-plain; !errors.Is(plainErr, http.ErrServerClosed) {
			err = plainErr
		}
		s.done <- err
	}()
	return s, nil
}

func (s *Server) newServer(config *tls.Config) *http.Server {
	return &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		TLSConfig:         config,
		// A browser that does not trust the CA yet would fill the console.
		ErrorLog: log.New(debugWriter{s.config.Logger}, "", 0),
	}
}

// load reads what DataDir keeps, or makes it, and returns the certificate to
// serve with.
func (s *Server) load() (tls.Certificate, error) {
	dir := s.config.DataDir
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return tls.Certificate{}, err
		}
	}
	var err error
	if s.authority, err = OpenAuthority(dir); err != nil {
		return tls.Certificate{}, err
	}
	if s.keys, err = loadKeyrings(dir, s.config.Tenants); err != nil {
		return tls.Certificate{}, err
	}
	if s.refreshKey, err = loadRefreshKey(dir); err != nil {
		return tls.Certificate{}, err
	}
	return s.authority.ServerCertificate()
}

// Close stops the server at once. Requests under way are cut off.
func (s *Server) Close() error {
	err := errors.Join(s.http.Close(), s.plain.Close())
	if serveErr := <-s.done; !errors.Is(serveErr, http.ErrServerClosed) {
		err = errors.Join(err, serveErr)
	}
	s.done <- http.ErrServerClosed // a second Close finds the same answer
	return err
}

// URL is the authority host, without a trailing slash, e.g.
// https://127.0.0.1:7072: azidentity's ActiveDirectoryAuthorityHost.
func (s *Server) URL() string { return s.url }

// CAFile is the path of the CA certificate, for programs that read
// EXTRA_CA_FILE. It is empty when there is no DataDir.
func (s *Server) CAFile() string {
	if s.config.DataDir == "" {
		return ""
	}
	return filepath.Join(s.config.DataDir, caFile)
}

// CAPEM is the CA certificate in PEM.
func (s *Server) CAPEM() []byte { return s.authority.PEM() }

// HTTPClient returns a client that trusts this server's CA and no other.
func (s *Server) HTTPClient() *http.Client {
	roots := x509.NewCertPool()
	roots.AddCert(s.authority.certificate)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
	}}
}

// ServerCertificate is a new certificate of the CA for another server on this machine,
// which the programs that trust CAFile then trust as well.
func (s *Server) ServerCertificate() (tls.Certificate, error) { return s.authority.ServerCertificate() }

// RotateKeys makes a new signing key the current one, in every tenant. The key before
// it is still published and verifies; the one before that is forgotten.
func (s *Server) RotateKeys() error {
	for _, ring := range s.keys {
		if err := ring.rotate(); err != nil {
			return err
		}
	}
	return nil
}
