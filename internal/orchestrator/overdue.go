package orchestrator

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// sweepPage sweeps one page of a batch's overdue runs and logs the stuck steps of it.
func (o *Orchestrator) sweepPage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	found := &stuckSteps{now: o.now().UTC()}
	defer func() { found.log(ctx, o, b, m.Page) }()
	return false, o.announceOverdueRuns(ctx, b, m, found)
}

// announceOverdueRuns announces one page of overdue runs: again the polls and retries that are overdue
// and whose message was lost, and for their time the deadlines that pass before the next tick.
// It asks for the next page itself. The ids of the messages end with the task of m, so that the
// broker does not take them for the lost ones. It adds the stuck steps to found.
func (o *Orchestrator) announceOverdueRuns(ctx context.Context, b *model.Batch, m message.BatchWork, found *stuckSteps) error {
	if b.Status.Terminal() && !b.HasOpenDetached() {
		return nil
	}
	now := found.now
	bounds := store.OverdueBounds{After: m.After, WakeBefore: now.Add(-model.SweepGrace), DeadlineBefore: now.Add(model.TickInterval)}
	runs, more, err := o.store.OverdueRuns(ctx, b.ID, bounds, model.PageSize)
	if err != nil {
		return err
	}
	var outbox applier.Outbox
	for _, run := range runs {
		if err := outbox.AddOverdue(&run.Doc, now, m.Task); err != nil {
			return err
		}
		found.addRun(&run.Doc)
	}
	if len(outbox.Events) > 0 {
		o.log.InfoContext(ctx, "resending overdue messages", logkey.BatchID, b.ID, logkey.Messages, len(outbox.Events))
	}
	if more {
		next := m
		next.Page, next.After = m.Page+1, runs[len(runs)-1].ID
		outbox.Events = append(outbox.Events, applier.EventMessage(applier.BatchWorkID(next), message.TypeBatchWork, next, time.Time{}))
	}
	if err := o.applier.Send(ctx, &outbox); err != nil {
		return err
	}
	found.addSilentWorkers(ctx, o)
	return nil
}
