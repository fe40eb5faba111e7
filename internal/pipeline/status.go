package pipeline

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/sealing"
	"github.com/matoolkit/matoolkit/internal/store"
)

// PipelineBatch tells where a batch stands that a request to the runbook started. Errors: CodeNotFound,
// CodeUnavailable.
func (p *Pipelines) PipelineBatch(ctx context.Context, name string, batch int) (api.PipelineBatch, error) {
	b, err := p.read(ctx, name, batch)
	if err != nil {
		return api.PipelineBatch{}, err
	}
	return p.view(ctx, b)
}

// PipelineResult gives what a batch has brought about. It leaves an audit record of who reads it. Errors: CodeNotFound; CodeConflict while it runs,
// and if it failed; CodeUnavailable.
func (p *Pipelines) PipelineResult(ctx context.Context, by audit.Caller, name string, batch int) (api.PipelineResult, error) {
	b, err := p.read(ctx, name, batch)
	if err != nil {
		return api.PipelineResult{}, err
	}
	switch {
	case !b.HasEnded():
		return api.PipelineResult{}, problem.New(api.CodeConflict, "batch %d has not ended: ask for its status first", batch)
	case !hasResult(b, p.now()):
		return api.PipelineResult{}, problem.New(api.CodeConflict, "batch %d has no result: %s", batch, failure(b))
	}
	return p.result(ctx, by, b)
}

// maxLooks is how many requests of an owner, the newest first, are looked at for a result, before the last known one is.
const maxLooks = 20

// LatestResult gives the result of the owner's newest batch that has completed, as PipelineResult does. Errors: CodeNotFound if
// there is none, CodeInvalid, CodeUnavailable.
func (p *Pipelines) LatestResult(ctx context.Context, by audit.Caller, name, owner string) (api.PipelineResult, error) {
	owner, err := checkOwner(owner)
	if err != nil {
		return api.PipelineResult{}, err
	}
	if _, err := p.runbooks.Head(ctx, name); err != nil {
		return api.PipelineResult{}, err
	}
	last, err := store.OrNone(store.Read[store.PipelineRequest](ctx, p.store, store.PipelineKey(name, owner)))
	if err != nil {
		return api.PipelineResult{}, err
	}
	id := last.Doc.Batch
	for look := 0; id != 0; look++ {
		b, err := store.OrNone(store.Read[model.Batch](ctx, p.store, store.BatchKey(id)))
		if err != nil {
			return api.PipelineResult{}, err
		}
		if hasResult(&b.Doc, p.now()) {
			return p.result(ctx, by, &b.Doc)
		}
		switch {
		case b.Doc.Requested != nil && b.Doc.Requested.Before != 0 && look < maxLooks:
			id = b.Doc.Requested.Before
		case id == last.Doc.Batch && look < maxLooks: // it is being created, or has expired, and does not say which was before
			id = last.Doc.Before
		case id > last.Doc.Result:
			id = last.Doc.Result
		default:
			id = 0
		}
	}
	return api.PipelineResult{}, problem.New(api.CodeNotFound, "no batch of %s has completed for owner %q: request one", name, owner)
}

// read reads a batch that a request to the runbook started.
func (p *Pipelines) read(ctx context.Context, name string, batch int) (*model.Batch, error) {
	b, err := store.Read[model.Batch](ctx, p.store, store.BatchKey(batch))
	if errors.Is(err, store.ErrNotFound) || err == nil && (b.Doc.Requested == nil || b.Doc.Runbook != name || b.Doc.HasExpired(p.now())) {
		return nil, problem.New(api.CodeNotFound, "no request to %q started a batch %d, or the batch has expired", name, batch)
	}
	return &b.Doc, err
}

// view shows a batch with the counts of its items.
func (p *Pipelines) view(ctx context.Context, b *model.Batch) (api.PipelineBatch, error) {
	v := api.PipelineBatch{
		ID: b.ID, Pipeline: b.Runbook, RunbookVersion: b.Version, Owner: b.Owner, Status: status(b), RequestedAt: b.DetectedAt, CompletedAt: b.CompletedAt, ExpiresAt: b.ExpiresAt(),
		Items: api.PipelineItems{Total: b.Members, Queued: b.Members}, StatusURL: place(b.Runbook, b.ID), ResultURL: place(b.Runbook, b.ID) + "/result",
	}
	if b.Requested != nil {
		v.Fingerprint, v.Shadow = b.Requested.Fingerprint, b.Requested.Shadow
	}
	switch v.Status {
	case api.PipelineFailed:
		v.Error = failure(b)
	case api.PipelineQueued, api.PipelineListing:
		return v, nil
	case api.PipelineCached:
		v.CachedBatch, v.ResultURL = b.Requested.CachedBatch, place(b.Runbook, b.Requested.CachedBatch)+"/result"
	}
	b, err := p.holder(ctx, b)
	if err != nil {
		return v, err
	}
	if v.Items, err = p.countItems(ctx, b); err != nil {
		return v, err
	}
	v.Detached, err = p.detached(ctx, b)
	return v, err
}

// countItems counts the items of a batch: each once, by the phases that it has been in. A phase that has ended is in the
// batch, and one that runs in its shards.
func (p *Pipelines) countItems(ctx context.Context, b *model.Batch) (api.PipelineItems, error) {
	c := api.PipelineItems{Total: b.Members, Cancelled: b.Removed, Failed: b.FailedChecks}
	for _, ph := range b.Phases {
		if ph.Kind != model.KindPhase || ph.Status == model.PhaseSkipped || ph.Status == model.PhaseSuperseded {
			continue
		}
		counted, err := p.countPhase(ctx, b, ph)
		if err != nil {
			return c, err
		}
		c.Failed += counted.Failed
		c.Running += counted.Running
		c.Succeeded = counted.Succeeded // in the end those of the last phase
	}
	if b.HasEnded() {
		c.Running = 0
		c.Cancelled = c.Total - c.Succeeded - c.Failed
	}
	c.Queued = max(0, c.Total-c.Succeeded-c.Failed-c.Cancelled-c.Running)
	return c, nil
}

// status is where the batch stands for those who requested it.
func status(b *model.Batch) api.PipelineStatus {
	switch {
	case b.Status == model.BatchCompleted && b.Requested != nil && b.Requested.CachedBatch != 0:
		return api.PipelineCached
	case b.Status == model.BatchCompleted:
		return api.PipelineCompleted
	case b.HasEnded():
		return api.PipelineFailed
	}
	begun := api.PipelineQueued
	for _, ph := range b.Phases {
		switch {
		case ph.DispatchedAt == nil:
		case ph.Kind != model.KindItems:
			return api.PipelineProcessing
		case b.IsListing():
			begun = api.PipelineListing
		}
	}
	return begun
}

// failure says why a batch has no result.
func failure(b *model.Batch) string {
	if c := b.Cancelled; c != nil {
		return "cancelled by " + c.By
	}
	if p := b.ResultPhase(); b.Error == "" && p != nil {
		return p.Reason
	}
	return b.Error
}

// holder is the batch that has the result of a batch: the batch itself, or an earlier one with the same items.
func (p *Pipelines) holder(ctx context.Context, b *model.Batch) (*model.Batch, error) {
	if b.Requested == nil || b.Requested.CachedBatch == 0 {
		return b, nil
	}
	return p.read(ctx, b.Runbook, b.Requested.CachedBatch)
}

// result gives the outputs of the last on_complete steps of a batch, and records that they are read.
func (p *Pipelines) result(ctx context.Context, by audit.Caller, b *model.Batch) (api.PipelineResult, error) {
	b, err := p.holder(ctx, b)
	if err != nil {
		return api.PipelineResult{}, err
	}
	if err := p.audit.RecordRead(ctx, by, store.AuditRecord{Action: api.ActionReadSteps, Batch: b.ID}); err != nil {
		return api.PipelineResult{}, err
	}
	r := api.PipelineResult{ID: b.ID, Pipeline: b.Runbook, Owner: b.Owner, Fingerprint: b.Requested.Fingerprint, CompletedAt: *b.CompletedAt}
	if r.Items, err = p.countItems(ctx, b); err != nil {
		return api.PipelineResult{}, err
	}
	r.Outputs, err = p.outputs(ctx, b)
	return r, err
}

// outputs reads the outputs of the last on_complete steps of a batch that has a result of its own, without secrets.
func (p *Pipelines) outputs(ctx context.Context, b *model.Batch) (map[string]json.RawMessage, error) {
	ph := b.ResultPhase()
	if ph == nil {
		return map[string]json.RawMessage{}, nil
	}
	run, err := store.OrNone(store.Read[model.Run](ctx, p.store, store.RunKey(b.ID, ph.ID, 0)))
	if err != nil {
		return nil, err
	}
	secrets, err := p.runbooks.SecretsOf(ctx, b)
	if err != nil || run.Doc.Outputs == nil {
		return map[string]json.RawMessage{}, err
	}
	return sealing.RedactData(run.Doc.Outputs, secrets), nil
}
