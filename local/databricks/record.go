package databricks

import (
	"slices"
	"sync"
	"time"
)

// Operation is a kind of request.
type Operation string

// The kinds of requests. Download is the one that goes to the storage.
const (
	Execute  Operation = "Execute"
	Get      Operation = "Get"
	Chunk    Operation = "Chunk"
	Cancel   Operation = "Cancel"
	Download Operation = "Download"
)

// Request is a request that arrived, refused or not.
type Request struct {
	Operation  Operation
	Statement  string // the ID of the statement; empty for Execute
	Chunk      int    // of Chunk and Download
	Authorized bool   // it had an Authorization header
	Body       string // of Execute
	At         time.Time
}

type record struct {
	mu       sync.Mutex
	requests []Request
}

func (r *record) add(request Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, request)
}

// Requests are those that arrived so far, in their order; of the given kinds only,
// where there are any.
func (s *Server) Requests(of ...Operation) []Request {
	s.record.mu.Lock()
	defer s.record.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.record.requests), func(r Request) bool {
		return len(of) > 0 && !slices.Contains(of, r.Operation)
	})
}

// States are how far the statements have come, by their IDs.
func (s *Server) States() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	states := map[string]string{}
	for id, st := range s.statements {
		states[id] = st.state()
	}
	return states
}
