// Package blank removes the values of secrets from what a worker logs and reports.
package blank

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
)

// Text stands in the place of a secret.
const Text = "[blanked]"

// least is how many bytes a secret has to have: shorter values are found everywhere.
const least = 4

// Replacer replaces the values of secrets by Text, also as JSON writes them and where only
// one line of a value is there.
func Replacer(secrets []string) *strings.Replacer {
	var pairs []string
	for _, part := range parts(secrets) {
		pairs = append(pairs, part, Text)
	}
	return strings.NewReplacer(pairs...)
}

// MaxRest is how many bytes Replacer leaves at most of a secret in which a text ends. It may replace others in that part.
func MaxRest(secrets []string) int {
	if all := parts(secrets); len(all) > 0 {
		return len(all[0]) * len(Text) / least
	}
	return 0
}

// parts are the texts that Replacer replaces, the longest first.
func parts(secrets []string) []string {
	var parts []string
	add := func(secret string) {
		for line := range strings.Lines(secret) { // what is logged are lines
			if line = strings.TrimSpace(line); len(line) >= least {
				parts = append(parts, line)
			}
		}
	}
	for _, secret := range secrets {
		add(secret)
		if text, err := json.Marshal(secret); err == nil {
			add(string(text[1 : len(text)-1]))
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return len(b) - len(a) }) // one may hold another
	return parts
}

// Logger blanks secrets in the messages and the attributes of a log.
func Logger(log *slog.Logger, secrets []string) *slog.Logger {
	if len(secrets) == 0 {
		return log
	}
	return slog.New(&handler{next: log.Handler(), replacer: Replacer(secrets)})
}

type handler struct {
	next     slog.Handler
	replacer *strings.Replacer
}

func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	clean := slog.NewRecord(r.Time, r.Level, h.replacer.Replace(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		clean.AddAttrs(h.attr(a))
		return true
	})
	return h.next.Handle(ctx, clean)
}

func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		clean[i] = h.attr(a)
	}
	return &handler{h.next.WithAttrs(clean), h.replacer}
}

func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.next.WithGroup(name), h.replacer}
}

func (h *handler) attr(a slog.Attr) slog.Attr {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.String(a.Key, h.replacer.Replace(value.String()))
	case slog.KindGroup:
		group := make([]slog.Attr, len(value.Group()))
		for i, member := range value.Group() {
			group[i] = h.attr(member)
		}
		return slog.Attr{Key: a.Key, Value: slog.GroupValue(group...)}
	case slog.KindAny:
		return h.any(a.Key, value.Any())
	}
	return slog.Attr{Key: a.Key, Value: value}
}

// any blanks a value of any type in its logged text.
func (h *handler) any(key string, value any) slog.Attr {
	if err, ok := value.(error); ok {
		return slog.String(key, h.replacer.Replace(err.Error()))
	}
	text, err := json.Marshal(value)
	if err != nil {
		return slog.String(key, Text)
	}
	if clean := h.replacer.Replace(string(text)); clean != string(text) {
		return slog.String(key, clean)
	}
	return slog.Any(key, value)
}
