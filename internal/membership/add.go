package membership

import (
	"bytes"
	"cmp"
	"context"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/problem"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// maxAdded is how many people one request adds at most: each page of them is a write, and the
// caller waits for all of them.
const maxAdded = 10_000

// AddMembers calls AddMembersFrom with a CSV in memory.
func (r *Registrar) AddMembers(ctx context.Context, by audit.Caller, batch int, csv []byte, options ...api.UploadOption) (api.AddResult, error) {
	return r.AddMembersFrom(ctx, by, batch, bytes.NewReader(csv), options...)
}

// AddMembersFrom adds the people of a CSV to a batch that is under way: they catch up on its
// phases in order and take part in the later ones. It adds no one unless every row is good. It
// leaves members with the same key as they are, so that a caller can repeat a request that was cut
// short, and adds people who were removed anew. It refuses people in other batches that have
// not ended, except with AllowInOtherBatches, which a batch that follows a data source refuses.
// A request with an idempotency key that was received before goes on where it stopped, and does
// not add anew people who were removed since; one that is complete gives its result again.
//
// Errors: CodeInvalid with every bad row, CodeNotFound, CodeConflict with the people who are in
// other batches, CodeKeyReused, CodeTooLarge, CodeUnavailable.
func (r *Registrar) AddMembersFrom(ctx context.Context, by audit.Caller, batch int, csv membercsv.File, options ...api.UploadOption) (api.AddResult, error) {
	b, u, err := r.readAddition(ctx, by, batch, csv, api.UploadOptionsOf(options))
	if err != nil {
		return api.AddResult{}, err
	}
	people := u.newcomers()
	a := addition{
		members: r, by: by, batch: b,
		claims: r.newClaimant(batch, u.runbook, r.newID(), u.shared),
		result: api.AddResult{Warnings: u.Warnings, Replayed: u.repeats()},
	}
	if by.Key != "" {
		a.progress = newProgress(by, batch, u.record, people)
		people = a.progress.remaining()
	}
	total := len(people)
	taken, err := a.run(ctx, people, false)
	if err = cmp.Or(err, RefuseInOtherBatch(taken, total, "added", u.lines(), b.Doc.Manual)); err != nil {
		return api.AddResult{}, err
	}
	r.log.InfoContext(ctx, "members added", logkey.BatchID, batch, logkey.Added, a.result.Added, logkey.Present, len(a.result.Present), logkey.By, by.Name, logkey.Repeated, u.repeats())
	a.result.Batch.Checks, err = r.CountChecks(ctx, &a.batch.Doc)
	return a.result, err
}

// readAddition reads the file of a request to add members, and the batch.
func (r *Registrar) readAddition(ctx context.Context, by audit.Caller, batch int, csv membercsv.File, o api.UploadOptions) (b store.Item[model.Batch], u *upload, err error) {
	if err := checkSize(csv); err != nil {
		return b, nil, err
	}
	if b, err = r.applier.ReadBatch(ctx, batch); err != nil {
		return b, nil, err
	}
	if b.Doc.Requested != nil {
		return b, nil, problem.New(api.CodeConflict, "batch %d was started by a request, which brought its members: send another request", batch)
	}
	if o.AllowInOtherBatches && !b.Doc.Manual {
		return b, nil, problem.New(api.CodeConflict, "batch %d follows a data source: its members cannot be in other batches", batch)
	}
	u, err = r.readUpload(ctx, uploadRequest{
		by: by, partition: store.BatchPartition(batch), csv: csv, options: o, outcome: "no member was added",
		runbook: b.Doc.Runbook,
		version: func(context.Context) (int, error) { return b.Doc.Version, nil },
	})
	if err != nil {
		return b, nil, err
	}
	if len(u.Rows) > maxAdded {
		return b, nil, problem.New(api.CodeTooLarge, "the CSV has %d rows; at most %d people can be added to a batch at once", len(u.Rows), maxAdded)
	}
	return b, u, nil
}

// AddFromSource adds people of a data source, those who can be claimed, to the batch as it was
// read, and gives how many it added and the people in other batches. With known, none of the people
// is a member of the batch at this ETag; otherwise it leaves out those who are.
func (r *Registrar) AddFromSource(ctx context.Context, b store.Item[model.Batch], rb *runbook.Runbook, people []Newcomer, known bool) (added int, taken []InOtherBatch, err error) {
	a := addition{members: r, by: audit.Scheduler, batch: b, claims: r.newClaimant(b.Doc.ID, rb, r.newID(), false)}
	a.claims.partly = true
	taken, err = a.run(ctx, people, known)
	return a.result.Added, taken, err
}
