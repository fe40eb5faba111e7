package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/store"
)

// auditRecord tells of one thing that somebody did. It is about a batch, about a
// runbook or, where neither is named, about a message that could not be processed, and
// is kept with what it is about.
type auditRecord struct {
	At time.Time `json:"at"`
	actor
	Action  string          `json:"action"` // one of api.AuditActions
	Batch   int             `json:"batchId,omitempty"`
	Runbook string          `json:"runbook,omitempty"`
	Target  string          `json:"target,omitempty"` // of what in the batch or of the runbook; the id of a message
	Why     string          `json:"why,omitempty"`
	Before  json.RawMessage `json:"before,omitempty"`
	After   json.RawMessage `json:"after,omitempty"`
}

// auditTime is the time in a record's id: of fixed length, so that it sorts.
const auditTime = "20060102T150405.000000000Z"

// auditOp is the operation that stores a record. It belongs into the same commit as
// the change that it tells of, so that there is neither without the other; At and By
// are the caller's to fill in. Each call makes an operation with an id of its own.
func (a *App) auditOp(r auditRecord) store.Op {
	if !slices.Contains(api.AuditActions, r.Action) {
		panic("no audit action: " + r.Action) // only a constant of this package can be it
	}
	r.At = r.At.UTC()
	return store.Create(store.AuditKey(r.partition(), r.At.Format(auditTime)+"-"+a.newID()), r)
}

func (r auditRecord) partition() string {
	switch {
	case r.Batch != 0:
		return store.BatchPartition(r.Batch)
	case r.Runbook != "":
		return store.PartitionRunbooks
	}
	return store.PartitionUnprocessed
}

// checkWhy refuses a reason that is too long. It may be empty. Errors: CodeInvalid.
func checkWhy(why string) error {
	if n := utf8.RuneCountInString(why); n > MaxWhy {
		return fail(CodeInvalid, "the reason has %d characters; at most %d are taken", n, MaxWhy)
	}
	return nil
}

// query is what selects the records, without the places in which it looks.
func auditQuery(f AuditFilter) (*filter, error) {
	q := &filter{where: []string{"c.type = 'audit'"}}
	if f.Action != "" {
		if !slices.Contains(api.AuditActions, f.Action) {
			return nil, fail(CodeInvalid, "there is no action %q; there are %s", f.Action, strings.Join(api.AuditActions, ", "))
		}
		q.add("c.doc.action = @action", "@action", f.Action)
	}
	if f.By != "" {
		q.add("c.doc.by = @by", "@by", f.By)
	}
	for _, at := range []time.Time{f.From, f.To} {
		if year := at.UTC().Year(); year < 0 || year > 9999 { // it can be that in UTC only; ids have four digits
			return nil, fail(CodeInvalid, "a time in the year %d is none that anything was done at", year)
		}
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return nil, fail(CodeInvalid, "nothing lies from %s on and before %s: the first has to be the earlier one", f.From.Format(time.RFC3339Nano), f.To.Format(time.RFC3339Nano))
	}
	if !f.From.IsZero() {
		q.add("c.id >= @from", "@from", store.AuditKey("", f.From.UTC().Format(auditTime)).ID)
	}
	if !f.To.IsZero() {
		q.add("c.id < @to", "@to", store.AuditKey("", f.To.UTC().Format(auditTime)).ID)
	}
	return q, nil
}

// BatchAudit lists who did what to a batch, the newest first. Errors: CodeNotFound,
// CodeInvalid for an action that there is not and a time that ends before it begins,
// CodeUnavailable.
func (a *App) BatchAudit(ctx context.Context, batch int, f AuditFilter, o ListOptions) (Page[AuditView], error) {
	q, err := auditQuery(f)
	if err != nil {
		return Page[AuditView]{}, err
	}
	if _, err := a.batch(ctx, batch); err != nil {
		return Page[AuditView]{}, a.outward(err)
	}
	return a.trail(ctx, store.BatchPartition(batch), q, o)
}

// RunbookAudit lists who published, deactivated or previewed a runbook and set its
// automation, the newest first. Errors: as BatchAudit.
func (a *App) RunbookAudit(ctx context.Context, name string, f AuditFilter, o ListOptions) (Page[AuditView], error) {
	q, err := auditQuery(f)
	if err != nil {
		return Page[AuditView]{}, err
	}
	if _, err := a.head(ctx, name); err != nil {
		return Page[AuditView]{}, err
	}
	q.add("c.doc.runbook = @runbook", "@runbook", name)
	return a.trail(ctx, store.PartitionRunbooks, q, o)
}

// MessageAudit lists who read, replayed or discarded messages that could not be
// processed, the newest first. Errors: CodeInvalid, CodeUnavailable.
func (a *App) MessageAudit(ctx context.Context, f AuditFilter, o ListOptions) (Page[AuditView], error) {
	q, err := auditQuery(f)
	if err != nil {
		return Page[AuditView]{}, err
	}
	return a.trail(ctx, store.PartitionUnprocessed, q, o)
}

func (a *App) trail(ctx context.Context, pk string, q *filter, o ListOptions) (Page[AuditView], error) {
	items, next, err := store.Query[auditRecord](ctx, a.store, pk, q.text("DESC"), q.params, limit(o), o.Continuation)
	if err != nil {
		return Page[AuditView]{}, a.outward(err)
	}
	return auditPage(items, next), nil
}

// Audit lists who did what, of all batches, runbooks and messages. It comes in no
// order, page by page as it is kept: putting it in order takes all of it. Errors:
// CodeInvalid, CodeUnavailable.
func (a *App) Audit(ctx context.Context, f AuditFilter, o ListOptions) (Page[AuditView], error) {
	q, err := auditQuery(f)
	if err != nil {
		return Page[AuditView]{}, err
	}
	text := "SELECT * FROM c WHERE " + strings.Join(q.where, " AND ")
	items, next, err := store.QueryEverywhere[auditRecord](ctx, a.store, text, q.params, limit(o), o.Continuation)
	if err != nil {
		return Page[AuditView]{}, a.outward(err)
	}
	return auditPage(items, next), nil
}

func auditPage(items []store.Item[auditRecord], next string) Page[AuditView] {
	page := Page[AuditView]{Items: []AuditView{}, Continuation: next}
	for _, i := range items {
		r := i.Doc
		page.Items = append(page.Items, AuditView{
			ID: strings.TrimPrefix(i.ID, "audit-"), At: r.At, By: r.By, ByKind: r.Kind, ByTenantID: r.TenantID, ByObjectID: r.ObjectID, Action: r.Action, BatchID: r.Batch, Runbook: r.Runbook,
			Target: r.Target, Why: r.Why, Before: r.Before, After: r.After,
		})
	}
	return page
}
