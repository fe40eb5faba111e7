package github

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Fault strikes some of the requests: of those that match, the first After pass and Count are struck.
type Fault struct {
	Contains   string `json:"contains,omitempty"` // part of the path with the query; empty: any
	After      int    `json:"after,omitempty"`
	Count      int    `json:"count,omitempty"` // 0: no limit
	DelayMS    int    `json:"delayMs,omitempty"`
	Status     int    `json:"status,omitempty"`     // answer with this error status: 403 or 429 for a secondary limit, 404, 451, 500 to 504
	RetryAfter string `json:"retryAfter,omitempty"` // Retry-After of a secondary limit, in seconds; empty: none
	Drop       bool   `json:"drop,omitempty"`       // close the connection instead of answering
}

func (f Fault) check() error {
	limited := f.Status == http.StatusForbidden || f.Status == http.StatusTooManyRequests
	known := limited || f.Status == http.StatusNotFound || f.Status == http.StatusUnavailableForLegalReasons || f.Status >= 500 && f.Status <= 504
	switch {
	case f.Status != 0 && !known:
		return fmt.Errorf("local GitHub: fault: status %d is not one of 403, 404, 429, 451, 500 to 504", f.Status)
	case f.After < 0 || f.Count < 0 || f.DelayMS < 0:
		return fmt.Errorf("local GitHub: fault: a negative number")
	case f.RetryAfter != "" && !limited:
		return fmt.Errorf("local GitHub: fault: retryAfter is for the status 403 or 429")
	case f.Status == 0 && !f.Drop && f.DelayMS == 0:
		return fmt.Errorf("local GitHub: fault: give status, drop or delayMs")
	}
	return nil
}

// SetFaults replaces all faults.
func (s *Server) SetFaults(faults ...Fault) error {
	all := []*Fault{}
	for _, f := range faults {
		if err := f.check(); err != nil {
			return err
		}
		all = append(all, &f)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = all
	return nil
}

// strike applies the first fault that a request matches.
func (s *Server) strike(r *http.Request) (a *answer, drop bool) {
	f := s.next(r.URL.RequestURI())
	if f.DelayMS > 0 {
		select {
		case <-time.After(time.Duration(f.DelayMS) * time.Millisecond):
		case <-r.Context().Done():
			return nil, true
		}
	}
	switch {
	case f.Drop:
		return nil, true
	case f.Status == 0:
		return nil, false
	case f.Status == http.StatusForbidden || f.Status == http.StatusTooManyRequests:
		return s.tooMany(f.Status, f.RetryAfter), false
	case f.Status == http.StatusNotFound:
		return notFound(), false
	case f.Status == http.StatusUnavailableForLegalReasons:
		return refuse(f.Status, docs, "Repository access blocked"), false
	}
	return refuse(f.Status, docs, "Server Error"), false
}

// next counts a request and returns its fault, the zero value for none.
func (s *Server) next(path string) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if !strings.Contains(path, f.Contains) {
			continue
		}
		if f.After > 0 {
			f.After--
			continue
		}
		if f.Count > 0 {
			if f.Count--; f.Count == 0 {
				s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			}
		}
		return *f
	}
	return Fault{}
}

// serveLocal serves what tests and demos need: POST /_local/faults with a list, DELETE /_local/faults, POST
// /_local/seed and GET /_local/requests.
func (s *Server) serveLocal(w http.ResponseWriter, r *http.Request) {
	decode := func(into any) error {
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20))
		d.DisallowUnknownFields()
		return d.Decode(into)
	}
	var err error
	switch r.Method + " " + r.URL.Path {
	case "POST /_local/faults":
		var faults []Fault
		if err = decode(&faults); err == nil {
			err = s.SetFaults(faults...)
		}
	case "DELETE /_local/faults":
		err = s.SetFaults()
	case "POST /_local/seed":
		var seed Seed
		if err = decode(&seed); err == nil {
			err = s.Seed(seed)
		}
	case "GET /_local/requests":
		a := object(s.Requests())
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(a.body) // the client is gone if this fails
		return
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
