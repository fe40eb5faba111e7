package app

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
)

// auditOp is the operation that stores a record. It belongs into the same commit as
// the change that it tells of, so that there is neither without the other; At and By
// are the caller's to fill in. Each call makes an operation with an id of its own.
func (a *App) auditOp(r store.AuditRecord) store.Write {
	if !slices.Contains(api.AuditActions, r.Action) {
		panic("no audit action: " + r.Action) // only a constant of this package can be it
	}
	r.At = r.At.UTC()
	return store.Create(store.AuditKey(r.Partition(), store.SortableTime(r.At)+"-"+a.newID()), r)
}

// checkWhy refuses a reason that is too long. It may be empty. Errors: CodeInvalid.
func checkWhy(why string) error {
	if n := utf8.RuneCountInString(why); n > api.MaxReason {
		return fail(api.CodeInvalid, "the reason has %d characters; at most %d are taken", n, api.MaxReason)
	}
	return nil
}

// storedFilter gives an audit filter as the store takes it. Errors: CodeInvalid.
func storedFilter(f api.AuditFilter) (store.AuditFilter, error) {
	if f.Action != "" && !slices.Contains(api.AuditActions, f.Action) {
		return store.AuditFilter{}, fail(api.CodeInvalid, "there is no action %q; there are %s", f.Action, strings.Join(api.AuditActions, ", "))
	}
	for _, at := range []time.Time{f.From, f.To} {
		if year := at.UTC().Year(); year < 0 || year > 9999 { // it can be that in UTC only; ids have four digits
			return store.AuditFilter{}, fail(api.CodeInvalid, "a time in the year %d is none that anything was done at", year)
		}
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return store.AuditFilter{}, fail(api.CodeInvalid, "nothing lies from %s on and before %s: the first has to be the earlier one", f.From.Format(time.RFC3339Nano), f.To.Format(time.RFC3339Nano))
	}
	return store.AuditFilter{Action: f.Action, By: f.By, From: f.From, To: f.To}, nil
}

// BatchAudit lists who did what to a batch, the newest first. Errors: CodeNotFound,
// CodeInvalid for an action that there is not and a time that ends before it begins,
// CodeUnavailable.
func (a *App) BatchAudit(ctx context.Context, batch int, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	filter, err := storedFilter(f)
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	if _, err := a.batch(ctx, batch); err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	return a.trail(ctx, store.BatchPartition(batch), filter, o)
}

// RunbookAudit lists who published, deactivated or previewed a runbook and set its
// automation, the newest first. Errors: as BatchAudit.
func (a *App) RunbookAudit(ctx context.Context, name string, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	filter, err := storedFilter(f)
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	if _, err := a.head(ctx, name); err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	filter.Runbook = name
	return a.trail(ctx, store.PartitionRunbooks, filter, o)
}

// MessageAudit lists who read, replayed or discarded messages that could not be
// processed, the newest first. Errors: CodeInvalid, CodeUnavailable.
func (a *App) MessageAudit(ctx context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	filter, err := storedFilter(f)
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	return a.trail(ctx, store.PartitionUnprocessed, filter, o)
}

func (a *App) trail(ctx context.Context, partition string, filter store.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	found, err := a.store.AuditTrail(ctx, partition, filter, store.Paging{Limit: limit(o), Continuation: o.Continuation})
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	return auditPage(found), nil
}

// Audit lists who did what, of all batches, runbooks and messages. It comes in no
// order, page by page as it is kept: putting it in order takes all of it. Errors:
// CodeInvalid, CodeUnavailable.
func (a *App) Audit(ctx context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	filter, err := storedFilter(f)
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	found, err := a.store.AuditEverywhere(ctx, filter, store.Paging{Limit: limit(o), Continuation: o.Continuation})
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	return auditPage(found), nil
}

func auditPage(found store.Page[store.AuditRecord]) api.Page[api.AuditRecord] {
	page := api.Page[api.AuditRecord]{Items: []api.AuditRecord{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		r := i.Doc
		page.Items = append(page.Items, api.AuditRecord{
			ID: strings.TrimPrefix(i.ID, "audit-"), At: r.At, By: r.By, ByKind: api.ActorKind(r.Kind), ByTenantID: r.TenantID, ByObjectID: r.ObjectID, Action: r.Action, BatchID: r.Batch, Runbook: r.Runbook,
			Target: r.Target, Why: r.Why, Before: r.Before, After: r.After,
		})
	}
	return page
}
