// Package termlog writes log records for a person at a terminal: one readable line each. Lines
// replace the content of the row that they are written to, so that they stay whole below a
// display of another program in the same terminal, such as matoolkit batch watch.
package termlog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// The escape sequences around a line: they erase what the row held before, and the rest of the
// last row of a line that is longer than the terminal is wide.
const (
	eraseRow  = "\r\x1b[2K"
	eraseRest = "\x1b[K"
)

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Handler returns a handler of readable lines if w is a terminal, else other.
func Handler(w io.Writer, level slog.Leveler, other slog.Handler) slog.Handler {
	if !IsTerminal(w) {
		return other
	}
	return NewHandler(w, level)
}

// NewHandler returns a handler that writes records as readable lines.
func NewHandler(w io.Writer, level slog.Leveler) slog.Handler {
	return &handler{mu: &sync.Mutex{}, w: w, level: level}
}

type handler struct {
	mu     *sync.Mutex
	w      io.Writer
	level  slog.Leveler
	prefix string // of the groups that are open
	attrs  string // of With, formatted
}

// Enabled implements slog.Handler.
func (h *handler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level.Level() }

// Handle implements slog.Handler.
func (h *handler) Handle(_ context.Context, r slog.Record) error {
	var own strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		write(&own, h.prefix, a)
		return true
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	return writeLine(h.w, r.Time, r.Level.String(), r.Message+own.String()+h.attrs)
}

// WithAttrs implements slog.Handler.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var b strings.Builder
	for _, a := range attrs {
		write(&b, h.prefix, a)
	}
	with := *h
	with.attrs += b.String()
	return &with
}

// WithGroup implements slog.Handler.
func (h *handler) WithGroup(name string) slog.Handler {
	with := *h
	if name != "" {
		with.prefix += name + "."
	}
	return &with
}

// write formats an attribute.
func write(b *strings.Builder, prefix string, a slog.Attr) {
	v := a.Value.Resolve()
	switch {
	case a.Equal(slog.Attr{}):
	case v.Kind() == slog.KindGroup:
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range v.Group() {
			write(b, prefix, inner)
		}
	default:
		fmt.Fprintf(b, "  %s%s=%s", prefix, a.Key, quote(v.String()))
	}
}

// quote quotes a value that has spaces or control characters.
func quote(s string) string {
	if s == "" || strings.ContainsAny(s, " =\"") || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
		return strconv.Quote(s)
	}
	return s
}

// writeLine writes a line. Its text cannot control the terminal.
func writeLine(w io.Writer, at time.Time, level, text string) error {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	when := ""
	if !at.IsZero() {
		when = at.UTC().Format("15:04:05Z ")
	}
	_, err := fmt.Fprintf(w, "%s%s%-5s %s%s\n", eraseRow, when, level, plain, eraseRest)
	return err
}

// Lines returns a writer that rewrites the JSON records of another program as readable lines,
// also behind the level that the Functions host writes, such as "[Information] ". It writes other
// lines unchanged.
func Lines(w io.Writer) io.Writer { return &lines{w: w} }

type lines struct {
	mu   sync.Mutex
	w    io.Writer
	rest []byte // of a line that is not complete
}

// Write implements io.Writer.
func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rest = append(l.rest, b...)
	for {
		line, rest, complete := bytes.Cut(l.rest, []byte("\n"))
		if !complete {
			return len(b), nil
		}
		if err := l.line(line); err != nil {
			return 0, err
		}
		l.rest = rest
	}
}

func (l *lines) line(line []byte) error {
	object := line
	if i := bytes.Index(line, []byte("] {")); i > 0 && line[0] == '[' {
		object = line[i+2:]
	}
	var record map[string]any
	if json.Unmarshal(object, &record) != nil || record["msg"] == nil {
		_, err := fmt.Fprintf(l.w, "%s%s%s\n", eraseRow, line, eraseRest)
		return err
	}
	at, _ := time.Parse(time.RFC3339Nano, fmt.Sprint(record["time"]))
	level, text := fmt.Sprint(record["level"]), fmt.Sprint(record["msg"])
	for _, key := range slices.Sorted(maps.Keys(record)) {
		if key != "time" && key != "level" && key != "msg" {
			text += fmt.Sprintf("  %s=%s", key, quote(fmt.Sprint(record[key])))
		}
	}
	return writeLine(l.w, at, level, text)
}
