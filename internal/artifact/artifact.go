// Package artifact is the contract for content that is too large for a document or a message: outputs of steps,
// and results that later batches use again.
//
// An artifact has a fingerprint, which identifies its content or the inputs of its computation, and a
// generation, which orders the writes of its key: a write replaces only an artifact of an older generation. A merge
// that runs for long, or that is delivered again late, so loses against a newer one.
package artifact

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// Errors that callers tell apart with errors.Is.
var (
	ErrNotFound = errors.New("artifact: no such artifact")
	// ErrInvalid is a key, a fingerprint or a content that no store accepts; a repetition does not help.
	ErrInvalid = errors.New("artifact: the artifact is invalid")
	// ErrRefused is an answer that a repetition does not change, such as to a caller without the role or for a
	// container that does not exist.
	ErrRefused = errors.New("artifact: the service refuses the request")
	// ErrUnavailable is an outage, throttling or a contended key; a repetition can help.
	ErrUnavailable = errors.New("artifact: the store cannot be reached or is overloaded")
)

// ConflictError is returned by Put and Delete when a newer artifact is stored, or one of the same generation
// with another fingerprint.
type ConflictError struct{ Stored Properties }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("artifact: %s is stored with generation %d and fingerprint %q", e.Stored.Key, e.Stored.Generation, e.Stored.Fingerprint)
}

// Limits of an artifact.
const (
	MaxSize        = 64 << 20 // bytes of the content
	MaxFingerprint = 256      // characters
)

// Properties of an artifact.
type Properties struct {
	Key         Key
	Fingerprint string // 1 to MaxFingerprint printable ASCII characters, no space at either end
	Generation  int64  // orders the writes of the key, such as the time of the request in milliseconds; not negative
	ContentType string // of HTTP
	Size        int64  // of the content in bytes; Put sets it
}

// Artifact is a content with its properties.
type Artifact struct {
	Properties
	Content []byte
}

// Store keeps artifacts. Its methods may be called concurrently, by several processes.
type Store interface {
	// Put stores an artifact unless its key has one of the same generation or newer, and returns the properties
	// that are stored then. An artifact with the same fingerprint that is of the same generation or newer stays, and
	// Put succeeds: a job that is delivered again can repeat it. Any other artifact of the same generation or newer
	// is a *ConflictError.
	Put(ctx context.Context, a Artifact) (Properties, error)
	// Get reads an artifact, or returns ErrNotFound.
	Get(ctx context.Context, key Key) (Artifact, error)
	// Stat reads the properties of an artifact, or returns ErrNotFound.
	Stat(ctx context.Context, key Key) (Properties, error)
	// List reads the properties of all artifacts below a key, in the order of their keys, which is not that of
	// their names. It is no snapshot: it can miss concurrent writes. It ends after an error.
	List(ctx context.Context, below Key) iter.Seq2[Properties, error]
	// Delete removes an artifact of the generation or older. Without one it succeeds; a newer one is a *ConflictError.
	Delete(ctx context.Context, key Key, generation int64) error
}

// Check validates an artifact before a store writes it. The error wraps ErrInvalid.
func (a Artifact) Check() error {
	invalid := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s: %s", ErrInvalid, a.Key, fmt.Sprintf(format, args...))
	}
	switch f := a.Fingerprint; {
	case a.Key.name == "":
		return invalid("the key is missing")
	case f == "" || len(f) > MaxFingerprint:
		return invalid("the fingerprint has %d characters: use 1 to %d", len(f), MaxFingerprint)
	case !printable(f) || strings.TrimSpace(f) != f:
		return invalid("the fingerprint %q is not printable ASCII", f)
	case a.Generation < 0:
		return invalid("the generation %d is negative", a.Generation)
	case a.ContentType == "" || len(a.ContentType) > MaxFingerprint || !printable(a.ContentType):
		return invalid("the content type %q is not one", a.ContentType)
	case len(a.Content) > MaxSize:
		return invalid("the content has %d bytes: the limit is %d", len(a.Content), MaxSize)
	}
	return nil
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// Replaces reports whether an artifact replaces the stored one, nil for none. Without an error false means that the
// artifact is stored already, or that a newer one has the same fingerprint. Stores decide by it.
func (p Properties) Replaces(stored *Properties) (bool, error) {
	switch {
	case stored == nil || stored.Generation < p.Generation:
		return true, nil
	case stored.Fingerprint == p.Fingerprint:
		return false, nil
	}
	return false, &ConflictError{Stored: *stored}
}
