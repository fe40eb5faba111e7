package tenant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// State is everything in the tenant, in order of creation.
type State struct {
	TenantID   string           `json:"tenantId"`
	Users      []User           `json:"users"`
	Groups     []Group          `json:"groups"`
	Recipients []Recipient      `json:"recipients"`
	Batches    []MigrationBatch `json:"migrationBatches,omitempty"`
	Contents   []ContentTask    `json:"contentTasks,omitempty"`
	Jobs       []MigrationJob   `json:"migrationJobs,omitempty"`
	Mails      []Mail           `json:"mails,omitempty"` // sent since the start
}

// State returns the latest state, without the replication lag.
func (s *Server) State() State {
	s.advance() // it logs an error
	s.dir.Lock()
	defer s.dir.Unlock()
	return State{
		TenantID:   s.cfg.TenantID,
		Users:      s.dir.Users.All(),
		Groups:     s.dir.Groups.All(),
		Recipients: s.dir.Recipients.All(),
		Batches:    s.dir.Batches.All(),
		Contents:   s.dir.Contents.All(),
		Jobs:       s.dir.Jobs.All(),
		Mails:      slices.Clone(s.dir.Mails),
	}
}

// Watch begins to note what changes.
func (s *Server) Watch() {
	s.dir.Lock()
	defer s.dir.Unlock()
	s.dir.Watch()
}

// Changed are the objects that changed since Watch.
func (s *Server) Changed() []ObjectChange {
	s.advance() // it logs an error
	s.dir.Lock()
	defer s.dir.Unlock()
	return s.dir.Changed()
}

// Summary counts the objects of a tenant.
type Summary struct {
	Users, Groups, Recipients int
	Licensed                  map[string]int // users with a product, by its folded id
	Sender                    string         // sign-in name of the first user with a mailbox, empty where there is none
}

// Summary counts the objects in their latest state.
func (s *Server) Summary() Summary {
	s.dir.Lock()
	defer s.dir.Unlock()
	sum := Summary{Licensed: map[string]int{}}
	for u := range s.dir.Users.Each() {
		sum.Users++
		for _, sku := range u.AssignedLicenses() {
			sum.Licensed[sku]++
		}
	}
	for range s.dir.Groups.Each() {
		sum.Groups++
	}
	for r := range s.dir.Recipients.Each() {
		sum.Recipients++
		if sum.Sender == "" && r.Kind == UserMailbox {
			sum.Sender = r.UserPrincipalName
		}
	}
	return sum
}

// Licenses are the products that the tenant has bought. Consumed counts people who are not in its state.
func (s *Server) Licenses() []License {
	s.dir.Lock()
	defer s.dir.Unlock()
	return slices.Clone(s.dir.Licenses)
}

// DeletedUsers are the users in the deleted items.
func (s *Server) DeletedUsers() []User {
	s.dir.Lock()
	defer s.dir.Unlock()
	return slices.Clone(s.dir.DeletedUsers)
}

// Domains are the verified domains; none: all are accepted.
func (s *Server) Domains() []string {
	s.dir.Lock()
	defer s.dir.Unlock()
	return slices.Sorted(maps.Keys(s.dir.Domains))
}

// counters count the requests of each operation by status; 0 stands for a
// dropped connection.
type counters struct {
	mu  sync.Mutex
	ops map[string]map[int]int
}

func (k *counters) count(op string, status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ops == nil {
		k.ops = map[string]map[int]int{}
	}
	if k.ops[op] == nil {
		k.ops[op] = map[int]int{}
	}
	k.ops[op][status]++
}

// Requests is how often each operation was asked for, by answered status; 0
// stands for a dropped connection.
func (s *Server) Requests() map[string]map[int]int {
	s.counters.mu.Lock()
	defer s.counters.mu.Unlock()
	out := map[string]map[int]int{}
	for op, statuses := range s.counters.ops {
		out[op] = map[int]int{}
		for status, n := range statuses {
			out[op][status] = n
		}
	}
	return out
}

// serveLocal is the local admin endpoint. It has no sign-in: it is on loopback,
// and a page in a browser cannot use it, because every write needs a JSON
// content type and every request a loopback host name.
func (s *Server) serveLocal(w http.ResponseWriter, r *http.Request, path []string) {
	respond := func(status int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if body != nil {
			_ = json.NewEncoder(w).Encode(body)
		}
	}
	fail := func(status int, err error) { respond(status, map[string]string{"error": err.Error()}) }
	decode := func(into any) bool {
		if r.Header.Get("Content-Type") != "application/json" {
			fail(http.StatusUnsupportedMediaType, errors.New("tenant: Content-Type is not application/json"))
			return false
		}
		body, err := readBody(r)
		if err == nil {
			decoder := json.NewDecoder(bytes.NewReader(body))
			decoder.DisallowUnknownFields()
			err = decoder.Decode(into)
		}
		if err != nil {
			fail(http.StatusBadRequest, fmt.Errorf("tenant: request body: %w", err))
		}
		return err == nil
	}
	if host, _, _ := net.SplitHostPort(r.Host); !loopback.Is(host) {
		fail(http.StatusForbidden, fmt.Errorf("tenant: host %q is not loopback", r.Host))
		return
	}
	if s.cfg.NoLocalEndpoint {
		fail(http.StatusNotFound, errors.New("tenant: the local admin endpoint is off: it shows the copies of real tenants to everyone"))
		return
	}
	switch r.Method + " " + strings.Join(path, "/") {
	case "GET state":
		respond(http.StatusOK, s.State())
	case "GET requests":
		respond(http.StatusOK, s.Requests())
	case "POST seed":
		var seed Seed
		if !decode(&seed) {
			return
		}
		if err := s.Seed(seed); err != nil {
			fail(http.StatusBadRequest, err)
			return
		}
		respond(http.StatusNoContent, nil)
	case "PUT faults":
		var faults Faults
		if !decode(&faults) {
			return
		}
		if err := s.SetFaults(faults); err != nil {
			fail(http.StatusBadRequest, err)
			return
		}
		respond(http.StatusNoContent, nil)
	default:
		fail(http.StatusNotFound, fmt.Errorf("tenant: no local endpoint %s %s", r.Method, r.URL.Path))
	}
}
