package applier

import (
	"context"
	"errors"
	"slices"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// needsSummary reports whether decisions have changed the batch, and so its summary. Decisions that came
// again need it too, if this process has not written the summary of that revision: the process that first
// took them may have died before it wrote the summary.
func (a *Applier) needsSummary(s *Snapshot, decisions []model.Decision) bool {
	b := s.After()
	if b == nil {
		return false
	}
	repeated := slices.ContainsFunc(decisions, func(d model.Decision) bool { return d.Repeated })
	return s.writesBatch() || repeated && !a.batches.summarized(b)
}

// summarize writes the summary of a batch; none for nil.
func (a *Applier) summarize(ctx context.Context, b *model.Batch) error {
	if b == nil {
		return nil
	}
	return a.UpsertSummary(ctx, b)
}

// EnsureSummary writes the summary of a batch unless this process has written it: the process that changed the batch may
// have died before.
func (a *Applier) EnsureSummary(ctx context.Context, b *model.Batch) error {
	if a.batches.summarized(b) {
		return nil
	}
	return a.UpsertSummary(ctx, b)
}

// UpsertSummary writes the summary of a batch, unless a newer summary is stored: another process may
// have changed the batch since b was written.
func (a *Applier) UpsertSummary(ctx context.Context, b *model.Batch) error {
	if b.Status == model.BatchFailed {
		if err := a.logFailed(ctx, b); err != nil {
			return err
		}
	}
	if b.StoppedBy != 0 {
		if err := a.logStopWhen(ctx, b); err != nil {
			return err
		}
	}
	if err := a.reportFailedDetached(ctx, b); err != nil {
		return err
	}
	key, summary := store.EntryKey(b.ID), store.SummaryOf(b)
	err := store.RetryOnConflict(ctx, func() error { // another process creates it, or the service asks to try again
		_, err := a.store.Apply(ctx, store.Writes{store.ReplaceUnlessNewer(key, summary, "revision", summary.Revision)})
		if errors.Is(err, store.ErrNotFound) {
			_, err = a.store.Apply(ctx, store.Writes{store.Create(key, summary)})
		}
		return err
	})
	if err != nil && !errors.Is(err, store.ErrNewer) {
		return err
	}
	a.batches.noteSummarized(b)
	return nil
}

// logFailed logs that a batch has failed, unless the summary has the failure already. The summary
// is written after the log line: if the process dies in between, the failure is logged again.
func (a *Applier) logFailed(ctx context.Context, b *model.Batch) error {
	listed, err := store.OrNone(store.Read[store.BatchSummary](ctx, a.store, store.EntryKey(b.ID)))
	if err != nil || listed.Doc.Status == model.BatchFailed {
		return err
	}
	if b.IsShadow() { // the other orchestrator answered; its comparison says so
		return nil
	}
	a.log.WarnContext(ctx, "batch failed", logkey.Event, alert.BatchFailed, logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.RunbookVersion, b.Version, logkey.Reason, b.Error)
	return nil
}
