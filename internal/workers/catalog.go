package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
)

// The limits of a catalogue, beside message.Limit.
const (
	maxFunctions  = 1000
	maxParameters = 200 // of a function; its fields have the same limit
	maxName       = 100 // bytes
)

// OnCatalog stores the functions that a worker announces. If a worker has several replicas, the
// catalogue of the one that started last is valid. A catalogue that is delivered again, or after
// a later one, changes nothing. OnCatalog rejects an invalid catalogue, and one of a worker whose id
// differs only in case from that of another worker.
func (r *Registry) OnCatalog(ctx context.Context, m message.Delivery, c message.Catalog) error {
	if err := checkCatalog(len(m.Body), c); err != nil {
		return err
	}
	at := limitClock(c.Timestamp.UTC(), m)
	announced := store.AnnouncedCatalog{Version: c.Version, StartedAt: at, SeenAt: r.now().UTC(), FunctionCount: len(c.Functions)}
	functions := store.Upsert(store.CatalogKey(c.WorkerID), store.Catalog{Functions: functionsOf(c)})
	changed := false
	err := r.changeRecord(ctx, c.WorkerID, func(r *Record) bool {
		changed = r.Catalog == nil || at.After(r.Catalog.StartedAt)
		r.Catalog = &announced
		return changed
	}, functions)
	var conflict *caseConflict
	if errors.As(err, &conflict) {
		return message.Reject("%v", conflict)
	}
	if err == nil && changed {
		r.log.InfoContext(ctx, "worker announced its functions", logkey.WorkerID, c.WorkerID, logkey.Version, c.Version, logkey.Functions, len(c.Functions))
	}
	return err
}

// checkCatalog rejects a catalogue that is invalid or exceeds a limit. Size is that of the
// message's body.
func checkCatalog(size int, c message.Catalog) error {
	switch {
	case size > message.Limit:
		return message.Reject("the catalogue has %d bytes; at most %d are allowed", size, message.Limit)
	case !message.ValidWorkerID(c.WorkerID):
		return message.Reject("invalid worker id %q: use letters, digits, '-', '_' or '.', at most 43", clipName(c.WorkerID))
	case len(c.Version) > maxName:
		return message.Reject("the catalogue's Version has %d bytes; at most %d are allowed", len(c.Version), maxName)
	case c.Timestamp.IsZero():
		return message.Reject("the catalogue has no Timestamp")
	case len(c.Functions) == 0 || len(c.Functions) > maxFunctions:
		return message.Reject("the catalogue has %d functions; 1 to %d are allowed", len(c.Functions), maxFunctions)
	}
	functions := names{}
	for i, f := range c.Functions {
		place := fmt.Sprintf("Functions[%d]", i)
		if err := functions.add(place, f.Name); err != nil {
			return err
		}
		if err := checkFunction(place, f); err != nil {
			return err
		}
	}
	return nil
}

func checkFunction(place string, f message.CatalogFunction) error {
	if f.TimeoutSeconds < 0 {
		return message.Reject("the function %s has the invalid TimeoutSeconds %d", f.Name, f.TimeoutSeconds)
	}
	if n := max(len(f.Parameters), len(f.Result)); n > maxParameters {
		return message.Reject("the function %s has %d parameters or fields; at most %d of each are allowed", f.Name, n, maxParameters)
	}
	parameters, fields := names{}, names{}
	for i, p := range f.Parameters {
		if err := parameters.add(fmt.Sprintf("%s.Parameters[%d]", place, i), p.Name); err != nil {
			return err
		}
	}
	for i, r := range f.Result {
		if err := fields.add(fmt.Sprintf("%s.Result[%d]", place, i), r.Name); err != nil {
			return err
		}
	}
	return nil
}

// names is a set of names in lower case.
type names map[string]bool

// add adds the name of the object at place. It rejects an invalid name and one that the set has.
func (n names) add(place, name string) error {
	key := strings.ToLower(name)
	switch {
	case strings.TrimSpace(name) == "" || len(name) > maxName:
		return message.Reject("%s.Name is %q; a name has 1 to %d bytes", place, clipName(name), maxName)
	case n[key]:
		return message.Reject("%s.Name: duplicate name %q", place, name)
	}
	n[key] = true
	return nil
}

func clipName(s string) string { return humanize.ClipBytes(s, maxName) }

// functionsOf returns the functions of a catalogue.
func functionsOf(c message.Catalog) []signature.Function {
	var all []signature.Function
	for _, f := range c.Functions {
		function := signature.Function{Name: f.Name, Description: f.Description, Params: []signature.Parameter{}, Permissions: f.Permissions, TimeoutSeconds: f.TimeoutSeconds, ReadOnly: f.ReadOnly}
		for _, p := range f.Parameters {
			function.Params = append(function.Params, signature.Parameter(p))
		}
		for _, r := range f.Result {
			function.Result = append(function.Result, signature.Field(r))
		}
		all = append(all, function)
	}
	return all
}

// Catalogs returns the announced functions of the workers in ids, the ids of all workers that
// have announced functions, and the ids of all that were seen without. Ids may be a caller's: it costs
// one query, and a point read only for each of them that has announced functions.
func (r *Registry) Catalogs(ctx context.Context, ids []string) (lint.Catalogs, error) {
	all, err := r.store.WorkerAnnouncements(ctx)
	if err != nil {
		return lint.Catalogs{}, err
	}
	announced, seen := []string{}, []string(nil)
	for _, w := range all {
		if w.Catalog != nil {
			announced = append(announced, w.ID)
		} else {
			seen = append(seen, w.ID)
		}
	}
	asked := slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(announced, id) })
	known, err := r.Functions(ctx, asked)
	known.Announced, known.Seen = announced, seen
	return known, err
}

// Functions returns the announced functions of the workers in ids. It costs one point read for
// each of them: they are those of a published runbook.
func (r *Registry) Functions(ctx context.Context, ids []string) (lint.Catalogs, error) {
	known := lint.Catalogs{Standard: r.standard, Workers: map[string][]signature.Function{}}
	for _, id := range ids {
		item, err := store.Read[store.Catalog](ctx, r.store, store.CatalogKey(id))
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
