package adminhttp

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

const (
	keyTrace  = "trace"
	keyCaller = "caller"
)

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$`)

// record runs the request, turns a panic into a 500 and logs one line. Bodies,
// queries and tokens are never logged.
func (a *server) record(c *gin.Context) {
	start := a.Now()
	c.Set(keyTrace, newTrace(c.Request.Header.Get("traceparent")))
	c.Request = c.Request.WithContext(tracecontext.WithID(c.Request.Context(), traceOf(c)))
	h := c.Writer.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Trace-Id", traceOf(c))

	defer a.log(c, start) // also where an answer is broken off
	defer a.recover(c)
	c.Next()
}

func (a *server) log(c *gin.Context, start time.Time) {
	route := c.FullPath()
	if route == "" {
		route = "none"
	}
	status := c.Writer.Status()
	describe(trace.SpanFromContext(c.Request.Context()), c.Request.Method, route, status)
	attrs := []slog.Attr{
		slog.String(logkey.Method, c.Request.Method), slog.String(logkey.Route, route), slog.Int(logkey.Status, status),
		slog.Int64(logkey.DurationMs, a.Now().Sub(start).Milliseconds()), slog.String(logkey.By, callerOf(c).Name),
	}
	if err := c.Errors.Last(); err != nil {
		attrs = append(attrs, slog.String(logkey.Error, err.Err.Error()))
	}
	level := slog.LevelInfo
	switch {
	case c.Request.Context().Err() != nil:
		attrs = append(attrs, slog.Bool(logkey.CallerGone, true))
	case status >= 500, status < 400 && c.Errors.Last() != nil: // told, or too late to be told
		level = slog.LevelError
	}
	a.Log.LogAttrs(c.Request.Context(), level, "request", attrs...)
}

// describe names the span of a request by its route, because its address
// contains people's names.
func describe(span trace.Span, method, route string, status int) {
	span.SetName(method + " " + route)
	span.SetAttributes(attribute.String("http.route", route), attribute.Int("http.response.status_code", status))
	if status >= 500 {
		span.SetStatus(codes.Error, "")
	}
}

func (a *server) recover(c *gin.Context) {
	r := recover()
	if r == nil {
		return
	}
	if err, ok := r.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(r)
	}
	a.Log.ErrorContext(c.Request.Context(), "panic", logkey.Panic, fmt.Sprint(r), logkey.Stack, string(debug.Stack()))
	if c.Writer.Written() {
		panic(http.ErrAbortHandler) // a part of an answer must not pass for the whole
	}
	fail(c, fmt.Errorf("panic: %v", r))
}

// newTrace is the trace id that the caller sent (W3C Trace Context), or a new one.
func newTrace(header string) string {
	if m := traceparent.FindStringSubmatch(header); m != nil {
		return m[1]
	}
	var id [16]byte
	_, _ = rand.Read(id[:]) // crypto/rand does not fail
	return hex.EncodeToString(id[:])
}

func traceOf(c *gin.Context) string { return c.GetString(keyTrace) }

// callerOf returns the caller with the key of a request that takes one.
func callerOf(c *gin.Context) audit.Caller {
	caller, _ := c.Value(keyCaller).(audit.Caller)
	caller.Key = c.GetString(keyRequest)
	if host := c.GetString(keyHostRequest); host != "" {
		caller.Key, caller.HostKey = host, true
	}
	return caller
}
