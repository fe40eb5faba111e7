package orchestrator

import (
	"context"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// taskCancelled is the task of runs that are released because their batch is cancelled.
const taskCancelled = "cancelled"

// drainDelay returns how long a batch that was cancelled some time ago waits for its rollbacks and
// removals before the next check whether it has ended. A check reads up to a page of runs, and a
// rollback may wait for hours.
func drainDelay(age time.Duration) time.Duration {
	switch {
	case age < time.Minute:
		return 5 * time.Second
	case age < 10*time.Minute:
		return 15 * time.Second
	}
	return time.Minute
}

// finishPageUnlessRunning does the remaining work of a page whose batch was paused or cancelled, perhaps
// while the page was made. It reports false if the batch is neither. Resuming the batch
// continues with a page of a paused one.
func (o *Orchestrator) finishPageUnlessRunning(ctx context.Context, b *model.Batch, page int) (done bool, err error) {
	switch b.DispatchMode() {
	case model.Cancelled:
		return true, o.cancelPage(ctx, b.ID, page, taskCancelled)
	case model.Paused:
		return true, o.sendUnsentJobs(ctx, b.ID, page)
	}
	return false, nil
}

// cancelPageIfRequested cancels the runs of a page that was just made if its batch was cancelled
// meanwhile. Their jobs are revoked.
func (o *Orchestrator) cancelPageIfRequested(ctx context.Context, batch, page int) error {
	mode, err := o.applier.ReadDispatchMode(ctx, batch)
	if err != nil || mode != model.Cancelled {
		return err
	}
	return o.cancelPage(ctx, batch, page, taskCancelled)
}

// drainPage ends the runs of one page of a cancelled batch. After the last page it ends the
// batch, or checks again later while the batch has open runs.
func (o *Orchestrator) drainPage(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	if b.DispatchMode() != model.Cancelled {
		return false, message.Reject("batch %d is not cancelled: it is %s", b.ID, b.Status)
	}
	if b.Status.Terminal() {
		return false, o.applier.Decide(ctx, b.ID, model.BatchDrained{})
	}
	if m.Page == 0 {
		if err := o.sendUnsentSequences(ctx, b); err != nil {
			return false, err
		}
	}
	if m.Page <= b.PageCount() {
		return true, o.cancelPage(ctx, b.ID, m.Page, m.Task)
	}
	open, err := o.store.OpenRuns(ctx, b.ID, model.PageSize)
	if err != nil {
		return false, err
	}
	if len(open) == 0 {
		if ended, err := o.endDrained(ctx, b.ID); err != nil || ended {
			return false, err
		}
	}
	// Runs that were made behind the pages as these were drained.
	if err := forEach(ctx, open, func(run store.Item[model.Run]) error { return o.cancelRun(ctx, run, m.Task) }); err != nil {
		return false, err
	}
	// Checks that several processes began become one: all have the same times.
	at := o.nextCheck(m.DueAt, drainDelay(o.now().Sub(b.Cancelled.At)))
	again := message.BatchWork{BatchID: b.ID, Work: message.WorkCancel, Task: fmt.Sprintf("at-%d", at.Unix()), Page: m.Page, DueAt: at}
	return false, o.bus.Send(ctx, message.TopicOrchestratorEvents, applier.EventMessage(applier.BatchWorkID(again), message.TypeBatchWork, again, at))
}

// endDrained ends a cancelled batch without open runs and reports whether it has ended.
func (o *Orchestrator) endDrained(ctx context.Context, batch int) (ended bool, err error) {
	if err := o.reportAllShards(ctx, batch); err != nil { // without this the last phase would look unfinished
		return false, err
	}
	if err := o.applier.Decide(ctx, batch, model.BatchDrained{}); err != nil {
		return false, err
	}
	drained, err := o.applier.LoadBatchForMessage(ctx, batch)
	return err == nil && drained.Doc.Status.Terminal(), err
}

// cancelPage cancels the open runs of one page, sends its unsent jobs and reports its empty
// shards, in case a process ended before it did.
func (o *Orchestrator) cancelPage(ctx context.Context, batch, page int, task string) error {
	runs, err := o.store.RunsOfPage(ctx, batch, page, store.RunSelection{
		Statuses: []model.RunStatus{model.RunWaiting, model.RunRunning}, Paused: true, Tasks: []string{task},
	})
	if err != nil {
		return err
	}
	if err := forEach(ctx, runs, func(run store.Item[model.Run]) error { return o.cancelRun(ctx, run, task) }); err != nil {
		return err
	}
	if err := o.sendUnsentJobs(ctx, batch, page); err != nil {
		return err
	}
	return o.reportShardsOfPage(ctx, batch, page)
}

// cancelRun cancels a run of a cancelled batch. Of a member's runs the one in progress ends, and
// the runs behind it when it has ended. A paused run that has to be carried to its end is
// released.
func (o *Orchestrator) cancelRun(ctx context.Context, run store.Item[model.Run], task string) error {
	at := model.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member}
	if run.Doc.PausedAt != nil || run.Doc.Task == task {
		at.RunEvent = model.RunReleased{Task: task}
		if err := o.applier.Decide(ctx, run.Doc.Batch, at); err != nil {
			return err
		}
	}
	at.RunEvent = model.RunCancelRequested{Reason: "the batch is cancelled"}
	return o.applier.Decide(ctx, run.Doc.Batch, at)
}

// sendUnsentJobs sends the jobs of a page of a batch that was paused or cancelled before all
// were sent. Their runs wait for results, which only a worker can give: it answers that the
// jobs are revoked.
func (o *Orchestrator) sendUnsentJobs(ctx context.Context, batch, page int) error {
	shards, err := o.store.ShardsOfPage(ctx, batch, page, store.ShardFilter{Open: true})
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if shard.Doc.Sent {
			continue
		}
		if err := o.applier.Decide(ctx, batch, model.PageResumed{Phase: shard.Doc.Phase, Page: page}); err != nil {
			return err
		}
	}
	return nil
}

// sendUnsentSequences does the same for init, on_complete and detached steps: it sends their first job,
// which a process stored and did not send before the batch was paused or cancelled. No other
// message sends it. Without the answer of the worker a pause would fail the steps at their
// deadline, and a cancellation would wait for it.
//
// The batch cannot end before the job is sent: a phase does not end while these steps run, and a
// cancelled batch ends when no run is open.
func (o *Orchestrator) sendUnsentSequences(ctx context.Context, b *model.Batch) error {
	for _, p := range b.Phases {
		if !p.SequenceUnsent() {
			continue
		}
		if err := o.applier.Decide(ctx, b.ID, model.OnRun{Phase: p.ID, RunEvent: model.RunStarted{}}); err != nil {
			return err
		}
	}
	return nil
}

// reportShardsOfPage reports the empty shards of a page to the batch, in case a process ended
// before it did.
func (o *Orchestrator) reportShardsOfPage(ctx context.Context, batch, page int) error {
	shards, err := o.store.ShardsOfPage(ctx, batch, page, store.ShardFilter{Unreported: true})
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if err := o.reportShard(ctx, batch, shard.Doc); err != nil {
			return err
		}
	}
	return nil
}

// reportAllShards reports the empty shards of all pages to the batch, in case a process ended
// before it did.
func (o *Orchestrator) reportAllShards(ctx context.Context, batch int) error {
	for {
		shards, err := o.store.Shards(ctx, batch, store.ShardFilter{Unreported: true, Limit: model.PageSize})
		if err != nil || len(shards) == 0 {
			return err
		}
		for _, shard := range shards {
			if err := o.reportShard(ctx, batch, shard.Doc); err != nil {
				return err
			}
		}
	}
}

// reportShard reports a shard without open runs to its batch.
func (o *Orchestrator) reportShard(ctx context.Context, batch int, shard model.Shard) error {
	return o.applier.Decide(ctx, batch, model.ShardCounted{Phase: shard.Phase, Page: shard.Page, Again: true})
}
