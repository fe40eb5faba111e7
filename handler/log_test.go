package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"
)

func TestLogLinesCarryTheTrace(t *testing.T) {
	t.Parallel()
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{0x11}, SpanID: trace.SpanID{0x22}}))
	var stdout, stderr bytes.Buffer
	log := newLog(&stdout, &stderr, slog.LevelInfo)
	log.InfoContext(ctx, "ordinary")
	log.ErrorContext(ctx, "wrong")
	log.InfoContext(t.Context(), "alone")
	lines := strings.Split(stdout.String(), "\n")
	const id = `"TraceId":"11000000000000000000000000000000"`
	if len(lines) != 3 || !strings.Contains(lines[0], id) || strings.Contains(lines[1], "TraceId") || !strings.Contains(stderr.String(), id) {
		t.Errorf("stdout\n%s\nstderr\n%s", stdout.String(), stderr.String())
	}
}
