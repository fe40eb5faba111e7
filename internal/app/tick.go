package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/matoolkit/matoolkit/internal/alert"
	"github.com/matoolkit/matoolkit/internal/logkey"
	"github.com/matoolkit/matoolkit/internal/notification"
	"github.com/matoolkit/matoolkit/internal/store"
)

// syncPatience is for how long a tick lets the batches of a runbook wait for the sync of its data
// source. Batches of a slow one are swept without it.
const syncPatience = time.Minute

// Tick runs every five minutes over all open batches and all runbooks whose batches
// follow a data source. For batches it is the safety net: it schedules the phases that
// fall due before the next tick for their exact moment, and announces due phases
// again that did not begin. It synchronizes the runbooks' batches with their queries,
// before these batches change to a newer version or phases are announced: members have the
// columns that are used first then. It reports a batch or a runbook that fails and continues
// with the others.
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
	open := slices.DeleteFunc(slices.Clone(batches), func(e store.Item[store.BatchSummary]) bool { return e.Doc.Status.Terminal() })
	heads, failed := a.Syncer.RunbooksToSync(ctx, open)
	watch, unwatched := a.Notifier.Watch(ctx)
	sweep := a.Orchestrator.NewSweep(ctx, watch.AddBatch)
	waiting := newWaitingBatches(batches, heads)
	sweep.Add(waiting.others)
	for _, head := range heads {
		sweep.AddLost(waiting.of[head.Name])
	}
	sweep.Await() // a sync sends messages that would be taken for lost
	begun := make(chan struct{})
	impatient := time.AfterFunc(syncPatience, func() {
		defer close(begun)
		for _, head := range heads {
			if waiting.take(head.Name) {
				sweep.AddPhases(waiting.of[head.Name], 0)
			}
		}
	})
	synced := a.Syncer.SyncAll(ctx, heads, func(runbook string, version int) {
		if waiting.take(runbook) || version > 0 {
			sweep.AddPhases(waiting.of[runbook], version)
		}
	})
	if !impatient.Stop() {
		<-begun
	}
	batches = open
	situation := notification.Situation{}
	var unrouted error
	situation.Returned, unrouted = a.Pipelines.CheckRoutings(ctx)
	for _, head := range heads {
		situation.Runbooks = append(situation.Runbooks, head.Name)
	}
	var swept error
	situation.Absent, situation.Complete, swept = sweep.Wait()
	situation.Complete = situation.Complete && failed == nil && unrouted == nil
	if unwatched == nil {
		unwatched = watch.Deliver(ctx, situation)
	}
	return errors.Join(failed, swept, synced, unrouted, unwatched, a.Orchestrator.SweepExpired(ctx))
}

// waitingBatches has the batches of runbooks that a tick syncs before it announces their phases.
type waitingBatches struct {
	of     map[string][]store.Item[store.BatchSummary] // by runbook
	others []store.Item[store.BatchSummary]            // of other runbooks

	mu    sync.Mutex
	taken map[string]bool
}

func newWaitingBatches(batches []store.Item[store.BatchSummary], heads []store.RunbookHead) *waitingBatches {
	w := &waitingBatches{of: map[string][]store.Item[store.BatchSummary]{}, taken: map[string]bool{}}
	for _, head := range heads {
		w.of[head.Name] = nil
	}
	for _, b := range batches {
		if _, syncs := w.of[b.Doc.RunbookName]; syncs {
			w.of[b.Doc.RunbookName] = append(w.of[b.Doc.RunbookName], b)
		} else {
			w.others = append(w.others, b)
		}
	}
	return w
}

// take reports whether the batches of a runbook still wait, and ends that.
func (w *waitingBatches) take(runbook string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := !w.taken[runbook]
	w.taken[runbook] = true
	return waited
}
