package main

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// traffic counts the requests that are being worked on, the host's probes aside.
type traffic struct {
	mu      sync.Mutex
	running int
	last    time.Time // when the last one ended
}

func (t *traffic) count(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" && r.Method == http.MethodGet {
			next.ServeHTTP(w, r)
			return
		}
		t.mu.Lock()
		t.running++
		t.mu.Unlock()
		defer func() {
			t.mu.Lock()
			defer t.mu.Unlock()
			t.running--
			t.last = time.Now()
		}()
		next.ServeHTTP(w, r)
	})
}

func (t *traffic) quietFor(d time.Duration) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.running == 0 && time.Since(t.last) >= d
}

// waitUntilDrained returns when nothing has run for as long as quiet, or when ctx ends.
func (t *traffic) waitUntilDrained(ctx context.Context, quiet time.Duration) {
	t.mu.Lock()
	t.last = time.Now()
	t.mu.Unlock()
	tick := time.NewTicker(quiet / 10)
	defer tick.Stop()
	for !t.quietFor(quiet) {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
