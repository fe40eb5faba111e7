package calls

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"sync"
)

// Transport checks requests on their way. It is safe for concurrent use.
type Transport struct {
	Base   http.RoundTripper // nil means http.DefaultTransport
	Report func(error)       // hears what is not as described

	mu   sync.Mutex
	seen map[string]int
}

// RoundTrip implements http.RoundTripper. A request that is not as described is made
// all the same: the tests that it belongs to go on.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil && r.Body != http.NoBody {
		var err error
		body, err = io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("calls: %w", err)
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	name, err := Check(r, body)
	if err != nil {
		t.Report(err)
	}
	t.mu.Lock()
	if t.seen == nil {
		t.seen = map[string]int{}
	}
	t.seen[name]++
	t.mu.Unlock()
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	return base.RoundTrip(r)
}

// Seen is how often each request and cmdlet was made.
func (t *Transport) Seen() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := make(map[string]int, len(t.seen))
	for name, n := range t.seen {
		seen[name] = n
	}
	return seen
}
