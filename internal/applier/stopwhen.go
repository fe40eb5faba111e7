package applier

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/audit"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// stopWhenRecord returns the audit record of a decision that pauses the batch because too many members
// of a phase have failed; nil for other decisions.
func (a *Applier) stopWhenRecord(s *Snapshot) store.Writes {
	was, is := s.Before(), s.After()
	if was == nil || !s.writesBatch() || !is.StoppedSince(was) {
		return nil
	}
	by := is.Paused
	return store.Writes{a.audit.Record(store.AuditRecord{
		At: by.At, Actor: audit.System(by.By).Actor(), Action: "pause", Batch: was.ID, Target: is.Phases[is.StoppedBy-1].Name, Why: by.Why,
		Before: audit.BatchState(was).JSON(), After: audit.BatchState(is).JSON(),
	})}
}

// logStopWhen logs that the stop_when of a phase has paused the batch, unless the summary has the
// pause already. The summary is written after the log line: if the process dies in between, the
// sweep logs the pause again.
func (a *Applier) logStopWhen(ctx context.Context, b *model.Batch) error {
	listed, err := store.OrNone(store.Read[store.BatchSummary](ctx, a.store, store.EntryKey(b.ID)))
	if err != nil || listed.Doc.Paused != nil && listed.Doc.Paused.At.Equal(b.Paused.At) {
		return err
	}
	a.log.WarnContext(ctx, "too many members of a phase have failed: the batch is paused", logkey.Event, alert.PhaseStopped,
		logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.RunbookVersion, b.Version, logkey.Phase, b.Phases[b.StoppedBy-1].Name, logkey.Reason, b.Paused.Why)
	return nil
}
