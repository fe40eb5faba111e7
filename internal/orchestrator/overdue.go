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

// sweepPage announces again the polls and retries whose time has passed without
// their message, and the deadlines that pass before the next tick for their moment: a
// page of them, and asks for the next. The task of the message ends the ids of those
// that are sent again, which the broker must not take for the first. What is stuck is
// told.
func (or *Orchestrator) sweepPage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	found := &stuck{now: or.now().UTC()}
	defer func() { found.tell(ctx, or, b, m.Page) }()
	return false, or.sweepRuns(ctx, b, m, found)
}

// sweepRuns is sweepPage for whoever tells what is stuck.
func (or *Orchestrator) sweepRuns(ctx context.Context, b *model.Batch, m message.BatchWork, found *stuck) error {
	if b.Status.Terminal() {
		return nil
	}
	now := found.now
	bounds := store.OverdueBounds{After: m.After, WakeBefore: now.Add(-applier.SweepGrace), DeadlineBefore: now.Add(applier.TickInterval)}
	runs, more, err := or.store.OverdueRuns(ctx, b.ID, bounds, model.PageSize)
	if err != nil {
		return err
	}
	var o applier.Outbox
	for _, run := range runs {
		if err := o.AddOverdue(&run.Doc, now, m.Task); err != nil {
			return err
		}
		found.run(&run.Doc)
	}
	if len(o.Events) > 0 {
		or.log.InfoContext(ctx, "what was overdue is announced again", logkey.BatchID, b.ID, logkey.Messages, len(o.Events))
	}
	if more {
		next := m
		next.Page, next.After = m.Page+1, runs[len(runs)-1].ID
		o.Events = append(o.Events, applier.EventMessage(applier.BatchWorkID(next), message.TypeBatchWork, next, time.Time{}))
	}
	if err := or.applier.Send(ctx, &o); err != nil {
		return err
	}
	found.workers(ctx, or)
	return nil
}
