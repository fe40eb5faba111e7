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

// Transfer reports the progress of a long transfer on Stderr.
type Transfer struct {
	c     *Printer
	To    io.Writer
	total int64 // bytes to send; 0 for a download
	Bytes int64
	next  time.Time
	drew  int // columns
}

// Receiving returns a Transfer for a download to its field To.
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

// drawn reports whether lines can be overwritten.
func (p *Transfer) drawn() bool { return p.c.Terminal && p.c.Getenv("TERM") != "dumb" }

// draw draws a line over the one before.
func (p *Transfer) draw(line string) {
	fmt.Fprintf(p.c.Stderr, "\r%-*s", p.drew, line)
	p.drew = max(p.drew, len(line))
}

// End removes the line.
func (p *Transfer) End() {
	if p.drew > 0 {
		fmt.Fprint(p.c.Stderr, "\r"+strings.Repeat(" ", max(20, p.drew))+"\r")
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// large is the size in bytes from which the work of the API on a file is reported.
const large = 1 << 20

// sending is an upload. The HTTP client may continue to read it after the answer.
type sending struct {
	mu    sync.Mutex
	ended bool
	Transfer
}

type sendingKey struct{}

// Sending reports the progress of an upload of so many bytes with the returned context, until
// the returned function is called.
func (c *Printer) Sending(ctx context.Context, size int) (context.Context, func()) {
	s := &sending{Transfer: Transfer{c: c, total: int64(size)}}
	return context.WithValue(ctx, sendingKey{}, s), func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.End()
		s.ended = true
	}
}

// read counts the bytes that the client has read, and reports the end.
func (s *sending) read(n int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.count(n)
	if errors.Is(err, io.EOF) && !s.c.Quiet && s.drawn() && s.total >= large {
		s.draw(megabytes(s.total) + " sent; the API validates and stores the file")
	}
}

// Watched returns a client that reports the progress of requests with a context of Sending.
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

// again resets the count: the request is sent again.
func (s *sending) again() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Bytes = 0
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// body is the body of a request; it counts the bytes that are read.
type body struct {
	io.ReadCloser
	to *sending
}

func (b body) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.to.read(n, err)
	return n, err
}
