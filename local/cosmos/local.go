package cosmos

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"
)

const faultsPath = "/_local/faults"

// faultRequest is a Fault in the body of an HTTP request. Partition limits it to the
// requests of one partition key, as text; none means every partition.
type faultRequest struct {
	On           []Operation `json:"on"`
	Partition    string      `json:"partition"`
	Skip         int         `json:"skip"`
	Count        int         `json:"count"`
	Status       int         `json:"status"`
	RetryAfterMs int64       `json:"retryAfterMs"`
	LatencyMs    int64       `json:"latencyMs"`
	DropAfter    bool        `json:"dropAfter"`
}

// serveFaults manages faults, which no real account does: POST adds a fault, DELETE
// removes all faults that were added this way. Only a body declared as JSON is read, which no page of a
// browser can send to another origin unasked.
func (s *Server) serveFaults(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodDelete:
		s.faults.removeAsked()
	case http.MethodPost:
		fault, err := readFault(r)
		if err != nil {
			respondFailure(w, failure(http.StatusBadRequest, err.Error()))
			return
		}
		s.faults.ask(fault)
	default:
		respondFailure(w, failure(http.StatusMethodNotAllowed, faultsPath+" takes POST and DELETE"))
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func readFault(r *http.Request) (Fault, error) {
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" {
		return Fault{}, fmt.Errorf("Content-Type must be application/json")
	}
	d := json.NewDecoder(io.LimitReader(r.Body, 1<<16))
	d.DisallowUnknownFields()
	var q faultRequest
	if err := d.Decode(&q); err != nil {
		return Fault{}, fmt.Errorf("invalid fault: %w", err)
	}
	known := []Operation{Read, Query, Create, Replace, Upsert, Delete, Patch, Batch, Metadata}
	for _, op := range q.On {
		if !slices.Contains(known, op) {
			return Fault{}, fmt.Errorf("unknown operation %q: use %v", op, known)
		}
	}
	switch {
	case q.Skip < 0 || q.Count < 0 || q.RetryAfterMs < 0 || q.LatencyMs < 0:
		return Fault{}, fmt.Errorf("skip, count, retryAfterMs and latencyMs cannot be negative")
	case q.Status != 0 && (q.Status < 400 || q.Status > 599):
		return Fault{}, fmt.Errorf("the status %d is not an error status", q.Status)
	case q.Status == 0 && q.LatencyMs == 0 && !q.DropAfter:
		return Fault{}, fmt.Errorf("give status, latencyMs or dropAfter")
	}
	f := Fault{
		On: q.On, Skip: q.Skip, Count: q.Count, Status: q.Status, DropAfter: q.DropAfter,
		RetryAfter: time.Duration(q.RetryAfterMs) * time.Millisecond, Latency: time.Duration(q.LatencyMs) * time.Millisecond,
	}
	if q.Partition != "" {
		key, err := json.Marshal([]string{q.Partition})
		if err != nil {
			return Fault{}, err
		}
		f.Match = func(r Request) bool { return r.PartitionKey == string(key) }
	}
	return f, nil
}
