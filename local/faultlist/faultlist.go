// Package faultlist has the faults that tests give the local services that Azure's clients for Go call: each is for some of the
// requests that have a valid token and the permission.
package faultlist

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Fault is an answer to some requests.
type Fault struct {
	Method     string // of the requests; empty: any
	Path       string // a part of their path, in any case; empty: any
	Skip       int    // how many requests pass first
	Count      int    // how many requests get it then; 0: all
	Status     int
	Code       string
	Message    string
	RetryAfter string // of the header; may be empty
	// Lost carries the request out and closes the connection without an answer.
	Lost bool
	// Cut carries the request out and closes the connection after half of the body of the answer.
	Cut bool
	// Then is called before the answer, and with Lost and Cut after the request was carried out; nil for nothing.
	Then func()
}

// List has the faults of a server. The zero value has none. Its methods may be called concurrently.
type List struct {
	mu     sync.Mutex
	faults []*Fault
}

// Fail adds a fault.
func (l *List) Fail(f Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = append(l.faults, &f)
}

// Heal removes all faults.
func (l *List) Heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults = nil
}

// Serve carries a request out if it gets no fault, and calls refuse with the fault if it gets one with a status. It panics
// with http.ErrAbortHandler, which closes the connection, where an answer is lost.
func (l *List) Serve(w http.ResponseWriter, method, path string, carryOut func(http.ResponseWriter), refuse func(*Fault)) {
	f := l.next(method, path)
	if f == nil {
		carryOut(w)
		return
	}
	cut := &half{ResponseWriter: w}
	switch {
	case f.Lost:
		carryOut(discarded{http.Header{}})
	case f.Cut:
		carryOut(cut)
	}
	if f.Then != nil {
		f.Then()
	}
	switch {
	case f.Lost || cut.begun:
		panic(http.ErrAbortHandler)
	case f.Cut:
		return // an answer without a body, or a refusal, is whole
	}
	if f.RetryAfter != "" {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	refuse(f)
}

// next returns the first fault that a request gets, nil for none.
func (l *List) next(method, path string) *Fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, f := range l.faults {
		if f.Method != "" && f.Method != method || !strings.Contains(strings.ToLower(path), strings.ToLower(f.Path)) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Count > 0 {
			if f.Count--; f.Count == 0 {
				l.faults = slices.Delete(l.faults, i, i+1)
			}
		}
		return f
	}
	return nil
}

// discarded is an answer that is lost on its way.
type discarded struct{ header http.Header }

func (d discarded) Header() http.Header            { return d.header }
func (d discarded) Write(body []byte) (int, error) { return len(body), nil }
func (d discarded) WriteHeader(int)                {}

// half is an answer of which the client gets half of each part of the body.
type half struct {
	http.ResponseWriter
	begun bool
}

func (h *half) Write(body []byte) (int, error) {
	h.begun = true
	if _, err := h.ResponseWriter.Write(body[:len(body)/2]); err != nil {
		return 0, err
	}
	return len(body), http.NewResponseController(h.ResponseWriter).Flush()
}
