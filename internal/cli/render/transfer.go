package render

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

// Transfer reports on Stderr how much of a transfer was received, or of a total how
// much was sent, if it takes long.
type Transfer struct {
	c     *Printer
	To    io.Writer
	total int64 // of what is sent; 0 for what comes
	Bytes int64
	next  time.Time
	drew  int // columns
}

// Receiving reports how much of an answer has come to what is written to its field to.
func (c *Printer) Receiving() *Transfer { return &Transfer{c: c} }

// Write passes bytes on and counts them.
func (p *Transfer) Write(b []byte) (int, error) {
	n, err := p.To.Write(b)
	p.count(n)
	return n, err
}

func (p *Transfer) count(n int) {
	p.Bytes += int64(n)
	now, every := p.c.Now(), 30*time.Second
	if p.drawn() {
		every = time.Second
	}
	switch {
	case p.next.IsZero():
		p.next = now.Add(every)
	case p.c.Quiet || now.Before(p.next):
	case p.drawn():
		p.draw(p.words())
		p.next = now.Add(every)
	default:
		p.c.Notice("%s", p.words())
		p.next = now.Add(every)
	}
}

func (p *Transfer) words() string {
	if p.total > 0 {
		return fmt.Sprintf("%s of %s sent", megabytes(p.Bytes), megabytes(p.total))
	}
	return megabytes(p.Bytes) + " so far"
}

// drawn tells whether a line can be drawn over.
func (p *Transfer) drawn() bool { return p.c.Terminal && p.c.Getenv("TERM") != "dumb" }

// draw draws a line over the one before.
func (p *Transfer) draw(line string) {
	fmt.Fprintf(p.c.Stderr, "\r%-*s", p.drew, line)
	p.drew = max(p.drew, len(line))
}

// End takes away the line that was drawn.
func (p *Transfer) End() {
	if p.drew > 0 {
		fmt.Fprint(p.c.Stderr, "\r"+strings.Repeat(" ", max(20, p.drew))+"\r")
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
	Transfer
}

type sendingKey struct{}

// Sending tells on the side how much of a file of so many bytes has been sent with the
// context that it gives, until the other is called.
func (c *Printer) Sending(ctx context.Context, size int) (context.Context, func()) {
	s := &sending{Transfer: Transfer{c: c, total: int64(size)}}
	return context.WithValue(ctx, sendingKey{}, s), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.End()
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
	if errors.Is(err, io.EOF) && !s.c.Quiet && s.drawn() && s.total >= large {
		s.draw(megabytes(s.total) + " sent; the API checks and writes them")
	}
}

// Watched is a client whose requests tell how much of them has been sent, where their
// context has somebody to tell.
func Watched(web *http.Client) *http.Client {
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
	s.Bytes = 0
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
