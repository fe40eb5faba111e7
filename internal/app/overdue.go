package app

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// sweepPage announces again the polls and retries whose time has passed without
// their message, and the deadlines that pass before the next tick for their moment: a
// page of them, and asks for the next. The task of the message ends the ids of those
// that are sent again, which the broker must not take for the first. What is stuck is
// told.
func (a *App) sweepPage(ctx context.Context, b *engine.Batch, m message.BatchWork) (more bool, err error) {
	found := &stuck{now: a.now().UTC()}
	defer func() { found.tell(ctx, a, b, m.Page) }()
	return false, a.sweepRuns(ctx, b, m, found)
}

// sweepRuns is sweepPage for whoever tells what is stuck.
func (a *App) sweepRuns(ctx context.Context, b *engine.Batch, m message.BatchWork, found *stuck) error {
	if b.Status.Terminal() {
		return nil
	}
	now := found.now
	bounds := store.OverdueBounds{After: m.After, WakeBefore: now.Add(-grace), DeadlineBefore: now.Add(TickInterval)}
	runs, more, err := a.store.OverdueRuns(ctx, b.ID, bounds, engine.PageSize)
	if err != nil {
		return err
	}
	var o outbox
	for _, run := range runs {
		if err := o.overdue(&run.Doc, now, m.Task); err != nil {
			return err
		}
		found.run(&run.Doc)
	}
	if len(o.events) > 0 {
		a.log.InfoContext(ctx, "what was overdue is announced again", logkey.BatchID, b.ID, logkey.Messages, len(o.events))
	}
	if more {
		next := m
		next.Page, next.After = m.Page+1, runs[len(runs)-1].ID
		o.events = append(o.events, event(workID(next), message.TypeBatchWork, next, time.Time{}))
	}
	if err := a.send(ctx, &o); err != nil {
		return err
	}
	found.workers(ctx, a)
	return nil
}

// overdue adds what a run waits for: a deadline for its moment, anything else at once.
func (o *outbox) overdue(run *engine.Run, now time.Time, again string) error {
	if run.Status.Terminal() {
		return nil
	}
	if at := run.DeadlineAt; at != nil {
		m := deadlineMessage(run, run.Current, *at)
		if at.Before(now) {
			m.ID += "-" + again
		}
		o.events = append(o.events, m)
		return nil
	}
	first := len(o.events)
	if err := o.add(nil, run.Outstanding(), now); err != nil {
		return err
	}
	for i := first; i < len(o.events); i++ {
		o.events[i].ID += "-" + again
		o.events[i].At = time.Time{}
	}
	return nil
}
