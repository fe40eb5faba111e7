// Package keyvault is an Azure Key Vault on one machine: the part of its REST API
// that hands out secrets and their versions, for the real SDK (azsecrets) in tests
// and in the local system.
//
// It follows the reference of the data plane
// (https://learn.microsoft.com/rest/api/keyvault/secrets), what azsecrets sends, and
// the codes of https://learn.microsoft.com/azure/key-vault/general/rest-error-codes:
// the challenge that answers a request without a token, a token for another resource
// or none that verifies, roles, versions, disabled and unknown secrets. It was not
// compared with the live service. Secrets are set with Set and not over HTTP; every
// address but GET /secrets/{name}, GET /secrets/{name}/{version} and GET
// /secrets/{name}/versions is refused.
package keyvault

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/httpsserver"
)

// Audience is the resource that tokens have to be for.
const Audience = "https://vault.azure.net"

// Content types of secrets that are the private part of a certificate in the vault.
const (
	ContentTypePFX = "application/x-pkcs12"
	ContentTypePEM = "application/x-pem-file"
)

// Config of a vault. All but Addr, Allowed and Now are required.
type Config struct {
	// Addr is the loopback address to listen on; "" is 127.0.0.1:0.
	Addr string
	// Certificate is the TLS certificate: the SDK sends no token without TLS.
	Certificate tls.Certificate
	// Authority issues the tokens of tenant TenantID; the challenge to a request
	// without a token names both.
	Authority, TenantID string
	// VerifyToken accepts or refuses a bearer token for Audience.
	VerifyToken func(token, audience string) error
	// Allowed says whether the holder of a token that verifies has the role to read
	// secrets; nil means that every caller has.
	Allowed func(token string) bool
	// Now is the clock of the attributes; nil is time.Now.
	Now func() time.Time
}

// Secret is one version of a secret.
type Secret struct {
	Value       string
	ContentType string
	Disabled    bool
	// NotBefore and Expires are attributes only: as in the real service, they do not
	// prevent reads of the secret. Zero means none.
	NotBefore, Expires time.Time
}

// Server is a running vault. Its methods may be called concurrently.
type Server struct {
	https  *httpsserver.Server
	config Config

	mu      sync.Mutex
	secrets map[string][]version // by lower-case name, the newest last
	failure *Failure
	reads   int
}

type version struct {
	Secret
	id   string
	name string
	made time.Time
}

// Start listens and serves until Close.
func Start(ctx context.Context, config Config) (*Server, error) {
	if config.VerifyToken == nil || config.Authority == "" || config.TenantID == "" {
		return nil, errors.New("local Key Vault: VerifyToken, Authority and TenantID are required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	https, err := httpsserver.Listen(ctx, "local Key Vault", config.Addr, config.Certificate)
	if err != nil {
		return nil, err
	}
	s := &Server{https: https, config: config, secrets: map[string][]version{}}
	https.Serve(http.HandlerFunc(s.serve))
	return s, nil
}

// Close stops the vault at once. Secrets are kept in memory only.
func (s *Server) Close() error { return s.https.Close() }

// URL is the vault's, without a trailing slash.
func (s *Server) URL() string { return s.https.URL() }

// names matches the secret names that the real service accepts.
var names = regexp.MustCompile(`^[0-9a-zA-Z-]{1,127}$`)

// NewVersion is an id for SetVersion.
func NewVersion() string { return strings.ReplaceAll(uuid.NewString(), "-", "") }

// Set adds a version, which is the current one from now on, and returns its id.
func (s *Server) Set(name string, secret Secret) (string, error) {
	return s.SetVersion(name, NewVersion(), secret)
}

// SetVersion adds a version that an earlier vault had by this id.
func (s *Server) SetVersion(name, id string, secret Secret) (string, error) {
	if !names.MatchString(name) {
		return "", fmt.Errorf("invalid secret name %q", name)
	}
	v := version{Secret: secret, id: id, name: name, made: s.config.Now()}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.ToLower(name)
	s.secrets[key] = append(s.secrets[key], v)
	return v.id, nil
}

// Delete takes a secret away with all its versions.
func (s *Server) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.secrets, strings.ToLower(name))
}

// Failure is an answer to every request that has a good token.
type Failure struct {
	Status     int    // of HTTP
	Code       string // such as Forbidden
	Inner      string // such as ForbiddenByFirewall; may be empty
	Message    string
	RetryAfter string // of the header; may be empty
}

// Fail answers every request with f from now on; nil ends it.
func (s *Server) Fail(f *Failure) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure = f
}

// Reads is how many requests with a good token came so far.
func (s *Server) Reads() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads
}
