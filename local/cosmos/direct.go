package cosmos

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
)

// Do answers a request without a connection, so that a Server can stand in the place of
// a client's transport (azcore's policy.Transporter): for programs that have store and
// client in one process. It completes a request that has begun even when the request's
// context ends.
func (s *Server) Do(r *http.Request) (response *http.Response, err error) {
	defer func() { // an answer that is given up closes the connection
		if p := recover(); p != nil {
			if p != http.ErrAbortHandler {
				panic(p)
			}
			response, err = nil, io.ErrUnexpectedEOF
		}
	}()
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	served := r.Clone(context.WithoutCancel(r.Context()))
	served.Header = http.Header{} // as they come off a wire
	for name, values := range r.Header {
		served.Header[http.CanonicalHeaderKey(name)] = values
	}
	if served.Body == nil {
		served.Body = http.NoBody
	}
	a := &answer{header: http.Header{}, status: http.StatusOK}
	s.ServeHTTP(a, served)
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: a.header, Request: r,
		Body: io.NopCloser(&a.body), ContentLength: int64(a.body.Len()),
	}, nil
}

// answer collects a response.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) Write(p []byte) (int, error) { return a.body.Write(p) }
func (a *answer) WriteHeader(status int)      { a.status = status }
