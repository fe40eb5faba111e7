package app

import (
	"context"
	"errors"
	"slices"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Tick runs every five minutes over all open batches and all runbooks whose batches
// follow a data source. For batches it is the safety net: it schedules the phases that
// fall due before the next tick for their exact moment, and announces due phases
// again that did not begin. It synchronizes the runbooks' batches with their queries.
// It reports a batch or a runbook that fails and continues with the others.
func (a *App) Tick(ctx context.Context) (err error) {
	var batches []store.Item[store.BatchSummary]
	defer func() {
		a.log.InfoContext(ctx, "tick", logkey.Event, alert.Tick, logkey.Batches, len(batches), logkey.Failed, err != nil)
	}()
	a.Orchestrator.LogOldestMessages(ctx)
	batches, err = a.store.BatchesToSweep(ctx, a.now())
	if err != nil {
		return err
	}
	a.Messages.ReturnDeadLettersInTick(ctx) // before the sweep, which would take their messages for lost
	swept := a.Orchestrator.SweepAll(ctx, batches)
	batches = slices.DeleteFunc(batches, func(e store.Item[store.BatchSummary]) bool { return e.Doc.EraseAt != nil }) // they have ended
	return errors.Join(swept, a.Syncer.SyncAll(ctx, batches))                                                         // last, for a data source may take its time
}
