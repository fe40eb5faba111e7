package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/store"
)

// TickInterval is how often the scheduler ticks.
const TickInterval = 5 * time.Minute

// grace is how long something due may be late before the sweep takes it up: its
// message is then taken for lost.
const grace = 2 * time.Minute

// Tick is the scheduler's safety net, over all batches that have not ended: what
// falls due before the next tick is scheduled for its exact moment, and what was
// due and never came about is announced again. A batch that fails is reported and
// does not keep the others from their turn.
func (a *App) Tick(ctx context.Context) error {
	now := a.now().UTC()
	batches, err := store.All[entry](ctx, a.store, store.PartitionBatches,
		"SELECT * FROM c WHERE c.type = 'entry' AND (IS_DEFINED(c.doc.creating) OR c.doc.status IN ('detected', 'init_dispatched', 'active'))")
	if err != nil {
		return err
	}
	var failures []error
	for _, e := range batches {
		err := a.tickBatch(ctx, e.Doc.BatchView, now)
		if e.Doc.Creating && errors.Is(err, store.ErrNotFound) {
			continue // it is being written, or was never written to the end
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("batch %d: %w", e.Doc.ID, err))
		}
	}
	a.log.Info("tick", "batches", len(batches), "failures", len(failures))
	return errors.Join(failures...)
}

func (a *App) tickBatch(ctx context.Context, listed BatchView, now time.Time) error {
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(listed.ID))
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(listed, batchView(b.Doc)) { // the list missed a change, or had two in the wrong order
		if err := a.list(ctx, &b.Doc); err != nil {
			return err
		}
	}
	if b.Doc.Status.Terminal() {
		return nil
	}
	// A message that is sent again needs an id that the broker does not remember.
	again := fmt.Sprintf("-tick-%d", now.Unix()/int64(TickInterval/time.Second))
	var o outbox
	for _, p := range b.Doc.Phases {
		switch {
		case p.Status == engine.PhasePending && p.DueAt != nil && p.DueAt.Before(now.Add(TickInterval)) && b.Doc.Status == engine.BatchActive:
			m := announcement(&b.Doc, p, 1, *p.DueAt)
			if now.Sub(*p.DueAt) > grace {
				m.ID += again
			}
			o.events = append(o.events, m)
		case p.Status == engine.PhaseDispatched && !p.Walked && now.Sub(*p.DispatchedAt) > grace:
			m := announcement(&b.Doc, p, 1, time.Time{})
			m.ID += again
			o.events = append(o.events, m)
		}
	}
	if err := a.send(ctx, &o); err != nil {
		return err
	}
	return a.overdue(ctx, listed.ID, now, again)
}

// overdue announces again the polls and retries whose time has passed without
// their message, a page at a time: after an outage they can be many.
func (a *App) overdue(ctx context.Context, id int, now time.Time, again string) error {
	// Times are compared as text. Among times with and without a fraction that is
	// right to the second, which the grace is far longer than.
	late := []store.Param{{Name: "@late", Value: now.Add(-grace).Format(time.RFC3339Nano)}}
	for continuation := ""; ; {
		runs, next, err := store.Query[engine.Run](ctx, a.store, store.BatchPartition(id),
			"SELECT * FROM c WHERE c.type = 'run' AND c.doc.wakeAt < @late", late, engine.PageSize, continuation)
		if err != nil {
			return err
		}
		var o outbox
		for _, run := range runs {
			a.log.Warn("a poll or a retry is overdue", "BatchId", id, "run", run.ID)
			if err := o.add(nil, &run.Doc, run.Doc.Outstanding()); err != nil {
				return err
			}
		}
		for i := range o.events {
			o.events[i].ID += again
			o.events[i].At = time.Time{}
		}
		if err := a.send(ctx, &outbox{events: o.events}); err != nil {
			return err
		}
		if continuation = next; continuation == "" {
			return nil
		}
	}
}
