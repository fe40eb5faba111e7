package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/engine"
	"github.com/matoolkit/matoolkit/internal/runbook"
	"github.com/matoolkit/matoolkit/internal/store"
)

// walkPage makes the runs of one page of members, with their shard and the
// members' marks, in one write: a page exists whole or not at all, and once. Its jobs are
// dispatched as of a moment before the batch was read, so that the revocation of a pause
// or a cancellation that came since covers them.
func (a *App) walkPage(ctx context.Context, b *engine.Batch, p engine.Phase, page int, at time.Time) error {
	rb, err := a.runbook(ctx, b.Runbook, p.Version)
	if err != nil {
		return err
	}
	members, err := a.store.MembersOfPage(ctx, b.ID, page, "")
	if err != nil {
		return err
	}
	w := pageWalk{batch: b, phase: p, page: page, runbook: rb, now: at}
	if err := w.prepare(members, true); err != nil {
		return err
	}
	if w.shard.Open < w.shard.Runs {
		// Somebody fails before anything is sent. Where the batch was cancelled meanwhile,
		// that may be for what they were kept from bringing along.
		if gate, err := a.gateNow(ctx, b.ID); err != nil {
			return err
		} else if gate == engine.Stopped {
			return a.stopPage(ctx, b.ID, page, "stopped")
		}
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
	if w.failures() > 0 {
		if err := a.batchEvent(ctx, b.ID, engine.FailureCounted{Phase: p.ID}); err != nil {
			return err
		}
	}
	if err := a.send(ctx, &w.outbox); err != nil {
		return err
	}
	if w.shard.Open > 0 {
		if err := a.pageSent(ctx, b.ID, p.ID, page); err != nil {
			return err
		}
	}
	// If the batch was cancelled as the page was made, the jobs are revoked.
	if gate, err := a.gateNow(ctx, b.ID); err != nil {
		return err
	} else if gate == engine.Stopped {
		return a.stopPage(ctx, b.ID, page, "stopped")
	}
	if w.shard.Open > 0 {
		return nil
	}
	return a.closeShard(ctx, b.ID, store.Item[engine.Shard]{Doc: w.shard, ETag: outcome.ETag(len(w.ops) - 1)})
}

// remembers is for how long a broker surely drops a message that it has seen: one
// that was sent longer ago would be delivered again.
const remembers = 9 * time.Minute

// resumePage takes up a page whose runs exist: each is started, or its start is
// repeated, where it has not gone further. A job that was surely sent, and longer ago
// than the broker remembers, is let be: a worker might do it twice.
func (a *App) resumePage(ctx context.Context, batch, phase, page int) error {
	made, err := store.Read[engine.Shard](ctx, a.store, store.ShardKey(batch, phase, page))
	if err != nil {
		return err
	}
	runs, err := a.store.RunsOfPage(ctx, batch, page, store.RunSelection{Phase: phase})
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
		} else if !run.Doc.Status.Terminal() {
			sent := run.Doc.Steps[run.Doc.Current].DispatchedAt
			if made.Doc.Sent && sent != nil && a.now().Sub(*sent) > remembers {
				continue
			}
		}
		if err := a.runEvent(ctx, run, false, engine.RunStarted{}); err != nil {
			return err
		}
	}
	shard, err := store.Read[engine.Shard](ctx, a.store, store.ShardKey(batch, phase, page))
	switch {
	case err != nil:
		return err
	case shard.Doc.Open == 0:
		return a.closeShard(ctx, batch, shard)
	case !shard.Doc.Sent:
		return a.pageSent(ctx, batch, phase, page)
	}
	return nil
}

// pageSent notes that the jobs which the runs of a page began with are all sent.
func (a *App) pageSent(ctx context.Context, batch, phase, page int) error {
	_, err := a.store.Commit(ctx, store.Patch(store.ShardKey(batch, phase, page), "", store.Set("/sent", true)))
	return err
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
	w.shard = engine.Shard{Phase: w.phase.ID, Page: w.page, MadeAt: w.now.UTC()}
	for _, m := range members {
		if m.Doc.Status == engine.MemberFailed {
			// A retry that brings the member back at this moment loses against the page, or
			// the page against the retry: else the member would miss the phase.
			w.ops = append(w.ops, store.Patch(store.MemberKey(w.batch.ID, m.Doc.ID), m.ETag, store.Set("/status", m.Doc.Status)))
		}
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
			if !free { // it waits for an earlier phase, and the fan-out does not wait for it
				run.Yielded = true
				w.shard.Yielded++
			}
			w.create(run, w.mark(m, entered))
			w.shard.Open++
			continue
		}
		d, err := engine.Decide(engine.State{Run: &run, Member: &entered, Runbook: w.runbook, Gate: w.batch.Gate()}, engine.RunStarted{}, w.now)
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
	if w.failures() > 0 {
		w.ops = append(w.ops, countFailures(w.batch.ID, w.phase.ID, w.failures()))
	}
	w.ops = append(w.ops, store.Create(store.ShardKey(w.batch.ID, w.phase.ID, w.page), w.shard))
	return nil
}

// failures is how many of the page's runs failed as they were made, where the phase has a
// stop_when that counts them.
func (w *pageWalk) failures() int {
	if w.phase.StopWhen == nil {
		return 0
	}
	return w.shard.Failed
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
