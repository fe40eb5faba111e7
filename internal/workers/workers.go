package workers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/humanize"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook/lint"
	"github.com/matoolkit/matoolkit/internal/signature"
	"github.com/matoolkit/matoolkit/internal/store"
)

// The bounds of a catalogue, beside message.Limit.
const (
	maxFunctions  = 1000
	maxParameters = 200 // of a function; so are its fields
)

// OnCatalog keeps what a worker says that it can be asked for. Of several replicas of
// one worker the one that started last speaks for all; an announcement that comes again,
// or after a later one, changes nothing.
func (ws *Registry) OnCatalog(ctx context.Context, m message.Delivery, c message.Catalog) error {
	if err := checkCatalog(len(m.Body), c); err != nil {
		return err
	}
	at := c.Timestamp.UTC()
	if !m.EnqueuedAt.IsZero() && at.Sub(m.EnqueuedAt) > message.ClockSlack {
		at = m.EnqueuedAt.UTC() // a clock that is ahead would keep later ones out
	}
	now := ws.now().UTC()
	announced := store.AnnouncedCatalog{Version: c.Version, StartedAt: at, SeenAt: now, FunctionCount: len(c.Functions)}
	functions := store.Upsert(store.CatalogKey(c.WorkerID), store.Catalog{Functions: functionsOf(c)})
	changed := false
	err := ws.changeWorker(ctx, c.WorkerID, func(r *Record) bool {
		changed = r.Catalog == nil || at.After(r.Catalog.StartedAt)
		r.Catalog = &announced
		return changed
	}, functions)
	if err == nil && changed {
		ws.log.InfoContext(ctx, "a worker announced itself", logkey.WorkerID, c.WorkerID, logkey.Version, c.Version, logkey.Functions, len(c.Functions))
	}
	return err
}

func checkCatalog(size int, c message.Catalog) error {
	switch {
	case size > message.Limit:
		return message.Reject("the catalogue has %d bytes; at most %d are taken", size, message.Limit)
	case !message.ValidWorkerID(c.WorkerID):
		return message.Reject("%q is no id of a worker: it has letters, digits and - _ . only and is at most 43 long", clipped(c.WorkerID))
	case len(c.Version) > 100:
		return message.Reject("the catalogue's Version has %d bytes; at most 100 are taken", len(c.Version))
	case c.Timestamp.IsZero():
		return message.Reject("the catalogue has no Timestamp")
	case len(c.Functions) == 0 || len(c.Functions) > maxFunctions:
		return message.Reject("the catalogue has %d functions; it has to have 1 to %d", len(c.Functions), maxFunctions)
	}
	taken := names{}
	for i, f := range c.Functions {
		if err := taken.add(fmt.Sprintf("Functions[%d].Name", i), f.Name); err != nil {
			return err
		}
		if f.TimeoutSeconds < 0 {
			return message.Reject("the TimeoutSeconds of the function %s are %d", f.Name, f.TimeoutSeconds)
		}
		if len(f.Parameters) > maxParameters || len(f.Result) > maxParameters {
			return message.Reject("the function %s has more than %d parameters or fields", f.Name, maxParameters)
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
		return message.Reject("%s is %q; a name has 1 to 100 bytes", where, clipped(name))
	case n[key]:
		return message.Reject("%s: %q is there already", where, name)
	}
	n[key] = true
	return nil
}

func clipped(s string) string { return humanize.ClipBytes(s, 100) }

func functionsOf(c message.Catalog) []signature.Function {
	var all []signature.Function
	for _, f := range c.Functions {
		function := signature.Function{Name: f.Name, Description: f.Description, Params: []signature.Parameter{}, Permissions: f.Permissions, TimeoutSeconds: f.TimeoutSeconds}
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

// functionViews gives the functions of a worker as the API shows them.
func functionViews(all []signature.Function) []api.Function {
	var views []api.Function
	for _, f := range all {
		view := api.Function{Name: f.Name, Description: f.Description, Params: []api.Parameter{}, Permissions: f.Permissions, TimeoutSeconds: f.TimeoutSeconds}
		for _, p := range f.Params {
			view.Params = append(view.Params, api.Parameter(p))
		}
		for _, r := range f.Result {
			view.Result = append(view.Result, api.Field(r))
		}
		views = append(views, view)
	}
	return views
}

// Workers lists the workers that were ever heard from, by id.
func (ws *Registry) Workers(ctx context.Context, o api.ListOptions) (api.Page[api.Worker], error) {
	found, err := ws.store.Workers(ctx, store.Paging{Limit: o.PageSize(), Continuation: o.Continuation})
	if err != nil {
		return api.Page[api.Worker]{}, err
	}
	page := api.Page[api.Worker]{Items: []api.Worker{}, Continuation: found.Continuation}
	if len(found.Items) == 0 {
		return page, nil
	}
	jobs, err := ws.jobsOfAll(ctx)
	if err != nil {
		return api.Page[api.Worker]{}, err
	}
	for _, i := range found.Items {
		page.Items = append(page.Items, ws.workerView((*Record)(&i.Doc), jobs[i.Doc.ID]))
	}
	return page, nil
}

// Worker gives a worker with its functions. Errors: CodeNotFound, CodeUnavailable.
func (ws *Registry) Worker(ctx context.Context, id string) (api.Worker, error) {
	if !message.ValidWorkerID(id) {
		return api.Worker{}, problem.New(api.CodeNotFound, "there is no worker %q", clipped(id))
	}
	record, err := store.Read[Record](ctx, ws.store, store.WorkerKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return api.Worker{}, problem.New(api.CodeNotFound, "no worker %q has announced itself, sent a heartbeat or answered a job", id)
	}
	if err != nil {
		return api.Worker{}, err
	}
	jobs, err := ws.jobsOfAll(ctx)
	if err != nil {
		return api.Worker{}, err
	}
	view := ws.workerView(&record.Doc, jobs[id])
	functions, err := store.OrNone(store.Read[store.Catalog](ctx, ws.store, store.CatalogKey(id)))
	if err != nil {
		return api.Worker{}, err
	}
	view.Functions = functionViews(functions.Doc.Functions)
	if ws.subscriptionMissing(ctx, id) {
		view.Problem = missingSubscription(id)
	}
	return view, nil
}

// workerView makes of a record, and of the jobs without a result, what people are shown.
func (ws *Registry) workerView(r *Record, jobs waitingJobs) api.Worker {
	now := ws.now().UTC()
	view := api.Worker{
		ID: r.ID, State: r.state(jobs.Oldest, now, ws.startup), LastSeenAt: orNil(r.LastSeen()),
		OldestQueuedAt: orNil(jobs.Oldest), ThrottledUntil: orNil(r.throttledUntil(now)),
	}
	if c := r.Catalog; c != nil {
		view.Version, view.StartedAt, view.SeenAt, view.FunctionCount = c.Version, &c.StartedAt, &c.SeenAt, c.FunctionCount
	}
	for _, p := range slices.Backward(r.Replicas) {
		replica := api.Replica{
			ID: p.ID, Version: p.Version, State: "alive", StartedAt: p.StartedAt, LastSeenAt: p.SeenAt, MaxParallelism: p.MaxParallelism,
			JobsInFlight: p.InFlight, OldestJobAt: p.OldestJobAt, ThrottledUntil: p.ThrottledUntil, CredentialExpiresAt: p.CredentialExpiresAt,
		}
		switch {
		case p.Stopped:
			replica.State = "stopped"
		case !IsFresh(&p, now):
			replica.State = "silent"
		default:
			view.JobsInFlight += p.InFlight
			view.OldestJobAt = earliest(view.OldestJobAt, p.OldestJobAt)
		}
		view.Replicas = append(view.Replicas, replica)
	}
	view.JobsQueued = max(0, jobs.Count-view.JobsInFlight)
	view.CredentialExpiresAt = r.credentialExpiresAt()
	return view
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func earliest(a, b *time.Time) *time.Time {
	if a == nil || b != nil && b.Before(*a) {
		return b
	}
	return a
}

// Catalogs are the functions of the workers that steps name, as far as they have
// announced themselves, and the ids of all that have.
func (ws *Registry) Catalogs(ctx context.Context, named []string) (lint.Catalogs, error) {
	known := lint.Catalogs{Standard: ws.standard, Workers: map[string][]signature.Function{}, Announced: []string{}}
	all, err := ws.store.WorkerAnnouncements(ctx)
	if err != nil {
		return known, err
	}
	for _, w := range all {
		if w.Catalog != nil {
			known.Announced = append(known.Announced, w.ID)
		} else {
			known.Seen = append(known.Seen, w.ID)
		}
	}
	for _, id := range named {
		item, err := store.Read[store.Catalog](ctx, ws.store, store.CatalogKey(id))
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
