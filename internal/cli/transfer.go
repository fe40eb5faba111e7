package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// progressing tells on the side how much has come, or of a total how much has been
// sent, where it takes long.
type progressing struct {
	c     *console
	to    io.Writer
	total int64 // of what is sent; 0 for what comes
	bytes int64
	next  time.Time
	drew  int // columns
}

func (p *progressing) Write(b []byte) (int, error) {
	n, err := p.to.Write(b)
	p.count(n)
	return n, err
}

func (p *progressing) count(n int) {
	p.bytes += int64(n)
	now, every := p.c.env.Now(), 30*time.Second
	if p.drawn() {
		every = time.Second
	}
	switch {
	case p.next.IsZero():
		p.next = now.Add(every)
	case p.c.quiet || now.Before(p.next):
	case p.drawn():
		p.draw(p.words())
		p.next = now.Add(every)
	default:
		p.c.notice("%s", p.words())
		p.next = now.Add(every)
	}
}

func (p *progressing) words() string {
	if p.total > 0 {
		return fmt.Sprintf("%s of %s sent", megabytes(p.bytes), megabytes(p.total))
	}
	return megabytes(p.bytes) + " so far"
}

// drawn tells whether a line can be drawn over.
func (p *progressing) drawn() bool { return p.c.env.Terminal && p.c.env.Getenv("TERM") != "dumb" }

// draw draws a line over the one before.
func (p *progressing) draw(line string) {
	fmt.Fprintf(p.c.env.Stderr, "\r%-*s", p.drew, line)
	p.drew = max(p.drew, len(line))
}

// end takes away the line that was drawn.
func (p *progressing) end() {
	if p.drew > 0 {
		fmt.Fprint(p.c.env.Stderr, "\r"+strings.Repeat(" ", max(20, p.drew))+"\r")
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// large is from how many bytes on it is told that the API is at work on a file.
const large = 1 << 20

// sending is a file on its way to the API. The HTTP client may read on from it when the
// answer is there already.
type sending struct {
	mu    sync.Mutex
	ended bool
	progressing
}

type sendingKey struct{}

// sending tells on the side how much of a file of so many bytes has been sent with the
// context that it gives, until the other is called.
func (c *console) sending(ctx context.Context, size int) (context.Context, func()) {
	s := &sending{progressing: progressing{c: c, total: int64(size)}}
	return context.WithValue(ctx, sendingKey{}, s), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end()
		s.ended = true
	}
}

// read notes what has been read of the file's request, and that all of it has.
func (s *sending) read(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.count(n)
	if errors.Is(err, io.EOF) && !s.c.quiet && s.drawn() && s.total >= large {
		s.draw(megabytes(s.total) + " sent; the API checks and writes them")
	}
}

// watched is a client whose requests tell how much of them has been sent, where their
// context has somebody to tell.
func watched(web *http.Client) *http.Client {
	own := *web
	next := web.Transport
	if next == nil {
		next = http.DefaultTransport
	}
	own.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		if s, ok := r.Context().Value(sendingKey{}).(*sending); ok && r.Body != nil {
			r = r.Clone(r.Context())
			s.again()
			r.Body = body{r.Body, s}
		}
		return next.RoundTrip(r)
	})
	return &own
}

// again begins to count from the beginning: a request is sent again.
func (s *sending) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes = 0
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// body is a request's body that is counted as it is read.
type body struct {
	io.ReadCloser
	told *sending
}

func (b body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.told.read(n, err)
	return n, err
}
