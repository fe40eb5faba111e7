// Package blob is Azure Blob Storage on one machine: the part of its REST API that keeps block blobs in
// containers, for the real SDKs in tests and in the local system.
//
// It follows the reference (https://learn.microsoft.com/rest/api/storageservices/blob-service-rest-api, with the
// pages on conditional headers, error codes and authorization with Microsoft Entra ID), what azblob sends, and,
// where the reference is silent, the choices of Azurite. It was not compared with a live account. The account
// has blobs of one kind and no history: snapshots, versions, tags, leases, tiers, copies, append and page blobs
// are refused, as is every header, parameter and operation that the package does not know.
//
// The account takes tokens only, as one where Shared Key is disabled.
package blob

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/faultlist"
	"github.com/matoolkit/matoolkit/local/httpsserver"
)

// Audience is the resource that tokens have to be for.
const Audience = "https://storage.azure.com"

// DefaultAccount is the name of the account where Config has none.
const DefaultAccount = "local"

// Actions of roles that a request needs.
const (
	ActionReadContainer   = "Microsoft.Storage/storageAccounts/blobServices/containers/read"
	ActionWriteContainer  = "Microsoft.Storage/storageAccounts/blobServices/containers/write"
	ActionDeleteContainer = "Microsoft.Storage/storageAccounts/blobServices/containers/delete"
	ActionRead            = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read"
	ActionWrite           = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write"
	ActionDelete          = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete"
)

// Config of an account. Certificate, Authority, TenantID and VerifyToken are required.
type Config struct {
	// Addr is the loopback address to listen on; "" is 127.0.0.1:0.
	Addr string
	// Account is the first part of every path; "" is DefaultAccount.
	Account string
	// Certificate is the TLS certificate: the SDKs send no token without TLS.
	Certificate tls.Certificate
	// Authority issues the tokens of tenant TenantID; the challenge to a request without a token names both.
	Authority, TenantID string
	// VerifyToken accepts or refuses a bearer token for Audience.
	VerifyToken func(token, audience string) error
	// Allowed reports whether the holder of a valid token has a role with the action; nil means that every caller has.
	Allowed func(token, action string) bool
	// DataDir keeps containers and blobs; "" keeps them in memory. Uncommitted blocks are in memory only.
	DataDir string
	// MaxBody limits the body of one request, in bytes; 0 is 256 MiB. The real limits are 5,000 MiB for a blob and
	// 4,000 MiB for a block.
	MaxBody int64
	// PageSize limits the entries of one page of a list, below the real 5,000; 0 is 5,000.
	PageSize int
	// Now is the clock of Last-Modified and of ETags; nil is time.Now.
	Now func() time.Time
}

// Request is a request that had a valid token and that the server knows.
type Request struct {
	Method, Path string // Path without the account
	Action       string // of the role that it needs
	IfMatch      string
	IfNoneMatch  string
}

// Fault is an answer to some requests that have a valid token and the permission. Paths are without the account, such
// as /container/name.
type Fault = faultlist.Fault

// Server is a running account. Its methods may be called concurrently.
type Server struct {
	faultlist.List
	https  *httpsserver.Server
	config Config

	mu         sync.Mutex
	containers map[string]*container
	lastTicks  int64 // of the newest ETag
	requests   []Request
}

var accountForm = regexp.MustCompile(`^[a-z0-9]{3,24}$`)

// Start reads the state of DataDir, and listens and serves until Close.
func Start(ctx context.Context, config Config) (*Server, error) {
	if config.VerifyToken == nil || config.Authority == "" || config.TenantID == "" {
		return nil, errors.New("local Blob Storage: VerifyToken, Authority and TenantID are required")
	}
	if config.Account == "" {
		config.Account = DefaultAccount
	}
	if !accountForm.MatchString(config.Account) {
		return nil, fmt.Errorf("local Blob Storage: invalid account %q: use 3 to 24 lower-case letters and digits", config.Account)
	}
	if config.MaxBody == 0 {
		config.MaxBody = 256 << 20
	}
	if config.PageSize == 0 {
		config.PageSize = maxPage
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	s := &Server{config: config, containers: map[string]*container{}}
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("local Blob Storage: %w", err)
	}
	https, err := httpsserver.Listen(ctx, "local Blob Storage", config.Addr, config.Certificate)
	if err != nil {
		return nil, err
	}
	s.https = https
	https.Serve(http.HandlerFunc(s.serve))
	return s, nil
}

// Close stops the server at once.
func (s *Server) Close() error { return s.https.Close() }

// URL is the endpoint of the blob service with the account, without a trailing slash.
func (s *Server) URL() string { return s.https.URL() + "/" + s.config.Account }

// Requests returns the requests so far, the oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("x-ms-request-id", uuid.NewString())
	h.Set("Server", "Windows-Azure-Blob/1.0")
	if id := r.Header.Get("x-ms-client-request-id"); id != "" {
		h.Set("x-ms-client-request-id", id)
	}
	if refusal := s.answer(w, r); refusal != nil {
		refusal.write(w, r, s.config.Now())
	}
}

// answer serves a request, or returns why not.
func (s *Server) answer(w http.ResponseWriter, r *http.Request) *refusal {
	token, refused := s.authenticate(w, r)
	if refused != nil {
		return refused
	}
	o, refused := s.route(r)
	if refused != nil {
		return refused
	}
	w.Header().Set("x-ms-version", r.Header.Get("x-ms-version"))
	s.mu.Lock()
	s.requests = append(s.requests, Request{
		Method: r.Method, Path: o.path(), Action: o.action, IfMatch: r.Header.Get("If-Match"), IfNoneMatch: r.Header.Get("If-None-Match"),
	})
	s.mu.Unlock()
	if s.config.Allowed != nil && !s.config.Allowed(token, o.action) {
		return &refusal{status: http.StatusForbidden, code: "AuthorizationPermissionMismatch", message: "This request is not authorized to perform this operation using this permission."}
	}
	s.Serve(w, r.Method, o.path(), func(w http.ResponseWriter) { refused = o.serve(w, r, o.target) },
		func(f *Fault) { refused = &refusal{status: f.Status, code: f.Code, message: f.Message} })
	return refused
}

// authenticate returns the valid token of a request.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request) (string, *refusal) {
	header := r.Header.Get("Authorization")
	query := r.URL.Query()
	challenge := func(code, message string) *refusal {
		w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer authorization_uri=%s/%s/oauth2/authorize resource_id=%s", trimSlash(s.config.Authority), s.config.TenantID, Audience))
		return &refusal{status: http.StatusUnauthorized, code: code, message: message}
	}
	token, bearer := cutPrefixFold(header, "Bearer ")
	switch {
	case query.Has("sig") || hasPrefixFold(header, "SharedKey"):
		return "", &refusal{status: http.StatusForbidden, code: "KeyBasedAuthenticationNotPermitted", message: "Key based authentication is not permitted on this storage account."}
	case header == "":
		return "", challenge("NoAuthenticationInformation", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.")
	case !bearer:
		return "", &refusal{
			status: http.StatusBadRequest, code: "InvalidAuthenticationInfo",
			message: "Authentication information is not given in the correct format. Check the value of Authorization header.",
		}
	}
	if err := s.config.VerifyToken(token, Audience); err != nil {
		return "", challenge("InvalidAuthenticationInfo", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header. "+err.Error())
	}
	return token, nil
}
