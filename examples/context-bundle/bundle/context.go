// Package bundle keeps the knowledge about the repositories of an owner: a context for each repository, and the bundle
// of all of them. Both are artifacts; the functions give their keys and fingerprints.
package bundle

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/examples/context-bundle/github"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Repository is a repository in a bundle. The context of a repository has the same, so that its fingerprint is
// that of what a bundle has.
type Repository struct {
	Repository string       `json:"repository"` // its name
	About      github.About `json:"about"`
	// Context is the JSON of .repo-context.json; null without one.
	Context json.RawMessage `json:"context"`
	Readme  string          `json:"readme,omitempty"`
	// Files are the further files that exist, by their paths.
	Files map[string]string `json:"files,omitempty"`
	// Problems are paths that have no file that can be read, with the reason.
	Problems []string `json:"problems,omitempty"`
	// Documented: there is a .repo-context.json or a README.md that is not empty.
	Documented bool `json:"documented"`
}

// Fingerprint identifies the content.
func (r Repository) Fingerprint() string { return fingerprint(r) }

// Context is the content of the artifact of a repository.
type Context struct {
	Repository
	// Source is the fingerprint that the caller of Sync-RepoContext gave, such as the time of the last push.
	Source string `json:"source,omitempty"`
	// Paths are the further files that were asked for.
	Paths []string `json:"paths,omitempty"`
	// ETags are those of the answers of GitHub, by path; "" is the repository. They are stored with what they stand for,
	// so that they always fit. A file that cannot be read has none.
	ETags map[string]string `json:"etags"`
}

// Bundle is the content of the artifact of an owner.
type Bundle struct {
	Owner        string       `json:"owner"`
	Repositories []Repository `json:"repositories"` // by name
	Missing      []string     `json:"missing"`      // repositories without a context, by name
	Stale        []string     `json:"stale"`        // repositories whose context is an earlier one, by name
}

// Documented are the documented repositories.
func (b Bundle) Documented() (all []Repository) {
	for _, r := range b.Repositories {
		if r.Documented {
			all = append(all, r)
		}
	}
	return all
}

// ContextKey is the key of the context of a repository. GitHub compares names without case.
func ContextKey(owner, repository string) artifact.Key {
	return artifact.NewKey("context", strings.ToLower(owner), strings.ToLower(repository))
}

// Key is the key of the bundle of an owner.
func Key(owner string) artifact.Key { return artifact.NewKey("bundle", strings.ToLower(owner)) }

// ModelKey is the key of the model of the bundle with a fingerprint.
func ModelKey(owner, fingerprint string) artifact.Key {
	return artifact.NewKey("model", strings.ToLower(owner), fingerprint)
}

// fingerprint is the digest of a value's JSON, in which maps are in order.
func fingerprint(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // texts, numbers and valid JSON always marshal
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// generation reads a time in RFC 3339, such as {{_batch_start_time}}, as a generation: milliseconds since 1970.
func generation(text string) (int64, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.UnixMilli() < 0 {
		return 0, &catalog.Failure{Type: catalog.FailureParameters, Message: "Generation is not a time such as 2026-03-01T12:00:00Z: use {{_batch_start_time}}"}
	}
	return at.UnixMilli(), nil
}

// Read reads the JSON of an artifact. Without one the error is artifact.ErrNotFound, and else a *catalog.Failure.
func Read[T any](ctx context.Context, store artifact.Store, key artifact.Key) (value T, p artifact.Properties, err error) {
	a, err := store.Get(ctx, key)
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return value, p, err
	case err != nil:
		return value, p, StoreFailure(err)
	}
	if err := json.Unmarshal(a.Content, &value); err != nil {
		return value, p, &catalog.Failure{Type: catalog.FailureConflict, Message: fmt.Sprintf("the artifact %s is not of this worker: delete it", key)}
	}
	return value, a.Properties, nil
}

// Write stores a value as JSON. It returns the properties of what is stored then: of a newer artifact, or of one of the
// same generation, which another delivery of the job has written. The error is a *catalog.Failure.
func Write(ctx context.Context, store artifact.Store, p artifact.Properties, value any) (artifact.Properties, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return p, err
	}
	p.ContentType = "application/json"
	stored, err := store.Put(ctx, artifact.Artifact{Properties: p, Content: content})
	var conflict *artifact.ConflictError
	switch {
	case errors.As(err, &conflict):
		return conflict.Stored, nil
	case err != nil:
		return stored, StoreFailure(err)
	}
	return stored, nil
}

// StoreFailure is the failure of a function whose artifacts cannot be read or written.
func StoreFailure(err error) error {
	f := &catalog.Failure{Type: catalog.FailureUnreachable, Message: err.Error(), Attempts: 1}
	switch {
	case errors.Is(err, artifact.ErrRefused):
		f.Type = catalog.FailureNotConfigured
	case errors.Is(err, artifact.ErrInvalid):
		f.Type = catalog.FailureConflict
	}
	return f
}
