package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/matoolkit/matoolkit/internal/applier"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// lookAgain is how long a cancelled batch waits for the rollbacks and the removals
// that are under way before it looks again whether it has ended.
const lookAgain = 5 * time.Second

// drain ends the runs of one page of a cancelled batch, and after the last page the
// batch, once no run of it is open.
func (or *Orchestrator) drain(ctx context.Context, b *model.Batch, m message.BatchWork) (more bool, err error) {
	if b.DispatchMode() != model.Cancelled {
		return false, message.Reject("batch %d is not cancelled: it is %s", b.ID, b.Status)
	}
	if b.Status.Terminal() {
		return false, or.applier.UpsertSummary(ctx, b)
	}
	if m.Page <= b.PageCount() {
		return true, or.stopPage(ctx, b.ID, m.Page, m.Task)
	}
	open, err := or.store.OpenRuns(ctx, b.ID, model.PageSize)
	if err != nil {
		return false, err
	}
	if len(open) == 0 {
		if err := or.reportAll(ctx, b.ID); err != nil { // or the last phase would look unfinished
			return false, err
		}
		if err := or.applier.Decide(ctx, b.ID, model.BatchDrained{}); err != nil {
			return false, err
		}
		if drained, err := or.applier.LoadBatchForMessage(ctx, b.ID); err != nil || drained.Doc.Status.Terminal() {
			return false, err
		}
	}
	for _, run := range open { // those that slipped through as the pages were gone over
		if err := or.stopRun(ctx, run, m.Task); err != nil {
			return false, err
		}
	}
	// What began at several places goes on as one: the moments are the same for all.
	at := or.now().Add(lookAgain).Truncate(lookAgain)
	again := applier.BatchWorkMessage(b.ID, message.WorkStop, fmt.Sprintf("at-%d", at.Unix()), m.Page)
	again.At = at
	return false, or.bus.Send(ctx, message.TopicOrchestratorEvents, again)
}

// reportAll reports the empty shards of a batch that did not get to it.
func (or *Orchestrator) reportAll(ctx context.Context, batch int) error {
	for {
		shards, err := or.store.Shards(ctx, batch, store.ShardFilter{Unreported: true, Limit: model.PageSize})
		if err != nil || len(shards) == 0 {
			return err
		}
		for _, shard := range shards {
			err := or.applier.Decide(ctx, batch, model.ShardCounted{Phase: shard.Doc.Phase, Page: shard.Doc.Page, Again: true})
			if errors.Is(err, store.ErrChanged) && ctx.Err() == nil {
				break // its last member has just reported it: see which are left
			}
			if err != nil {
				return err
			}
		}
	}
}

// stopPage ends the open runs of one page and reports its shards, where that was
// cut short before.
func (or *Orchestrator) stopPage(ctx context.Context, batch, page int, task string) error {
	runs, err := or.store.RunsOfPage(ctx, batch, page, store.RunSelection{
		Statuses: []model.RunStatus{model.RunWaiting, model.RunRunning}, Paused: true, Tasks: []string{task},
	})
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := or.stopRun(ctx, run, task); err != nil {
			return err
		}
	}
	if err := or.sendUnsent(ctx, batch, page); err != nil {
		return err
	}
	return or.reportShards(ctx, batch, page)
}

// sendUnsent sends the jobs of a page whose sending was cut short, in a batch that was
// paused or cancelled since. Their runs wait for results, which only a worker can give: it
// answers that the jobs are revoked.
func (or *Orchestrator) sendUnsent(ctx context.Context, batch, page int) error {
	shards, err := or.store.ShardsOfPage(ctx, batch, page, store.ShardFilter{Open: true})
	if err != nil {
		return err
	}
	for _, shard := range shards {
		if shard.Doc.Sent {
			continue
		}
		if err := or.ResumePage(ctx, batch, shard.Doc.Phase, page); err != nil {
			return err
		}
	}
	return nil
}

// stopRun ends a run of a cancelled batch. Of a member's runs the one that the
// member is in ends, and the ones behind it in their turn. What is carried to its end
// is released where it is paused.
func (or *Orchestrator) stopRun(ctx context.Context, run store.Item[model.Run], task string) error {
	at := model.OnRun{Phase: run.Doc.Phase, Member: run.Doc.Member}
	if run.Doc.PausedAt != nil || run.Doc.Task == task {
		at.RunEvent = model.RunReleased{Task: task}
		if err := or.applier.Decide(ctx, run.Doc.Batch, at); err != nil {
			return err
		}
	}
	at.RunEvent = model.RunStopped{Reason: "the batch is cancelled"}
	return or.applier.Decide(ctx, run.Doc.Batch, at)
}
