package invocation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

const envelopeJSON = `{"Data":{"message":"eA=="},"Metadata":{"ApplicationProperties":{"traceparent":"00-11111111111111111111111111111111-2222222222222222-01"}}}`

func server(deadline time.Duration, function Func) *Server {
	return NewServer(Config{
		Functions: map[string]Func{"on-event": function},
		Deadline:  deadline,
		Log:       slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

func post(s http.Handler, target, body string, header http.Header) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, target, io.MultiReader(strings.NewReader(body))) // chunked: no length is known
	for name, values := range header {
		r.Header[name] = values
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestEveryReplyIsOneThatTheHostUnderstands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		function Func
		target   string
		body     string
		header   http.Header
		want     int
	}{
		"success":                 {want: 200},
		"an error":                {function: func(context.Context, *Call) error { return errors.New("the store is away") }, want: 500},
		"a panic":                 {function: func(context.Context, *Call) error { panic("no such thing") }, want: 500},
		"past its deadline":       {function: func(ctx context.Context, _ *Call) error { <-ctx.Done(); return ctx.Err() }, want: 500},
		"deaf to its deadline":    {function: func(context.Context, *Call) error { select {} }, want: 500},
		"no envelope":             {body: "x", want: 500},
		"an unknown function":     {target: "/on-other", want: 404},
		"another case":            {target: "/On-Event", want: 404},
		"with a slash after it":   {target: "/on-event/", want: 404},
		"below a prefix":          {target: "/api/on-event", want: 404},
		"an escape in its name":   {target: "/on%2Devent", want: 404},
		"the root":                {target: "/", want: 404},
		"proxied from outside":    {header: http.Header{"X-Ms-Invocation-Id": {"1"}}, want: 404},
		"proxied, empty id":       {header: http.Header{"X-Ms-Invocation-Id": {""}}, want: 404},
		"with an invocation id":   {header: http.Header{"X-Azure-Functions-Invocationid": {"1"}}, want: 200},
		"a trace that is no such": {header: http.Header{"Traceparent": {"junk"}}, want: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.function == nil {
				tc.function = func(context.Context, *Call) error { return nil }
			}
			if tc.target == "" {
				tc.target = "/on-event"
			}
			if tc.body == "" {
				tc.body = envelopeJSON
			}
			w := post(server(10*time.Millisecond, tc.function), tc.target, tc.body, tc.header)
			var reply map[string]any
			if err := json.Unmarshal(w.Body.Bytes(), &reply); err != nil || len(reply) == 0 {
				t.Errorf("the reply is %q: %v", w.Body, err)
			}
			if w.Code != tc.want || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("answered %d as %q, want %d as application/json", w.Code, w.Header().Get("Content-Type"), tc.want)
			}
		})
	}
}

// TestLargeEnvelope checks that a function gets the beginning of a message above the limit, and
// all of one whose metadata alone is large.
func TestLargeEnvelope(t *testing.T) {
	t.Parallel()
	escaped := strings.Repeat(`\u002B\n`, 100_000) // 800,000 bytes of 200,000 characters
	for name, tc := range map[string]struct {
		message, metadata string
		bytes, size       int
	}{
		"below the limit":             {strings.Repeat("AAAA", 200_000), `"MessageId":"\"m-1\""`, 600_000, 0},
		"at the limit":                {strings.Repeat("AAAA", maxString/4), `"MessageId":"\"m-1\""`, maxString / 4 * 3, 0},
		"above it":                    {strings.Repeat("AAAA", maxString/4+1), `"MessageId":"\"m-1\""`, maxString / 4 * 3, maxString/4*3 + 3},
		"far above it":                {strings.Repeat("AAAA", 10<<20), `"MessageId":"\"m-1\""`, maxString / 4 * 3, 30 << 20},
		"large metadata":              {strings.Repeat("AAAA", 100), `"MessageId":"\"m-1\"","UserProperties":{"x":"` + escaped + `","y":"` + escaped + `"}`, 300, 0},
		"large metadata, with quotes": {strings.Repeat("AAAA", 100), `"MessageId":"\"m-1\"","UserProperties":{"x":"` + strings.Repeat(`\"\\`, 500_000) + `"}`, 300, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got *Call
			var body []byte
			s := server(10*time.Second, func(_ context.Context, call *Call) (err error) {
				got = call
				body, err = call.Binary("message")
				return err
			})
			w := post(s, "/on-event", `{"Data":{"message":"`+tc.message+`"},"Metadata":{`+tc.metadata+`}}`, nil)
			if w.Code != 200 || got == nil || got.MessageID != "m-1" || got.Size != tc.size || len(body) != tc.bytes {
				t.Errorf("answered %d: %d bytes of about %+v", w.Code, len(body), got)
			}
		})
	}
	// Beyond any message.
	w := post(server(time.Second, func(context.Context, *Call) error { return nil }), "/on-event", `{"Data":{`+strings.Repeat(`"a":"bc",`, 600_000)+`"a":""}}`, nil)
	if w.Code != 500 {
		t.Errorf("an envelope that cannot be shortened is answered %d", w.Code)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := server(time.Second, func(context.Context, *Call) error { return nil })
	for method, want := range map[string]int{http.MethodGet: 200, http.MethodHead: 200, http.MethodPost: 404, http.MethodDelete: 404} {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(method, "/", nil))
		if w.Code != want {
			t.Errorf("%s / answers %d, want %d", method, w.Code, want)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/on-event", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("GET of a function answers %d", w.Code)
	}
}

func TestTraceIsPassedOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		header http.Header
		want   string
	}{
		"of the message":                 {nil, "11111111111111111111111111111111-2222222222222222"},
		"of the message, not the host's": {http.Header{"Traceparent": {"00-33333333333333333333333333333333-4444444444444444-01"}}, "11111111111111111111111111111111-2222222222222222"},
		"of both":                        {http.Header{"Traceparent": {"00-11111111111111111111111111111111-4444444444444444-01"}}, "11111111111111111111111111111111-4444444444444444"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			w := post(server(time.Second, func(ctx context.Context, call *Call) error {
				at := trace.SpanContextFromContext(ctx)
				got = at.TraceID().String() + "-" + at.SpanID().String()
				if call.Function != "on-event" {
					t.Errorf("the function is %q", call.Function)
				}
				return nil
			}), "/on-event", envelopeJSON, tc.header)
			if w.Code != 200 || got != tc.want {
				t.Errorf("answered %d in trace %s, want %s", w.Code, got, tc.want)
			}
		})
	}
}

func TestLogOfAnInvocationHasItsTrace(t *testing.T) {
	t.Parallel()
	for name, function := range map[string]Func{
		"an error": func(context.Context, *Call) error { return errors.New("the store is away") },
		"a panic":  func(context.Context, *Call) error { panic("no such thing") },
	} {
		var log strings.Builder
		s := NewServer(Config{
			Functions: map[string]Func{"on-event": function}, Deadline: time.Second,
			Log: slog.New(tracecontext.LogHandler(slog.NewJSONHandler(&log, nil))),
		})
		post(s, "/on-event", envelopeJSON, nil)
		for line := range strings.Lines(log.String()) {
			if !strings.Contains(line, `"TraceId":"11111111111111111111111111111111"`) || !strings.Contains(line, `"Function":"on-event"`) {
				t.Errorf("%s: %s", name, line)
			}
		}
		if log.Len() == 0 {
			t.Errorf("%s: nothing is logged", name)
		}
	}
}

// Each invocation is a span that tells what ran and whether it failed, and nothing
// of the message; the host's trace is linked where it is another.
func TestEachInvocationIsASpan(t *testing.T) {
	t.Parallel()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	s := NewServer(Config{
		Functions: map[string]Func{"on-event": func(context.Context, *Call) error { return errors.New("ada@contoso.example is unknown") }},
		Deadline:  time.Second, Log: slog.New(slog.DiscardHandler), Tracer: provider.Tracer("t"),
	})
	envelope := strings.Replace(envelopeJSON, `"Metadata":{`, `"Metadata":{"MessageId":"\"m-1\"","DeliveryCount":"2",`, 1)
	if w := post(s, "/on-event", envelope, http.Header{"Traceparent": {"00-33333333333333333333333333333333-4444444444444444-01"}}); w.Code != 500 {
		t.Fatal(w.Code)
	}
	spans := kept.GetSpans()
	if len(spans) != 1 {
		t.Fatalf("%d spans", len(spans))
	}
	span := spans[0]
	if span.Name != "on-event" || span.SpanKind != trace.SpanKindConsumer || span.Status.Code != codes.Error ||
		span.Parent.SpanID().String() != "2222222222222222" || len(span.Links) != 1 || span.Links[0].SpanContext.SpanID().String() != "4444444444444444" {
		t.Errorf("got %+v", span)
	}
	if strings.Contains(fmt.Sprint(span), "ada@") {
		t.Errorf("the span tells of people: %+v", span)
	}
}
