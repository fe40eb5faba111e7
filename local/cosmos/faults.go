package cosmos

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Operation is a kind of request, and in a batch a kind of operation.
type Operation string

// The kinds of requests. Metadata is everything about accounts, databases,
// containers and partition key ranges.
const (
	Read     Operation = "Read"
	Query    Operation = "Query"
	Create   Operation = "Create"
	Replace  Operation = "Replace"
	Upsert   Operation = "Upsert"
	Delete   Operation = "Delete"
	Patch    Operation = "Patch"
	Batch    Operation = "Batch"
	Metadata Operation = "Metadata"
)

// Request is the part of a request that a fault can match. PartitionKey is canonical JSON such as
// ["42"]; ID is empty where the request names no single item.
type Request struct {
	Operation    Operation
	Database     string
	Container    string
	PartitionKey string
	ID           string
}

// Fault makes requests go wrong. Latency comes first; then Status, if any, is
// answered and nothing is carried out; DropAfter carries the request out,
// commits it, and closes the connection without an answer.
type Fault struct {
	On         []Operation        // empty: every operation but Metadata
	Match      func(Request) bool // nil matches every request; it must not block
	Skip       int                // matching requests to let pass first
	Count      int                // requests to hit; 0 is all until it is removed
	Status     int                // 412, 429, 449, 503, … ; 0 for none
	SubStatus  int
	RetryAfter time.Duration // x-ms-retry-after-ms, for 429 and 449
	DropAfter  bool
	Latency    time.Duration
	Until      <-chan struct{} // closed, it ends the latency; nil for none
}

// Inject puts a fault in force and returns what takes it away again. Faults
// are tried in the order they were injected, and one request meets at most one.
func (s *Server) Inject(f Fault) (remove func()) {
	return s.faults.add(f)
}

type faults struct {
	mu    sync.Mutex
	armed []*armedFault
	asked []func() // takes away what was asked for over HTTP
}

type armedFault struct {
	Fault
	seen, hit int
}

func (fs *faults) add(f Fault) func() {
	armed := &armedFault{Fault: f}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.armed = append(fs.armed, armed)
	return func() { fs.remove(armed) }
}

// ask puts a fault in force until removeAsked.
func (fs *faults) ask(f Fault) {
	remove := fs.add(f)
	fs.mu.Lock()
	defer fs.mu.Unlock()
	fs.asked = append(fs.asked, remove)
}

func (fs *faults) removeAsked() {
	fs.mu.Lock()
	asked := fs.asked
	fs.asked = nil
	fs.mu.Unlock()
	for _, remove := range asked {
		remove()
	}
}

func (fs *faults) remove(f *armedFault) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for i := range fs.armed {
		if fs.armed[i] == f {
			fs.armed = append(fs.armed[:i:i], fs.armed[i+1:]...)
			return
		}
	}
}

// meet returns the fault that hits a request, or nil.
func (fs *faults) meet(r Request) *Fault {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.armed {
		if !f.covers(r) || f.Count > 0 && f.hit == f.Count {
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

func (f *armedFault) covers(r Request) bool {
	covered := len(f.On) == 0 && r.Operation != Metadata
	for _, op := range f.On {
		covered = covered || op == r.Operation
	}
	return covered && (f.Match == nil || f.Match(r))
}

// suffer lets a request meet its fault, if one is in force: it waits, answers
// in the request's place, or gives back a writer whose answer gets lost.
func (s *Server) suffer(w http.ResponseWriter, r *http.Request, req Request) (_ http.ResponseWriter, answered bool) {
	if req.Operation != Metadata {
		hold(r, s.latency, nil)
	}
	fault := s.faults.meet(req)
	if fault == nil {
		return w, false
	}
	hold(r, fault.Latency, fault.Until)
	if fault.Status != 0 {
		fault.answer(w)
		return w, true
	}
	if fault.DropAfter {
		return &droppedAnswer{header: http.Header{}}, false
	}
	return w, false
}

// hold lets a request wait for d or until a channel is closed, and for as long as its client does.
func hold(r *http.Request, d time.Duration, until <-chan struct{}) {
	if d <= 0 {
		return
	}
	select {
	case <-time.After(d):
	case <-until:
	case <-r.Context().Done():
		panic(http.ErrAbortHandler)
	}
}

// droppedAnswer discards the answer of a request whose connection a fault cuts.
type droppedAnswer struct{ header http.Header }

func (d *droppedAnswer) Header() http.Header         { return d.header }
func (d *droppedAnswer) Write(p []byte) (int, error) { return len(p), nil }
func (d *droppedAnswer) WriteHeader(int)             {}

// answer writes the fault's status.
func (f *Fault) answer(w http.ResponseWriter) {
	if f.RetryAfter > 0 {
		w.Header()["X-Ms-Retry-After-Ms"] = []string{strconv.FormatInt(f.RetryAfter.Milliseconds(), 10)}
	}
	o := failure(f.Status, "injected fault")
	o.sub = f.SubStatus
	respondFailure(w, o)
}
