package databricks

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
)

// Fault makes requests go wrong. Of Drop, Status, Body, DropAfter, Cut, Stall and
// Alter, the first that is set applies; with Drop, Status and Body the request is not carried out.
type Fault struct {
	On    []Operation // empty: every kind
	Skip  int         // matching requests to let pass first
	Count int         // requests to hit; 0 is all until it is removed

	Drop       bool   // close the connection without an answer
	Status     int    // answer this status
	Code       string // error_code of that answer; empty: that of the status
	Message    string
	RetryAfter string // Retry-After of that answer; empty: none
	Body       string // answer 200 and these bytes
	DropAfter  bool   // carry the request out, then close the connection
	Cut        int    // carry it out, send so many bytes of the answer, then close
	Stall      int    // as Cut, but wait for the client to leave instead of closing
	// Alter changes the answer before it is sent. It is not for Download, of which the
	// answers are no objects.
	Alter func(answer map[string]any)
}

// Inject puts a fault in force and returns what takes it away again. Faults are tried
// in the order they were injected, and one request meets at most one.
func (s *Server) Inject(f Fault) (remove func()) {
	armed := &armedFault{Fault: f}
	s.faults.mu.Lock()
	defer s.faults.mu.Unlock()
	s.faults.armed = append(s.faults.armed, armed)
	return func() {
		s.faults.mu.Lock()
		defer s.faults.mu.Unlock()
		s.faults.armed = slices.DeleteFunc(s.faults.armed, func(a *armedFault) bool { return a == armed })
	}
}

type armedFault struct {
	Fault
	seen, hit int
}

type faults struct {
	mu    sync.Mutex
	armed []*armedFault
}

// strike is the fault that hits a request; nil: none.
func (fs *faults) strike(op Operation) *Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.armed {
		if len(f.On) > 0 && !slices.Contains(f.On, op) || f.Count > 0 && f.hit == f.Count {
			continue
		}
		if f.seen++; f.seen <= f.Skip {
			continue
		}
		f.hit++
		return &f.Fault
	}
	return nil
}

// before does what a fault does instead of carrying a request out.
func (f *Fault) before(w http.ResponseWriter) (done bool) {
	switch {
	case f == nil:
		return false
	case f.Drop:
		panic(http.ErrAbortHandler)
	case f.Status != 0:
		if f.RetryAfter != "" {
			w.Header().Set("Retry-After", f.RetryAfter)
		}
		fail(w, f.Status, f.Code, f.Message)
		return true
	case f.Body != "":
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(f.Body))
		return true
	}
	return false
}

// send writes an answer of JSON, as the fault wants it.
func (f *Fault) send(w http.ResponseWriter, r *http.Request, answer []byte) {
	switch {
	case f == nil:
	case f.DropAfter:
		panic(http.ErrAbortHandler)
	case f.Cut > 0 || f.Stall > 0:
		w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
		w.Write(answer[:min(max(f.Cut, f.Stall), len(answer)-1)])
		w.(http.Flusher).Flush()
		if f.Stall > 0 {
			<-r.Context().Done()
		}
		panic(http.ErrAbortHandler)
	case f.Alter != nil:
		var m map[string]any
		if err := json.Unmarshal(answer, &m); err != nil {
			panic("databricks: Alter meets an answer that is not an object: " + err.Error())
		}
		f.Alter(m)
		answer, _ = json.Marshal(m)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.Write(answer)
}
