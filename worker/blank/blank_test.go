package blank_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/worker/blank"
)

func TestLinesOfALogHoldNoSecret(t *testing.T) {
	t.Parallel()
	const first, second = `S3cret"with quote`, "line one of it\nline two of it"
	for name, write := range map[string]func(log *slog.Logger){
		"a message":      func(log *slog.Logger) { log.Info("got " + first) },
		"an attribute":   func(log *slog.Logger) { log.Info("got", "It", "is "+first) },
		"an error":       func(log *slog.Logger) { log.Info("got", "Error", errors.New("bad: "+first)) },
		"a group":        func(log *slog.Logger) { log.Info("got", slog.Group("G", "It", first)) },
		"a value":        func(log *slog.Logger) { log.Info("got", "It", map[string]any{"A": []string{first}}) },
		"a later part":   func(log *slog.Logger) { log.With("It", first).WithGroup("g").Info("got") },
		"a line of it":   func(log *slog.Logger) { log.Info("got", "It", "line two of it") },
		"a channel":      func(log *slog.Logger) { log.Info("got", "It", make(chan int), "Other", first) },
		"as JSON has it": func(log *slog.Logger) { log.Info(`{"Password":"S3cret\"with quote"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text bytes.Buffer
			log := blank.Logger(slog.New(slog.NewJSONHandler(&text, nil)), []string{first, second})
			write(log)
			if strings.Contains(text.String(), "S3cret") || strings.Contains(text.String(), "line two") || !strings.Contains(text.String(), blank.Text) {
				t.Errorf("logged %s", text.String())
			}
		})
	}
	t.Run("nothing else is changed", func(t *testing.T) {
		t.Parallel()
		var got, want bytes.Buffer
		text := &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		}}
		for to, secrets := range map[*bytes.Buffer][]string{&got: {first, "abc"}, &want: nil} {
			blank.Logger(slog.New(slog.NewJSONHandler(to, text)), secrets).With("A", 1).WithGroup("g").
				Warn("abc", "N", 3, "List", []int{1}, "Error", errors.New("no"), slog.Group("h", "B", true))
		}
		if got.String() != want.String() {
			t.Errorf("got %s, want %s", got.String(), want.String())
		}
	})
}
