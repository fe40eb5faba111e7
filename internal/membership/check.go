package membership

import (
	"cmp"
	"context"
	"slices"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// CheckBatch refuses what CreateBatchFrom would refuse, with the same errors, and writes nothing. The
// caller's idempotency key does not matter.
func (r *Registrar) CheckBatch(ctx context.Context, runbookName string, csv membercsv.File, options ...api.UploadOption) (api.UploadCheck, error) {
	o := api.UploadOptionsOf(options)
	_, err := CheckDetails(o.Details)
	if err = cmp.Or(checkSize(csv), err); err != nil {
		return api.UploadCheck{}, err
	}
	u, err := r.readUpload(ctx, r.creation(audit.Caller{}, runbookName, csv, o))
	if err != nil {
		return api.UploadCheck{}, err
	}
	taken, err := r.newClaimant(0, u.runbook, "", u.shared).look(ctx, u.keys())
	if err == nil {
		err = RefuseInOtherBatch(taken, len(u.Rows), "added", u.lines(), true)
	}
	if err != nil {
		return api.UploadCheck{}, err
	}
	check := u.check()
	check.Members = len(u.Rows)
	check.Phases, check.Jobs = apiview.Joins(u.runbook, check.Members, func(string) bool { return true })
	err = r.expect(ctx, &check)
	return check, err
}

// CheckMembers refuses what AddMembersFrom would refuse, with the same errors, and writes nothing. The
// caller's idempotency key does not matter.
func (r *Registrar) CheckMembers(ctx context.Context, batch int, csv membercsv.File, options ...api.UploadOption) (api.UploadCheck, error) {
	b, u, err := r.readAddition(ctx, audit.Caller{}, batch, csv, api.UploadOptionsOf(options))
	if err != nil {
		return api.UploadCheck{}, err
	}
	a := addition{members: r, batch: b, claims: r.newClaimant(batch, u.runbook, r.newID(), u.shared)}
	people, err := a.leaveOutMembers(ctx, u.newcomers(), true)
	if err != nil {
		return api.UploadCheck{}, err
	}
	keys := make([]string, len(people))
	for i, p := range people {
		keys[i] = p.Key
	}
	taken, err := a.claims.look(ctx, keys)
	if err == nil {
		err = RefuseInOtherBatch(taken, len(u.Rows), "added", u.lines(), b.Doc.Manual)
	}
	if err == nil && len(keys) > 0 {
		_, err = r.applier.Preview(ctx, batch, applier.On(model.MembersJoined{Members: len(keys), Key: keys[0], Shared: u.shared}))
	}
	if err != nil {
		return api.UploadCheck{}, err
	}
	check := u.check()
	check.BatchID, check.Members, check.Present = batch, len(keys), a.result.Present
	check.Phases, check.Jobs = apiview.Joins(u.runbook, check.Members, func(phase string) bool { return hasPhase(&b.Doc, phase) })
	err = r.expect(ctx, &check)
	return check, err
}

// expect adds how long the phases of the added members take, as measured: one query.
func (r *Registrar) expect(ctx context.Context, check *api.UploadCheck) error {
	page, err := r.store.Batches(ctx, store.BatchFilter{Runbook: check.Runbook}, store.Paging{Limit: apiview.MeasuredBatches})
	check.Duration = apiview.Expected(page.Items, check.Phases)
	return err
}

// hasPhase reports whether members of a batch take part in a phase.
func hasPhase(b *model.Batch, name string) bool {
	return slices.ContainsFunc(b.Phases, func(p model.Phase) bool {
		return p.Kind == model.KindPhase && p.Name == name && p.Status != model.PhaseSkipped && p.Status != model.PhaseSuperseded && p.Status != model.PhaseCancelled
	})
}

// check is the answer to a dry run of an upload.
func (u *upload) check() api.UploadCheck {
	return api.UploadCheck{DryRun: true, Runbook: u.runbook.Name, Version: u.record.Doc.Version, Delimiter: u.Delimiter, Warnings: u.Warnings}
}
