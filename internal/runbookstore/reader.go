// Package runbookstore reads published runbooks and caches the parsed versions. Of a version only
// the names of its secrets change: the Reader adds those that the functions of the workers have.
//
// It does not publish runbooks: see package runbooks.
package runbookstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Reader reads published runbooks. It is safe for concurrent use.
type Reader struct {
	store     store.Store
	now       func() time.Time
	log       *slog.Logger
	functions func(ctx context.Context, workers []string) (lint.Catalogs, error)
	parsed    *lru.Cache[store.Key, parsedVersion] // each step needs one
}

// parsedVersion is a version with its secrets as they were at a time.
type parsedVersion struct {
	runbook    *runbook.Runbook
	checkedAt  time.Time
	refreshing *atomic.Bool // one caller reads the secrets again
}

// isCurrent reports whether the version can be used as it is. It returns false to one caller earlier, after
// secretsRefreshAge: that caller is to read the secrets again.
func (v parsedVersion) isCurrent(now time.Time) bool {
	switch age := now.Sub(v.checkedAt); {
	case v.runbook == nil || age >= secretsMaxAge:
		return false
	case age >= secretsRefreshAge:
		return !v.refreshing.CompareAndSwap(false, true)
	}
	return true
}

// Config has the dependencies of a Reader.
type Config struct {
	Store store.Store
	Now   func() time.Time // nil: time.Now
	Log   *slog.Logger     // nil: slog.Default
	// Functions returns the functions of workers. Nil: a version has the secrets that it was
	// published with.
	Functions func(ctx context.Context, workers []string) (lint.Catalogs, error)
}

// parsedVersions is the number of parsed versions that a Reader caches.
const parsedVersions = 64

// secretsMaxAge is how long a Reader uses the secrets of a version before it reads them and the
// functions of its workers again: another process may have stored the catalogue of a worker.
const secretsMaxAge = 15 * time.Second

// secretsRefreshAge is the age at which one of those who use a version reads its secrets again. The others do not
// wait for it: under load all of them would read the catalogues of the workers at once.
const secretsRefreshAge = secretsMaxAge * 3 / 4

// New returns a Reader with the dependencies of c.
func New(c Config) *Reader {
	parsed, err := lru.New[store.Key, parsedVersion](parsedVersions)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	r := &Reader{store: c.Store, now: c.Now, log: c.Log, functions: c.Functions, parsed: parsed}
	if r.now == nil {
		r.now = time.Now
	}
	if r.log == nil {
		r.log = slog.Default()
	}
	if r.functions == nil {
		r.functions = func(context.Context, []string) (lint.Catalogs, error) { return lint.Catalogs{}, nil }
	}
	return r
}

// Load returns a parsed version, which the caller must not change. Its secrets are at most
// secretsMaxAge old. Errors: store.ErrNotFound.
func (r *Reader) Load(ctx context.Context, name string, version int) (*runbook.Runbook, error) {
	key, now := store.VersionKey(name, version), r.now()
	known, _ := r.parsed.Get(key)
	if known.isCurrent(now) {
		return known.runbook, nil
	}
	var rb *runbook.Runbook
	err := store.RetryOnConflict(ctx, func() (err error) { // another process has changed the version, most likely in the same way
		rb, err = r.loadStored(ctx, name, version, known.runbook)
		return err
	})
	if err != nil && known.runbook != nil && now.Sub(known.checkedAt) < secretsMaxAge {
		known.refreshing.Store(false) // the next caller reads them
		r.log.WarnContext(ctx, "failed to refresh the secrets of a runbook", logkey.Runbook, name, logkey.RunbookVersion, version, logkey.Error, err)
		return known.runbook, nil
	}
	if err != nil {
		return nil, err
	}
	r.parsed.Add(key, parsedVersion{runbook: rb, checkedAt: now, refreshing: &atomic.Bool{}})
	return rb, nil
}

// loadStored returns a version with its secrets, as the store has it; rb is the version as it was
// parsed before, or nil. It fails with ErrChanged where another process changes the version at the
// same time.
func (r *Reader) loadStored(ctx context.Context, name string, version int, rb *runbook.Runbook) (*runbook.Runbook, error) {
	item, err := store.Read[store.RunbookVersion](ctx, r.store, store.VersionKey(name, version))
	if err != nil {
		return nil, fmt.Errorf("runbook %s version %d: %w", name, version, err)
	}
	if rb == nil {
		var diagnostics runbook.Diagnostics
		if rb, diagnostics = runbook.Parse([]byte(item.Doc.YAML)); rb == nil {
			return nil, fmt.Errorf("runbook %s version %d was published but cannot be read: %w", name, version, diagnostics.Err())
		}
	}
	secrets, err := r.takeSecrets(ctx, item, rb)
	if err != nil {
		return nil, fmt.Errorf("secrets of runbook %s version %d: %w", name, version, err)
	}
	if !slices.Equal(secrets, rb.Secret) {
		changed := *rb
		changed.Secret = secrets
		rb = &changed
	}
	return rb, nil
}

// takeSecrets returns the secrets of a version. Where the functions of its workers have secret
// parameters that were unknown, it adds their variables and stores them with the version, so that
// they stay secret if the worker's functions change.
func (r *Reader) takeSecrets(ctx context.Context, item store.Item[store.RunbookVersion], rb *runbook.Runbook) ([]string, error) {
	stored := *rb
	if item.Doc.Secrets != nil {
		stored.Secret = item.Doc.Secrets
	}
	functions, err := r.functions(ctx, rb.Workers())
	if err != nil {
		return nil, err
	}
	all := functions.Secrets(&stored)
	if !slices.ContainsFunc(all, func(name string) bool { return !stored.IsSecret(name) }) {
		return stored.Secret, nil
	}
	head, err := store.Read[store.RunbookHead](ctx, r.store, store.RunbookKey(rb.Name))
	if err != nil {
		return nil, err
	}
	next := item.Doc
	next.Secrets = all
	writes := store.Writes{store.Replace(item.Key, next, item.Version)}
	if !head.Doc.Secrets {
		head.Doc.Secrets = true
		writes = append(writes, store.Replace(store.RunbookKey(rb.Name), head.Doc, head.Version))
	}
	if _, err := r.store.Apply(ctx, writes); err != nil {
		return nil, err
	}
	r.log.WarnContext(ctx, "a worker announced secret parameters after the runbook was published; earlier values are stored unencrypted", logkey.Runbook, rb.Name, logkey.RunbookVersion, item.Doc.Version, logkey.Secrets, all)
	return all, nil
}

// ExpireSecrets makes the next Load of each version read its secrets again.
func (r *Reader) ExpireSecrets() {
	for _, key := range r.parsed.Keys() {
		if known, ok := r.parsed.Peek(key); ok {
			r.parsed.Add(key, parsedVersion{runbook: known.runbook})
		}
	}
}

// SecretsOf returns the names of the secrets of a batch's runbook. Errors: as Load.
func (r *Reader) SecretsOf(ctx context.Context, b *model.Batch) ([]string, error) {
	rb, err := r.Load(ctx, b.Runbook, b.Version)
	if err != nil {
		return nil, err
	}
	return rb.Secret, nil
}

// Head reads the head of a runbook, with or without an active version. Errors: CodeInvalid for
// an empty name, CodeNotFound.
func (r *Reader) Head(ctx context.Context, name string) (store.Item[store.RunbookHead], error) {
	if strings.TrimSpace(name) == "" {
		return store.Item[store.RunbookHead]{}, problem.New(api.CodeInvalid, "the name of the runbook is missing")
	}
	head, err := store.Read[store.RunbookHead](ctx, r.store, store.RunbookKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return head, problem.New(api.CodeNotFound, "there is no runbook named %q", name)
	}
	return head, err
}

// Active reads the active version of a runbook, as stored and parsed. Errors: CodeInvalid for an
// empty name, CodeNotFound if there is no such runbook or no version of it is active.
func (r *Reader) Active(ctx context.Context, name string) (store.RunbookVersion, *runbook.Runbook, error) {
	head, err := r.Head(ctx, name)
	if err != nil {
		return store.RunbookVersion{}, nil, err
	}
	if head.Doc.Active == 0 {
		return store.RunbookVersion{}, nil, problem.New(api.CodeNotFound, "no version of runbook %q is active: the last was deactivated. Publish one to use it again", name)
	}
	version, err := store.Read[store.RunbookVersion](ctx, r.store, store.VersionKey(name, head.Doc.Active))
	if err != nil {
		return store.RunbookVersion{}, nil, err
	}
	rb, err := r.Load(ctx, name, head.Doc.Active)
	if err != nil {
		return store.RunbookVersion{}, nil, err
	}
	return version.Doc, rb, nil
}

// Version reads a version of the runbook with this head. Errors: CodeNotFound.
func (r *Reader) Version(ctx context.Context, head store.RunbookHead, version int) (store.Item[store.RunbookVersion], error) {
	item, err := store.Read[store.RunbookVersion](ctx, r.store, store.VersionKey(head.Name, version))
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
