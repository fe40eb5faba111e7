package functionshost

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

const (
	stdout = iota
	stderr
)

// longest is the most of one line that is held back waiting for its end.
const longest = 64 << 10

// lines forwards what the handler writes, line by line with a level: stdout is
// Information, stderr is Error, or Warning where it says so.
type lines struct {
	mu    sync.Mutex
	out   io.Writer // nil: log
	log   *slog.Logger
	final []string // the last lines of stderr
}

type stream struct {
	lines   *lines
	number  int
	pending []byte
}

func (l *lines) stream(number int) io.Writer { return &stream{lines: l, number: number} }

// Write takes part of the stream; it never fails, so the handler is never blocked
// by who reads it.
func (s *stream) Write(b []byte) (int, error) {
	s.pending = append(s.pending, b...)
	for {
		end := bytes.IndexByte(s.pending, '\n')
		if end < 0 && len(s.pending) < longest {
			return len(b), nil
		}
		if end < 0 {
			end = len(s.pending) - 1
		}
		s.lines.forward(s.number, strings.TrimRight(string(s.pending[:end+1]), "\r\n"))
		s.pending = append(s.pending[:0], s.pending[end+1:]...)
	}
}

func (l *lines) forward(number int, line string) {
	level := "Information"
	switch {
	case strings.HasPrefix(line, "LanguageWorkerConsoleLog"):
		level = "Debug"
	case number == stderr && strings.Contains(strings.ToLower(line), "warn"):
		level = "Warning"
	case number == stderr:
		level = "Error"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if number == stderr {
		l.final = append(l.final, line)
		if len(l.final) > 3 {
			l.final = l.final[1:]
		}
	}
	if l.out != nil {
		_, _ = fmt.Fprintf(l.out, "[%s] %s\n", level, line) // nowhere to report a reader that is gone
		return
	}
	l.log.Info("handler", "level", level, "line", line)
}

// last gives the last three lines of stderr.
func (l *lines) last() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.final...)
}
