// Package invocation is the custom-handler side of the Azure Functions host
// protocol: it takes the host's POST /{FunctionName}, decodes its envelope, runs
// the function under a deadline and writes the reply that the host accepts.
//
// It knows the wire and nothing of what the functions do: no use case, no store,
// no bus.
package invocation

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/logkey"
)

// Headers of the protocol.
const (
	HeaderInvocationID = "X-Azure-Functions-InvocationId" // on every invocation
	HeaderProxiedID    = "X-Ms-Invocation-Id"             // only on HTTP requests that the host proxies
)

const (
	// MaxBody is the size of an envelope, in bytes, up to which it is read as it is: a message of
	// Service Bus Standard (256 KB) in base64, with room for its metadata.
	MaxBody = 1 << 20
	// maxString is how many characters of each string of a larger envelope are kept: 768 KB of a
	// message. It is a multiple of four, so that the beginning of base64 is base64.
	maxString = 1 << 20
	// maxShortened is the largest envelope after its strings were shortened.
	maxShortened = 4 << 20
	// maxSent is the largest envelope that is read to its end: the largest message of Service Bus
	// Premium (100 MB) in base64, with room for its metadata.
	maxSent = 200 << 20
)

// Func runs one invocation. An error, or a panic, makes the host count the
// invocation as failed: a message is abandoned and comes again at once. The
// context ends before the host's functionTimeout does, and the call then fails
// whether the Func has returned or not. A Func is called concurrently.
type Func func(ctx context.Context, call *Call) error

// Server answers invocations. It is an http.Handler, safe for concurrent use.
type Server struct {
	functions map[string]Func
	deadline  time.Duration
	log       *slog.Logger
	tracer    trace.Tracer            // nil: no span is recorded
	duration  metric.Float64Histogram // nil: it is not measured
}

// Config of a Server. Functions are keyed by the name of their folder, in its
// exact case. Deadline is how long one invocation may take; it must be shorter
// than the host's functionTimeout, past which the host kills the whole process.
type Config struct {
	Functions map[string]Func
	Deadline  time.Duration
	Log       *slog.Logger // nil: slog.Default
	Tracer    trace.Tracer // of a span for each invocation; nil: none
	Meter     metric.Meter // of how long invocations take; nil: none
}

// NewServer makes a Server.
func NewServer(c Config) *Server {
	if c.Log == nil {
		c.Log = slog.Default()
	}
	s := &Server{functions: c.Functions, deadline: c.Deadline, log: c.Log, tracer: c.Tracer}
	if c.Meter != nil {
		s.duration = duration(c.Meter)
	}
	return s
}

// The replies hold a non-empty object and are always application/json: the host
// waits for ever on an empty one and fails a call whose content type is not JSON.
const (
	replySuccess = `{"Outputs":{},"Logs":[],"ReturnValue":null}`
	replyFailure = `{"Outputs":{},"Logs":["the invocation failed; see the handler's own log"],"ReturnValue":null}`
	replyUnknown = `{"Outputs":{},"Logs":["no such function"],"ReturnValue":null}`
)

// ServeHTTP serves the host's probe, GET /, at once with 200, and an invocation
// on the exact POST /{FunctionName} and nowhere else. A request that the host
// proxies from outside is never an invocation, on any path.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		reply(w, http.StatusOK, replySuccess)
		return
	}
	name, function := s.function(r)
	if function == nil {
		reply(w, http.StatusNotFound, replyUnknown)
		return
	}
	id := r.Header.Get(HeaderInvocationID)
	log := s.log.With(logkey.Function, name, logkey.InvocationID, id)
	defer func() {
		if p := recover(); p != nil { // outside of the function, which guard runs
			log.ErrorContext(r.Context(), "panic in an invocation", logkey.Panic, fmt.Sprint(p), logkey.Stack, string(debug.Stack()))
			reply(w, http.StatusInternalServerError, replyFailure)
		}
	}()
	start := time.Now()
	ctx, err := s.invoke(r, name, id, function, log)
	s.measure(r.Context(), name, time.Since(start), err)
	if err != nil {
		log.WarnContext(ctx, "invocation failed", logkey.Error, err, logkey.Duration, time.Since(start))
		reply(w, http.StatusInternalServerError, replyFailure)
		return
	}
	log.DebugContext(ctx, "invocation done", logkey.Duration, time.Since(start))
	reply(w, http.StatusOK, replySuccess)
}

func (s *Server) function(r *http.Request) (string, Func) {
	if r.Method != http.MethodPost || len(r.URL.Path) < 2 || r.URL.RawPath != "" {
		return "", nil
	}
	if _, proxied := r.Header[HeaderProxiedID]; proxied {
		return "", nil
	}
	name := r.URL.Path[1:]
	return name, s.functions[name]
}

func (s *Server) invoke(r *http.Request, name, id string, function Func, log *slog.Logger) (ctx context.Context, err error) {
	call, err := read(r)
	if err != nil {
		return r.Context(), err
	}
	call.Function, call.ID = name, id
	ctx, cancel := context.WithTimeout(r.Context(), s.deadline)
	defer cancel()
	ctx, end := s.begin(ctx, r.Header, call)
	defer func() { end(err) }()
	ended := make(chan error, 1)
	go func() { ended <- guard(ctx, call, function, log) }()
	select {
	case err := <-ended:
		return ctx, err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return ctx, err
	case <-time.After(patience):
		return ctx, fmt.Errorf("the function continues after its deadline: %w", ctx.Err())
	}
}

// patience is how long a function may take to notice that its context has ended.
// One that waits for something deaf to contexts is left behind with its call
// failed: the host would kill every other call of the process with it.
const patience = 100 * time.Millisecond

// guard runs the function and makes an error of a panic.
func guard(ctx context.Context, call *Call, function Func, log *slog.Logger) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.ErrorContext(ctx, "panic in a function", logkey.Panic, fmt.Sprint(p), logkey.Stack, string(debug.Stack()))
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return function(ctx, call)
}

// read takes the envelope off the request. Of one above MaxBody it keeps the beginning of each
// long string: the message comes again in the same size each time, and has to be kept for an
// administrator.
func read(r *http.Request) (*Call, error) {
	buffer := buffers.Get().(*bytes.Buffer)
	defer release(buffer)
	if _, err := buffer.ReadFrom(io.LimitReader(r.Body, MaxBody+1)); err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	if buffer.Len() <= MaxBody {
		return Decode(buffer.Bytes())
	}
	var short shortener
	if err := short.readFrom(io.LimitReader(io.MultiReader(bytes.NewReader(buffer.Bytes()), r.Body), maxSent)); err != nil {
		return nil, fmt.Errorf("read the envelope: %w", err)
	}
	call, err := Decode(short.kept)
	if err == nil && short.longest > maxString {
		call.Size = short.longest / 4 * 3
	}
	return call, err
}

func reply(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // the host is gone if this fails, and takes the call as failed
}

// keepBuffer is the largest buffer that is kept for the next envelope, so that a
// few large messages do not hold on to memory.
const keepBuffer = 64 << 10

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func release(b *bytes.Buffer) {
	if b.Cap() <= keepBuffer {
		b.Reset()
		buffers.Put(b)
	}
}
