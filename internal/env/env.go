// Package env reads the settings of a program from its environment variables, one by one,
// and reports everything that is wrong with them at once.
package env

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// Reader reads variables and collects problems. A variable that is empty counts as not set.
// Problems quote the value of a variable only where that cannot be a secret.
type Reader struct {
	lookup   func(string) string
	problems []string
}

// New makes a reader of the variables that lookup finds, such as os.Getenv.
func New(lookup func(string) string) *Reader { return &Reader{lookup: lookup} }

// Err returns all problems in one line, nil if there are none.
func (r *Reader) Err() error {
	if len(r.problems) == 0 {
		return nil
	}
	return errors.New(strings.Join(r.problems, "; "))
}

// Wrong notes that the value of a variable cannot be used.
func (r *Reader) Wrong(name, format string, args ...any) {
	r.Problem("%s: "+format, append([]any{name}, args...)...)
}

// Problem records a problem that concerns several variables.
func (r *Reader) Problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// Text returns a variable as it is.
func (r *Reader) Text(name string) string { return r.lookup(name) }

// Or returns a variable, or the default if it is not set.
func (r *Reader) Or(name, otherwise string) string {
	if value := r.lookup(name); value != "" {
		return value
	}
	return otherwise
}

// Required returns a variable that has to be set. The problem says what it is, unless that is
// empty.
func (r *Reader) Required(name, what string) string {
	value := r.lookup(name)
	switch {
	case value == "" && what == "":
		r.Problem("%s is not set", name)
	case value == "":
		r.Problem("%s is not set: %s", name, what)
	}
	return value
}

// Number reads a whole number within bounds.
func (r *Reader) Number(name string, otherwise, least, most int) int {
	value := r.lookup(name)
	if value == "" {
		return otherwise
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < least || n > most {
		r.Wrong(name, "%q is not a whole number from %d to %d", value, least, most)
	}
	return n
}

// Seconds reads a number of seconds, at most a week.
func (r *Reader) Seconds(name string, otherwise int) time.Duration {
	return time.Duration(r.Number(name, otherwise, 0, 7*24*3600)) * time.Second
}

// Switch reads 0 or 1. A variable that is not set is 0.
func (r *Reader) Switch(name string) bool {
	switch value := r.lookup(name); value {
	case "1":
		return true
	case "", "0":
	default:
		r.Wrong(name, "%q is neither 0 nor 1", value)
	}
	return false
}

// Level reads a log level, info if it is not set.
func (r *Reader) Level(name string) (level slog.Level) {
	if value := r.lookup(name); value != "" && level.UnmarshalText([]byte(value)) != nil {
		r.Wrong(name, "%q is not one of debug, info, warn, error", value)
	}
	return level
}

// List reads words with commas between them, without the blanks around each.
func (r *Reader) List(name string) []string {
	value := strings.TrimSpace(r.lookup(name))
	if value == "" {
		return nil
	}
	words := strings.Split(value, ",")
	for i, word := range words {
		words[i] = strings.TrimSpace(word)
	}
	return words
}

// Server reads the URL of a server: https, or http for a server on this machine. It reports
// whether the server is on this machine. Without a value it is valid.
func (r *Reader) Server(name, otherwise string) (value string, local bool) {
	if value = r.Or(name, otherwise); value == "" {
		return "", false
	}
	// The problem does not quote the value, which may contain a password or a key.
	u, err := url.Parse(value)
	if err != nil || u.Hostname() == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		r.Wrong(name, "it is not the URL of a server, such as https://name.example, without a user and a query")
		return "", false
	}
	if local = loopback.Is(u.Hostname()); u.Scheme != "https" && !local {
		r.Wrong(name, "%q must be https: http is allowed only for a server on this machine", value)
	}
	return value, local
}

// SecureServer reads the URL of a server that has to be https even on this machine.
func (r *Reader) SecureServer(name string) string {
	before := len(r.problems)
	value, _ := r.Server(name, "")
	if value != "" && !strings.HasPrefix(strings.ToLower(value), "https:") && len(r.problems) == before {
		r.Wrong(name, "%q must be https", value)
	}
	return value
}
