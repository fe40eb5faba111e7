package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/store"
)

// batchInit starts a batch's init sequence.
func (a *App) batchInit(ctx context.Context, m message.BatchInit) error {
	b, err := a.known(ctx, m.BatchID)
	if err != nil {
		return err
	}
	for _, p := range b.Doc.Phases {
		if p.Kind == engine.KindInit && p.Version == m.RunbookVersion {
			if b.Doc.Gate() == engine.Stopped {
				return a.repeatStart(ctx, b.Doc.ID, p.ID)
			}
			return a.startInit(ctx, b, p.ID)
		}
	}
	return reject("batch %d has no init sequence of runbook version %d", m.BatchID, m.RunbookVersion)
}

func (a *App) startInit(ctx context.Context, b store.Item[engine.Batch], phase int) error {
	b, due, err := a.dispatchPhase(ctx, b, phase)
	if err != nil || !due {
		return err
	}
	p, _ := b.Doc.Phase(phase)
	rb, err := a.runbook(ctx, b.Doc.Runbook, p.Version)
	if err != nil {
		return err
	}
	run, err := engine.NewRun(&b.Doc, *p, nil, rb, a.now())
	if err != nil {
		return err
	}
	_, err = a.store.Commit(ctx, store.Create(store.RunKey(b.Doc.ID, phase, 0), run))
	if err != nil && !errors.Is(err, store.ErrExists) {
		return err
	}
	if err := a.startRun(ctx, b.Doc.ID, phase, 0); err != nil {
		return err
	}
	// From here on the run sees to itself: announcing init again would send a slow
	// first step to the worker a second time.
	return a.batchEvent(ctx, b.Doc.ID, engine.PhaseWalked{Phase: phase})
}

// repeatStart repeats the start of a run without a member, if there is the run, in a batch
// that was cancelled since: its job may not have been sent.
func (a *App) repeatStart(ctx context.Context, batch, phase int) error {
	err := a.startRun(ctx, batch, phase, 0)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func (a *App) known(ctx context.Context, id int) (store.Item[engine.Batch], error) {
	now := a.now()
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return b, reject("there is no batch %d", id)
	}
	if err == nil {
		a.gates.saw(&b.Doc, now)
	}
	return b, err
}

// dispatchPhase marks a phase as dispatched where its time has come, and tells
// whether it is to be walked.
func (a *App) dispatchPhase(ctx context.Context, b store.Item[engine.Batch], phase int) (store.Item[engine.Batch], bool, error) {
	d, err := engine.Decide(engine.State{Batch: &b.Doc}, engine.PhaseDue{Phase: phase}, a.now())
	var refusal *engine.Refusal
	switch {
	case errors.As(err, &refusal):
		return b, false, reject("%s", refusal.Reason)
	case err != nil:
		return b, false, err
	case d.Stale:
		a.log.Info("phase is held up or has been walked", "BatchId", b.Doc.ID, "phase", phase)
		return b, false, a.carryOut(ctx, &b.Doc, nil, b.Doc.Awaited(phase, a.now()))
	case d.Batch == nil:
		return b, true, nil
	}
	if b, err = a.replaceBatch(ctx, b, d.Batch); err != nil {
		return b, false, err
	}
	p, _ := b.Doc.Phase(phase)
	return b, p.Status == engine.PhaseDispatched, a.list(ctx, &b.Doc)
}

func (a *App) replaceBatch(ctx context.Context, b store.Item[engine.Batch], next *engine.Batch) (store.Item[engine.Batch], error) {
	ops := append([]store.Op{store.Replace(store.BatchKey(next.ID), next, b.ETag)}, a.stopRecord(&b.Doc, &engine.Decision{Batch: next})...)
	outcome, err := a.store.Commit(ctx, ops...)
	if err != nil {
		return b, err
	}
	b.Doc, b.ETag = *next, outcome.ETag(0)
	return b, nil
}

// phaseDue dispatches one page of a phase and asks for the next.
func (a *App) phaseDue(ctx context.Context, m message.PhaseDue) error {
	at := a.now()
	b, err := a.known(ctx, m.BatchID)
	if err != nil {
		return err
	}
	page := max(m.Page, 1)
	if p, ok := b.Doc.Phase(m.PhaseExecutionID); !ok || p.Kind != engine.KindPhase {
		return reject("batch %d has no phase execution %d", m.BatchID, m.PhaseExecutionID)
	}
	if page == 1 && m.Walk != "" { // announced again: the pages that were made need not be gone over
		if made, err := a.store.LastShard(ctx, m.BatchID, m.PhaseExecutionID); err != nil {
			return err
		} else if made != nil {
			page = made.Doc.Page
		}
	}
	if b.Doc.Gate() == engine.Stopped { // this page may have been made as the batch was cancelled
		return a.stopPage(ctx, m.BatchID, page, "stopped")
	}
	b, due, err := a.dispatchPhase(ctx, b, m.PhaseExecutionID)
	if err != nil || !due {
		return err
	}
	p, _ := b.Doc.Phase(m.PhaseExecutionID)
	pages := b.Doc.PageCount()
	switch {
	case page > pages+engine.FanOutWindow:
		return reject("batch %d has %d pages of members, not %d", m.BatchID, pages, page)
	case page > pages: // one of the last pages yielded
		return nil
	}
	if open, err := a.joinWindowOpen(ctx, &b.Doc, page); err != nil {
		return err
	} else if !open { // its members have not begun the phases before this one
		return engine.ErrNotYet
	}
	if err := a.catchUp(ctx, b, page, at); err != nil { // members enter the phases in their order
		return err
	}
	if err := a.walkPage(ctx, &b.Doc, *p, page, at); err != nil {
		return err
	}
	return a.announceNext(ctx, &b.Doc, p, page, m.Walk)
}

// batchEvent takes one decision on a batch: load, decide, commit, publish, list. A lost
// race is taken up here, to spare the caller doing a whole page again.
func (a *App) batchEvent(ctx context.Context, id int, e engine.Event) error {
	for {
		err := a.tryBatchEvent(ctx, id, e)
		if !errors.Is(err, store.ErrChanged) || ctx.Err() != nil {
			return err
		}
	}
}

func (a *App) tryBatchEvent(ctx context.Context, id int, e engine.Event) error {
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(id))
	if err != nil {
		return err
	}
	d, err := engine.Decide(engine.State{Batch: &b.Doc}, e, a.now())
	if err != nil {
		return err
	}
	next := &b.Doc
	if d.Batch != nil {
		next = d.Batch
		ops := append([]store.Op{store.Replace(store.BatchKey(id), next, b.ETag)}, a.stopRecord(&b.Doc, &d)...)
		if _, err := a.store.Commit(ctx, ops...); err != nil {
			return err
		}
		if d.Stopped(&b.Doc) {
			a.gates.saw(next, a.now())
		}
	}
	if err := a.carryOut(ctx, next, nil, d.Effects); err != nil {
		return err
	}
	if d.Batch != nil || next.Status.Terminal() || d.Repeated && next.StoppedBy != 0 { // decided now, or before and perhaps cut short then
		return a.list(ctx, next)
	}
	return nil
}

// closeShard reports an empty shard to its phase, once, and ends what that ends.
func (a *App) closeShard(ctx context.Context, batch int, shard store.Item[engine.Shard]) error {
	if !shard.Doc.Reported {
		done := shard.Doc
		done.Reported = true
		at := fmt.Sprintf("/phases/%d/", done.Phase-1)
		_, err := a.store.Commit(ctx,
			store.Replace(store.ShardKey(batch, done.Phase, done.Page), done, shard.ETag),
			store.Patch(store.BatchKey(batch), "",
				store.Increment(at+"shardsClosed", 1), store.Increment(at+"succeeded", done.Succeeded),
				store.Increment(at+"failed", done.Failed), store.Increment(at+"cancelled", done.Cancelled)))
		if err != nil {
			return err
		}
	}
	return a.batchEvent(ctx, batch, engine.PhaseCounted{Phase: shard.Doc.Phase})
}
