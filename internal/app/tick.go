package app

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
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
		"SELECT * FROM c WHERE c.type = 'entry' AND (IS_DEFINED(c.doc.creating) OR c.doc.status IN ('detected', 'init_dispatched', 'active', 'cancelling'))")
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
	for {
		next, err := a.transition(ctx, b)
		if err == nil {
			b = next
			break
		}
		if !errors.Is(err, store.ErrChanged) {
			return err
		}
		if b, err = store.Read[engine.Batch](ctx, a.store, store.BatchKey(listed.ID)); err != nil {
			return err
		}
	}
	// A message that is sent again needs an id that the broker does not remember.
	s := sweep{app: a, batch: &b.Doc, now: now, again: fmt.Sprintf("tick-%d", now.Unix()/int64(TickInterval/time.Second))}
	for _, part := range []func(context.Context) error{s.phases, s.control, s.runs, s.members} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sweep is one tick's look at one batch.
type sweep struct {
	app   *App
	batch *engine.Batch
	now   time.Time
	again string // what the ids of messages that are sent again end with
}

// phases announces those that fall due before the next tick, for their moment, and
// takes up those whose announcement, walk or end was lost.
func (s *sweep) phases(ctx context.Context) error {
	if s.batch.Gate() != engine.Open {
		return nil
	}
	var o outbox
	for _, p := range s.batch.Phases {
		switch {
		case p.Status == engine.PhasePending && p.DueAt != nil && p.DueAt.Before(s.now.Add(TickInterval)) && s.batch.Status == engine.BatchActive:
			walk := ""
			if s.now.Sub(*p.DueAt) > grace {
				walk = s.again
			}
			o.events = append(o.events, announcement(s.batch, p, 1, walk, *p.DueAt))
		case p.Status == engine.PhasePending && p.Kind == engine.KindInit && !s.batch.Manual && s.batch.Status == engine.BatchDetected:
			o.events = append(o.events, announcement(s.batch, p, 1, s.again, time.Time{}))
		case p.Status == engine.PhaseDispatched && !p.Walked && s.now.Sub(*p.DispatchedAt) > grace:
			made, err := s.app.frontier(ctx, s.batch.ID, p.ID)
			if err != nil {
				return err
			}
			if made == nil || s.now.Sub(made.MadeAt) > grace {
				o.events = append(o.events, announcement(s.batch, p, 1, s.again, time.Time{}))
			}
		case p.Status == engine.PhaseDispatched && p.Walked && p.ShardsClosed >= p.Shards && p.Kind == engine.KindPhase:
			if err := s.ended(ctx, p); err != nil {
				return err
			}
		}
	}
	if err := s.app.reportAll(ctx, s.batch.ID); err != nil {
		return err
	}
	return s.app.send(ctx, &o)
}

// ended takes up the end of a phase whose members have all ended. On_complete steps
// that have begun see to themselves.
func (s *sweep) ended(ctx context.Context, p engine.Phase) error {
	if p.Merge == engine.RunRunning {
		run, err := store.Read[engine.Run](ctx, s.app.store, store.RunKey(s.batch.ID, p.ID, 0))
		if err == nil && run.Doc.Status != engine.RunWaiting && !run.Doc.Status.Terminal() {
			return nil
		}
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return s.app.batchEvent(ctx, s.batch.ID, engine.PhaseCounted{Phase: p.ID})
}

// control takes up again what a cancelled or a resumed batch asked for.
func (s *sweep) control(ctx context.Context) error {
	var o outbox
	switch s.batch.Gate() {
	case engine.Stopped:
		o.events = append(o.events, workMessage(s.batch.ID, message.WorkStop, s.again, 0))
	case engine.Open:
		held, _, err := store.Query[engine.Run](ctx, s.app.store, store.BatchPartition(s.batch.ID),
			"SELECT * FROM c WHERE c.type = 'run' AND IS_DEFINED(c.doc.heldAt)", nil, 1, "")
		if err != nil {
			return err
		}
		if len(held) > 0 {
			o.events = append(o.events, workMessage(s.batch.ID, message.WorkRelease, s.again, 0))
		}
	}
	return s.app.send(ctx, &o)
}

// runs takes up what is overdue. After an outage that can be very much: all but a
// page of it is left to messages.
func (s *sweep) runs(ctx context.Context) error {
	_, err := s.app.sweepPage(ctx, s.batch, message.BatchWork{BatchID: s.batch.ID, Work: message.WorkSweep, Task: s.again})
	return err
}

// members announces again those whose joining or leaving was not taken up.
func (s *sweep) members(ctx context.Context) error {
	var o outbox
	for _, j := range s.batch.Joining {
		m := joinMessage(s.batch, j)
		m.ID += "-" + s.again
		o.events = append(o.events, m)
	}
	leaving, err := store.All[engine.Member](ctx, s.app.store, store.BatchPartition(s.batch.ID),
		"SELECT * FROM c WHERE c.type = 'member' AND c.doc.leaving = true")
	if err != nil {
		return err
	}
	for _, member := range leaving {
		m := leaveMessage(s.batch.ID, &member.Doc)
		m.ID += "-" + s.again
		o.events = append(o.events, m)
	}
	return s.app.send(ctx, &o)
}
