// Package receiver receives notifications on this machine, in the place of a webhook or of a workflow of
// Teams. It refuses a post whose signature or time is wrong.
package receiver

import (
	"context"
	"crypto/hmac"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/webhook"
)

const (
	maxBody = 1 << 20
	// tolerance is how far the time of a post may be from the receiver's.
	tolerance = 5 * time.Minute
)

// Post is a post that was received.
type Post struct {
	ID     string
	Body   []byte
	Signed bool
}

// Receiver keeps posts. It is safe for concurrent use.
type Receiver struct {
	key    []byte
	server *http.Server
	url    string

	mu      sync.Mutex
	posts   []Post
	answers []int
	refused int
}

// Start starts a receiver at a free port of the loopback interface. Key verifies signatures; posts of
// Teams have none.
func Start(ctx context.Context, key []byte) (*Receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Receiver{key: key, url: "http://" + listener.Addr().String()}
	r.server = &http.Server{Handler: http.HandlerFunc(r.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(listener) }() // it ends with Close
	return r, nil
}

// URL is the address to post to.
func (r *Receiver) URL() string { return r.url }

// Close stops the receiver.
func (r *Receiver) Close() error { return r.server.Close() }

// Answer makes the next posts get these statuses, in order. They are kept all the same.
func (r *Receiver) Answer(statuses ...int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answers = append(r.answers, statuses...)
}

// Posts returns the received requests, in order, also those answered with an error.
func (r *Receiver) Posts() []Post {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.posts)
}

// Refused is how many posts had a wrong signature or time.
func (r *Receiver) Refused() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

func (r *Receiver) serve(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil || request.Method != http.MethodPost || request.Header.Get("Content-Type") != "application/json" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	post := Post{ID: request.Header.Get(webhook.HeaderID), Body: body, Signed: request.Header.Get(webhook.HeaderSignature) != ""}
	r.mu.Lock()
	defer r.mu.Unlock()
	if post.Signed && !r.verify(post, request.Header) {
		r.refused++
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	r.posts = append(r.posts, post)
	status := http.StatusAccepted
	if len(r.answers) > 0 {
		status, r.answers = r.answers[0], r.answers[1:]
	}
	w.WriteHeader(status)
}

// verify checks the time and the signature of a post.
func (r *Receiver) verify(post Post, header http.Header) bool {
	seconds, err := strconv.ParseInt(header.Get(webhook.HeaderTimestamp), 10, 64)
	at := time.Unix(seconds, 0)
	if err != nil || time.Since(at).Abs() > tolerance {
		return false
	}
	want := webhook.Sign(r.key, post.ID, at, post.Body)
	return slices.ContainsFunc(strings.Fields(header.Get(webhook.HeaderSignature)), func(s string) bool { return hmac.Equal([]byte(s), []byte(want)) })
}
