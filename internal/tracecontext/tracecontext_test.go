package tracecontext_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

const parent = "00-11000000000000000000000000000000-2200000000000000-01"

func within(t *testing.T, state string) context.Context {
	t.Helper()
	parsed, err := trace.ParseTraceState(state)
	if err != nil {
		t.Fatal(err)
	}
	return trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0x11}, SpanID: trace.SpanID{0x22}, TraceFlags: trace.FlagsSampled, TraceState: parsed,
	}))
}

func TestMessageCarriesATrace(t *testing.T) {
	t.Parallel()
	var long []string
	for i := range 8 {
		long = append(long, fmt.Sprintf("v%d=%s", i, strings.Repeat("x", 100)))
	}
	for note, tc := range map[string]struct {
		ctx           context.Context
		message, want map[string]any
	}{
		"no trace":              {t.Context(), map[string]any{"traceparent": "00-a", "tracestate": "b=c"}, map[string]any{"traceparent": "00-a", "tracestate": "b=c"}},
		"a trace":               {within(t, ""), map[string]any{"a": 1}, map[string]any{"a": 1, "traceparent": parent}},
		"with a state":          {within(t, "v=x"), map[string]any{}, map[string]any{"traceparent": parent, "tracestate": "v=x"}},
		"after another":         {within(t, ""), map[string]any{"traceparent": "00-a", "tracestate": "b=c"}, map[string]any{"traceparent": parent}},
		"after Azure's":         {within(t, ""), map[string]any{"Diagnostic-Id": "00-a"}, map[string]any{"traceparent": parent, "Diagnostic-Id": parent}},
		"with too long a state": {within(t, strings.Join(long, ",")), map[string]any{}, map[string]any{"traceparent": parent}},
	} {
		tracecontext.Inject(tc.ctx, tc.message)
		if !maps.Equal(tc.message, tc.want) {
			t.Errorf("%s: got %v, want %v", note, tc.message, tc.want)
		}
	}
}

func TestTraceIsReadFromAMessage(t *testing.T) {
	t.Parallel()
	for note, tc := range map[string]struct {
		message map[string]any
		want    string // of the span; empty where there is none
	}{
		"one":         {map[string]any{"traceparent": parent, "tracestate": "v=x"}, "2200000000000000"},
		"none":        {nil, ""},
		"no text":     {map[string]any{"traceparent": 7}, ""},
		"not a trace": {map[string]any{"traceparent": "00-trace-01"}, ""},
	} {
		got := tracecontext.Extract(tc.message)
		if got.IsValid() != (tc.want != "") || got.IsValid() && (got.SpanID().String() != tc.want || got.TraceState().Get("v") != "x" || !got.IsRemote()) {
			t.Errorf("%s: got %+v", note, got)
		}
	}
}
