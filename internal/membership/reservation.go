package membership

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/idempotency"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/store"
)

// relist writes the summary of a batch whose creation was begun some time ago: the tick deletes
// such a summary in the end. It reports whether the batch's members are claimed.
func (r *Registrar) relist(ctx context.Context, id int, summary store.BatchSummary) (claimed bool, err error) {
	summary.ID, summary.DetectedAt, summary.Creating = id, r.now().UTC(), true
	err = store.RetryOnConflict(ctx, func() error {
		listed, err := r.readSummary(ctx, id)
		if err != nil || listed.ETag != "" && !listed.Doc.Creating { // another process has just created it
			claimed = true
			return err
		}
		// Claims older than claimTime are void, and are claimed again.
		summary.Claimed = listed.Doc.Claimed && r.now().Sub(listed.Doc.DetectedAt) < claimTime-time.Minute
		write := store.Create(store.EntryKey(id), summary)
		if listed.ETag != "" {
			write = store.Replace(store.EntryKey(id), summary, listed.Version)
		}
		claimed = summary.Claimed
		return r.applySummary(ctx, write)
	})
	return claimed, err
}

// sealClaims marks in the summary that all members of a batch are claimed. From then on no
// process withdraws the batch. It fails with ErrExists where another process that carries out
// the same request has withdrawn it.
func (r *Registrar) sealClaims(ctx context.Context, id int) error {
	return store.RetryOnConflict(ctx, func() error {
		listed, err := r.readSummary(ctx, id)
		switch {
		case err != nil:
			return err
		case listed.ETag == "":
			return backoff.Permanent(fmt.Errorf("batch %d was withdrawn: %w", id, store.ErrExists))
		case listed.Doc.Claimed || !listed.Doc.Creating:
			return nil
		}
		listed.Doc.Claimed = true
		return r.applySummary(ctx, store.Replace(store.EntryKey(id), listed.Doc, listed.Version))
	})
}

// withdraw deletes the summary of a batch whose members cannot all be claimed, and the
// idempotency record of its request. Its claims are void then. It fails with ErrExists where
// another process that carries out the same request has sealed the claims.
func (r *Registrar) withdraw(ctx context.Context, by audit.Caller, id int) error {
	return store.RetryOnConflict(ctx, func() error {
		listed, err := r.readSummary(ctx, id)
		switch {
		case err != nil || listed.ETag == "":
			return err
		case listed.Doc.Claimed || !listed.Doc.Creating:
			return backoff.Permanent(fmt.Errorf("batch %d was claimed: %w", id, store.ErrExists))
		}
		ops, err := r.deleteRecord(ctx, by)
		if err != nil {
			return err
		}
		return r.applySummary(ctx, append(ops, store.Delete(store.EntryKey(id), listed.ETag))...)
	})
}

// deleteRecord returns the deletion of the idempotency record of a request that creates a batch;
// none where it has no record.
func (r *Registrar) deleteRecord(ctx context.Context, by audit.Caller) (store.Writes, error) {
	if by.Key == "" {
		return nil, nil
	}
	key := idempotency.Key(by, store.PartitionBatches)
	record, err := store.OrNone(store.Read[store.IdempotencyRecord](ctx, r.store, key))
	if err != nil || record.ETag == "" {
		return nil, err
	}
	return store.Writes{store.Delete(key, record.ETag)}, nil
}

// releaseNumber deletes the summary of a batch whose creation failed, and the idempotency record,
// where no caller can send the same request again: its people are free at once. An error is only
// logged, since the tick deletes the summary later.
func (r *Registrar) releaseNumber(ctx context.Context, by audit.Caller, id int) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	listed, err := r.readSummary(ctx, id)
	if err == nil && listed.Doc.Creating {
		var ops store.Writes
		if ops, err = r.deleteRecord(ctx, by); err == nil {
			_, err = r.store.Apply(ctx, append(ops, store.Delete(store.EntryKey(id), listed.ETag)))
		}
	}
	if err != nil {
		r.log.WarnContext(ctx, "failed to withdraw an incomplete batch", logkey.BatchID, id, logkey.Error, err)
	}
}

// readSummary reads the summary of a batch, which has no ETag where there is none.
func (r *Registrar) readSummary(ctx context.Context, id int) (store.Item[store.BatchSummary], error) {
	return store.OrNone(store.Read[store.BatchSummary](ctx, r.store, store.EntryKey(id)))
}

// applySummary applies writes that are guarded by the version of a summary. It is overtaken also
// where another process has deleted the summary since it was read.
func (r *Registrar) applySummary(ctx context.Context, ops ...store.Write) error {
	_, err := r.store.Apply(ctx, ops)
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: %w", store.ErrChanged, err)
	}
	return err
}
