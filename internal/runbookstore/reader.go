// Package runbookstore reads published runbooks and caches the parsed versions, which never
// change.
//
// It does not publish runbooks: see package runbooks.
package runbookstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Reader reads published runbooks. It is safe for concurrent use.
type Reader struct {
	store  store.Store
	parsed *lru.Cache[store.Key, *runbook.Runbook] // by version; each step needs one
}

// Config has the dependencies of a Reader.
type Config struct {
	Store store.Store
}

// parsedVersions is the number of parsed versions that a Reader caches.
const parsedVersions = 64

// New returns a Reader with the dependencies of c.
func New(c Config) *Reader {
	parsed, err := lru.New[store.Key, *runbook.Runbook](parsedVersions)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return &Reader{store: c.Store, parsed: parsed}
}

// Load returns a parsed version, which the caller must not change. Errors: store.ErrNotFound.
func (rd *Reader) Load(ctx context.Context, name string, version int) (*runbook.Runbook, error) {
	key := store.VersionKey(name, version)
	if rb, ok := rd.parsed.Get(key); ok {
		return rb, nil
	}
	item, err := store.Read[store.RunbookVersion](ctx, rd.store, key)
	if err != nil {
		return nil, fmt.Errorf("runbook %s version %d: %w", name, version, err)
	}
	rb, diagnostics := runbook.Parse([]byte(item.Doc.YAML))
	if rb == nil {
		return nil, fmt.Errorf("runbook %s version %d was published but cannot be read: %w", name, version, diagnostics.Err())
	}
	if item.Doc.Secrets != nil {
		rb.Secret = item.Doc.Secrets
	}
	rd.parsed.Add(key, rb)
	return rb, nil
}

// SecretsOf returns the names of the secrets of a batch's runbook. Errors: as Load.
func (rd *Reader) SecretsOf(ctx context.Context, b *model.Batch) ([]string, error) {
	rb, err := rd.Load(ctx, b.Runbook, b.Version)
	if err != nil {
		return nil, err
	}
	return rb.Secret, nil
}

// Head reads the head of a runbook, with or without an active version. Errors: CodeInvalid for
// an empty name, CodeNotFound.
func (rd *Reader) Head(ctx context.Context, name string) (store.Item[store.RunbookHead], error) {
	if strings.TrimSpace(name) == "" {
		return store.Item[store.RunbookHead]{}, problem.New(api.CodeInvalid, "no runbook is named")
	}
	head, err := store.Read[store.RunbookHead](ctx, rd.store, store.RunbookKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return head, problem.New(api.CodeNotFound, "there is no runbook named %q", name)
	}
	return head, err
}

// Active reads the active version of a runbook, as stored and parsed. Errors: CodeInvalid for an
// empty name, CodeNotFound if there is no such runbook or no version of it is active.
func (rd *Reader) Active(ctx context.Context, name string) (store.RunbookVersion, *runbook.Runbook, error) {
	head, err := rd.Head(ctx, name)
	if err != nil {
		return store.RunbookVersion{}, nil, err
	}
	if head.Doc.Active == 0 {
		return store.RunbookVersion{}, nil, problem.New(api.CodeNotFound, "no version of runbook %q is active: the last was deactivated. Publish one to use it again", name)
	}
	version, err := store.Read[store.RunbookVersion](ctx, rd.store, store.VersionKey(name, head.Doc.Active))
	if err != nil {
		return store.RunbookVersion{}, nil, err
	}
	rb, err := rd.Load(ctx, name, head.Doc.Active)
	if err != nil {
		return store.RunbookVersion{}, nil, err
	}
	return version.Doc, rb, nil
}

// Version reads a version of the runbook with this head. Errors: CodeNotFound.
func (rd *Reader) Version(ctx context.Context, head store.RunbookHead, version int) (store.Item[store.RunbookVersion], error) {
	item, err := store.Read[store.RunbookVersion](ctx, rd.store, store.VersionKey(head.Name, version))
	switch {
	case errors.Is(err, store.ErrNotFound) && head.Latest == 1:
		return item, problem.New(api.CodeNotFound, "runbook %q has no version %d; it has only version 1", head.Name, version)
	case errors.Is(err, store.ErrNotFound):
		return item, problem.New(api.CodeNotFound, "runbook %q has no version %d; it has 1 to %d", head.Name, version, head.Latest)
	}
	return item, err
}

// Publication returns the event that takes a batch over to a version.
func Publication(v store.RunbookVersion) model.VersionPublished {
	return model.VersionPublished{Version: v.Version, Rerun: v.Overdue == api.OverdueRerun, RerunInit: v.RerunInit}
}
