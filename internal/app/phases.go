package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/runbook"
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

func (a *App) known(ctx context.Context, id int) (store.Item[engine.Batch], error) {
	b, err := store.Read[engine.Batch](ctx, a.store, store.BatchKey(id))
	if errors.Is(err, store.ErrNotFound) {
		return b, reject("there is no batch %d", id)
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
		return b, false, a.publishEffects(ctx, &b.Doc, nil, engine.NextDue(&b.Doc, a.now()))
	case d.Batch == nil:
		return b, true, nil
	}
	if b, err = a.replaceBatch(ctx, b, d.Batch); err != nil {
		return b, false, err
	}
	return b, true, a.list(ctx, &b.Doc)
}

func (a *App) replaceBatch(ctx context.Context, b store.Item[engine.Batch], next *engine.Batch) (store.Item[engine.Batch], error) {
	outcome, err := a.store.Commit(ctx, store.Replace(store.BatchKey(next.ID), next, b.ETag))
	if err != nil {
		return b, err
	}
	b.Doc, b.ETag = *next, outcome.ETag(0)
	return b, nil
}

// phaseDue dispatches one page of a phase and asks for the next.
func (a *App) phaseDue(ctx context.Context, m message.PhaseDue) error {
	b, err := a.known(ctx, m.BatchID)
	if err != nil {
		return err
	}
	page := max(m.Page, 1)
	if p, ok := b.Doc.Phase(m.PhaseExecutionID); !ok || p.Kind != engine.KindPhase {
		return reject("batch %d has no phase execution %d", m.BatchID, m.PhaseExecutionID)
	}
	b, due, err := a.dispatchPhase(ctx, b, m.PhaseExecutionID)
	if err != nil || !due {
		return err
	}
	p, _ := b.Doc.Phase(m.PhaseExecutionID)
	pages := engine.PageOf(b.Doc.Members)
	if page > pages {
		return reject("batch %d has %d pages of members, not %d", m.BatchID, pages, page)
	}
	if err := a.walkPage(ctx, &b.Doc, *p, page); err != nil {
		return err
	}
	if page < pages {
		return a.bus.Send(ctx, message.TopicOrchestratorEvents, announcement(&b.Doc, *p, page+1, time.Time{}))
	}
	return a.batchEvent(ctx, m.BatchID, engine.PhaseWalked{Phase: p.ID, Pages: pages})
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
	if d.Batch != nil {
		if _, err := a.store.Commit(ctx, store.Replace(store.BatchKey(id), d.Batch, b.ETag)); err != nil {
			return err
		}
		if err := a.publishEffects(ctx, d.Batch, nil, d.Effects); err != nil {
			return err
		}
		return a.list(ctx, d.Batch)
	}
	if b.Doc.Status.Terminal() { // decided before, and perhaps cut short then
		return a.list(ctx, &b.Doc)
	}
	return nil
}

// walkPage makes the runs of one page of members, with their shard and the
// members' marks, in one write: a page exists whole or not at all, and once.
func (a *App) walkPage(ctx context.Context, b *engine.Batch, p engine.Phase, page int) error {
	rb, err := a.runbook(ctx, b.Runbook, p.Version)
	if err != nil {
		return err
	}
	members, err := store.All[engine.Member](ctx, a.store, store.BatchPartition(b.ID),
		"SELECT * FROM c WHERE c.type = 'member' AND c.doc.page = @page ORDER BY c.id", store.Param{Name: "@page", Value: page})
	if err != nil {
		return err
	}
	w := pageWalk{batch: b, phase: p, page: page, runbook: rb, now: a.now()}
	if err := w.prepare(members, true); err != nil {
		return err
	}
	outcome, err := a.store.Commit(ctx, w.ops...)
	if errors.Is(err, store.ErrTooLarge) {
		// With their parameters the runs do not fit into one write: they are made
		// without, and started one by one.
		if err := w.prepare(members, false); err != nil {
			return err
		}
		if _, err = a.store.Commit(ctx, w.ops...); err == nil {
			return a.resumePage(ctx, b.ID, p.ID, page)
		}
	}
	if errors.Is(err, store.ErrExists) {
		return a.resumePage(ctx, b.ID, p.ID, page)
	}
	if err != nil {
		return err
	}
	for _, made := range w.made {
		a.remember(w.ops[made.op].Key(), made.run, outcome.ETag(made.op))
	}
	if err := a.send(ctx, &w.outbox); err != nil {
		return err
	}
	if w.shard.Open > 0 {
		return nil
	}
	return a.closeShard(ctx, b.ID, store.Item[engine.Shard]{Doc: w.shard, ETag: outcome.ETag(len(w.ops) - 1)})
}

// resumePage takes up a page whose runs exist: each is started, or its start is
// repeated, where it has not gone further.
func (a *App) resumePage(ctx context.Context, batch, phase, page int) error {
	runs, err := store.All[engine.Run](ctx, a.store, store.BatchPartition(batch),
		"SELECT * FROM c WHERE c.type = 'run' AND c.doc.phaseId = @phase AND c.doc.page = @page",
		store.Param{Name: "@phase", Value: phase}, store.Param{Name: "@page", Value: page})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if run.Doc.Status == engine.RunWaiting {
			member, err := store.Read[engine.Member](ctx, a.store, store.MemberKey(batch, run.Doc.Member))
			if err != nil {
				return err
			}
			if member.Doc.OpenPhase != phase {
				continue // it waits for an earlier phase to end
			}
		}
		if err := a.runEvent(ctx, run, false, engine.RunStarted{}); err != nil {
			return err
		}
	}
	shard, err := store.Read[engine.Shard](ctx, a.store, store.ShardKey(batch, phase, page))
	if err != nil || shard.Doc.Open > 0 {
		return err
	}
	return a.closeShard(ctx, batch, shard)
}

// pageWalk is one page of a phase in the making.
type pageWalk struct {
	batch   *engine.Batch
	phase   engine.Phase
	page    int
	runbook *runbook.Runbook
	now     time.Time

	ops    []store.Op // the shard's is the last
	shard  engine.Shard
	made   []madeRun
	outbox outbox
}

// madeRun is a run and the place of the operation that creates it.
type madeRun struct {
	run *engine.Run
	op  int
}

// prepare builds the write: the shard, and for each active member a run and the
// member's mark. With start, runs whose member is free are started in it.
func (w *pageWalk) prepare(members []store.Item[engine.Member], start bool) error {
	w.ops, w.made, w.outbox = nil, nil, outbox{}
	w.shard = engine.Shard{Phase: w.phase.ID, Page: w.page}
	for _, m := range members {
		if m.Doc.Status != engine.MemberActive {
			continue
		}
		w.shard.Runs++
		run, err := engine.NewRun(w.batch, w.phase, &m.Doc, w.runbook, w.now)
		if err != nil {
			return err
		}
		entered, free := engine.Enter(m.Doc, w.phase.ID)
		if !free || !start {
			w.create(run, w.mark(m, entered))
			w.shard.Open++
			continue
		}
		d, err := engine.Decide(engine.State{Run: &run, Member: &entered, Runbook: w.runbook}, engine.RunStarted{}, w.now)
		if err != nil {
			return fmt.Errorf("member %d: %w", m.Doc.ID, err)
		}
		if err := w.outbox.add(w.batch, d.Run, d.Effects); err != nil {
			return err
		}
		if !d.Run.Status.Terminal() {
			w.create(*d.Run, w.mark(m, entered))
			w.shard.Open++
			continue
		}
		// It ended at once: nothing could be dispatched, or there was nothing to do.
		w.create(*d.Run, store.Replace(store.MemberKey(w.batch.ID, m.Doc.ID), d.Member, m.ETag))
		w.shard.Count(d.Run.Status)
	}
	w.ops = append(w.ops, store.Create(store.ShardKey(w.batch.ID, w.phase.ID, w.page), w.shard))
	return nil
}

func (w *pageWalk) create(run engine.Run, member store.Op) {
	w.made = append(w.made, madeRun{run: &run, op: len(w.ops)})
	w.ops = append(w.ops, store.Create(store.RunKey(run.Batch, run.Phase, run.Member), run), member)
}

func (w *pageWalk) mark(m store.Item[engine.Member], entered engine.Member) store.Op {
	changes := []store.Change{store.Set("/openPhase", entered.OpenPhase)}
	if len(entered.Queue) > 0 {
		changes = append(changes, store.Set("/queue", entered.Queue))
	}
	return store.Patch(store.MemberKey(w.batch.ID, m.Doc.ID), m.ETag, changes...)
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
