package bundle

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/matoolkit/matoolkit/examples/context-bundle/github"
	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/worker/catalog"
)

// Outputs of the items of a batch: the artifact has a line of JSON for each.
const (
	outputsType     = "application/x-ndjson"
	statusSucceeded = "succeeded"
)

// Item is a line of that artifact. Other fields of it are not read.
type Item struct {
	Key     string                     `json:"key"`
	Status  string                     `json:"status"`
	Outputs map[string]json.RawMessage `json:"outputs"`
}

// context is the output of Sync-RepoContext for the item, empty if it has none.
func (i Item) context() (key string) {
	if raw, has := i.Outputs["Context"]; has && json.Unmarshal(raw, &key) != nil {
		return ""
	}
	return key
}

type merger struct{ store artifact.Store }

// merged is the answer of Merge-Bundle.
type merged struct {
	Bundle       string
	Fingerprint  string
	Repositories int
	Documented   int
	Missing      []string
	Stale        []string
	Superseded   bool
}

func (m merger) merge(ctx context.Context, p catalog.Params) (any, error) {
	owner := p.String("Owner")
	at, err := generation(p.String("Generation"))
	if err == nil {
		err = github.CheckOwner(owner)
	}
	if err != nil {
		return nil, err
	}
	items, err := m.items(ctx, p.String("Outputs"))
	if err != nil {
		return nil, err
	}
	b, err := m.load(ctx, owner, items)
	if err != nil {
		return nil, err
	}
	properties := artifact.Properties{Key: Key(owner), Fingerprint: b.Fingerprint(), Generation: at}
	written, err := Write(ctx, m.store, properties, b)
	if err != nil {
		return nil, err
	}
	if written.Generation != at || written.Fingerprint != properties.Fingerprint {
		if b, written, err = Read[Bundle](ctx, m.store, properties.Key); err != nil {
			return nil, gone(err, properties.Key)
		}
	}
	return merged{
		Bundle: properties.Key.String(), Fingerprint: written.Fingerprint, Repositories: len(b.Repositories), Documented: len(b.Documented()),
		Missing: b.Missing, Stale: b.Stale, Superseded: written.Generation > at,
	}, nil
}

// Fingerprint identifies the contexts in the bundle.
func (b Bundle) Fingerprint() string { return fingerprint(b.Repositories) }

// items reads the outputs of the items of the batch.
func (m merger) items(ctx context.Context, reference string) ([]Item, error) {
	invalid := func(format string, args ...any) error {
		return &catalog.Failure{Type: catalog.FailureParameters, Message: "Outputs: " + fmt.Sprintf(format, args...)}
	}
	key, err := artifact.ParseKey(reference)
	if err != nil {
		return nil, invalid("%v: use {{_outputs}}", err)
	}
	a, err := m.store.Get(ctx, key)
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return nil, invalid("there is no artifact %s", key)
	case err != nil:
		return nil, StoreFailure(err)
	case a.ContentType != outputsType:
		return nil, invalid("the artifact %s is %s, not %s", key, a.ContentType, outputsType)
	}
	var items []Item
	known := map[string]bool{}
	number := 0
	for line := range bytes.Lines(a.Content) {
		number++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var i Item
		if err := json.Unmarshal(line, &i); err != nil || i.Key == "" || i.Status == "" {
			return nil, invalid("line %d of the artifact %s is not an item with key and status", number, key)
		}
		if known[i.Key] {
			return nil, invalid("line %d of the artifact %s has an item that another line has", number, key)
		}
		known[i.Key] = true
		items = append(items, i)
	}
	return items, nil
}

// readers is how many contexts are read at a time.
const readers = 8

// load reads the contexts of the items: that of this batch where the item succeeded, and else the one that is stored.
func (m merger) load(ctx context.Context, owner string, items []Item) (Bundle, error) {
	b := Bundle{Owner: owner, Repositories: []Repository{}, Missing: []string{}, Stale: []string{}}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var group sync.WaitGroup
	todo := make(chan Item)
	for range min(readers, len(items)) {
		group.Go(func() {
			for i := range todo {
				r, found, err := m.context(ctx, owner, i)
				if err != nil {
					cancel(err)
					return
				}
				mu.Lock()
				b.add(i, r, found)
				mu.Unlock()
			}
		})
	}
	for _, i := range items {
		select {
		case todo <- i:
		case <-ctx.Done():
		}
	}
	close(todo)
	group.Wait()
	if err := context.Cause(ctx); err != nil {
		return b, err
	}
	// Items whose names differ in case are one repository.
	slices.SortFunc(b.Repositories, func(x, y Repository) int { return strings.Compare(x.Repository, y.Repository) })
	b.Repositories = slices.CompactFunc(b.Repositories, func(x, y Repository) bool { return x.Repository == y.Repository })
	slices.Sort(b.Missing)
	slices.Sort(b.Stale)
	b.Stale = slices.Compact(b.Stale)
	return b, nil
}

func (b *Bundle) add(i Item, r Repository, found bool) {
	switch {
	case !found:
		b.Missing = append(b.Missing, i.Key)
		return
	case i.Status != statusSucceeded:
		b.Stale = append(b.Stale, r.Repository)
	}
	b.Repositories = append(b.Repositories, r)
}

// context reads the context of an item. Found is false where none is stored.
func (m merger) context(ctx context.Context, owner string, i Item) (r Repository, found bool, err error) {
	key := ContextKey(owner, i.Key)
	if text := i.context(); text != "" && i.Status == statusSucceeded {
		if key, err = artifact.ParseKey(text); err != nil || !strings.HasPrefix(text, artifact.NewKey("context", strings.ToLower(owner)).Prefix()) {
			return r, false, &catalog.Failure{Type: catalog.FailureParameters, Message: fmt.Sprintf("the output Context of an item is not the key of a context of %s", owner)}
		}
	}
	c, _, err := Read[Context](ctx, m.store, key)
	switch {
	case errors.Is(err, artifact.ErrNotFound):
		return r, false, nil
	case err != nil:
		return r, false, err
	}
	return c.Repository, true, nil
}
