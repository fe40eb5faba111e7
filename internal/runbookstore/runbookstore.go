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

// Publication is the event that takes a batch over to the version.
func Publication(v store.RunbookVersion) model.VersionPublished {
	return model.VersionPublished{Version: v.Version, Rerun: v.Overdue == api.OverdueRerun, RerunInit: v.RerunInit}
}

// runbookCache keeps parsed versions: their YAML never changes, and each step needs one.
type runbookCache = *lru.Cache[store.Key, *runbook.Runbook]

func newRunbookCache() runbookCache {
	cache, err := lru.New[store.Key, *runbook.Runbook](64)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return cache
}

// Load gives a parsed version.
func (rd *Reader) Load(ctx context.Context, name string, version int) (*runbook.Runbook, error) {
	key := store.VersionKey(name, version)
	if rb, ok := rd.runbooks.Get(key); ok {
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
	rd.runbooks.Add(key, rb)
	return rb, nil
}

// Head reads a runbook's head, whether a version is active or not.
func (rd *Reader) Head(ctx context.Context, name string) (store.Item[store.RunbookHead], error) {
	if strings.TrimSpace(name) == "" {
		return store.Item[store.RunbookHead]{}, problem.New(api.CodeInvalid, "no runbook is named")
	}
	head, err := store.Read[store.RunbookHead](ctx, rd.store, store.RunbookKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return head, problem.New(api.CodeNotFound, "there is no runbook named %q", name)
	}
	if err != nil {
		return head, err
	}
	return head, nil
}

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

// SecretsOf names the secrets of a batch's runbook.
func (rd *Reader) SecretsOf(ctx context.Context, b *model.Batch) ([]string, error) {
	rb, err := rd.Load(ctx, b.Runbook, b.Version)
	if err != nil {
		return nil, err
	}
	return rb.Secret, nil
}

// Version reads a version of the runbook with this head.
func (rd *Reader) Version(ctx context.Context, head store.RunbookHead, version int) (store.Item[store.RunbookVersion], error) {
	item, err := store.Read[store.RunbookVersion](ctx, rd.store, store.VersionKey(head.Name, version))
	switch {
	case errors.Is(err, store.ErrNotFound) && head.Latest == 1:
		return item, problem.New(api.CodeNotFound, "runbook %q has no version %d; it has only version 1", head.Name, version)
	case errors.Is(err, store.ErrNotFound):
		return item, problem.New(api.CodeNotFound, "runbook %q has no version %d; it has 1 to %d", head.Name, version, head.Latest)
	case err != nil:
		return item, err
	}
	return item, nil
}
