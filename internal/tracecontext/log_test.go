package tracecontext_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/tracecontext"
)

func TestLogRecordsCarryTheTraceID(t *testing.T) {
	t.Parallel()
	const of = "11000000000000000000000000000000"
	for name, test := range map[string]struct {
		ctx  context.Context
		want any
	}{
		"no trace":               {t.Context(), nil},
		"a span":                 {within(t, ""), of},
		"an id":                  {tracecontext.WithID(t.Context(), "abc"), "abc"},
		"a span within an id":    {tracecontext.WithID(within(t, ""), "abc"), of},
		"a context without both": {context.Background(), nil},
	} {
		var out bytes.Buffer
		log := slog.New(tracecontext.LogHandler(slog.NewJSONHandler(&out, nil))).With("k", "v")
		log.InfoContext(test.ctx, "said", "n", 1)
		var line map[string]any
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		if line[logkey.TraceID] != test.want || line["k"] != "v" || line["n"] != 1.0 || strings.Count(out.String(), logkey.TraceID) > 1 {
			t.Errorf("%s: %s", name, out.String())
		}
	}
}
