package admin

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// storedFilter checks an audit filter and gives it in the form of the store. Errors: CodeInvalid.
func storedFilter(f api.AuditFilter) (store.AuditFilter, error) {
	if f.Action != "" && !slices.Contains(api.AuditActions, f.Action) {
		return store.AuditFilter{}, problem.New(api.CodeInvalid, "unknown action %q; use one of %s", f.Action, strings.Join(api.AuditActions, ", "))
	}
	for _, at := range []time.Time{f.From, f.To} {
		if year := at.UTC().Year(); year < 0 || year > 9999 { // ids of records have the year in UTC, with four digits
			return store.AuditFilter{}, problem.New(api.CodeInvalid, "year %d is out of range", year)
		}
	}
	if !f.From.IsZero() && !f.To.IsZero() && !f.From.Before(f.To) {
		return store.AuditFilter{}, problem.New(api.CodeInvalid, "from (%s) must be before to (%s)", f.From.Format(time.RFC3339Nano), f.To.Format(time.RFC3339Nano))
	}
	return store.AuditFilter{Action: f.Action, By: f.By, From: f.From, To: f.To}, nil
}

// BatchAudit lists the audit records of a batch, the newest first. Errors: CodeNotFound, CodeInvalid
// for an unknown action and for a range of time that ends before it begins, CodeUnavailable.
func (a *Admin) BatchAudit(ctx context.Context, batch int, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	filter, err := storedFilter(f)
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	if _, err := a.applier.ReadBatch(ctx, batch); err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	return a.auditRecords(ctx, store.BatchPartition(batch), filter, o)
}

// RunbookAudit lists the audit records of a runbook, the newest first: publications, deactivations,
// previews, changes of automation. Errors: as BatchAudit.
func (a *Admin) RunbookAudit(ctx context.Context, name string, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	filter, err := storedFilter(f)
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	if _, err := a.runbooks.Head(ctx, name); err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	filter.Runbook = name
	return a.auditRecords(ctx, store.PartitionRunbooks, filter, o)
}

// MessageAudit lists the audit records of unprocessable messages, the newest first: reads, replays,
// discards. Errors: CodeInvalid, CodeUnavailable.
func (a *Admin) MessageAudit(ctx context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	filter, err := storedFilter(f)
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	return a.auditRecords(ctx, store.PartitionUnprocessable, filter, o)
}

// auditRecords lists the audit records of one partition, the newest first.
func (a *Admin) auditRecords(ctx context.Context, partition string, filter store.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	found, err := a.store.AuditRecords(ctx, partition, filter, store.Paging{Limit: o.PageSize(), Continuation: o.Continuation})
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	return a.auditPage(ctx, found)
}

// Audit lists the audit records of all batches, runbooks and messages, in no order: sorting them
// would take all of them. Errors: CodeInvalid, CodeUnavailable.
func (a *Admin) Audit(ctx context.Context, f api.AuditFilter, o api.ListOptions) (api.Page[api.AuditRecord], error) {
	filter, err := storedFilter(f)
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	found, err := a.store.AuditEverywhere(ctx, filter, store.Paging{Limit: o.PageSize(), Continuation: o.Continuation})
	if err != nil {
		return api.Page[api.AuditRecord]{}, err
	}
	return a.auditPage(ctx, found)
}

// auditPage gives records as people see them. The record of a correction has the columns without the
// secrets that the runbook had then; those that it has now are left out, too. Of a
// batch that cannot be read these are unknown: its records come without the columns.
func (a *Admin) auditPage(ctx context.Context, found store.Page[store.AuditRecord]) (api.Page[api.AuditRecord], error) {
	secrets := map[int][]string{} // of the batches whose members were corrected
	unknown := map[int]bool{}
	for _, i := range found.Items {
		if _, known := secrets[i.Doc.Batch]; known || i.Doc.Action != api.ActionCorrectMember {
			continue
		}
		b, err := a.applier.ReadBatch(ctx, i.Doc.Batch)
		var names []string
		if err == nil {
			names, err = a.runbooks.SecretsOf(ctx, &b.Doc)
		}
		if ctx.Err() != nil || problem.CodeOf(err) == api.CodeUnavailable {
			return api.Page[api.AuditRecord]{}, err
		}
		secrets[i.Doc.Batch] = names
		if err != nil {
			unknown[i.Doc.Batch] = true
			a.log.WarnContext(ctx, "failed to read a batch; its audit records are shown without columns", logkey.BatchID, i.Doc.Batch, logkey.Error, err)
		}
	}
	page := api.Page[api.AuditRecord]{Items: []api.AuditRecord{}, Continuation: found.Continuation}
	for _, i := range found.Items {
		r := i.Doc
		switch {
		case r.Action != api.ActionCorrectMember:
		case unknown[r.Batch]:
			r.Before, r.After = nil, nil
		default:
			r.Before, r.After = redactColumns(r.Before, secrets[r.Batch]), redactColumns(r.After, secrets[r.Batch])
		}
		page.Items = append(page.Items, api.AuditRecord{
			ID: strings.TrimPrefix(i.ID, "audit-"), At: r.At, By: r.By, ByKind: api.ActorKind(r.Kind), ByTenantID: r.TenantID, ByObjectID: r.ObjectID, Action: r.Action, BatchID: r.Batch, Runbook: r.Runbook, Notification: r.Notification,
			Target: r.Target, Why: r.Why, Before: r.Before, After: r.After,
		})
	}
	return page, nil
}

// redactColumns gives the columns of a member in an audit record without secrets; nothing of a state that
// cannot be read.
func redactColumns(state json.RawMessage, secrets []string) json.RawMessage {
	var columns map[string]json.RawMessage
	if len(state) == 0 || json.Unmarshal(state, &columns) != nil {
		return nil
	}
	shown := audit.State{}
	for name, value := range sealing.RedactData(columns, secrets) {
		shown[name] = value
	}
	return shown.JSON()
}
