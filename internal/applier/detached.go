package applier

import (
	"context"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// logDetached logs the detached steps of a batch that have failed, unless the summary has the failure
// already. The summary is written after the log line: if the process dies in between, the sweep logs the
// failure again.
func (a *Applier) logDetached(ctx context.Context, b *model.Batch) error {
	var listed *store.BatchSummary
	for i, p := range b.Phases {
		if p.Kind != model.KindDetached || p.Status != model.PhaseFailed {
			continue
		}
		if listed == nil {
			entry, err := store.OrNone(store.Read[store.BatchSummary](ctx, a.store, store.EntryKey(b.ID)))
			if err != nil {
				return err
			}
			listed = &entry.Doc
		}
		if i < len(listed.Phases) && listed.Phases[i].Status == model.PhaseFailed {
			continue
		}
		a.log.WarnContext(ctx, "detached steps failed", logkey.Event, alert.DetachedFailed,
			logkey.BatchID, b.ID, logkey.Runbook, b.Runbook, logkey.RunbookVersion, p.Version, logkey.Phase, b.Phases[p.Of-1].Name, logkey.Reason, p.Reason)
	}
	return nil
}
