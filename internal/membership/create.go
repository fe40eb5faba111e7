package membership

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiview"
	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/store"
)

// AbandonAfter is how long the summary of a batch that is being created stays if the batch itself
// does not exist.
const AbandonAfter = 24 * time.Hour

// CreateBatch calls CreateBatchFrom with a CSV in memory.
func (r *Registrar) CreateBatch(ctx context.Context, by audit.Caller, runbookName string, csv []byte, options ...api.UploadOption) (api.Batch, error) {
	return r.CreateBatchFrom(ctx, by, runbookName, bytes.NewReader(csv), options...)
}

// CreateBatchFrom creates a manual batch with the members of a CSV, under the runbook's active
// version. It creates nothing unless every row is good and no member is in another batch that has
// not ended, except with AllowInOtherBatches. A request with an idempotency key that was received
// before goes on with the batch that it began, or answers with the batch as it is.
//
// Errors: CodeInvalid with every bad row, CodeConflict with the people who are in other batches,
// CodeNotFound, CodeKeyReused, CodeTooLarge, CodeUnavailable.
func (r *Registrar) CreateBatchFrom(ctx context.Context, by audit.Caller, runbookName string, csv membercsv.File, options ...api.UploadOption) (api.Batch, error) {
	if err := checkSize(csv); err != nil {
		return api.Batch{}, err
	}
	var view api.Batch
	// A lost race: another process has just begun with this request, or with one for the same people.
	err := store.RetryOnConflict(ctx, func() (err error) {
		view, err = r.createBatch(ctx, by, runbookName, csv, api.UploadOptionsOf(options))
		return err
	})
	return view, err
}

func (r *Registrar) createBatch(ctx context.Context, by audit.Caller, runbookName string, csv membercsv.File, o api.UploadOptions) (api.Batch, error) {
	u, err := r.readUpload(ctx, r.creation(by, runbookName, csv, o))
	if err == nil {
		u.details, err = detailsOf(by, o)
	}
	if err != nil {
		return api.Batch{}, err
	}
	b, existed, err := r.findOrWriteBatch(ctx, u)
	if err != nil {
		return api.Batch{}, err
	}
	replayed := u.repeats() || existed
	r.log.InfoContext(ctx, "batch created", logkey.BatchID, b.ID, logkey.Runbook, runbookName, logkey.Members, len(u.Rows), logkey.By, by.Name, logkey.Repeated, replayed)
	view := apiview.Batch(b, r.now())
	view.Warnings, view.Replayed = u.Warnings, replayed
	view.Checks, err = r.CountChecks(ctx, &b)
	return view, err
}

// creation is the request to create a batch.
func (r *Registrar) creation(by audit.Caller, runbookName string, csv membercsv.File, o api.UploadOptions) uploadRequest {
	return uploadRequest{
		by: by, partition: store.PartitionBatches, about: creationOf(runbookName, o), csv: csv, options: o, outcome: "no batch was created",
		runbook: runbookName,
		version: func(ctx context.Context) (int, error) {
			version, _, err := r.runbooks.Active(ctx, runbookName)
			return version.Version, err
		},
	}
}

// creationOf identifies the request to create a batch, with the details that it gives.
func creationOf(runbookName string, o api.UploadOptions) []string {
	about := []string{runbookName}
	for name, text := range map[string]*string{"name": o.Details.Name, "note": o.Details.Note, "owner": o.Details.Owner} {
		if text != nil {
			about = append(about, name+"="+*text)
		}
	}
	slices.Sort(about[1:])
	return about
}

// detailsOf gives the details of a new batch, whose owner is its creator unless they name another.
func detailsOf(by audit.Caller, o api.UploadOptions) (model.BatchDetails, error) {
	d, err := CheckDetails(o.Details)
	return model.BatchDetails{Owner: by.Name}.With(d.Name, d.Note, d.Owner), err
}

// findOrWriteBatch gives the batch of an upload, and reports whether another call wrote it.
func (r *Registrar) findOrWriteBatch(ctx context.Context, u *upload) (b model.Batch, existed bool, err error) {
	if u.repeats() {
		item, err := store.OrNone(store.Read[model.Batch](ctx, r.store, store.BatchKey(u.record.Doc.Batch)))
		if err != nil {
			return model.Batch{}, false, err
		}
		if item.ETag != "" {
			return r.ensureDocument(ctx, u.by, item.Doc, nil)
		}
		// The runbook may have been deactivated since: it has no new batches then.
		if _, _, err := r.runbooks.Active(ctx, u.runbook.Name); err != nil {
			return model.Batch{}, false, err
		}
	}
	return r.writeBatch(ctx, u)
}

// writeBatch writes the batch of an upload. It reserves the number, with a summary that says
// "creating", first, and writes the batch document last: a creation that is cut short leaves a
// number that no list shows. A call that goes on with the request has the same number, version
// and time, and so writes the same. existed reports that another call has written the batch
// meanwhile. It fails with ErrExists where another call has just begun with the request.
func (r *Registrar) writeBatch(ctx context.Context, u *upload) (b model.Batch, existed bool, err error) {
	b, members, err := r.prepareBatch(ctx, u)
	if err != nil {
		if b.ID > 0 && (u.by.Key == "" || u.by.HostKey && ctx.Err() == nil) { // the host repeats a request only if it lost the connection
			r.releaseNumber(ctx, u.by, b.ID)
		}
		return model.Batch{}, false, err
	}
	return r.ensureDocument(ctx, u.by, b, members)
}

// ensureDocument writes the document of a new manual batch with its last members, and the summary of it,
// unless they exist.
func (r *Registrar) ensureDocument(ctx context.Context, by audit.Caller, b model.Batch, members store.Writes) (_ model.Batch, existed bool, err error) {
	return r.EnsureDocument(ctx, by, model.BatchCreated{
		ID: b.ID, Runbook: b.Runbook, Version: b.Version, Members: b.Members, By: b.CreatedBy, At: b.DetectedAt, Shared: b.Shared, Details: b.BatchDetails,
	}, members)
}

// EnsureDocument writes the document of a new batch with the members that WriteEarlierMembers has left, and the
// summary of it, unless they exist. It fails only where the document may not have been written: the next
// tick writes a summary that is missing.
func (r *Registrar) EnsureDocument(ctx context.Context, by audit.Caller, e model.BatchCreated, members store.Writes) (_ model.Batch, existed bool, err error) {
	s, existed, err := r.CreateDocument(ctx, by, e, members)
	if err != nil && (existed || s != nil && s.Written != nil) { // an error would make the caller create the batch twice
		r.log.WarnContext(ctx, "failed to announce a batch or to write its summary; the next tick does so", logkey.BatchID, e.ID, logkey.Error, err)
		err = nil
	}
	if err != nil {
		return model.Batch{ID: e.ID}, false, err
	}
	return *s.After(), existed, nil
}

// CreateDocument writes the document of a new batch, with its audit record and last members, and then its
// summary, and reports whether the batch existed. The snapshot has the batch also if only the summary fails.
// Of a batch that a request starts at once, the summary is written with the start: the caller does not wait for it.
func (r *Registrar) CreateDocument(ctx context.Context, by audit.Caller, e model.BatchCreated, members store.Writes) (s *applier.Snapshot, existed bool, err error) {
	c := applier.On(e)
	c.Prime = (*applier.Snapshot).AssumeNew
	refused := false
	c.Extra = func(s *applier.Snapshot, ds []model.Decision) (_ store.Writes, err error) {
		if ds[0].Repeated {
			return nil, nil
		}
		if refused { // another call, perhaps of another version, has written some of the members alone
			if members, err = r.missingMembers(ctx, e, members); err != nil {
				return nil, err
			}
		}
		refused = true
		return append(slices.Clone(members), r.audit.Record(audit.BatchCreated(by, s.After(), s.Now))), nil
	}
	c.More = e.Requested != nil
	s, ds, err := r.applier.Run(ctx, e.ID, c)
	if err == nil && c.More && !starts(ds[0]) {
		err = r.applier.EnsureSummary(ctx, s.After())
	}
	return s, len(ds) > 0 && ds[0].Repeated, err
}

// starts reports whether a phase of the batch starts with the message of a decision.
func starts(d model.Decision) bool {
	return slices.ContainsFunc(d.Messages, func(m model.Message) bool { _, ok := m.(model.Announce); return ok })
}

// missingMembers returns those of the last writes of members that are not stored.
func (r *Registrar) missingMembers(ctx context.Context, e model.BatchCreated, last store.Writes) (store.Writes, error) {
	stored, err := r.store.LastMember(ctx, e.ID)
	if err != nil {
		return nil, err
	}
	before := e.Members - len(last)
	return last[min(max(stored-before, 0), len(last)):], nil
}

// prepareBatch claims the people of an upload and writes the members, and gives the batch
// document to write after them and the members to write beside it. Where it fails it gives the number that
// it reserved, if any.
func (r *Registrar) prepareBatch(ctx context.Context, u *upload) (b model.Batch, members store.Writes, err error) {
	began := r.now()
	id, err := r.claimBatch(ctx, u)
	if err != nil {
		return model.Batch{ID: id}, nil, err
	}
	b = engine.NewBatch(id, u.runbook, u.record.Doc.Version, len(u.Rows), nil, u.by.Name, u.record.Doc.At)
	b.Shared, b.BatchDetails = u.shared, u.details
	if members, err = r.WriteEarlierMembers(ctx, b, u.runbook, u.newcomers()); err != nil {
		return b, nil, err
	}
	if r.now().Sub(began) >= claimTime {
		return b, nil, problem.New(api.CodeUnavailable, "creating the batch took longer than %s, and its members may be in another batch now; try again", claimTime)
	}
	return b, members, nil
}

// claimBatch reserves the number of a batch and claims its people. The first claims are in the
// same write as the number, so that of two batches for the same people the one with the lower
// number gets them. Where some people cannot be claimed, it withdraws the number.
func (r *Registrar) claimBatch(ctx context.Context, u *upload) (id int, err error) {
	keys := inClaimOrder(u.keys())
	c := r.newClaimant(u.record.Doc.Batch, u.runbook, "", u.shared)
	taken, err := c.look(ctx, keys)
	if err == nil {
		err = r.refuseTaken(ctx, u, taken)
	}
	if err != nil {
		return 0, err
	}
	summary := store.BatchSummary{RunbookName: u.runbook.Name, IsManual: true, Claimed: len(keys) <= claimsPerWrite}
	if c.batch == 0 {
		id, err = r.reserveClaimed(ctx, u, c, keys, summary)
	} else {
		id, c.again = c.batch, true
		summary.Claimed, err = r.relist(ctx, id, summary)
	}
	if err != nil || summary.Claimed {
		return id, err
	}
	taken, err = c.claim(ctx, keys)
	if err != nil {
		return id, err
	}
	if len(taken) > 0 {
		return id, cmp.Or(r.withdraw(ctx, u.by, id), RefuseInOtherBatch(taken, len(keys), "added", u.lines(), true))
	}
	return id, r.sealClaims(ctx, id)
}

// reserveClaimed reserves the next number for a batch, with the first claims and the idempotency
// record.
func (r *Registrar) reserveClaimed(ctx context.Context, u *upload, c *claimant, keys []string, summary store.BatchSummary) (int, error) {
	return r.ReserveBatch(ctx, summary, func(id int) (store.Writes, error) {
		c.batch = id
		ops, taken, err := c.writes(ctx, keys[:min(len(keys), claimsPerWrite)])
		if err == nil && len(taken) > 0 {
			taken, err = c.lookAgain(ctx, keys, taken)
		}
		if err == nil {
			err = r.refuseTaken(ctx, u, taken)
		}
		if err != nil {
			return nil, err
		}
		if u.by.Key != "" {
			record := u.record.Doc
			record.Batch = id
			ops = append(ops, store.Create(idempotency.Key(u.by, store.PartitionBatches), record))
		}
		return ops, nil
	})
}

// refuseTaken refuses an upload when people of it are in other batches; nil for none. They may
// be in the batch of the same request, which another process has just begun: the error is
// ErrExists then.
func (r *Registrar) refuseTaken(ctx context.Context, u *upload, taken []InOtherBatch) error {
	if len(taken) == 0 {
		return nil
	}
	if u.by.Key != "" && !u.repeats() {
		existing, err := store.OrNone(store.Read[store.IdempotencyRecord](ctx, r.store, idempotency.Key(u.by, store.PartitionBatches)))
		if err != nil {
			return err
		}
		if existing.ETag != "" {
			return fmt.Errorf("another process began the request: %w", store.ErrExists)
		}
	}
	return RefuseInOtherBatch(taken, len(u.Rows), "added", u.lines(), true)
}
