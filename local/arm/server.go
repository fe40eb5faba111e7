// Package arm is an Azure Resource Manager on one machine: the part that container groups of Azure
// Container Instances need, and the subscriptions of a Service Bus topic, for the real SDKs in tests and
// in the local system. A Runner starts a local program as the container of a group.
//
// It follows the published specifications of the resource providers (container groups of 2023-05-01,
// Service Bus of 2021-11-01), the documentation of Azure Container Instances and of Resource Manager, and
// error reports of users. It was not compared with the live service. Where the documentation leaves an
// answer open, it gives the one that is harder on a client: a list has no states of containers, a group
// that is created or deleted refuses requests to change it, and a request for a group that has ended runs
// it again. It refuses other resources, other versions of the API, and fields that it does not know.
package arm

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/local/faultlist"
	"github.com/matoolkit/matoolkit/local/httpsserver"
)

// Audience is the resource that tokens have to be for.
const Audience = "https://management.core.windows.net/"

// Actions are the permissions that requests need, as roles name them.
const (
	ActionReadGroup         = "Microsoft.ContainerInstance/containerGroups/read"
	ActionWriteGroup        = "Microsoft.ContainerInstance/containerGroups/write"
	ActionDeleteGroup       = "Microsoft.ContainerInstance/containerGroups/delete"
	ActionReadOperation     = "Microsoft.ContainerInstance/locations/operations/read"
	ActionReadSubscriptions = "Microsoft.ServiceBus/namespaces/topics/subscriptions/read"
	ActionAssignIdentity    = "Microsoft.ManagedIdentity/userAssignedIdentities/assign/action"
	ActionJoinSubnet        = "Microsoft.Network/virtualNetworks/subnets/join/action"
)

// Config of a server. Certificate and VerifyToken are required.
type Config struct {
	// Addr is the loopback address to listen on; "" is 127.0.0.1:0.
	Addr string
	// Certificate is the TLS certificate: the SDK sends no token without TLS.
	Certificate tls.Certificate
	// VerifyToken accepts or refuses a bearer token for Audience.
	VerifyToken func(token, audience string) error
	// Allowed says whether the holder of a token has the permission for an action on a resource, which is
	// a path; nil means that every caller has.
	Allowed func(token, action, resource string) bool
	// Run runs the containers of groups; nil means that they run until Exit.
	Run Runner
	// Subscriptions returns the subscriptions of a topic, and whether there is one; nil means that there
	// is no topic.
	Subscriptions func(namespace, topic string) ([]Subscription, bool)
	// PageSize is how many groups one page of a list has; 0 is 50.
	PageSize int
	// Now is the clock of states; nil is time.Now.
	Now func() time.Time
}

// Fault is an answer to some requests that have a good token and the permission.
type Fault = faultlist.Fault

// Server is a running server. Its methods may be called concurrently.
type Server struct {
	faultlist.List
	https   *httpsserver.Server
	config  Config
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup

	mu         sync.Mutex
	groups     map[string]*group // by lower-case path
	operations map[string]*operation
	requests   []Request
	starts     map[string]int // containers started, by path
	peak       int
}

// Request is a request that reached the service with a good token.
type Request struct {
	Method, Path, APIVersion string
	Action                   string // that it needed
	Body                     string
}

// Start listens and serves until Close.
func Start(ctx context.Context, config Config) (*Server, error) {
	if config.VerifyToken == nil {
		return nil, errors.New("local Azure Resource Manager: VerifyToken is required")
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.PageSize == 0 {
		config.PageSize = 50
	}
	https, err := httpsserver.Listen(ctx, "local Azure Resource Manager", config.Addr, config.Certificate)
	if err != nil {
		return nil, err
	}
	s := &Server{https: https, config: config, groups: map[string]*group{}, operations: map[string]*operation{}, starts: map[string]int{}}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	https.Serve(http.HandlerFunc(s.serve))
	return s, nil
}

// Close stops the server and the containers. Groups are kept in memory only.
func (s *Server) Close() error {
	err := s.https.Close()
	s.end()
	s.running.Wait()
	return err
}

// URL is the endpoint of the service, without a trailing slash.
func (s *Server) URL() string { return s.https.URL() }

// Requests returns the requests so far, the oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// maxBody bounds a request.
const maxBody = 1 << 20

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.URL.Path == "/_local/state" { // as no Azure has it
		answer(w, http.StatusOK, s.Counters())
		return
	}
	w.Header().Set("x-ms-request-id", uuid.NewString())
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		refuse(w, http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing.")
		return
	}
	if err := s.config.VerifyToken(token, Audience); err != nil {
		refuse(w, http.StatusUnauthorized, "InvalidAuthenticationToken", err.Error())
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		refuse(w, http.StatusBadRequest, "RequestContentTooLarge", "the request is too large")
		return
	}
	target, refusal := s.route(r)
	if refusal != nil {
		refusal.write(w)
		return
	}
	s.mu.Lock()
	s.requests = append(s.requests, Request{Method: r.Method, Path: r.URL.Path, APIVersion: r.URL.Query().Get("api-version"), Action: target.action, Body: string(body)})
	s.mu.Unlock()
	if s.config.Allowed != nil && !s.config.Allowed(token, target.action, r.URL.Path) {
		refuse(w, http.StatusForbidden, "AuthorizationFailed", fmt.Sprintf("The client does not have authorization to perform action '%s' over scope '%s'.", target.action, r.URL.Path))
		return
	}
	s.Serve(w, r.Method, r.URL.Path, func(w http.ResponseWriter) { target.serve(w, r, body, token) },
		func(f *Fault) { refuse(w, f.Status, f.Code, f.Message) })
}

// target has the permission that a request needs, and its handler.
type target struct {
	action string
	serve  func(w http.ResponseWriter, r *http.Request, body []byte, token string)
}

// The versions of the API that the SDKs use.
const (
	groupsVersion        = "2023-05-01"
	subscriptionsVersion = "2021-11-01"
)

// route finds the target of a request. Names of resources are the same in any case.
func (s *Server) route(r *http.Request) (target, *refusal) {
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	is := func(form ...string) bool {
		if len(path) != len(form) {
			return false
		}
		for i, part := range form {
			if path[i] == "" || part != "" && !strings.EqualFold(part, path[i]) {
				return false
			}
		}
		return true
	}
	var found target
	version := groupsVersion
	group := []string{"subscriptions", "", "resourceGroups", "", "providers", "Microsoft.ContainerInstance", "containerGroups", ""}
	switch {
	case r.Method == http.MethodGet && is(group[:7]...):
		found = target{ActionReadGroup, s.listGroups}
	case r.Method == http.MethodGet && is(group...):
		found = target{ActionReadGroup, s.getGroup}
	case r.Method == http.MethodPut && is(group...):
		found = target{ActionWriteGroup, s.putGroup}
	case r.Method == http.MethodDelete && is(group...):
		found = target{ActionDeleteGroup, s.deleteGroup}
	case r.Method == http.MethodGet && is("subscriptions", "", "providers", "Microsoft.ContainerInstance", "locations", "", "operations", ""):
		found = target{ActionReadOperation, s.getOperation}
	case r.Method == http.MethodGet && is("subscriptions", "", "resourceGroups", "", "providers", "Microsoft.ServiceBus", "namespaces", "", "topics", "", "subscriptions"):
		version = subscriptionsVersion
		found = target{ActionReadSubscriptions, s.listSubscriptions}
	case is(group...) || is(group[:7]...):
		return target{}, &refusal{http.StatusMethodNotAllowed, "MethodNotAllowed", fmt.Sprintf("The method %s is not supported here.", r.Method)}
	default:
		return target{}, &refusal{http.StatusNotFound, "ResourceNotFound", fmt.Sprintf("The resource %s is not served here.", r.URL.Path)}
	}
	if got := r.URL.Query().Get("api-version"); got != version {
		return target{}, &refusal{http.StatusBadRequest, "InvalidApiVersionParameter", fmt.Sprintf("The api-version '%s' is invalid. The supported version is '%s'.", got, version)}
	}
	return found, nil
}

// refusal is an answer that is an error.
type refusal struct {
	status        int
	code, message string
}

func (e *refusal) write(w http.ResponseWriter) { refuse(w, e.status, e.code, e.message) }

func refuse(w http.ResponseWriter, status int, code, message string) {
	answer(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

func answer(w http.ResponseWriter, status int, body any) {
	raw, err := json.Marshal(body)
	if err != nil { // texts, numbers and times always marshal
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(raw) // the client is gone if this fails
}
