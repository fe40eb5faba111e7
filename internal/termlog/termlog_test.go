package termlog_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/slogtest"
	"time"

	"github.com/matoolkit/matoolkit/internal/termlog"
)

func at(log *slog.Logger, level slog.Level, message string, args ...any) {
	r := slog.NewRecord(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), level, message, 0)
	r.Add(args...)
	_ = log.Handler().Handle(context.Background(), r)
}

// A record is one readable line, which erases what its row held before and cannot control the
// terminal.
func TestARecordIsOneLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(termlog.NewHandler(&out, slog.LevelInfo)).With("worker_id", "worker-01")
	at(log, slog.LevelInfo, "job done", "job", "b1-s2", "took", 3*time.Second)
	at(log.WithGroup("graph"), slog.LevelError, "call failed", "error", errors.New("no such user\n\x1b[31mred"))
	const want = "\r\x1b[2K03:04:05Z INFO  job done  job=b1-s2  took=3s  worker_id=worker-01\x1b[K\n" +
		"\r\x1b[2K03:04:05Z ERROR call failed  graph.error=\"no such user\\n\\x1b[31mred\"  worker_id=worker-01\x1b[K\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if log.Enabled(t.Context(), slog.LevelDebug) {
		t.Error("a level below that of the handler is enabled")
	}
}

// Without a terminal the records stay as programs read them.
func TestWithoutATerminalNothingChanges(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	slog.New(termlog.Handler(&out, slog.LevelInfo, slog.NewJSONHandler(&out, nil))).Info("job done")
	if !strings.HasPrefix(out.String(), "{") {
		t.Errorf("got %q", out.String())
	}
}

func TestHandlerFollowsSlog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := slogtest.TestHandler(termlog.NewHandler(&out, slog.LevelInfo), func() []map[string]any { return parse(out.String()) }); err != nil {
		t.Error(err)
	}
}

// parse reads lines back as the maps that slogtest expects.
func parse(text string) []map[string]any {
	var all []map[string]any
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimPrefix(line, "\r\x1b[2K"), "\x1b[K\n")
		parts := strings.Split(line, "  ")
		head := strings.Fields(line)
		record := map[string]any{}
		if strings.HasSuffix(head[0], "Z") {
			record[slog.TimeKey], head = head[0], head[1:]
		}
		record[slog.LevelKey], record[slog.MessageKey] = head[0], head[1]
		for _, part := range parts {
			key, value, ok := strings.Cut(part, "=")
			if !ok {
				continue
			}
			into := record
			names := strings.Split(key, ".")
			for _, group := range names[:len(names)-1] {
				inner, ok := into[group].(map[string]any)
				if !ok {
					inner = map[string]any{}
					into[group] = inner
				}
				into = inner
			}
			into[names[len(names)-1]] = value
		}
		all = append(all, record)
	}
	return all
}

// The JSON of another program becomes readable lines, also when it comes in pieces.
func TestLinesOfJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := termlog.Lines(&out)
	for _, part := range []string{`{"time":"2026-01-02T03:04:05.6Z","level":"WARN","msg":"slow`, " call\",\"took\":\"2s\"}\npanic: oh no\n[Information] {\"time\":\"2026-01-02T03:04:06Z\",\"level\":\"INFO\",\"msg\":\"ready\"}\n"} {
		if _, err := io.WriteString(w, part); err != nil {
			t.Fatal(err)
		}
	}
	const want = "\r\x1b[2K03:04:05Z WARN  slow call  took=2s\x1b[K\n\r\x1b[2Kpanic: oh no\x1b[K\n\r\x1b[2K03:04:06Z INFO  ready\x1b[K\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%q\nwant\n%q", got, want)
	}
}
