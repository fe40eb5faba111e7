package app

import (
	"context"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
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
	defer func() { found.tell(a, b, m.Page) }()
	return false, a.sweepRuns(ctx, b, m, found)
}

// sweepRuns is sweepPage for whoever tells what is stuck.
func (a *App) sweepRuns(ctx context.Context, b *engine.Batch, m message.BatchWork, found *stuck) error {
	if b.Status.Terminal() {
		return nil
	}
	now := found.now
	// Times are compared as text. Among times with and without a fraction that is
	// right to the second, which the grace is far longer than.
	bounds := []store.Param{
		{Name: "@late", Value: now.Add(-grace).Format(time.RFC3339Nano)},
		{Name: "@soon", Value: now.Add(TickInterval).Format(time.RFC3339Nano)},
	}
	// The next page begins behind the last run of this one. The store's continuation would
	// not do: it is of this query with these times.
	bounds = append(bounds, store.Param{Name: "@after", Value: m.After})
	runs, more, err := store.Query[engine.Run](ctx, a.store, store.BatchPartition(b.ID),
		"SELECT * FROM c WHERE c.type = 'run' AND c.id > @after AND (c.doc.wakeAt < @late OR c.doc.deadlineAt < @soon) ORDER BY c.id", bounds, engine.PageSize, "")
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
		a.log.Info("what was overdue is announced again", "BatchId", b.ID, "messages", len(o.events))
	}
	if more != "" && len(runs) > 0 {
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
	if err := o.add(nil, run, run.Outstanding()); err != nil {
		return err
	}
	for i := first; i < len(o.events); i++ {
		o.events[i].ID += "-" + again
		o.events[i].At = time.Time{}
	}
	return nil
}
