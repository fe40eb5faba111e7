package app

import (
	"context"
	"errors"
	"slices"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/store"
)

// Tick is what the scheduler does every five minutes, over all batches that have not
// ended and all runbooks whose batches follow a data source. Of the batches it is the
// safety net: what falls due before the next tick is scheduled for its exact moment,
// and what was due and never came about is announced again. The runbooks' batches are
// brought into line with what their queries give. A batch or a runbook that fails is
// reported and does not keep the others from their turn.
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
