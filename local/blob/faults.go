package blob

import (
	"slices"
	"strings"
)

// Fault is an answer to requests that have a valid token and the permission.
type Fault struct {
	Method     string // of the requests; empty: any
	Path       string // a part of their path without the account, such as /container/name; empty: any
	Skip       int    // how many requests pass first
	Count      int    // how many requests get it then; 0: all
	Status     int
	Code       string
	Message    string
	RetryAfter string // of the header; may be empty
	// Lost carries the request out and closes the connection without an answer.
	Lost bool
	// Then is called before the answer, and with Lost after the request was carried out; nil for nothing.
	Then func()
}

// Fail adds a fault.
func (s *Server) Fail(f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
}

// Heal removes all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// fault returns the first fault that a request gets, nil for none.
func (s *Server) fault(method, path string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if f.Method != "" && f.Method != method || !strings.Contains(path, f.Path) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Count > 0 {
			if f.Count--; f.Count == 0 {
				s.faults = slices.Delete(s.faults, i, i+1)
			}
		}
		return f
	}
	return nil
}
