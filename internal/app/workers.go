package app

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// WorkerView is a worker that has announced itself. Functions are left out in lists.
type WorkerView struct {
	ID            string     `json:"id"`
	Version       string     `json:"version,omitempty"`
	StartedAt     time.Time  `json:"startedAt"` // as the worker says, where its clock can be believed
	SeenAt        time.Time  `json:"seenAt"`    // when the announcement came here
	FunctionCount int        `json:"functionCount"`
	Functions     []Function `json:"functions,omitempty"`
}

// workerID is what a step can name (see package runbook). It is also a safe id of an item.
var workerID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,41}[A-Za-z0-9])?$`)

// The bounds of a catalogue, beside message.Limit.
const (
	maxFunctions  = 1000
	maxParameters = 200 // of a function; so are its fields
)

// clockSlack is by how much a worker's clock may be ahead of the broker's before the
// broker's is believed, whose times can be whole seconds.
const clockSlack = 5 * time.Minute

// announced keeps what a worker says that it can be asked for. Of several replicas of
// one worker the one that started last speaks for all; an announcement that comes again,
// or after a later one, changes nothing.
func (a *App) announced(ctx context.Context, m Message, c message.Catalog) error {
	if err := checkCatalog(len(m.Body), c); err != nil {
		return err
	}
	at := c.Timestamp.UTC()
	if !m.EnqueuedAt.IsZero() && at.Sub(m.EnqueuedAt) > clockSlack {
		at = m.EnqueuedAt.UTC() // a clock that is ahead would keep later ones out
	}
	key := store.CatalogKey(c.WorkerID)
	kept, err := store.Read[WorkerView](ctx, a.store, key)
	known := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if known && !at.After(kept.Doc.StartedAt) {
		return nil
	}
	next := WorkerView{ID: c.WorkerID, Version: c.Version, StartedAt: at, SeenAt: a.now().UTC(), FunctionCount: len(c.Functions), Functions: functionsOf(c)}
	write := store.Create(key, next)
	if known {
		write = store.Replace(key, next, kept.ETag)
	}
	_, err = a.store.Commit(ctx, write)
	if errors.Is(err, store.ErrExists) {
		return fmt.Errorf("%w: another announcement came first", store.ErrChanged) // it is looked at again
	}
	if err == nil {
		a.log.Info("a worker announced itself", "worker", c.WorkerID, "version", c.Version, "functions", len(c.Functions))
	}
	return err
}

func checkCatalog(size int, c message.Catalog) error {
	switch {
	case size > message.Limit:
		return reject("the catalogue has %d bytes; at most %d are taken", size, message.Limit)
	case !workerID.MatchString(c.WorkerID):
		return reject("%q is no id of a worker: it has letters, digits and - _ . only and is at most 43 long", clipped(c.WorkerID))
	case len(c.Version) > 100:
		return reject("the catalogue's Version has %d bytes; at most 100 are taken", len(c.Version))
	case c.Timestamp.IsZero():
		return reject("the catalogue has no Timestamp")
	case len(c.Functions) == 0 || len(c.Functions) > maxFunctions:
		return reject("the catalogue has %d functions; it has to have 1 to %d", len(c.Functions), maxFunctions)
	}
	taken := names{}
	for i, f := range c.Functions {
		if err := taken.add(fmt.Sprintf("Functions[%d].Name", i), f.Name); err != nil {
			return err
		}
		if len(f.Parameters) > maxParameters || len(f.Result) > maxParameters {
			return reject("the function %s has more than %d parameters or fields", f.Name, maxParameters)
		}
		params, fields := names{}, names{}
		for j, p := range f.Parameters {
			if err := params.add(fmt.Sprintf("Functions[%d].Parameters[%d].Name", i, j), p.Name); err != nil {
				return err
			}
		}
		for j, r := range f.Result {
			if err := fields.add(fmt.Sprintf("Functions[%d].Result[%d].Name", i, j), r.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// names are those that are taken, in lower case.
type names map[string]bool

func (n names) add(where, name string) error {
	key := strings.ToLower(name)
	switch {
	case strings.TrimSpace(name) == "" || len(name) > 100:
		return reject("%s is %q; a name has 1 to 100 bytes", where, clipped(name))
	case n[key]:
		return reject("%s: %q is there already", where, name)
	}
	n[key] = true
	return nil
}

func clipped(s string) string {
	if len(s) > 100 {
		return strings.ToValidUTF8(s[:100], "") + "…"
	}
	return s
}

func functionsOf(c message.Catalog) []Function {
	var all []Function
	for _, f := range c.Functions {
		function := Function{Name: f.Name, Description: f.Description, Params: []Parameter{}, Permissions: f.Permissions}
		for _, p := range f.Parameters {
			function.Params = append(function.Params, Parameter(p))
		}
		for _, r := range f.Result {
			function.Result = append(function.Result, Field(r))
		}
		all = append(all, function)
	}
	return all
}

// Workers lists the workers that have announced themselves, by id.
func (a *App) Workers(ctx context.Context, o ListOptions) (Page[WorkerView], error) {
	// All but the functions, of which a page could have 1000 times 240 KB.
	items, next, err := store.Query[WorkerView](ctx, a.store, store.PartitionCatalogs,
		`SELECT c.id, {"id": c.doc.id, "version": c.doc.version, "startedAt": c.doc.startedAt, "seenAt": c.doc.seenAt, "functionCount": c.doc.functionCount} AS doc `+
			`FROM c WHERE c.type = 'catalog' ORDER BY c.id ASC`, nil, limit(o), o.Continuation)
	if err != nil {
		return Page[WorkerView]{}, a.outward(err)
	}
	page := Page[WorkerView]{Items: []WorkerView{}, Continuation: next}
	for _, i := range items {
		page.Items = append(page.Items, i.Doc)
	}
	return page, nil
}

// Worker gives a worker with its functions. Errors: CodeNotFound, CodeUnavailable.
func (a *App) Worker(ctx context.Context, id string) (WorkerView, error) {
	if !workerID.MatchString(id) {
		return WorkerView{}, fail(CodeNotFound, "there is no worker %q", clipped(id))
	}
	item, err := store.Read[WorkerView](ctx, a.store, store.CatalogKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return WorkerView{}, fail(CodeNotFound, "no worker %q has announced itself", id)
	}
	if err != nil {
		return WorkerView{}, a.outward(err)
	}
	return item.Doc, nil
}

// catalogs are the functions of the workers that steps name, as far as they have
// announced themselves, and the ids of all that have.
func (a *App) catalogs(ctx context.Context, named []string) (Callable, error) {
	known := Callable{Standard: a.callable, Workers: map[string][]Function{}}
	all, err := store.All[WorkerView](ctx, a.store, store.PartitionCatalogs, `SELECT c.id, {"id": c.doc.id} AS doc FROM c WHERE c.type = 'catalog'`)
	if err != nil {
		return known, err
	}
	for _, w := range all {
		known.Announced = append(known.Announced, w.Doc.ID)
	}
	for _, id := range named {
		item, err := store.Read[WorkerView](ctx, a.store, store.CatalogKey(id))
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err != nil {
			return known, err
		}
		known.Workers[id] = item.Doc.Functions
	}
	return known, nil
}
